"""
What is sealed, as bytes: made small, and under a key of its own.

The key of a stream opens nothing directly. From it, the place and the nonce comes the
key of one payload, so that one statement can be shown to somebody, with the proof that
this is what was stored, and no other is opened by it. And so that one can be made
unreadable: then the own keys of all others are kept in the place of the stream's key.

The first format, which had neither, is read and no longer written.
"""

import hashlib
import hmac
from collections.abc import Mapping
from typing import Final

from muniment.errors import BrokenSealError
from muniment.ledger import compression, sealing


_FORMAT = b"\x02"
_LENGTH_BYTES = 2
_NONCE_BYTES = 12
_ENTRY_BYTES: Final = _NONCE_BYTES + sealing.KEY_BYTES

OwnKeys = Mapping[bytes, bytes]
"""By nonce, the keys of single payloads."""

Key = bytes | OwnKeys
"""The key of a stream; once something in it was made unreadable, what is left of it."""


def seal(key: bytes, plain: bytes, *, place: bytes) -> bytes:
    """Return *plain* under *key*, readable at *place* alone."""
    dictionary, small = compression.compressed(plain)
    nonce = sealing.new_nonce()
    bound = _bound(place, dictionary)
    own = _own_key(key, bound, nonce)
    return bytes([dictionary]) + sealing.seal_with(own, small, nonce=nonce, place=bound)


def unseal(key: Key, sealed: bytes, *, place: bytes, shown: str) -> bytes | None:
    """
    Return what `seal` was given; ``None`` where nothing is left of *key* that opens it.

    Raises:
        BrokenSealError: If key, place or bytes are not the ones it was sealed with.
    """
    if not sealed:
        raise BrokenSealError(shown)
    own = own_key(key, sealed, place=place)
    if own is None:
        return None
    dictionary, rest = sealed[0], sealed[1:]
    small = sealing.unseal(own, rest, place=_bound(place, dictionary), shown=shown)
    return compression.decompressed(dictionary, small, place=shown)


def own_key(key: Key, sealed: bytes, *, place: bytes) -> bytes | None:
    """Return the key that opens this payload and no other, if there is one left."""
    if isinstance(key, bytes):
        return _own_key(key, _bound(place, sealed[0]), nonce_of(sealed))
    return key.get(nonce_of(sealed))


def nonce_of(sealed: bytes) -> bytes:
    """Return by what the own key of a payload is found among others."""
    return sealed[1 : 1 + _NONCE_BYTES]


def as_bytes(own_keys: OwnKeys) -> bytes:
    """Return keys of single payloads as `from_bytes` takes them."""
    return b"".join(nonce + own_keys[nonce] for nonce in sorted(own_keys))


def from_bytes(plain: bytes) -> Key:
    """Return the key that was kept as *plain*: of a stream, or what is left of one."""
    if len(plain) == sealing.KEY_BYTES:
        return plain
    entries = range(0, len(plain), _ENTRY_BYTES)
    return {
        plain[at : at + _NONCE_BYTES]: plain[at + _NONCE_BYTES : at + _ENTRY_BYTES]
        for at in entries
    }


def packed(header: bytes, sealed: bytes) -> bytes:
    """Return the two parts of a stored event as one: format, length, header, sealed."""
    return _FORMAT + len(header).to_bytes(_LENGTH_BYTES, "big") + header + sealed


def unpacked(state: bytes, *, place: str) -> tuple[bytes, bytes, bool]:
    """
    Return header and sealed part of a stored event; and if it is of the first format.

    Raises:
        BrokenSealError: If *state* is of no format there is.
    """
    if state[:1] != _FORMAT:
        return *sealing.unpacked(state, place=place), True
    start = len(_FORMAT) + _LENGTH_BYTES
    length = int.from_bytes(state[len(_FORMAT) : start], "big")
    if len(state) < start + length:
        raise BrokenSealError(place)
    return state[start : start + length], state[start + length :], False


def _bound(place: bytes, dictionary: int) -> bytes:
    """Return *place* with how it is written there, so that neither can be exchanged."""
    return b"2/%d/" % dictionary + place


def _own_key(key: bytes, bound: bytes, nonce: bytes) -> bytes:
    return hmac.digest(key, b"muniment/payload/" + nonce + bound, hashlib.sha256)
