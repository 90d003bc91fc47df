"""What went wrong with taking things back in other systems, tried here."""

import pytest

from muniment import Cause, MemoryStore
from muniment.errors import (
    FactNotCurrentError,
    FactRedactedError,
    NothingToUndoError,
    PlanOutdatedError,
    RollbackConflictError,
)
from tests.api.days import MICROSECOND, day, set_to
from tests.api.whole import current, every_answer, whole
from tests.stores import SettableClock


def test_taking_back_one_session_of_one_user_touches_nobody_else(
    store: MemoryStore, clock: SettableClock
) -> None:
    """mem0 #3928, #3746: a scoped delete wiped everybody."""
    for user in ("u", "v", "w"):
        for session in ("s-1", "s-2"):
            store.remember(f"{user} {session}", user_id=user, session_id=session)
            store.remember("said to all", user_id=user, session_id=session)
    set_to(clock, day(1))
    others = [every_answer(store, user, day(1)) for user in ("v", "w")]
    then = store.get_memory_as_of(user_id="u", timestamp=day(1))
    set_to(clock, day(2))

    # What another session has said as well is a conflict, which is left as it is.
    receipt = store.rollback_where(user_id="u", session_id="s-1", on_conflict="skip")

    assert sorted(current(store, "u")) == ["said to all", "u s-2"]
    removed = receipt.diff.removed if receipt.diff else ()
    assert [each.before.content for each in removed if each.before] == ["u s-1"]
    assert [every_answer(store, user, day(1)) for user in ("v", "w")] == others
    assert store.get_memory_as_of(user_id="u", timestamp=day(1)) == then
    for user in ("v", "w"):
        assert len(store.get_all(user_id=user)) == 3


@pytest.mark.parametrize("how", ["forget", "to a time", "to a version", "undo"])
def test_nothing_that_takes_back_reaches_another_subject(
    store: MemoryStore, clock: SettableClock, how: str
) -> None:
    """mem0 #3928, by every other way of taking something back."""
    fact = store.remember("one", user_id="u")
    store.remember("one", user_id="v")
    set_to(clock, day(1))
    before = every_answer(store, "v", day(1))
    rows = [row for row in store._lookup.timeline.rows() if row.fact_id != fact.fact_id]
    set_to(clock, day(2))

    match how:
        case "forget":
            store.forget(fact.fact_id)
        case "to a time":
            store.rollback_to_timestamp(user_id="u", rollback_to=day(-1))
        case "to a version":
            store.rollback_fact(fact.fact_id, to_version=0)
        case _:
            store.undo(fact.tx_id)

    assert store.get_all(user_id="u").items == ()
    assert every_answer(store, "v", day(1)) == before
    assert rows == [
        row for row in store._lookup.timeline.rows() if row.fact_id != fact.fact_id
    ]


def test_an_undo_that_cannot_be_says_so_and_not_that_there_was_nothing_to_do(
    store: MemoryStore,
) -> None:
    """Whoever undoes a redaction believes it undone; a change of all agents is there."""
    facts = store.remember_many(["one", "two"], user_id="u")
    first, second = facts.fact_ids
    redacted = store.forget(first, mode="redact", reason="asked for")
    changed = store.record_config("model", "m-2")

    with pytest.raises(FactRedactedError, match=f"{first} was redacted and stays so"):
        store.undo(redacted.tx_id or 0)
    with pytest.raises(NothingToUndoError, match="record_config"):
        store.undo(changed.tx_id or 0)
    assert store.undo(facts.tx_id or 0, idempotency_key="k").fact_ids == (second,)
    store.forget(second, mode="redact", reason="asked for")

    again = store.undo(facts.tx_id or 0, idempotency_key="k")

    assert again.fact_ids == (second,)
    with pytest.raises(FactRedactedError):
        store.undo(facts.tx_id or 0)


def test_what_another_wrote_on_top_is_a_conflict_and_not_lost(
    store: MemoryStore, clock: SettableClock
) -> None:
    """doltlite #2325, Dolt #6260: a revert dropped data written later, silently."""
    fact = store.remember("Acme", user_id="u", actor="ann")
    set_to(clock, day(1))
    store.update(fact.fact_id, content="EvilCorp", actor="tool")
    set_to(clock, day(2))
    written = store.update(fact.fact_id, content="Bolt", actor="bob")
    set_to(clock, day(3))
    before = whole(store)

    plan = store.plan_rollback(user_id="u", where=Cause(actor="tool"))
    with pytest.raises(RollbackConflictError) as refused:
        store.rollback_where(user_id="u", actor="tool")
    skipped = store.rollback_where(user_id="u", actor="tool", on_conflict="skip")

    assert refused.value.fact_ids == (fact.fact_id,)
    assert whole(store) == before
    assert not plan.diff
    (conflict,) = plan.conflicts
    assert (conflict.fact_id, [each.actor for each in conflict.versions]) == (
        fact.fact_id,
        ["bob"],
    )
    assert skipped.tx_id is None
    assert store.get(fact.fact_id) == written


def test_a_conflict_decided_by_force_is_on_record_and_can_be_undone(
    store: MemoryStore, clock: SettableClock
) -> None:
    """doltlite #2325: who asks for it may have both taken back, and back again."""
    fact = store.remember("Acme", user_id="u", actor="ann")
    set_to(clock, day(1))
    store.update(fact.fact_id, content="EvilCorp", actor="tool")
    set_to(clock, day(2))
    written = store.update(fact.fact_id, content="Bolt", actor="bob")
    set_to(clock, day(3))
    plan = store.plan_rollback(user_id="u", where=Cause(actor="tool"))

    receipt = store.apply(plan, on_conflict="force", actor="officer", reason="poisoned")

    (entry,) = receipt.diff.changed if receipt.diff else ()
    forced = plan.conflicts[0].forced
    assert forced is not None
    assert (entry.before, entry.after) == (forced.before, forced.after)
    assert store.get(fact.fact_id).content == "Acme"
    last = store.get_fact_history(fact.fact_id).versions[-1]
    assert (last.kind, last.actor, last.reason) == ("rolled_back", "officer", "poisoned")
    assert receipt.tx_id is not None
    store.undo(receipt.tx_id)
    assert store.get(fact.fact_id) == written


def test_what_others_wrote_about_another_time_survives(
    store: MemoryStore, clock: SettableClock
) -> None:
    """doltlite #2325: later writes that do not touch what goes are no conflict."""
    fact = store.remember("Acme", user_id="u", actor="ann", valid_from=day(-10))
    set_to(clock, day(1))
    store.update(fact.fact_id, content="EvilCorp", actor="tool", valid_from=day(1))
    store.correct(
        fact.fact_id, content="Apex", actor="bob", valid_from=day(-10), valid_to=day(-5)
    )
    other = store.remember("likes tea", user_id="u", actor="bob")
    set_to(clock, day(2))

    store.rollback_where(user_id="u", actor="tool")

    def about(number: float) -> list[str | None]:
        snapshot = store.get_memory_as_of(
            user_id="u", timestamp=day(2) + MICROSECOND, valid_at=day(number)
        )
        return [each.content for each in snapshot]

    set_to(clock, day(3))
    assert about(-7) == ["Apex"]
    assert about(-1) == ["Acme"]
    assert about(2) == ["Acme", "likes tea"]
    assert store.get(other.fact_id) == other


def test_a_plan_is_not_applied_to_a_memory_that_has_moved(
    store: MemoryStore, clock: SettableClock
) -> None:
    """doltlite #2325: what was written between looking and doing was lost."""
    fact = store.remember("Acme", user_id="u")
    store.remember("tea", user_id="v")
    set_to(clock, day(1))
    plan = store.plan_rollback(user_id="u", to=day(-1))
    store.remember("coffee", user_id="v")
    twin = store.plan_rollback(fact_id=fact.fact_id, to_version=0)
    late = store.remember("moved in between", user_id="u")
    before = whole(store)

    for each in (plan, twin):
        with pytest.raises(PlanOutdatedError, match="plan again"):
            store.apply(each)

    assert whole(store) == before
    assert store.get(late.fact_id) == late


def test_another_subject_may_move_under_a_plan(store: MemoryStore) -> None:
    """doltlite #2325: a plan is bound to its own subject's head, not to the ledger's."""
    fact = store.remember("Acme", user_id="u")
    plan = store.plan_rollback(fact_id=fact.fact_id, to_version=0)
    store.remember("coffee", user_id="v")

    receipt = store.apply(plan)

    assert receipt.fact_ids == (fact.fact_id,)
    with pytest.raises(FactNotCurrentError):
        store.get(fact.fact_id)


def test_a_rollback_that_was_undone_can_be_done_again(
    store: MemoryStore, clock: SettableClock
) -> None:
    """Dolt #6260: what a revert of a revert brought back was not what had been there."""
    set_to(clock, day(1))
    store.remember_many(["one", "two"], user_id="u")
    set_to(clock, day(2))
    store.remember("three", user_id="u")
    set_to(clock, day(3))
    full = store.get_all(user_id="u").items

    states = [full]
    receipt = store.rollback_to_timestamp(user_id="u", rollback_to=day(1))
    states.append(store.get_all(user_id="u").items)
    for _ in range(4):
        assert receipt.tx_id is not None
        receipt = store.undo(receipt.tx_id)
        states.append(store.get_all(user_id="u").items)

    assert states[::2] == [full] * 3
    assert states[1::2] == [full[:2]] * 3
    set_to(clock, day(4))
    assert store.get_memory_as_of(user_id="u", timestamp=day(2)).facts == full


def test_corroboration_by_another_stands_in_the_way_and_is_shown(
    store: MemoryStore, clock: SettableClock
) -> None:
    """doltlite #2325: what a second source said too is not silently taken back."""
    fact = store.remember("Acme", user_id="u", session_id="bad")
    set_to(clock, day(1))
    store.remember("Acme", user_id="u", session_id="good", source="passport")

    plan = store.plan_rollback(user_id="u", where=Cause(session_id="bad"))

    assert [each.fact_id for each in plan.conflicts] == [fact.fact_id]
    assert [each.source for each in plan.conflicts[0].versions] == ["passport"]
    assert not plan.diff
