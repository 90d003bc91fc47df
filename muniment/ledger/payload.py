"""
What is sealed, as bytes: made small, and under a key of its own.

The key of a stream opens nothing directly. From it, the place and the nonce comes the
key of one payload, so that one statement can be shown to somebody, with the proof that
this is what was stored, and no other is opened by it.

The first format, which had neither, is read and no longer written.
"""

from muniment.errors import BrokenSealError
from muniment.ledger import compression, sealing


_FORMAT = b"\x02"
_LENGTH_BYTES = 2
_NONCE_BYTES = 12


def seal(key: bytes, plain: bytes, *, place: bytes) -> bytes:
    """Return *plain* under *key*, readable at *place* alone."""
    dictionary, small = compression.compressed(plain)
    nonce = sealing.new_nonce()
    bound = _bound(place, dictionary)
    own = _own_key(key, bound, nonce)
    return bytes([dictionary]) + sealing.seal_with(own, small, nonce=nonce, place=bound)


def unseal(key: bytes, sealed: bytes, *, place: bytes, shown: str) -> bytes:
    """
    Return what `seal` was given.

    Raises:
        BrokenSealError: If key, place or bytes are not the ones it was sealed with.
    """
    if not sealed:
        raise BrokenSealError(shown)
    bound = _bound(place, sealed[0])
    own = _own_key(key, bound, sealed[1 : 1 + _NONCE_BYTES])
    return _opened(own, sealed, bound, shown)


def unseal_alone(own: bytes, sealed: bytes, *, place: bytes, shown: str) -> bytes:
    """
    Return what `seal` was given, by the key of this payload alone.

    Raises:
        BrokenSealError: If key, place or bytes are not the ones it was sealed with.
    """
    if not sealed:
        raise BrokenSealError(shown)
    return _opened(own, sealed, _bound(place, sealed[0]), shown)


def own_key(key: bytes, sealed: bytes, *, place: bytes) -> bytes:
    """Return the key that opens this payload and no other."""
    return _own_key(key, _bound(place, sealed[0]), sealed[1 : 1 + _NONCE_BYTES])


def packed(header: bytes, sealed: bytes) -> bytes:
    """Return the two parts of a stored event as one: format, length, header, sealed."""
    return _FORMAT + len(header).to_bytes(_LENGTH_BYTES, "big") + header + sealed


def is_of_first_format(state: bytes) -> bool:
    """Whether a stored event has no key of its own, but for that of its stream."""
    return state[:1] != _FORMAT


def unpacked(state: bytes, *, place: str) -> tuple[bytes, bytes, bool]:
    """
    Return header and sealed part of a stored event; and if it is of the first format.

    Raises:
        BrokenSealError: If *state* is of no format there is.
    """
    if is_of_first_format(state):
        return *sealing.unpacked(state, place=place), True
    start = len(_FORMAT) + _LENGTH_BYTES
    length = int.from_bytes(state[len(_FORMAT) : start], "big")
    if len(state) < start + length:
        raise BrokenSealError(place)
    return state[start : start + length], state[start + length :], False


def _opened(own: bytes, sealed: bytes, bound: bytes, shown: str) -> bytes:
    small = sealing.unseal(own, sealed[1:], place=bound, shown=shown)
    return compression.decompressed(sealed[0], small, place=shown)


def _bound(place: bytes, dictionary: int) -> bytes:
    """Return *place* with how it is written there, so that neither can be exchanged."""
    return b"2/%d/" % dictionary + place


def _own_key(key: bytes, bound: bytes, nonce: bytes) -> bytes:
    return sealing.mac(key, b"muniment/payload/" + nonce + bound)
