"""Where an answer is read: a point on both axes, resolved to a place in the ledger."""

from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final

from muniment.domain.time import BEGINNING, AsOf, Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """
    One point on both axes, resolved to a place in the ledger.

    Attributes:
        as_of: With the recorded time of the last transaction known then.
        asked_at: The recorded time that was asked for.
        position: Of the last event known then.
        promised: Up to when, if at all, nothing more will ever be recorded.
    """

    as_of: AsOf
    asked_at: Instant
    position: int
    promised: Instant = BEGINNING

    @property
    def known_at(self) -> Instant:
        """
        A recorded time as of which the same is known: asking again gives it.

        What was asked for, where nothing more is recorded by then; else when the last of
        what was known was recorded.
        """
        recorded_at = self.as_of.recorded_at
        is_settled = self.promised >= self.asked_at or recorded_at == BEGINNING
        return self.asked_at if is_settled else recorded_at

    @property
    def until(self) -> Instant:
        """By when what begins and ends as it is recorded was: the earlier time counts."""
        return min(self.asked_at, self.as_of.valid_at)

    @property
    def settled_at(self) -> Instant:
        """Up to when what is known here is all there will ever be."""
        return max(self.as_of.recorded_at, self.promised)


latest: Final[ContextVar[Point | None]] = ContextVar("latest", default=None)
"""Where the last answer in this context was read, for an edge that says so beside it."""
