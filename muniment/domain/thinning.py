"""
Thinning: what is kept of old history, as decisions over explicit inputs. Pure.

Of a memory that was thinned until a time, the times from then on are kept, and before it
those when a year (UTC) began: the first moment of the year, and the last one before. It
answers what was known at a time that is kept about a time that is kept; what is needed
for no such answer goes. So what the world has left behind goes, too, although it is still
believed of the time in which it held.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from muniment.domain.events import FactAsserted, FactCorroborated, FactRevised
from muniment.domain.fact import Belief, FactState
from muniment.domain.time import FOREVER, Instant, Period


_DAY_US = 86_400_000_000
_DAYS_BEFORE_1970 = 719_162
"""From the first day of the year 1."""

_DAYS_OF_400_YEARS = 146_097


def year_start(at: Instant) -> Instant:
    """Return the first moment of the year (UTC) that *at* lies in."""
    days = at // _DAY_US
    year = 1970 + days * 400 // _DAYS_OF_400_YEARS
    # The division is right but for the days around a new year.
    while _first_day(year + 1) <= days:
        year += 1
    while _first_day(year) > days:
        year -= 1
    return Instant(_first_day(year) * _DAY_US)


def next_year_start(at: Instant) -> Instant:
    """Return the first moment of a year (UTC) after *at*."""
    # No year has more days, and none begins twice within so many.
    return year_start(Instant(year_start(at) + 366 * _DAY_US))


def is_kept(at: Instant, thinned: Period | None) -> bool:
    """
    Whether a memory answers as of *at* and about *at*, as it did before.

    Args:
        at: On either axis.
        thinned: Since when and until when the memory was thinned, if it was.
    """
    if thinned is None or at not in thinned:
        return True
    after = Instant(at + 1)
    return year_start(at) == at or year_start(after) == after


Runs = tuple[tuple[int, int], ...]
"""Versions: the first and the last of each run of them, in order."""

RUNS_MAX = 2_000
"""So many are said in one event at most; what is left goes with the next."""


def going(fact: FactState, recorded: Sequence[Instant], until: Instant) -> Runs:
    """
    Return the versions of a fact whose content goes when it is thinned until *until*.

    Those recorded before, and never believed at a time that is kept about a time that is
    kept. With them goes what only confirmed a version, which is no belief itself; alone it
    does not, since no answer would be less for it.

    Args:
        fact: After all its events.
        recorded: When version k was recorded, at ``k - 1``.
        until: The first moment of a year.
    """
    if fact.redacted:
        return ()
    needed = {
        belief.version
        for belief, known in _lives(fact, recorded)
        if _is_asked(known, until) and _is_asked(belief.valid, until)
    }
    kept = needed | fact.thinned
    gone = {
        version: isinstance(event, FactAsserted | FactRevised)
        for version, event in enumerate(fact.events, 1)
        if recorded[version - 1] < until
        and isinstance(event, FactAsserted | FactRevised | FactCorroborated)
        and version not in kept
    }
    return runs_of(gone)[:RUNS_MAX] if any(gone.values()) else ()


def runs_of(versions: Iterable[int]) -> Runs:
    """Return *versions*, which rise, in runs."""
    runs: list[tuple[int, int]] = []
    for version in versions:
        first = runs.pop()[0] if runs and runs[-1][1] == version - 1 else version
        runs.append((first, version))
    return tuple(runs)


def is_among(version: int, runs: Runs) -> bool:
    """Whether *version* is in one of *runs*."""
    return any(first <= version <= last for first, last in runs)


def since(fact: FactState, recorded: Sequence[Instant], runs: Runs) -> Instant:
    """Return since when something of what goes was known, or held."""
    first = runs[0][0]
    held = (
        event.valid.start
        for version, event in enumerate(fact.events, 1)
        if isinstance(event, FactAsserted | FactRevised) and is_among(version, runs)
    )
    return min((recorded[first - 1], *held))


def _is_asked(period: Period, until: Instant) -> bool:
    """Whether a time of *period* is kept."""
    return period.end > until or year_start(period.end) >= period.start


def _lives(fact: FactState, recorded: Sequence[Instant]) -> Iterator[tuple[Belief, Period]]:
    """Yield each belief with every stretch of recorded time in which it was held."""
    for left, (start, end) in zip(
        fact.left[1:], pairwise((*recorded, FOREVER)), strict=True
    ):
        # Of events of one transaction only the last leaves what is believed.
        if start < end:
            yield from ((belief, Period(start, end)) for belief in left)


def _first_day(year: int) -> int:
    """Return the first day of a year, as days since 1970-01-01."""
    before = year - 1
    return 365 * before + before // 4 - before // 100 + before // 400 - _DAYS_BEFORE_1970
