"""
When years begin, and what thinning keeps of them.

Said as plainly as in `tests.oracle`, by asking at every kept time.
"""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from muniment.domain.time import BEGINNING, FOREVER, Instant
from tests.oracle import Ledger, happened, known, life, stretches


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def us(when: datetime) -> Instant:
    """Return a time of the calendar in microseconds."""
    return Instant((when - _EPOCH) // timedelta(microseconds=1))


def year(number: int) -> Instant:
    """Return when a year begins."""
    return us(datetime(number, 1, 1, tzinfo=UTC))


def year_of(at: int) -> int:
    """Return the year of a time."""
    return (_EPOCH + timedelta(microseconds=at)).year


def kept(at: Instant, until: Instant) -> bool:
    """Whether a time is kept by thinning until *until*: later, or where a year begins."""
    return at >= until or _began_a_year(at) or _began_a_year(Instant(at + 1))


def readable(fact: Ledger, until: Instant) -> set[int]:
    """Return the versions that answer about a time that is kept, known at such a time."""
    recorded = [each.recorded_at for each in fact]
    held = [each.start for each in stretches(happened(fact))]
    return {
        version
        for at in _kept_times(recorded, until)
        for about in _kept_times(held, until)
        if (version := life(happened(known(fact, at)), about)[-1]) is not None
    }


def _kept_times(changes: Iterable[Instant], until: Instant) -> list[Instant]:
    """Return every time that is kept and may differ from the one before it."""
    found = {until, *(each for each in changes if each >= until)}
    for each in (*changes, until):
        if BEGINNING < each < FOREVER:
            # Where the year of a change began, and where the next one begins.
            this = year_of(each)
            found |= {year(this), year(this + 1)}
    found |= {Instant(each - 1) for each in found}
    return sorted(each for each in found if kept(each, until))


def _began_a_year(at: Instant) -> bool:
    return BEGINNING < at < FOREVER and at == year(year_of(at))
