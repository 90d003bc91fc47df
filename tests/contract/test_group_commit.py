"""Writers that share a transaction of the database: each has its own answer or error."""

import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Any, cast

import pytest
import sqlalchemy as sa

from muniment import Fact, MemoryStore, Scope
from muniment.errors import (
    CommitUncertainError,
    DatabaseUnavailableError,
    ProjectionError,
    SubjectFrozenError,
    VersionConflictError,
)
from muniment.ledger import sql_append
from muniment.ledger.group_commit import GroupCommit, Ticket
from muniment.ledger.recorder import Append
from muniment.ledger.records import Origin
from muniment.ledger.transaction import Request, Transaction
from muniment.projections import timeline
from tests.holding import SECONDS_MAX, lock_held
from tests.stores import POSTGRESQL, Backend


WRITERS = 8


class Held:
    """A group commit whose first batch waits inside until it is let go."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.inside, self.let_go = threading.Event(), threading.Event()
        self.commits: GroupCommit[str, str] = GroupCommit(self._carry_out)

    def _carry_out(self, batch: Sequence[Ticket[str, str]]) -> None:
        self.batches.append([each.request for each in batch])
        self.inside.set()
        assert self.let_go.wait(SECONDS_MAX)
        for ticket in batch:
            ticket.answer = f"answer to {ticket.request}"

    def wait_for(self, count: int) -> None:
        """Return once so many requests wait for the next batch."""
        waited = threading.Event()
        for _ in range(SECONDS_MAX * 1_000):
            if len(self.commits._waiting) == count:
                return
            waited.wait(0.001)
        raise AssertionError(f"{len(self.commits._waiting)} wait, not {count}")


@contextmanager
def one_batch(
    store: MemoryStore, writes: Sequence[Callable[[], object]]
) -> Iterator[list[Future[object]]]:
    """Let *writes* gather, in this order, while another write holds the lock."""
    commits = store._ledger._commits
    with lock_held(store) as let_go, ThreadPoolExecutor(len(writes)) as pool:
        started: list[Future[object]] = []
        for count, write in enumerate(writes, 1):
            started.append(pool.submit(write))
            while len(commits._waiting) < count:
                assert not started[-1].done(), "it waits for the one that holds the lock"
        let_go()
        yield started


def outcomes(started: Sequence[Future[object]]) -> list[type | None]:
    """Return for each write the class of its error, or nothing."""
    errors = [each.exception(SECONDS_MAX) for each in started]
    return [None if error is None else type(error) for error in errors]


def transactions(store: MemoryStore) -> int:
    return store._ledger.present().head.tx_id


def test_those_who_wait_share_the_next_batch_in_their_order() -> None:
    held = Held()
    with ThreadPoolExecutor(4) as pool:
        first = pool.submit(held.commits.submit, "first")
        assert held.inside.wait(SECONDS_MAX)
        others = []
        for count, name in enumerate(("a", "b", "c"), 1):
            others.append(pool.submit(held.commits.submit, name))
            held.wait_for(count)
        held.let_go.set()

        assert first.result(SECONDS_MAX) == "answer to first"
        assert [each.result(SECONDS_MAX) for each in others] == [
            f"answer to {name}" for name in "abc"
        ]
    assert held.batches == [["first"], ["a", "b", "c"]]


def test_a_follower_that_is_interrupted_stops_nobody_else() -> None:
    held = Held()
    before = signal.getsignal(signal.SIGUSR1)
    main = threading.main_thread().ident
    assert main is not None
    signal.signal(signal.SIGUSR1, signal.default_int_handler)

    def interrupt() -> None:
        held.wait_for(1)
        signal.pthread_kill(main, signal.SIGUSR1)

    try:
        with ThreadPoolExecutor(3) as pool:
            leading = pool.submit(held.commits.submit, "leading")
            assert held.inside.wait(SECONDS_MAX)
            interrupting = pool.submit(interrupt)
            with pytest.raises(KeyboardInterrupt):
                held.commits.submit("interrupted")
            interrupting.result(SECONDS_MAX)

            held.let_go.set()

            assert leading.result(SECONDS_MAX) == "answer to leading"
            assert answered(lambda: held.commits.submit("later")) == "answer to later"
    finally:
        signal.signal(signal.SIGUSR1, before)


def answered(ask: Callable[[], object]) -> object:
    """Return what *ask* returns, or that it never does; a daemon outlives no test run."""
    found: list[object] = []
    asking = threading.Thread(target=lambda: found.append(ask()), daemon=True)
    asking.start()
    asking.join(2)
    return found[0] if found else "no answer"


def test_each_of_many_writers_gets_its_own_receipt(backend: Backend) -> None:
    with backend.open() as store, ThreadPoolExecutor(WRITERS) as pool:
        said = [f"fact {number}" for number in range(200)]

        facts = list(pool.map(lambda each: store.remember(each, user_id="alice"), said))

        assert [each.content for each in facts] == said
        assert {each.tx_id for each in facts} == set(range(1, 201))
        assert {each.position for each in facts} == set(range(1, 201))
        for fact in facts:
            assert store.get(fact.fact_id) == fact
        by_tx = sorted(facts, key=lambda each: each.tx_id)
        assert len({each.recorded_at for each in facts}) == 200
        assert by_tx == sorted(facts, key=lambda each: each.recorded_at)


def test_refused_requests_leave_the_others_of_their_batch_alone(backend: Backend) -> None:
    with backend.open() as store:
        fact = store.remember("one", user_id="alice")
        store.freeze(user_id="frozen")
        before = transactions(store)
        writes = [
            lambda: store.remember("first", user_id="alice"),
            lambda: store.remember("refused", user_id="frozen"),
            lambda: store.correct(fact.fact_id, content="two", expected_version=1),
            lambda: store.correct(fact.fact_id, content="three", expected_version=1),
            lambda: store.remember("last", user_id="alice"),
        ]

        with one_batch(store, writes) as started:
            found = outcomes(started)

        assert found == [None, SubjectFrozenError, None, VersionConflictError, None]
        assert transactions(store) == before + 3
        contents = {each.content for each in store.get_all(user_id="alice").items}
        assert contents == {"first", "two", "last"}


def test_requests_of_one_batch_see_what_those_before_them_did(backend: Backend) -> None:
    """Though what they insert is inserted together, once all of them are decided."""
    with backend.open() as store:
        store.remember("before", user_id="alice")
        asked: dict[str, Any] = {"user_id": "bob", "idempotency_key": "键"}
        writes = [
            lambda: store.remember("茶", user_id="alice"),
            lambda: store.remember("茶", user_id="alice"),
            lambda: store.remember("once", **asked),
            lambda: store.remember("once", **asked),
            lambda: store.freeze(user_id="alice"),
            lambda: store.remember("too late", user_id="alice"),
        ]

        with one_batch(store, writes) as started:
            found = outcomes(started)
            first, again, once, same = (each.result() for each in started[:4])

        assert found == [None, None, None, None, None, SubjectFrozenError]
        assert isinstance(first, Fact)
        assert isinstance(again, Fact)
        assert (first.fact_id, once) == (again.fact_id, same)
        assert len(store.get_fact_history(first.fact_id)) == 2
        assert {each.content for each in store.get_all(user_id="alice")} == {"before", "茶"}
        assert store.verify()


def test_repeats_of_a_whole_batch_are_found_with_one_question(
    backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    with backend.open() as store:
        known = [store.remember("茶", user_id=each) for each in ("alice", "bob", "carol")]
        store.remember("tea", user_id="dora")
        gone = store.remember("茶", user_id="erin")
        store.forget(gone.fact_id)
        if backend.kind == POSTGRESQL:
            monkeypatch.setattr(timeline, "_REPEATS", None)  # None is asked about alone.
        users = ["alice", "bob", "carol", "dora", "erin"]
        writes = [partial(store.remember, "茶", user_id=each) for each in users]

        with one_batch(store, writes) as started:
            facts = [cast("Fact", each.result(SECONDS_MAX)) for each in started]
        monkeypatch.undo()

        assert [each.fact_id for each in facts[:3]] == [each.fact_id for each in known]
        assert all(len(store.get_fact_history(each.fact_id)) == 2 for each in known)
        for fact in facts[3:]:
            assert len(store.get_fact_history(fact.fact_id)) == 1
        assert store.verify()


@pytest.mark.parametrize("waiting_max", [1, 2, 4, 5_000])
def test_a_repeat_is_found_in_its_batch_however_little_may_wait(
    durable: Backend, monkeypatch: pytest.MonkeyPatch, waiting_max: int
) -> None:
    monkeypatch.setattr(sql_append, "_WAITING_MAX", waiting_max)
    with durable.open() as store:
        tea = store.remember("茶", user_id="alice")
        store.remember("before", user_id="bob")
        writes = [
            lambda: store.remember_many(
                [{"content": "a"}, {"content": "b"}], user_id="bob"
            ),
            lambda: store.remember_many(
                [{"content": each} for each in ("c", "d", "e")], user_id="alice"
            ),
            lambda: store.remember("c", user_id="alice", source="tool"),
            lambda: store.update(tea.fact_id, content="咖啡"),
            lambda: store.remember("咖啡", user_id="alice", source="tool"),
        ]

        with one_batch(store, writes) as started:
            found = outcomes(started)

        assert found == [None] * len(writes)
        contents = sorted(each.content or "" for each in store.get_all(user_id="alice"))
        assert contents == ["c", "d", "e", "咖啡"]
        assert store.verify()


def test_a_request_with_a_fault_of_ours_leaves_the_others_alone(backend: Backend) -> None:
    def broken(_: Transaction) -> None:
        raise ZeroDivisionError

    with backend.open() as store:
        fault = Request(
            action="broken",
            origin=Origin(),
            scope=Scope.user("alice"),
            fact_id=None,
            body={},
            work=broken,
        )
        writes = [
            lambda: store.remember("first", user_id="alice"),
            lambda: store._ledger.transact(fault),
            lambda: store.remember("last", user_id="alice"),
        ]

        with one_batch(store, writes) as started:
            found = outcomes(started)

        assert found == [None, ZeroDivisionError, None]
        assert transactions(store) == 2
        assert len(store.get_all(user_id="alice").items) == 2


def test_a_broken_read_model_of_one_fact_stops_that_fact_alone(durable: Backend) -> None:
    with durable.open() as store:
        fact = store.remember("broken", user_id="alice")
        with durable.sql() as connection:
            connection.execute(sa.text("DELETE FROM belief"))
        writes = [
            lambda: store.remember("first", user_id="alice"),
            lambda: store.correct(fact.fact_id, content="never"),
            lambda: store.remember("last", user_id="bob"),
        ]

        with one_batch(store, writes) as started:
            found = outcomes(started)

        assert found == [None, ProjectionError, None]
        assert transactions(store) == 3
        assert store.get_fact_history(fact.fact_id).current_version == 1


def test_an_interrupted_leader_takes_nobody_into_the_dark(backend: Backend) -> None:
    def interrupted(_: Transaction) -> None:
        raise KeyboardInterrupt

    with backend.open() as store:
        leader = Request(
            action="interrupted",
            origin=Origin(),
            scope=Scope.user("alice"),
            fact_id=None,
            body={},
            work=interrupted,
        )
        writes = [
            lambda: store._ledger.transact(leader),
            lambda: store.remember("follows", user_id="alice"),
        ]

        with one_batch(store, writes) as started:
            found = outcomes(started)

        assert found[0] is KeyboardInterrupt
        assert found[1] in {DatabaseUnavailableError, CommitUncertainError}
        assert transactions(store) == 0
        assert answered(lambda: store.remember("later", user_id="bob").content) == "later"


def test_followers_of_a_leader_stopped_after_its_commit_are_not_told_it_failed(
    backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    with backend.open() as store:
        recorder = store._ledger.recorder
        appending = recorder.appending
        stops = threading.Event()

        @contextmanager
        def stopped_after_commit() -> Iterator[Append]:
            with appending() as append:
                yield append
            if not stops.is_set() and recorder.present().head.position:
                stops.set()
                raise KeyboardInterrupt

        monkeypatch.setattr(recorder, "appending", stopped_after_commit)
        writes: list[Callable[[], Any]] = [
            lambda: store.remember("leads", user_id="alice"),
            lambda: store.remember("follows", user_id="alice"),
        ]

        with one_batch(store, writes) as started:
            found = outcomes(started)

        assert transactions(store) == 2  # both are in the ledger
        assert found == [KeyboardInterrupt, CommitUncertainError]
