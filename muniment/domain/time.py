"""
Instants, periods and as-of points, used alike on both time axes.

* Valid time: when a belief holds in the world. The caller says it.
* Recorded time: when the ledger learned it. Only the ledger says it.

Valid time is when a fact *holds*, never the period it is *about*.
"""

from dataclasses import dataclass
from typing import NewType

from muniment.domain.values import quickly_made
from muniment.errors import InvalidPeriodError


Instant = NewType("Instant", int)
"""Whole microseconds since 1970-01-01T00:00:00Z."""

BEGINNING = Instant(-(2**63))
"""A start nobody knows. Never a moment one can ask about."""

FOREVER = Instant(2**63 - 1)
"""An end that has not come. Never a moment one can ask about."""


@quickly_made
@dataclass(frozen=True, slots=True, order=True)
class Period:
    """
    A half-open stretch of time, ``[start, end)``; never empty.

    Raises:
        InvalidPeriodError: If *start* is not before *end*.
    """

    start: Instant
    end: Instant = FOREVER

    def __post_init__(self) -> None:
        if self.start >= self.end:
            raise InvalidPeriodError(self.start, self.end)

    def __contains__(self, instant: Instant) -> bool:
        return self.start <= instant < self.end

    def covers(self, other: "Period") -> bool:
        return self.start <= other.start and other.end <= self.end

    def overlaps(self, other: "Period") -> bool:
        return self.start < other.end and other.start < self.end

    def minus(self, other: "Period") -> tuple["Period", ...]:
        """Return what is left of this period outside *other*: 0, 1 or 2 pieces."""
        if not self.overlaps(other):
            return (self,)
        left = (self.start, min(self.end, other.start))
        right = (max(self.start, other.end), self.end)
        return tuple(Period(start, end) for start, end in (left, right) if start < end)

    def common(self, other: "Period") -> tuple["Period", ...]:
        """Return what both periods share: 0 or 1 pieces."""
        if not self.overlaps(other):
            return ()
        return (Period(max(self.start, other.start), min(self.end, other.end)),)


ALWAYS = Period(BEGINNING, FOREVER)


@dataclass(frozen=True, slots=True, kw_only=True)
class AsOf:
    """A point on both axes: what was known at *recorded_at* about *valid_at*."""

    recorded_at: Instant
    valid_at: Instant
