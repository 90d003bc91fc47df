"""Names for new facts and holds. Facts made together lie together on disk."""

import os
import re
from collections.abc import Iterator
from typing import Final

from muniment.domain.time import Instant


_ALPHABET: Final = "0123456789abcdefghjkmnpqrstvwxyz"
_PAIRS: Final = [one + other for one in _ALPHABET for other in _ALPHABET]
_LENGTH: Final = 26
_SHIFTS: Final = range(5 * (_LENGTH - 2), -1, -10)
_RANDOM_BYTES: Final = 10
_STEP_BYTES: Final = 8
_WITHIN_BITS: Final = 10
"""Hold the microsecond within a millisecond."""

_FACT_ID: Final = re.compile(f"[{_ALPHABET}]{{{_LENGTH}}}")


def new_fact_ids(recorded_at: Instant) -> Iterator[str]:
    """
    Yield names no fact has: 26 characters, ordered by *recorded_at*, then as yielded.

    Source:
        https://github.com/ulid/spec, in lower case; the names of one transaction rise by
        random steps, so that one does not give away another.
    """
    number = _dated(recorded_at) | _random(_RANDOM_BYTES) >> 1
    while True:
        yield _spelled(number)
        number += 1 + _random(_STEP_BYTES)


def new_id_in_order(recorded_at: Instant) -> str:
    """
    Return a name as of a fact that sorts by *recorded_at* to the microsecond.

    For what a transaction makes one of, and what is listed by name.
    """
    within = max(0, recorded_at) % 1_000 << (8 * _RANDOM_BYTES - _WITHIN_BITS)
    return _spelled(_dated(recorded_at) | within | _random(_RANDOM_BYTES) >> _WITHIN_BITS)


def may_be_fact_id(text: str) -> bool:
    """Whether *text* is spelled as `new_fact_ids` spells; there need be no such fact."""
    return _FACT_ID.fullmatch(text) is not None


def _dated(recorded_at: Instant) -> int:
    milliseconds = max(0, recorded_at // 1_000) & (2**48 - 1)
    return milliseconds << (8 * _RANDOM_BYTES)


def _random(count: int) -> int:
    return int.from_bytes(os.urandom(count), "big")


def _spelled(number: int) -> str:
    return "".join([_PAIRS[number >> shift & 1023] for shift in _SHIFTS])


def new_hold_id() -> str:
    """Return a name no legal hold has: 16 characters after ``hold-``."""
    return f"hold-{os.urandom(8).hex()}"
