"""Days of 2026, which the tests of the facade count from 0."""

from datetime import UTC, datetime, timedelta

from muniment.instants import to_instant
from tests.stores import SettableClock


MICROSECOND = timedelta(microseconds=1)


def day(number: float) -> datetime:
    """Return the start of a day, 0 for the first of January; parts of days too."""
    return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=number)


def year(number: int) -> datetime:
    """Return the start of a year."""
    return datetime(number, 1, 1, tzinfo=UTC)


def set_to(clock: SettableClock, moment: datetime) -> None:
    """Set *clock* to *moment*."""
    clock.now = to_instant(moment)
