import pytest

from muniment.domain.events import (
    FactEnded,
    FactEvent,
    FactRedacted,
    FactRestored,
    FactRolledBack,
)
from muniment.domain.fact import fold
from muniment.domain.time import BEGINNING, FOREVER, Instant
from tests.unit.facts import CORROBORATED, RETIRED, asserted, believed, period, revised


TEA = asserted("tea", period(0))
Row = tuple[int, int | None, int]


@pytest.mark.parametrize(
    ("then", "left"),
    [
        ([], [(0, None, 1)]),
        ([revised("water", period(5))], [(0, 5, 1), (5, None, 2)]),
        ([revised("water", period(0))], [(0, None, 2)]),
        ([revised("water", period(3, 5))], [(0, 3, 1), (3, 5, 2), (5, None, 1)]),
        ([FactEnded(valid_to=Instant(5))], [(0, 5, 1)]),
        ([FactEnded(valid_to=Instant(0))], []),
        ([FactEnded(valid_to=BEGINNING)], []),
        ([FactEnded(valid_to=FOREVER)], [(0, None, 1)]),
        ([CORROBORATED], [(0, None, 1)]),
        ([RETIRED], []),
        ([RETIRED, FactRestored(to_version=1)], [(0, None, 1)]),
        ([revised("water", period(5)), FactRolledBack(to_version=1)], [(0, None, 1)]),
        ([FactRolledBack(to_version=0)], []),
        ([FactRedacted()], []),
        ([FactRedacted(), FactRestored(to_version=1)], []),
    ],
)
def test_what_a_fact_says_after(then: list[FactEvent], left: list[Row]) -> None:
    assert believed(TEA, *then) == left


def test_a_revision_of_the_past_lies_over_what_was_said_of_it_before() -> None:
    first, second = revised("water", period(2, 6)), revised("wine", period(4, 8))

    assert believed(TEA, first, second) == [
        (0, 2, 1),
        (2, 4, 2),
        (4, 8, 3),
        (8, None, 1),
    ]


def test_a_rollback_within_a_period_leaves_the_rest_alone() -> None:
    back = FactRolledBack(to_version=1, within=period(3, 5))

    assert believed(TEA, revised("water", period(2, 8)), back) == [
        (0, 2, 1),
        (2, 3, 2),
        (3, 5, 1),
        (5, 8, 2),
        (8, None, 1),
    ]


def test_a_rollback_joins_what_the_revision_had_cut() -> None:
    back = FactRolledBack(to_version=1, within=period(3, 5))

    assert believed(TEA, revised("water", period(3, 5)), back) == [(0, None, 1)]


def test_a_rollback_can_itself_be_rolled_back() -> None:
    water, back = revised("water", period(5)), FactRolledBack(to_version=1)

    assert believed(TEA, water, back, FactRolledBack(to_version=2)) == [
        (0, 5, 1),
        (5, None, 2),
    ]


def test_between_beliefs_nothing_is_believed() -> None:
    fact = fold([asserted("tea", period(2, 4)), revised("water", period(6, 8))])

    seen = [fact.at(Instant(at)) for at in range(9)]
    assert [each.version if each else None for each in seen] == [
        None, None, 1, 1, None, None, 2, 2, None,
    ]  # fmt: skip


def test_versions_count_every_event() -> None:
    assert fold([TEA, CORROBORATED, RETIRED]).head == 3
