"""A repeated idempotency key is answered as the first time, whatever the verb."""

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pytest

from muniment import Fact, MemoryStore
from muniment.errors import IdempotencyConflictError, RollbackConflictError
from tests.api.whole import whole
from tests.stores import SECOND, SettableClock


@dataclass(frozen=True)
class Stage:
    """
    A user of one verb's own: two facts, the first of them changed by a tool.

    Attributes:
        fact: The first one, as it was remembered.
        changed: It, as the tool changed it.
    """

    user_id: str
    key: str
    fact: Fact
    changed: Fact


Write = Callable[[Any, Stage], Any]

WRITES: Mapping[str, Write] = {
    "remember": lambda store, on: store.remember(
        "new", user_id=on.user_id, idempotency_key=on.key
    ),
    "remember what is known": lambda store, on: store.remember(
        "other", user_id=on.user_id, idempotency_key=on.key
    ),
    "remember_many": lambda store, on: store.remember_many(
        ["a", "b"], user_id=on.user_id, idempotency_key=on.key
    ),
    "update": lambda store, on: store.update(
        on.fact.fact_id, content="new", idempotency_key=on.key
    ),
    "update by version": lambda store, on: store.update(
        on.fact.fact_id, content="new", expected_version=2, idempotency_key=on.key
    ),
    "correct": lambda store, on: store.correct(
        on.fact.fact_id, content="new", idempotency_key=on.key
    ),
    "end": lambda store, on: store.end(on.fact.fact_id, idempotency_key=on.key),
    "forget": lambda store, on: store.forget(on.fact.fact_id, idempotency_key=on.key),
    "restore": lambda store, on: store.restore(on.fact.fact_id, idempotency_key=on.key),
    "freeze": lambda store, on: store.freeze(user_id=on.user_id, idempotency_key=on.key),
    "thaw": lambda store, on: store.thaw(user_id=on.user_id, idempotency_key=on.key),
    "rollback_fact": lambda store, on: store.rollback_fact(
        on.fact.fact_id, to_version=1, idempotency_key=on.key
    ),
    "rollback_to_timestamp": lambda store, on: store.rollback_to_timestamp(
        user_id=on.user_id, rollback_to=on.fact.recorded_at, idempotency_key=on.key
    ),
    "rollback_where": lambda store, on: store.rollback_where(
        user_id=on.user_id, actor="tool", idempotency_key=on.key
    ),
    "undo": lambda store, on: store.undo(on.changed.tx_id, idempotency_key=on.key),
}


def prepared(store: MemoryStore, clock: SettableClock, verb: str) -> Stage:
    """Give a user of its own to *verb*, and what it needs besides."""
    fact = store.remember("one", user_id=verb)
    store.remember("other", user_id=verb)
    clock.now += SECOND
    changed = store.update(fact.fact_id, content="two", actor="tool")
    match verb:
        case "restore":
            store.forget(fact.fact_id)
        case "thaw":
            store.freeze(user_id=verb)
        case _:
            pass
    clock.now += SECOND
    return Stage(verb, f"key of {verb}", fact, changed)


def test_a_repeated_key_is_answered_as_the_first_time(
    store: MemoryStore, clock: SettableClock, subtests: pytest.Subtests
) -> None:
    for verb, write in WRITES.items():
        with subtests.test(verb):
            stage = prepared(store, clock, verb)
            first = write(store, stage)
            before = whole(store)

            clock.now += SECOND
            again = write(store, stage)

            assert again == first
            assert whole(store) == before


def test_a_repeated_key_is_answered_so_after_others_wrote(
    store: MemoryStore, clock: SettableClock, subtests: pytest.Subtests
) -> None:
    for verb, write in WRITES.items():
        with subtests.test(verb):
            stage = prepared(store, clock, verb)
            first = write(store, stage)
            if verb == "freeze":
                store.thaw(user_id=verb)
            store.remember("in between", user_id=verb)
            store.remember(f"in between, {verb}", user_id="v")
            before = whole(store)

            clock.now += SECOND
            again = write(store, stage)

            assert again.tx_id == first.tx_id
            assert again.position == first.position
            assert again.recorded_at == first.recorded_at
            assert whole(store) == before


def test_a_key_used_for_another_request_is_refused(
    store: MemoryStore, clock: SettableClock, subtests: pytest.Subtests
) -> None:
    for verb, write in WRITES.items():
        with subtests.test(verb):
            stage = prepared(store, clock, verb)
            store.remember("first use", user_id="v", idempotency_key=stage.key)
            before = whole(store)

            with pytest.raises(IdempotencyConflictError, match="was used by transaction"):
                write(store, stage)

            assert whole(store) == before


def test_a_plan_applied_again_under_its_key_is_answered_as_the_first_time(
    store: MemoryStore, clock: SettableClock
) -> None:
    stage = prepared(store, clock, "apply")
    plan = store.plan_rollback(fact_id=stage.fact.fact_id, to_version=1)
    first = store.apply(plan, idempotency_key="k")
    before = whole(store)

    again = store.apply(plan, idempotency_key="k")

    assert again == first
    assert whole(store) == before


def test_a_rollback_under_its_key_is_no_conflict_with_what_was_written_since(
    store: MemoryStore,
) -> None:
    fact = store.remember("one", user_id="u")
    store.update(fact.fact_id, content="two", session_id="s")
    first = store.rollback_where(user_id="u", session_id="s", idempotency_key="k")
    assert first.tx_id is not None
    store.undo(first.tx_id)
    store.update(fact.fact_id, content="three")
    before = whole(store)
    with pytest.raises(RollbackConflictError):
        store.rollback_where(user_id="u", session_id="s")

    again = store.rollback_where(user_id="u", session_id="s", idempotency_key="k")

    assert again == first
    assert whole(store) == before


def test_the_same_words_without_a_key_are_two_requests(store: MemoryStore) -> None:
    fact = store.remember("one", user_id="u")

    store.update(fact.fact_id, content="two")
    store.update(fact.fact_id, content="three")
    store.update(fact.fact_id, content="two")

    contents = [each.content for each in store.get_fact_history(fact.fact_id)]
    assert contents == ["one", "two", "three", "two"]


def test_twenty_retries_at_once_are_one_write(store: MemoryStore) -> None:
    with ThreadPoolExecutor(20) as pool:
        writes = [
            pool.submit(store.remember, "one", user_id="u", idempotency_key="k", actor="a")
            for _ in range(20)
        ]
        facts = {each.result(30) for each in writes}

    assert len(facts) == 1
    assert store._ledger.present().head.position == 1
