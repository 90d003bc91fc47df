"""A repeated key is answered as the first time; the same key for something else is not."""

import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from muniment import Fact, MemoryStore
from muniment.errors import IdempotencyConflictError, SubjectFrozenError
from tests.stores import Backend, SettableClock


CALLERS = 8
PROCESSES = 2
REMEMBER = """
import sys
from muniment import MemoryStore, Settings
settings = Settings.model_validate_json(sys.argv[1])
with MemoryStore.open(settings) as store:
    print("ready", flush=True)
    sys.stdin.readline()
    for number in range(20):
        key = f"key-{number}"
        fact = store.remember(f"fact {number}", user_id="alice", idempotency_key=key)
        print(fact.fact_id)
"""

Write = Callable[[MemoryStore, str, str], Any]
"""Given the store, the id of a fact and a key, writes something and returns what it got."""

WRITES: dict[str, Write] = {
    "remember": lambda store, _, key: store.remember(
        "new", user_id="alice", metadata={"a": 1}, idempotency_key=key
    ),
    "corroborate": lambda store, _, key: store.remember(
        "first", user_id="alice", source="another", idempotency_key=key
    ),
    "remember_many": lambda store, _, key: store.remember_many(
        ["x", "y", "first"], user_id="alice", idempotency_key=key
    ),
    "update": lambda store, fact_id, key: store.update(
        fact_id, content="later", expected_version=1, idempotency_key=key
    ),
    "correct": lambda store, fact_id, key: store.correct(
        fact_id, content="right", idempotency_key=key
    ),
    "end": lambda store, fact_id, key: store.end(fact_id, idempotency_key=key),
    "forget": lambda store, fact_id, key: store.forget(fact_id, idempotency_key=key),
    "freeze": lambda store, _, key: store.freeze(user_id="alice", idempotency_key=key),
    "rollback_fact": lambda store, fact_id, key: store.rollback_fact(
        fact_id, to_version=0, idempotency_key=key
    ),
    "rollback_to_timestamp": lambda store, _, key: store.rollback_to_timestamp(
        user_id="alice", rollback_to="2000-01-01T00:00:00Z", idempotency_key=key
    ),
    "rollback_where": lambda store, _, key: store.rollback_where(
        user_id="alice", actor="writer", idempotency_key=key
    ),
    "undo": lambda store, _, key: store.undo(1, idempotency_key=key),
}


def first_fact(store: MemoryStore) -> Fact:
    return store.remember("first", user_id="alice", actor="writer")


def head(store: MemoryStore) -> tuple[int, int]:
    found = store._ledger.present().head
    return found.tx_id, found.position


@pytest.mark.parametrize("verb", WRITES)
def test_a_retry_is_answered_as_the_first_time_and_writes_nothing(
    backend: Backend, verb: str
) -> None:
    with backend.open() as store:
        fact_id = first_fact(store).fact_id
        answer = WRITES[verb](store, fact_id, "once")
        store.remember("in between", user_id="bob")
        written = head(store)

        again = WRITES[verb](store, fact_id, "once")

        assert head(store) == written
        if isinstance(answer, Fact):
            assert again == answer
        else:
            assert (again.tx_id, again.position, again.recorded_at, again.fact_ids) == (
                answer.tx_id,
                answer.position,
                answer.recorded_at,
                answer.fact_ids,
            )
            assert again.facts == answer.facts


def test_a_retry_is_known_after_reopening(durable: Backend) -> None:
    with durable.open() as store:
        answer = store.remember("new", user_id="alice", idempotency_key="once")

    with durable.open() as store:
        again = store.remember("new", user_id="alice", idempotency_key="once")

        assert again == answer
        assert head(store) == (1, 1)


@pytest.mark.parametrize(
    "other",
    [
        {"content": "other"},
        {"content": "new", "confidence": 0.5},
        {"content": "new", "metadata": {"a": 1}},
        {"content": "new", "valid_to": "2100-01-01T00:00:00Z"},
        {"content": "new", "actor": "someone else"},
        {"content": "new", "user_id": "bob"},
        {"content": "new", "source": "another"},
    ],
)
def test_the_same_key_for_another_request_is_a_conflict(
    backend: Backend, other: dict[str, Any]
) -> None:
    with backend.open() as store:
        store.remember("new", user_id="alice", idempotency_key="once")

        with pytest.raises(IdempotencyConflictError):
            store.remember(**{"user_id": "alice", "idempotency_key": "once", **other})

        assert head(store) == (1, 1)


def test_the_same_key_for_another_verb_is_a_conflict(backend: Backend) -> None:
    with backend.open() as store:
        fact_id = first_fact(store).fact_id
        store.end(fact_id, idempotency_key="once")

        with pytest.raises(IdempotencyConflictError):
            store.forget(fact_id, idempotency_key="once")


def test_a_retry_is_answered_even_when_the_subject_was_frozen_since(
    backend: Backend,
) -> None:
    with backend.open() as store:
        answer = store.remember("new", user_id="alice", idempotency_key="once")
        store.freeze(user_id="alice")

        assert store.remember("new", user_id="alice", idempotency_key="once") == answer


def test_a_refused_request_does_not_use_up_its_key(backend: Backend) -> None:
    with backend.open() as store:
        store.freeze(user_id="alice")
        with pytest.raises(SubjectFrozenError):
            store.remember("new", user_id="alice", idempotency_key="once")
        store.thaw(user_id="alice")

        assert (
            store.remember("new", user_id="alice", idempotency_key="once").content == "new"
        )


def test_a_retry_of_an_answer_that_changed_since_is_still_the_first_answer(
    backend: Backend,
) -> None:
    clock = SettableClock()
    with backend.open(clock=clock) as store:
        answer = store.remember("new", user_id="alice", idempotency_key="once")
        clock.now += 1_000_000
        store.update(answer.fact_id, content="later")

        assert store.remember("new", user_id="alice", idempotency_key="once") == answer


def test_callers_at_once_with_one_key_all_get_the_one_answer(backend: Backend) -> None:
    with backend.open() as store, ThreadPoolExecutor(CALLERS) as pool:
        for attempt in range(10):
            start = threading.Barrier(CALLERS)

            def call(
                _: int, start: threading.Barrier = start, attempt: int = attempt
            ) -> Fact:
                start.wait()
                key = f"key-{attempt}"
                return store.remember(
                    f"fact {attempt}", user_id="alice", idempotency_key=key
                )

            answers = list(pool.map(call, range(CALLERS)))

            assert answers == [answers[0]] * CALLERS
            assert head(store) == (attempt + 1, attempt + 1)


def test_callers_at_once_with_one_key_and_different_bodies_get_one_answer(
    backend: Backend,
) -> None:
    with backend.open() as store, ThreadPoolExecutor(CALLERS) as pool:
        start = threading.Barrier(CALLERS)

        def call(number: int) -> str | None:
            start.wait()
            try:
                said = f"body {number}"
                return store.remember(said, user_id="alice", idempotency_key="once").content
            except IdempotencyConflictError:
                return None

        answers = list(pool.map(call, range(CALLERS)))

        assert len([each for each in answers if each is not None]) == 1
        assert [each.content for each in store.get_all(user_id="alice").items] == [
            each for each in answers if each is not None
        ]


def test_the_same_key_in_two_ledgers_is_two_keys(durable: Backend) -> None:
    with durable.open(ledger="one") as one, durable.open(ledger="two") as two:
        mine = one.remember("mine", user_id="alice", idempotency_key="once")
        theirs = two.remember("theirs", user_id="alice", idempotency_key="once")

    assert (mine.content, theirs.content) == ("mine", "theirs")


@pytest.mark.slow
def test_processes_at_once_with_the_same_keys_write_each_once(durable: Backend) -> None:
    durable.open().close()
    settings = durable.settings().model_dump_json(exclude={"key"})
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", REMEMBER, settings],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(PROCESSES)
    ]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"

    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    answers = [process.communicate(timeout=60)[0].split() for process in processes]

    assert answers[0] == answers[1]
    assert len(set(answers[0])) == 20
    with durable.open() as store:
        assert head(store) == (20, 20)
