"""What thinning keeps: when a year begins to the microsecond, and what is needed then."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.domain import thinning
from muniment.domain.events import FactEvent, FactThinned
from muniment.domain.fact import fold
from muniment.domain.policy import YEAR_US, RetentionRule, thinned_until
from muniment.domain.thinning import (
    going,
    is_kept,
    next_year_start,
    year_start,
)
from muniment.domain.time import Instant, Period
from muniment.errors import InvalidValueError, ThinnedError
from muniment.instants import to_instant
from tests.unit.facts import CORROBORATED, RETIRED, asserted, period, revised
from tests.years import year, year_of


def at(text: str) -> Instant:
    return to_instant(f"{text}Z")


@given(
    st.datetimes(
        min_value=datetime(1, 1, 1),  # noqa: DTZ001 - the zone is given beside it
        max_value=datetime(9998, 12, 31),  # noqa: DTZ001
        timezones=st.just(UTC),
    )
)
def test_a_year_begins_where_the_calendar_says(moment_of_year: datetime) -> None:
    for each in (moment_of_year, datetime(moment_of_year.year, 1, 1, tzinfo=UTC)):
        for offset_us in (-1, 0, 1):
            here = to_instant(each) + offset_us
            if not year(1) <= here < year(9999):
                continue
            this = year_of(here)
            assert year_start(Instant(here)) == year(this)
            assert next_year_start(Instant(here)) == year(this + 1)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("2018-12-31T23:59:59.999998", False),
        ("2018-12-31T23:59:59.999999", True),
        ("2019-01-01T00:00:00", True),
        ("2019-01-01T00:00:00.000001", False),
        ("2020-02-29T12:00:00", False),
        ("2020-12-31T23:59:59.999998", False),
        ("2021-01-01T00:00:00.000001", True),
        ("2018-03-09T23:59:59.999999", True),
        ("2018-03-10T00:00:00", False),
    ],
)
def test_before_the_cut_the_times_when_a_year_began_are_kept(
    text: str, *, kept: bool
) -> None:
    thinned = Period(at("2018-03-10T00:00:00"), year(2021))

    assert is_kept(at(text), thinned) == kept
    assert is_kept(at(text), None)


# B45 (delta-rs#1013): a limit is a limit to the microsecond.
@pytest.mark.parametrize(("offset_us", "until"), [(-1, 2020), (0, 2021)])
def test_a_year_is_thinned_once_all_of_it_is_old_enough(offset_us: int, until: int) -> None:
    rule = RetentionRule(thin_older_than_us=2 * YEAR_US)
    now = Instant(year(2021) + 2 * YEAR_US + offset_us)

    assert thinned_until(category=None, core=False, rules=[rule], now=now) == year(until)


def test_the_rule_that_keeps_least_counts_and_core_facts_are_kept() -> None:
    rules = [
        RetentionRule(thin_older_than_us=5 * YEAR_US),
        RetentionRule(thin_older_than_us=2 * YEAR_US, category="chat"),
        RetentionRule(older_than_us=1),
    ]
    now = at("2026-06-01T00:00:00")

    def until(category: str | None, *, core: bool = False) -> Instant | None:
        return thinned_until(category=category, core=core, rules=rules, now=now)

    assert (until("chat"), until("job"), until(None)) == (
        year(2024),
        year(2021),
        year(2021),
    )
    assert until("chat", core=True) is None
    assert thinned_until(category="job", core=False, rules=rules[1:], now=now) is None


def test_nothing_younger_than_a_year_can_be_asked_to_go() -> None:
    with pytest.raises(InvalidValueError, match="thin_older_than"):
        RetentionRule(thin_older_than_us=YEAR_US - 1)


def test_a_fact_with_very_many_runs_is_thinned_in_parts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(thinning, "RUNS_MAX", 3)
    start, until = year(2018), year(2019)
    events: list[FactEvent] = [asserted("0", period(start + 1, start + 2))]
    for number in range(1, 10):
        # Every other version is about a time that is kept.
        day = until + number if number % 2 else start + 1
        events.append(revised(str(number), period(day, day + 1)))
    recorded = [Instant(start + 1 + number) for number in range(10)]

    first = going(fold(events), recorded, until)
    events.append(FactThinned(until=until, versions=first))
    second = going(fold(events), [*recorded, until], until)

    assert first == ((1, 1), (3, 3), (5, 5))
    assert second == ((7, 7), (9, 9))


def test_what_only_confirms_goes_with_its_years_and_what_is_believed_stays() -> None:
    start = at("2018-03-01T00:00:00")
    day = timedelta(days=1) // timedelta(microseconds=1)
    events: list[FactEvent] = [
        asserted("a", period(start)),
        CORROBORATED,
        revised("b", period(start)),
        RETIRED,
    ]
    recorded = [Instant(start + number * day) for number in range(4)]

    assert going(fold(events), recorded, year(2019)) == ((1, 3),)
    assert going(fold(events[:3]), recorded[:3], year(2019)) == ((1, 2),)
    assert going(fold(events), recorded, year(2018)) == ()
    # What only confirms what is still believed does not go alone.
    assert going(fold(events[:2]), recorded[:2], year(2019)) == ()


def test_the_error_says_when_to_ask_instead() -> None:
    error = ThinnedError("user:ann", asked=at("2019-06-01T00:00:00"), kept=(year(2019),))

    assert str(error) == (
        "what was known of user:ann at 2019-06-01T00:00:00.000000Z was thinned; "
        "ask as of 2019-01-01T00:00:00.000000Z"
    )
