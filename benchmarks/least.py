"""
The least that a verification has to do for an event, whatever the program around it.

The rows that it reads are read, all of them; the hashes, ciphers and decoders that it
calls are called as often and on as many bytes, but always on the same ones, and nothing
is compared.
"""

import hashlib
import hmac
import os
from collections.abc import Callable

import msgspec
import zstandard
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from muniment import MemoryStore
from muniment.ledger.sql_recorder import SqlRecorder
from muniment.projections.sql_pages import fact_events, stored_rows


_PAGE = 5_000
_ENVELOPE, _NODE, _STREAM = bytes(249), bytes(65), b"fact-" + bytes(26)
_HEADER = (
    b'{"traits":{"attribute":"meeting","category":"schedule","confidence":1.0,"core":false,'
    b'"importance":0.5,"status":"active"},"valid":[1767225600000000,9223372036854775807]}'
)
_CONTENT = (
    b'{"source":"user_explicit","text":"told us on occasion 00000001 that it is at noon"}'
)
_SAID = b'["told us on occasion 00000001 that it is at noon","schedule","meeting"]'
_PLACE = b"event/main/fact-01J0000000000000000000000/1/fact.asserted.v1/" + _HEADER


def least(store: MemoryStore, events: int) -> None:
    """Read what *store* holds, and call for *events* what a verification calls."""
    ledger = store._ledger  # noqa: SLF001 - what it is made of is measured
    after = 0
    while page := ledger.recorder.read_rows(after=after, limit=_PAGE):
        after = page[-1][0]
    assert isinstance(ledger.recorder, SqlRecorder), "a server or a file"
    vault = ledger.vault
    with ledger.recorder.reading() as connection:
        for rows in fact_events(connection, ledger.recorder):
            vault.subjects_with_keys((row[6], row[7]) for row in rows)
        for _ in stored_rows(connection, ledger.name):
            pass
    hashes, opens = _hashes(), _opens()
    for _ in range(events):
        hashes()
        opens()


def _hashes() -> Callable[[], object]:
    """Return what hashes one event: payload, stream, envelope, its share of the tree."""
    sha256, state = hashlib.sha256, bytes(len(_HEADER) + len(_CONTENT))

    def hash_one() -> None:
        sha256(state).digest()
        sha256(_STREAM).digest()
        sha256(_ENVELOPE).digest()
        sha256(_NODE).digest()

    return hash_one


def _opens() -> Callable[[], object]:
    """Return what opens one payload whose key is at hand, and makes its digest."""
    key, nonce = os.urandom(32), os.urandom(12)
    small = zstandard.ZstdCompressor().compress(_CONTENT)
    sealed = AESGCM(key).encrypt(nonce, small, _PLACE)
    expand, decode = zstandard.ZstdDecompressor(), msgspec.json.Decoder().decode

    def open_one() -> None:
        hmac.digest(key, nonce + _PLACE, hashlib.sha256)
        expand.decompress(AESGCM(key).decrypt(nonce, sealed, _PLACE))
        decode(_CONTENT)
        decode(_HEADER)
        hashlib.blake2b(_SAID, key=key, digest_size=16).digest()

    return open_one
