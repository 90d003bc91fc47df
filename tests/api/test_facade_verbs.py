"""What each verb of the facade gives back when all is well."""

import dataclasses
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from muniment import (
    Cause,
    Fact,
    FactHistory,
    MemoryDiff,
    MemorySnapshot,
    MemoryStore,
    Receipt,
    RollbackPlan,
    Scope,
    Settings,
)
from muniment.errors import FactNotCurrentError, InvalidScopeError
from tests.api.days import day, set_to
from tests.stores import DURABLE, Backend, SettableClock


PROMISED: dict[type[Any], str] = {
    Fact: "fact_id scope content version valid_from valid_to recorded_at position tx_id "
    "category attribute source status confidence importance core entities metadata "
    "source_turns expires_at",
    MemorySnapshot: "facts position recorded_at valid_at",
    FactHistory: "fact_id scope versions current_version current_content",
    MemoryDiff: "added removed changed from_position to_position",
    RollbackPlan: "diff skipped conflicts position scope",
    Receipt: "tx_id recorded_at position fact_ids diff",
}


@pytest.mark.parametrize("promised", PROMISED, ids=lambda each: each.__name__)
def test_what_comes_back_has_what_is_promised_and_is_frozen(promised: type[Any]) -> None:
    names = {field.name for field in dataclasses.fields(promised)}

    assert set(PROMISED[promised].split()) <= names
    assert promised.__dataclass_params__.frozen


def everything_said(store: MemoryStore) -> Fact:
    """Remember something with every field there is."""
    return store.remember(
        "用户写 Python",
        scope=Scope.team("eng"),
        category="profession",
        attribute="primary_language",
        valid_from="2026-01-01T08:00:00+08:00",
        valid_to=day(90),
        source="chat",
        confidence=0.9,
        importance=0.1,
        core=True,
        entities=["Python"],
        metadata={"k": [1, {"x": None}]},
        session_id="s-1",
        source_turns=("t-1", "t-2"),
        expires_at=day(60),
        actor="ann",
        reason="said so",
        trigger="import",
    )


def test_remember_gives_the_fact_as_it_was_said(
    store: MemoryStore, clock: SettableClock
) -> None:
    fact = everything_said(store)

    assert fact == Fact(
        fact_id=fact.fact_id,
        scope=Scope.team("eng"),
        content="用户写 Python",
        version=1,
        valid_from=day(0),
        valid_to=day(90),
        recorded_at=day(0),
        position=1,
        tx_id=1,
        category="profession",
        attribute="primary_language",
        source="chat",
        status="active",
        confidence=0.9,
        importance=0.1,
        core=True,
        entities=("Python",),
        metadata={"k": [1, {"x": None}]},
        source_turns=("t-1", "t-2"),
        expires_at=day(60),
    )
    set_to(clock, day(1))
    assert store.get(fact.fact_id) == fact


def test_a_version_says_who_said_it_and_why(store: MemoryStore) -> None:
    fact = everything_said(store)

    (version,) = store.get_fact_history(fact.fact_id)

    assert (version.kind, version.content) == ("asserted", "用户写 Python")
    assert (version.action, version.actor, version.reason) == ("remember", "ann", "said so")
    assert (version.trigger, version.session_id, version.source) == (
        "import",
        "s-1",
        "chat",
    )
    assert (version.source_turns, version.restores) == (("t-1", "t-2"), None)
    assert (version.valid_from, version.valid_to) == (day(0), day(90))
    assert (version.version, version.position, version.tx_id) == (1, 1, 1)


def test_what_is_left_out_has_its_documented_default(store: MemoryStore) -> None:
    fact = store.remember("x", user_id="u")

    assert (fact.scope, fact.valid_from, fact.valid_to) == (Scope.user("u"), day(0), None)
    assert (fact.source, fact.confidence, fact.importance) == ("user_explicit", 1.0, 0.5)
    assert (fact.core, fact.entities, dict(fact.metadata)) == (False, (), {})
    assert (fact.category, fact.attribute, fact.expires_at) == (None, None, None)
    (version,) = store.get_fact_history(fact.fact_id)
    assert (version.trigger, version.actor, version.reason) == ("user_explicit", None, None)


def test_remember_many_is_one_transaction_in_order(store: MemoryStore) -> None:
    receipt = store.remember_many(
        ["a", {"content": "b", "category": "c", "metadata": {"n": 1}}, "a"],
        user_id="u",
        actor="importer",
    )

    facts = list(receipt)
    assert [each.content for each in facts] == ["a", "b", "a"]
    assert facts[2] == facts[0]
    assert receipt.fact_ids == (facts[0].fact_id, facts[1].fact_id)
    assert (receipt.tx_id, receipt.position, len(receipt)) == (1, 3, 3)
    assert {each.tx_id for each in facts} == {1}
    assert {each.actor for each in store.blame(user_id="u")} == {"importer"}


def test_update_correct_end_forget_restore_each_leave_their_version(
    store: MemoryStore, clock: SettableClock
) -> None:
    fact = store.remember("one", user_id="u")
    steps: list[Callable[[], object]] = [
        lambda: store.update(fact.fact_id, content="two"),
        lambda: store.correct(fact.fact_id, content="TWO"),
        lambda: store.end(fact.fact_id, valid_to=day(4)),
        lambda: store.forget(fact.fact_id),
        lambda: store.restore(fact.fact_id),
        lambda: store.rollback_fact(fact.fact_id, to_version=1),
    ]
    for number, step in enumerate(steps, 1):
        set_to(clock, day(number))
        step()

    history = store.get_fact_history(fact.fact_id)

    assert [(each.kind, each.content) for each in history] == [
        ("asserted", "one"),
        ("revised", "two"),
        ("corrected", "TWO"),
        ("ended", None),
        ("retired", None),
        ("restored", None),
        ("rolled_back", None),
    ]
    assert [each.restores for each in history] == [None] * 5 + [4, 1]
    assert [each.valid_from for each in history][:3] == [day(0), day(1), day(1)]
    assert history.versions[3].valid_to == day(4)
    assert (history.current_version, history.current_content) == (7, "one")
    assert store.get(fact.fact_id).version == 1
    assert [each.version for each in history] == list(range(1, 8))
    assert all(each.recorded_at == day(number) for number, each in enumerate(history))


def test_a_command_without_effect_writes_nothing(store: MemoryStore) -> None:
    fact = store.remember("one", user_id="u")
    store.forget(fact.fact_id)

    receipts = [
        store.forget(fact.fact_id),
        store.end(fact.fact_id),
        store.thaw(user_id="u"),
        store.rollback_fact(fact.fact_id, to_version=2),
    ]

    assert [(each.tx_id, each.fact_ids) for each in receipts] == [(None, ())] * 4
    assert all(receipts)
    assert {each.position for each in receipts} == {2}
    assert len(store.get_fact_history(fact.fact_id)) == 2


def test_a_repeat_from_another_source_corroborates(
    store: MemoryStore, clock: SettableClock
) -> None:
    fact = store.remember("one", user_id="u", source="chat")
    set_to(clock, day(1))

    again = store.remember(
        "one", user_id="u", source="crm", source_turns=("t-9",), actor="importer"
    )
    updated = store.update(fact.fact_id, content="one", source="form")

    assert again == updated == fact
    _, second, third = store.get_fact_history(fact.fact_id)
    assert (second.kind, second.source, second.source_turns) == (
        "corroborated",
        "crm",
        ("t-9",),
    )
    assert (second.actor, third.kind, third.source) == ("importer", "corroborated", "form")


@pytest.mark.parametrize(
    "different",
    [
        {"content": "two"},
        {"category": "c"},
        {"attribute": "a"},
        {"valid_from": day(-1)},
        {"valid_to": day(9)},
        {"user_id": "v"},
    ],
    ids=str,
)
def test_what_is_no_repeat_is_a_fact_of_its_own(
    store: MemoryStore, different: dict[str, Any]
) -> None:
    loose: Any = store
    fact = store.remember("one", user_id="u")

    other = loose.remember(**{"content": "one", "user_id": "u", **different})

    assert other.fact_id != fact.fact_id
    assert [each.kind for each in store.get_fact_history(fact.fact_id)] == ["asserted"]


def test_update_merges_what_is_given_into_what_was_there(store: MemoryStore) -> None:
    fact = store.remember(
        "one", user_id="u", category="c", metadata={"a": 1}, entities=("x",), confidence=0.3
    )

    one = store.update(fact.fact_id, confidence=0.8)
    two = store.update(fact.fact_id, metadata={"b": 2}, attribute="attr", core=True)

    assert (one.content, one.category, one.confidence) == ("one", "c", 0.8)
    assert (one.metadata, one.entities) == ({"a": 1}, ("x",))
    assert (two.content, two.confidence, two.attribute) == ("one", 0.8, "attr")
    assert (two.metadata, two.core, two.category) == ({"b": 2}, True, "c")


def test_diff_sorts_what_differs_and_names_the_cause(
    store: MemoryStore, clock: SettableClock
) -> None:
    gone = store.remember("gone", user_id="u")
    moved = store.remember("moved", user_id="u")
    store.remember("same", user_id="u")
    set_to(clock, day(1))
    store.forget(gone.fact_id, actor="ann", reason="old")
    store.update(moved.fact_id, content="moved on", actor="bob", trigger="chat")
    new = store.remember("new", user_id="u", actor="cat")
    set_to(clock, day(2))

    diff = store.diff_memory(
        user_id="u", time_a=day(1) - (day(1) - day(0)) / 2, time_b=day(2)
    )
    back = store.diff_memory(user_id="u", time_a=day(2), time_b=day(0.5))
    nothing = store.diff_memory(user_id="u", time_a=day(1.5), time_b=day(2))

    (added,), (removed,), (changed,) = diff.added, diff.removed, diff.changed
    assert (added.before, added.after) == (None, new)
    assert (removed.before, removed.after) == (gone, None)
    assert (changed.before, changed.fact_id) == (moved, moved.fact_id)
    assert changed.after is not None
    assert changed.after.content == "moved on"
    assert [each.actor for each in added.causes] == ["cat"]
    assert [(each.actor, each.reason) for each in removed.causes] == [("ann", "old")]
    assert [(each.actor, each.trigger) for each in changed.causes] == [("bob", "chat")]
    assert (len(diff), bool(diff), diff.from_position, diff.to_position) == (3, True, 3, 6)
    assert [each.fact_id for each in back.removed] == [new.fact_id]
    assert [each.fact_id for each in back.added] == [gone.fact_id]
    assert not nothing
    assert (nothing.added, nothing.removed, nothing.changed) == ((), (), ())


def test_time_alone_makes_a_difference_without_any_event(
    store: MemoryStore, clock: SettableClock
) -> None:
    coming = store.remember("coming", user_id="u", valid_from=day(5), valid_to=day(7))
    set_to(clock, day(6))

    begun = store.diff_memory(user_id="u", time_a=day(4), time_b=day(6))

    assert [(each.before, each.after) for each in begun.added] == [(None, coming)]
    assert [each.kind for each in begun.added[0].causes] == ["asserted"]
    set_to(clock, day(7))
    over = store.diff_memory(user_id="u", time_a=day(6), time_b=day(7))
    assert [each.fact_id for each in over.removed] == [coming.fact_id]
    known_alike = store.diff_memory(
        user_id="u", time_a=day(4), time_b=day(6), valid_at=day(6)
    )
    assert not known_alike


def test_a_plan_is_exactly_what_applying_it_does(
    store: MemoryStore, clock: SettableClock
) -> None:
    loose: Any = store
    one = store.remember("one", user_id="u")
    set_to(clock, day(1))
    store.update(one.fact_id, content="two", session_id="bad")
    store.remember("three", user_id="u", session_id="bad")
    set_to(clock, day(2))

    for asked in ({"to": day(0)}, {"where": Cause(session_id="bad")}):
        plan = loose.plan_rollback(user_id="u", **asked)
        receipt = store.apply(plan, actor="officer", reason="poison")

        assert receipt.diff is not None
        assert [
            (e.before, e.after) for e in (*receipt.diff.removed, *receipt.diff.changed)
        ] == [(e.before, e.after) for e in (*plan.diff.removed, *plan.diff.changed)]
        assert set(receipt.fact_ids) == {
            each.fact_id for each in (*plan.diff.removed, *plan.diff.changed)
        }
        assert store.get_all(user_id="u").items == (one,)
        assert receipt.tx_id is not None
        store.undo(receipt.tx_id)


def test_reprs_help(store: MemoryStore, backend: Backend) -> None:
    fact = store.remember("one", user_id="u", valid_to=day(9))
    snapshot = store.get_memory_as_of(user_id="u", timestamp=day(0))

    assert repr(fact) == (
        f"<Fact {fact.fact_id} of user:u: 'one', version 1, "
        "valid [2026-01-01T00:00:00.000000Z, 2026-01-10T00:00:00.000000Z)>"
    )
    assert repr(snapshot) == (
        "<MemorySnapshot of 1 facts at position 1, known 2026-01-01T00:00:00.000000Z "
        "about 2026-01-01T00:00:00.000000Z>"
    )
    assert repr(store).endswith(", ledger main, open>")
    assert "postgres:postgres" not in repr(store)
    if backend.kind in DURABLE:
        assert "secret" not in repr(Settings(key="secret" * 9))


def test_a_store_closes_with_its_block_and_keeps_what_was_written(durable: Backend) -> None:
    with durable.open() as store:
        fact = store.remember("one", user_id="u")
        store.remember("two", user_id="u")
    with pytest.raises(InvalidScopeError), durable.open() as store:
        store.get_all(user_id="")

    assert repr(store).endswith("closed>")
    with durable.open() as store:
        assert [each.content for each in store.get_all(user_id="u")] == ["one", "two"]
        assert store.get(fact.fact_id) == fact


def test_a_fact_in_the_future_comes_and_goes_without_an_event(
    store: MemoryStore, clock: SettableClock
) -> None:
    fact = store.remember("on leave", user_id="u", valid_from=day(5), valid_to=day(8))

    with pytest.raises(FactNotCurrentError, match="its time has not come"):
        store.get(fact.fact_id)
    assert store.get(fact.fact_id, valid_at=day(5)) == fact
    set_to(clock, day(5))
    assert store.get(fact.fact_id) == fact
    assert store.get_all(user_id="u").items == (fact,)
    set_to(clock, day(8))
    with pytest.raises(FactNotCurrentError, match="its time is over"):
        store.get(fact.fact_id)
    assert store.get_all(user_id="u").items == ()
    assert len(store.get_fact_history(fact.fact_id)) == 1


def test_every_instant_is_an_aware_utc_datetime(store: MemoryStore) -> None:
    fact = store.remember("x", user_id="u", valid_to="2026-06-01T00:00:00-07:00")
    page = store.get_all(user_id="u")
    snapshot = store.get_memory_as_of(user_id="u", timestamp=day(0))
    receipt = store.end(fact.fact_id, valid_to=day(3))

    times = [fact.valid_from, fact.valid_to, fact.recorded_at, page.recorded_at]
    times += [page.valid_at, snapshot.recorded_at, snapshot.valid_at, receipt.recorded_at]
    assert all(isinstance(each, datetime) and each.tzinfo is UTC for each in times)
