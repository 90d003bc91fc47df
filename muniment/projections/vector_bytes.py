"""Vectors as the bytes that are kept of them."""

import sys
from array import array

from muniment.projections.ports import Vector


def as_bytes(vector: Vector) -> bytes:
    """Return *vector* as float32, little-endian."""
    packed = vector if isinstance(vector, array) else array("f", vector)
    if sys.byteorder == "big":
        packed = array("f", packed)
        packed.byteswap()
    return packed.tobytes()


def from_bytes(packed: bytes) -> Vector:
    """Return what `as_bytes` was given, rounded to float32."""
    vector = array("f")
    vector.frombytes(packed)
    if sys.byteorder == "big":
        vector.byteswap()
    return vector
