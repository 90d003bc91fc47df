"""A repeated idempotency key is answered as the first time, whatever the verb."""

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from muniment import Fact, MemoryStore
from muniment.errors import IdempotencyConflictError
from tests.api.days import day, set_to
from tests.api.whole import whole
from tests.stores import SettableClock


Write = Callable[[Any, Fact], Any]


def _retired(store: MemoryStore, fact: Fact) -> None:
    store.forget(fact.fact_id)


def _frozen(store: MemoryStore, _: Fact) -> None:
    store.freeze(user_id="u")


def _nothing(_store: MemoryStore, _fact: Fact) -> None:
    """Most verbs need nothing before them."""


WRITES: Mapping[str, Write] = {
    "remember": lambda store, _: store.remember("new", user_id="u", idempotency_key="k"),
    "remember what is known": lambda store, _: store.remember(
        "other", user_id="u", idempotency_key="k"
    ),
    "remember_many": lambda store, _: store.remember_many(
        ["a", "b"], user_id="u", idempotency_key="k"
    ),
    "update": lambda store, fact: store.update(
        fact.fact_id, content="new", idempotency_key="k"
    ),
    "update by version": lambda store, fact: store.update(
        fact.fact_id, content="new", expected_version=2, idempotency_key="k"
    ),
    "correct": lambda store, fact: store.correct(
        fact.fact_id, content="new", idempotency_key="k"
    ),
    "end": lambda store, fact: store.end(fact.fact_id, idempotency_key="k"),
    "forget": lambda store, fact: store.forget(fact.fact_id, idempotency_key="k"),
    "restore": lambda store, fact: store.restore(fact.fact_id, idempotency_key="k"),
    "freeze": lambda store, _: store.freeze(user_id="u", idempotency_key="k"),
    "thaw": lambda store, _: store.thaw(user_id="u", idempotency_key="k"),
    "rollback_fact": lambda store, fact: store.rollback_fact(
        fact.fact_id, to_version=1, idempotency_key="k"
    ),
    "rollback_to_timestamp": lambda store, _: store.rollback_to_timestamp(
        user_id="u", rollback_to=day(0), idempotency_key="k"
    ),
    "rollback_where": lambda store, _: store.rollback_where(
        user_id="u", actor="tool", idempotency_key="k"
    ),
    "undo": lambda store, _: store.undo(3, idempotency_key="k"),
}

BEFORE: Mapping[str, Callable[[MemoryStore, Fact], None]] = {
    "restore": _retired,
    "thaw": _frozen,
}


def prepared(store: MemoryStore, clock: SettableClock) -> Fact:
    """Give user u two facts, the first of them changed by a tool in transaction 3."""
    fact = store.remember("one", user_id="u")
    store.remember("other", user_id="u")
    set_to(clock, day(1))
    store.update(fact.fact_id, content="two", actor="tool")
    return fact


@pytest.mark.parametrize("verb", WRITES)
def test_a_repeated_key_is_answered_as_the_first_time(
    store: MemoryStore, clock: SettableClock, verb: str
) -> None:
    write = WRITES[verb]
    fact = prepared(store, clock)
    BEFORE.get(verb, _nothing)(store, fact)
    set_to(clock, day(2))
    first = write(store, fact)
    before = whole(store)

    set_to(clock, day(3))
    again = write(store, fact)

    assert again == first
    assert whole(store) == before


@pytest.mark.parametrize("verb", WRITES)
def test_a_repeated_key_is_answered_so_after_others_wrote(
    store: MemoryStore, clock: SettableClock, verb: str
) -> None:
    write = WRITES[verb]
    fact = prepared(store, clock)
    BEFORE.get(verb, _nothing)(store, fact)
    set_to(clock, day(2))
    first = write(store, fact)
    if verb == "freeze":
        store.thaw(user_id="u")
    store.remember("in between", user_id="u")
    store.remember("in between", user_id="v")
    before = whole(store)

    set_to(clock, day(3))
    again = write(store, fact)

    assert getattr(again, "tx_id", None) == first.tx_id
    assert again.position == first.position
    assert again.recorded_at == first.recorded_at
    assert whole(store) == before


@pytest.mark.parametrize("verb", WRITES)
def test_a_key_used_for_another_request_is_refused(
    store: MemoryStore, clock: SettableClock, verb: str
) -> None:
    fact = prepared(store, clock)
    store.remember("first use", user_id="u", idempotency_key="k")
    before = whole(store)

    with pytest.raises(IdempotencyConflictError, match="was used by transaction 4"):
        WRITES[verb](store, fact)

    assert whole(store) == before


def test_a_plan_applied_again_under_its_key_is_answered_as_the_first_time(
    store: MemoryStore, clock: SettableClock
) -> None:
    fact = prepared(store, clock)
    plan = store.plan_rollback(fact_id=fact.fact_id, to_version=1)
    first = store.apply(plan, idempotency_key="k")
    before = whole(store)

    again = store.apply(plan, idempotency_key="k")

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
