import pytest

from muniment.domain.time import ALWAYS, BEGINNING, FOREVER, Instant, Period
from muniment.errors import InvalidPeriodError
from tests.unit.facts import period


@pytest.mark.parametrize(("start", "end"), [(5, 5), (6, 5), (FOREVER, FOREVER)])
def test_an_empty_or_inverted_period_is_refused(start: int, end: int) -> None:
    with pytest.raises(InvalidPeriodError) as refused:
        period(start, end)

    assert (refused.value.start, refused.value.end) == (start, end)


def test_a_period_is_open_unless_an_end_is_said() -> None:
    assert Period(Instant(5)).end == FOREVER


@pytest.mark.parametrize(
    ("at", "is_within"), [(4, False), (5, True), (8, True), (9, False)]
)
def test_a_period_has_its_start_but_not_its_end(at: int, *, is_within: bool) -> None:
    assert (Instant(at) in period(5, 9)) is is_within


def test_forever_is_no_moment_of_any_period() -> None:
    assert FOREVER not in ALWAYS
    assert BEGINNING in ALWAYS


@pytest.mark.parametrize(
    ("other", "left"),
    [
        (period(0, 5), [period(5, 9)]),
        (period(9, 20), [period(5, 9)]),
        (period(0, 6), [period(6, 9)]),
        (period(6, 7), [period(5, 6), period(7, 9)]),
        (period(8), [period(5, 8)]),
        (period(5, 9), []),
        (ALWAYS, []),
    ],
)
def test_a_period_without_another(other: Period, left: list[Period]) -> None:
    assert list(period(5, 9).minus(other)) == left


@pytest.mark.parametrize(
    ("other", "shared"),
    [
        (period(0, 5), []),
        (period(9, 20), []),
        (period(0, 6), [period(5, 6)]),
        (period(6, 7), [period(6, 7)]),
        (ALWAYS, [period(5, 9)]),
    ],
)
def test_what_two_periods_share(other: Period, shared: list[Period]) -> None:
    assert list(period(5, 9).common(other)) == shared
