"""What is over, and how one can tell: ended, expired or retired. Pure."""

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from itertools import groupby
from typing import Final

from muniment.domain.time import AsOf, Instant
from muniment.projections.beliefs import BeliefRow


CURRENT: Final = "current"
ENDED: Final = "ended"
EXPIRED: Final = "expired"
RETIRED: Final = "retired"

Key = tuple[str, Instant, Instant]


def key(row: BeliefRow) -> Key:
    """Return what names a rectangle among those of a ledger."""
    return row.fact_id, row.recorded.start, row.valid.start


def of(row: BeliefRow, as_of: AsOf, expired_at: Instant) -> str:
    """Return how what *row* says stands at *as_of*, which `last_of_each` chose it at."""
    if as_of.recorded_at not in row.recorded:
        return RETIRED
    if as_of.valid_at not in row.valid:
        return ENDED
    expires_at = row.traits.expires_at
    return CURRENT if expires_at is None or expired_at < expires_at else EXPIRED


def last_of_each(rows: Iterable[BeliefRow], as_of: AsOf) -> AbstractSet[Key]:
    """
    Return of each fact the rectangle that holds at *as_of*, or the last that did.

    A fact that begins to hold after it has none, and one that was retired has the one
    that held when it was.
    """
    known = [each for each in rows if each.recorded.start <= as_of.recorded_at]
    known.sort(key=lambda row: row.fact_id)
    found = (_last(list(of_one), as_of) for _, of_one in groupby(known, _fact_id))
    return {key(each) for each in found if each is not None}


def _last(rows: Sequence[BeliefRow], as_of: AsOf) -> BeliefRow | None:
    until = max(row.recorded.end for row in rows)
    believed = [row for row in rows if as_of.recorded_at in row.recorded] or [
        row for row in rows if row.recorded.end == until
    ]
    begun = [row for row in believed if row.valid.start <= as_of.valid_at]
    return max(begun, key=lambda row: row.valid.start, default=None)


def _fact_id(row: BeliefRow) -> str:
    return row.fact_id
