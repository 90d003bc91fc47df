"""Names for new facts and holds. Facts made together lie together on disk."""

import os
from typing import Final

from muniment.domain.time import Instant


_ALPHABET: Final = "0123456789abcdefghjkmnpqrstvwxyz"
_LENGTH: Final = 26
_RANDOM_BYTES: Final = 10


def new_fact_id(recorded_at: Instant) -> str:
    """
    Return a name no fact has: 26 characters, ordered by *recorded_at*.

    Source:
        https://github.com/ulid/spec, in lower case.
    """
    milliseconds = max(0, recorded_at // 1_000) & (2**48 - 1)
    number = milliseconds << (8 * _RANDOM_BYTES) | int.from_bytes(
        os.urandom(_RANDOM_BYTES), "big"
    )
    digits = [_ALPHABET[number >> shift & 31] for shift in range(5 * (_LENGTH - 1), -1, -5)]
    return "".join(digits)


def new_hold_id() -> str:
    """Return a name no legal hold has: 16 characters after ``hold-``."""
    return f"hold-{os.urandom(8).hex()}"
