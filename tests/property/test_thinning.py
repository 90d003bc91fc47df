"""Thinning keeps exactly what answers about a time that is kept, known at such a time."""

from dataclasses import replace
from typing import Final

from hypothesis import given
from hypothesis import strategies as st

from muniment.domain.events import (
    FactAsserted,
    FactCorroborated,
    FactEnded,
    FactEvent,
    FactRevised,
    FactRolledBack,
    FactThinned,
)
from muniment.domain.fact import evolve, fold
from muniment.domain.thinning import going, is_among, is_kept
from muniment.domain.time import BEGINNING, FOREVER, Instant, Period
from muniment.instants import to_instant
from tests import oracle, years
from tests.oracle import Recorded
from tests.strategies import facts


DAYS: Final = (
    "01-01T00:00:00Z",
    "01-01T00:00:00.000001Z",
    "07-01T00:00:00Z",
    "12-31T23:59:59.999999Z",
)
LAST: Final = 40


def stretched(number: int) -> Instant:
    """Return a moment of a year for one of the tiny numbers that are drawn."""
    if number in (BEGINNING, FOREVER):
        return Instant(number)
    return to_instant(f"{2010 + number // len(DAYS)}-{DAYS[number % len(DAYS)]}")


def over_years(event: FactEvent) -> FactEvent:
    match event:
        case FactAsserted() | FactRevised():
            return replace(event, valid=_stretched(event.valid))
        case FactRolledBack():
            return replace(event, within=_stretched(event.within))
        case FactEnded():
            return replace(event, valid_to=stretched(event.valid_to))
        case _:
            return event


def _stretched(period: Period) -> Period:
    return Period(stretched(period.start), stretched(period.end))


@st.composite
def histories(draw: st.DrawFn) -> list[Recorded]:
    history = draw(facts())
    return [
        replace(each, recorded_at=stretched(each.recorded_at), event=over_years(event))
        for each, event in zip(history, oracle.happened(history), strict=True)
    ]


untils = st.integers(0, LAST // len(DAYS)).map(lambda n: stretched(n * len(DAYS)))


@given(histories(), untils)
def test_what_goes_is_what_no_kept_question_needs(
    history: list[Recorded], until: Instant
) -> None:
    fact = fold(oracle.happened(history))
    recorded = [each.recorded_at for each in history]

    runs = going(fact, recorded, until)

    needed = years.readable(history, until)
    old = [e for e in history if e.recorded_at < until and e.version not in needed]
    said = [e.version for e in old if isinstance(e.event, FactAsserted | FactRevised)]
    confirmed = [e.version for e in old if isinstance(e.event, FactCorroborated)]
    assert [e.version for e in history if is_among(e.version, runs)] == (
        sorted([*said, *confirmed]) if said else []
    )
    thinned = evolve(fact, FactThinned(until=until, versions=runs))
    assert thinned.beliefs == fact.beliefs
    assert going(thinned, [*recorded, FOREVER], until) == ()


@given(st.integers(0, LAST).map(stretched), untils)
def test_which_times_are_kept_is_what_the_oracle_says(at: Instant, until: Instant) -> None:
    assert is_kept(at, Period(BEGINNING, until)) == years.kept(at, until)
