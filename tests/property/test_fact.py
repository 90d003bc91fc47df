"""A fact, folded, is at every instant what the oracle says of its events."""

from itertools import pairwise

from hypothesis import given

from muniment.domain.events import FactEvent
from muniment.domain.fact import Beliefs, fold
from muniment.domain.time import FOREVER
from tests import oracle
from tests.strategies import ENDS, lives, nonsense


def as_held(beliefs: Beliefs) -> oracle.Held:
    return frozenset((each.valid, each.version) for each in beliefs)


@given(lives | nonsense)
def test_a_fold_is_what_the_oracle_says_after_every_event(events: list[FactEvent]) -> None:
    fact = fold(events)

    assert fact.events == tuple(events)
    assert [as_held(left) for left in fact.left] == [
        oracle.held(events[:version]) for version in range(len(events) + 1)
    ]


@given(lives | nonsense)
def test_a_fact_says_about_each_instant_what_the_oracle_says(
    events: list[FactEvent],
) -> None:
    fact = fold(events)

    for at in ENDS:
        found = fact.at(at)
        expected = oracle.life(events, at)[-1] if at < FOREVER else None
        assert (found.version if found else None) == expected


@given(lives | nonsense)
def test_beliefs_are_in_order_disjoint_and_never_touch_as_one_version(
    events: list[FactEvent],
) -> None:
    for left in fold(events).left:
        for belief in left:
            assert belief.valid.start < belief.valid.end
        for earlier, later in pairwise(left):
            assert earlier.valid.end <= later.valid.start
            touch = earlier.valid.end == later.valid.start
            assert not (touch and earlier.version == later.version)


@given(lives | nonsense)
def test_a_belief_names_the_event_that_said_it(events: list[FactEvent]) -> None:
    fact = fold(events)

    for left in fact.left:
        for belief in left:
            assert fact.said(belief.version).valid.covers(belief.valid)
