"""The rectangles of the timeline are, at every point, what the oracle says."""

from itertools import combinations, groupby

from hypothesis import given

from muniment.domain.time import FOREVER, Instant
from muniment.ledger.records import FACT, RecordedEvent
from muniment.projections.beliefs import BeliefRow, rows_of
from tests import oracle
from tests.oracle import Recorded
from tests.strategies import facts, lives, nonsense


def stored(event: Recorded) -> RecordedEvent:
    return RecordedEvent(
        position=event.position,
        tx_id=event.tx_id,
        recorded_at=event.recorded_at,
        stream=FACT + event.fact_id,
        version=event.version,
        subject_ref="s",
        content_tag=None,
        event=event.event,
    )


def rows(fact: list[Recorded]) -> list[BeliefRow]:
    return rows_of([stored(each) for each in fact])


def known_at(fact: list[Recorded], recorded_at: Instant) -> oracle.Held:
    return frozenset(
        (row.valid, row.version) for row in rows(fact) if recorded_at in row.recorded
    )


@given(facts(lives | nonsense))
def test_at_every_recorded_time_the_rows_are_what_was_believed_then(
    fact: list[Recorded],
) -> None:
    times = {each.recorded_at for each in fact}

    for at in sorted({*times, *(Instant(each - 1) for each in times), Instant(99)}):
        assert known_at(fact, at) == oracle.held_at(fact, "f", at)


@given(facts(lives | nonsense))
def test_rectangles_never_overlap_and_never_are_empty(fact: list[Recorded]) -> None:
    found = rows(fact)

    for row in found:
        assert row.valid.start < row.valid.end
        assert row.recorded.start < row.recorded.end
    for one, other in combinations(found, 2):
        assert not (
            one.recorded.overlaps(other.recorded) and one.valid.overlaps(other.valid)
        )


@given(facts(lives | nonsense))
def test_no_belief_is_cut_where_nothing_changed(fact: list[Recorded]) -> None:
    found = rows(fact)

    for one, other in combinations(found, 2):
        same = one.version == other.version and one.valid == other.valid
        assert not (same and one.recorded.end == other.recorded.start)


@given(facts(lives | nonsense))
def test_a_row_keeps_the_place_of_the_event_that_said_it(fact: list[Recorded]) -> None:
    for row in rows(fact):
        said = fact[row.version - 1]
        assert row.position == said.position
        assert row.recorded.start >= said.recorded_at


@given(facts(lives | nonsense))
def test_rows_begin_and_end_when_something_was_recorded(fact: list[Recorded]) -> None:
    times = {each.recorded_at for each in fact}

    for row in rows(fact):
        assert row.recorded.start in times
        assert row.recorded.end in {*times, FOREVER}


@given(facts(lives | nonsense))
def test_rows_of_a_prefix_are_what_the_rows_were_then(fact: list[Recorded]) -> None:
    whole = rows(fact)

    for _, transaction in groupby(fact, key=lambda each: each.tx_id):
        now = (last := list(transaction)[-1]).recorded_at
        prefix = {
            (row.valid, row.recorded.start, row.version)
            for row in rows(fact[: last.version])
        }
        assert prefix == {
            (row.valid, row.recorded.start, row.version)
            for row in whole
            if row.recorded.start <= now
        }
