"""Periods mean sets of instants: each operation is checked instant by instant."""

from hypothesis import given

from muniment.domain.time import FOREVER, Instant, Period
from tests.strategies import ENDS, periods


EVERY_INSTANT = [each for each in ENDS if each < FOREVER] + [Instant(FOREVER - 1)]


def within(period: Period) -> set[Instant]:
    return {at for at in EVERY_INSTANT if period.start <= at < period.end}


def within_all(pieces: tuple[Period, ...]) -> list[Instant]:
    return sorted(at for piece in pieces for at in within(piece))


@given(periods())
def test_a_period_has_its_start_and_not_its_end(period: Period) -> None:
    assert {at for at in EVERY_INSTANT if at in period} == within(period)
    assert period.start in period
    assert period.end not in period


@given(periods(), periods())
def test_what_is_left_of_a_period_is_what_the_other_does_not_have(
    one: Period, other: Period
) -> None:
    left = one.minus(other)

    assert within_all(left) == sorted(within(one) - within(other))
    assert len(left) <= 2


@given(periods(), periods())
def test_what_two_periods_share_is_what_both_have(one: Period, other: Period) -> None:
    shared = one.common(other)

    assert within_all(shared) == sorted(within(one) & within(other))
    assert len(shared) <= 1


@given(periods(), periods())
def test_periods_overlap_when_they_share_an_instant(one: Period, other: Period) -> None:
    assert one.overlaps(other) == bool(within(one) & within(other))


@given(periods(), periods())
def test_a_period_covers_another_when_it_has_all_of_it(one: Period, other: Period) -> None:
    assert one.covers(other) == (within(one) >= within(other))


@given(periods())
def test_periods_that_touch_do_not_overlap(period: Period) -> None:
    if period.end < FOREVER:
        assert not period.overlaps(Period(period.end))
        assert period.minus(Period(period.end)) == (period,)
