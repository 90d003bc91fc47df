"""
Encryption of what the ledger keeps: AES-256-GCM, each ciphertext bound to its place.

The place (ledger, stream, version, topic, readable header) is authenticated with the
content, so that a payload copied into another row, or a header edited beside it, does
not open.
"""

import hashlib
import hmac
import os
from collections.abc import Sequence
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.hmac import HMAC

from muniment.errors import BrokenSealError


KEY_BYTES: Final = 32
TAG_BYTES: Final = 16
_NONCE_BYTES: Final = 12
_FORMAT: Final = b"\x01"
_LENGTH_BYTES: Final = 2
_SHA256: Final = SHA256()


def new_key() -> bytes:
    """Return a random 256-bit key."""
    return os.urandom(KEY_BYTES)


def new_nonce() -> bytes:
    """Return a random nonce."""
    return os.urandom(_NONCE_BYTES)


def seal(key: bytes, plain: bytes, *, place: bytes) -> bytes:
    """Return *plain* under *key*, readable at *place* alone: nonce, ciphertext, tag."""
    return seal_with(key, plain, nonce=new_nonce(), place=place)


def seal_with(key: bytes, plain: bytes, *, nonce: bytes, place: bytes) -> bytes:
    """Return what `seal` does; *nonce* was never used with *key* before."""
    return nonce + AESGCM(key).encrypt(nonce, plain, place)


def seal_each(key: bytes, plain: Sequence[tuple[bytes, bytes]]) -> list[bytes]:
    """Return each of *plain*, which come with their places, under *key* as `seal` does."""
    cipher = AESGCM(key)
    nonces = os.urandom(_NONCE_BYTES * len(plain))
    split = (nonces[at : at + _NONCE_BYTES] for at in range(0, len(nonces), _NONCE_BYTES))
    return [
        nonce + cipher.encrypt(nonce, each, place)
        for nonce, (each, place) in zip(split, plain, strict=True)
    ]


def unseal(key: bytes, sealed: bytes, *, place: bytes, shown: str | None = None) -> bytes:
    """
    Return what `seal` was given.

    Args:
        key: As given.
        sealed: As returned.
        place: As given.
        shown: The place as an error names it, where it is not text.

    Raises:
        BrokenSealError: If key, place or bytes are not the ones it was sealed with.
    """
    nonce, ciphertext = sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:]
    try:
        return AESGCM(key).decrypt(nonce, ciphertext, place)
    except (InvalidTag, ValueError) as error:
        raise BrokenSealError(shown or place.decode(errors="replace")) from error


def derived(key: bytes, purpose: str) -> bytes:
    """Return the key for one *purpose* that only who has *key* can know."""
    return mac(key, b"muniment/" + purpose.encode())


def mac(key: bytes, value: bytes) -> bytes:
    """
    Return 32 bytes that follow from *value* and can be known only with *key*: HMAC-SHA-256.

    Not by `hmac.digest`, which lets go of the interpreter for each of these few bytes: of
    sixteen threads that open payloads each would take three times as long.
    """
    made = HMAC(key, _SHA256)
    made.update(value)
    return made.finalize()


def tag(key: bytes, value: bytes) -> bytes:
    """Return 16 bytes by which *value* is found again, guessable only with *key*."""
    return hashlib.blake2b(value, key=key, digest_size=TAG_BYTES).digest()


def equal(one: bytes, other: bytes) -> bool:
    """Whether two tags are equal, in a time that does not tell where they differ."""
    return hmac.compare_digest(one, other)


def packed(header: bytes, sealed: bytes) -> bytes:
    """Return the two parts of a stored event as one: format, length, header, sealed."""
    return _FORMAT + len(header).to_bytes(_LENGTH_BYTES, "big") + header + sealed


def unpacked(state: bytes, *, place: str) -> tuple[bytes, bytes]:
    """
    Return the header and the sealed part of a stored event.

    Raises:
        BrokenSealError: If *state* is not of the one format there is.
    """
    start = len(_FORMAT) + _LENGTH_BYTES
    length = int.from_bytes(state[len(_FORMAT) : start], "big")
    if state[: len(_FORMAT)] != _FORMAT or len(state) < start + length:
        raise BrokenSealError(place)
    return state[start : start + length], state[start + length :]
