"""Rollback plans leave believed what the plain counterfactual says they must."""

from collections.abc import Sequence
from dataclasses import fields
from itertools import product

from hypothesis import assume, given
from hypothesis import strategies as st

from muniment.domain import rollback
from muniment.domain.events import FactEvent
from muniment.domain.fact import Beliefs, fold
from muniment.domain.rollback import CausedBy, Move, Moves, Stamp, StampedFact
from muniment.domain.time import Instant
from tests import oracle
from tests.oracle import Culprit, Recorded
from tests.strategies import facts, instants, nonsense


def stamped(fact: Sequence[Recorded]) -> StampedFact:
    return StampedFact(
        state=fold(oracle.happened(fact)),
        stamps=tuple(
            Stamp(
                position=each.position,
                tx_id=each.tx_id,
                recorded_at=each.recorded_at,
                actor=each.actor,
                trigger=each.trigger,
                session_id=each.session_id,
                source=each.source,
            )
            for each in fact
        ),
    )


def as_held(beliefs: Beliefs) -> oracle.Held:
    return frozenset((each.valid, each.version) for each in beliefs)


def after(fact: Sequence[Recorded], move: Move) -> oracle.Held:
    """Return what is believed, by the oracle, once *move* is done."""
    return oracle.held([*oracle.happened(fact), *move.events])


def check_moves(fact: Sequence[Recorded], moves: Moves, wanted: oracle.Held) -> None:
    """Check that *moves* leads to *wanted*, and is nothing where that is believed now."""
    now = oracle.held(oracle.happened(fact))
    assert not moves.skipped
    assert not moves.conflicts
    if not moves.moves:
        assert wanted == now
        return
    (move,) = moves.moves
    assert after(fact, move) == as_held(move.after) == wanted
    assert as_held(move.before) == now != wanted


@st.composite
def taken_from(draw: st.DrawFn) -> tuple[list[Recorded], Culprit]:
    """Draw a fact, and a cause that wrote at least one of its events."""
    fact = draw(facts())
    event = draw(st.sampled_from(fact))
    keep = draw(st.lists(st.booleans(), min_size=3, max_size=3))
    session_id, source, actor = (
        value if kept else None
        for value, kept in zip(
            (event.session_id, event.source, event.actor), keep, strict=True
        )
    )
    by_number = draw(st.booleans()) or not any((session_id, source, actor))
    culprit = Culprit(
        session_id=session_id,
        source=source,
        actor=actor,
        tx_id=event.tx_id if by_number else None,
        since=draw(st.none() | st.just(event.recorded_at)),
        until=draw(st.none() | st.just(Instant(event.recorded_at + 1))),
    )
    return fact, culprit


def cause_of(culprit: Culprit) -> CausedBy:
    return CausedBy(**{each.name: getattr(culprit, each.name) for each in fields(culprit)})


@given(facts(), st.data())
def test_back_to_a_version_is_what_was_believed_right_after_it(
    fact: list[Recorded], data: st.DataObject
) -> None:
    version = data.draw(st.integers(0, len(fact)))

    moves = rollback.to_version("f", stamped(fact), version)

    check_moves(fact, moves, oracle.at_version(fact, version))


@given(facts(), instants)
def test_back_to_a_time_is_what_was_believed_then(
    fact: list[Recorded], recorded_at: Instant
) -> None:
    moves = rollback.to_time({"f": stamped(fact)}, recorded_at)

    check_moves(fact, moves, oracle.held_at(fact, "f", recorded_at))


@given(taken_from())
def test_a_fact_is_a_conflict_exactly_where_others_said_something_on_top(
    drawn: tuple[list[Recorded], Culprit],
) -> None:
    fact, culprit = drawn
    clashing = oracle.clashing(fact, culprit.wrote)

    moves = rollback.without({"f": stamped(fact)}, cause_of(culprit))

    assert [each.versions for each in moves.conflicts] == ([clashing] if clashing else [])


@given(taken_from())
def test_without_a_cause_all_is_as_had_it_written_nothing(
    drawn: tuple[list[Recorded], Culprit],
) -> None:
    fact, culprit = drawn

    moves = rollback.without({"f": stamped(fact)}, cause_of(culprit))

    if moves.conflicts:
        assert not moves.moves
    else:
        check_moves(fact, moves, oracle.had_it_not(fact, culprit.wrote))


@given(taken_from())
def test_by_force_all_is_as_right_before_the_cause_wrote_there(
    drawn: tuple[list[Recorded], Culprit],
) -> None:
    fact, culprit = drawn
    wanted = oracle.taken_back(fact, culprit.wrote)

    for conflict in rollback.without({"f": stamped(fact)}, cause_of(culprit)).conflicts:
        forced = (conflict.forced,) if conflict.forced else ()
        check_moves(fact, Moves(moves=forced), wanted)


@given(facts(), st.data())
def test_a_rollback_can_be_taken_back_like_any_other_transaction(
    fact: list[Recorded], data: st.DataObject
) -> None:
    version = data.draw(st.integers(0, len(fact)))
    moves = rollback.to_version("f", stamped(fact), version).moves
    assume(moves)
    rolled_back = [*fact, *appended(fact, moves[0].events)]

    undone = rollback.without(
        {"f": stamped(rolled_back)}, CausedBy(tx_id=rolled_back[-1].tx_id)
    )

    check_moves(rolled_back, undone, oracle.held(oracle.happened(fact)))


@given(facts(nonsense.filter(bool)), instants)
def test_no_plan_fails_and_what_was_redacted_is_only_listed(
    fact: list[Recorded], recorded_at: Instant
) -> None:
    one = {"f": stamped(fact)}
    plans = [
        rollback.without(one, CausedBy(tx_id=1)),
        rollback.to_time(one, recorded_at),
        *(rollback.to_version("f", one["f"], n) for n in range(len(fact) + 1)),
    ]

    for plan, redacted in product(plans, [one["f"].state.redacted]):
        if redacted:
            assert not plan.moves
            assert not plan.conflicts
            assert all(each.fact_id == "f" for each in plan.skipped)
        else:
            assert not plan.skipped


def appended(fact: Sequence[Recorded], events: Sequence[FactEvent]) -> list[Recorded]:
    """Return *events* recorded after *fact*, in one transaction of their own."""
    last = fact[-1]
    return [
        Recorded(
            position=last.position + number,
            tx_id=last.tx_id + 1,
            recorded_at=Instant(last.recorded_at + 1),
            subject=last.subject,
            fact_id=last.fact_id,
            version=last.version + number,
            event=event,
        )
        for number, event in enumerate(events, 1)
    ]
