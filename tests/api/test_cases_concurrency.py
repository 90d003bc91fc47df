"""What went wrong with several writers and readers in other systems, tried here."""

import logging
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from datetime import datetime

import pytest

from muniment import Fact, MemoryStore
from muniment.domain.events import FactRetired, RetireCause
from muniment.errors import FactNotCurrentError, VersionConflictError
from muniment.instants import moment
from muniment.ledger.records import FACT
from muniment.ledger.sql_recorder import SqlRecorder
from muniment.ledger.transaction import Transaction
from muniment.projections.beliefs import rows_of
from tests.api.days import MICROSECOND, day, set_to
from tests.holding import transaction_open
from tests.stores import Backend, SettableClock


PATIENCE = 30
"""Seconds to wait for another thread before a test fails rather than hangs."""


@contextmanager
def held_open(store: MemoryStore, fact: Fact) -> Iterator[datetime]:
    """Retire *fact* in a transaction that is open until the block ends."""
    recorded: list[datetime] = []

    def work(transaction: Transaction) -> None:
        transaction.add(fact.fact_id, [FactRetired(cause=RetireCause.ASKED, survivor=None)])
        recorded.append(moment(transaction.recorded_at))

    with transaction_open(store, work, scope=fact.scope):
        yield recorded[0]


Reading = Callable[[MemoryStore, datetime], object]

READINGS: dict[str, Reading] = {
    "as of": lambda store, at: store.get_memory_as_of(user_id="u", timestamp=at),
    "diff": lambda store, at: store.diff_memory(user_id="u", time_a=day(-1), time_b=at),
    "blame": lambda store, at: store.blame(user_id="u", as_of=at),
    "modified before": lambda store, at: store.list_modified_facts(
        user_id="u", start=day(-1), end=at
    ),
    # Past the time that the open transaction was given.
    "modified since": lambda store, at: store.list_modified_facts(
        user_id="u", start=day(1) + MICROSECOND, end=at
    ),
}


@pytest.mark.parametrize("reading", READINGS)
def test_an_answer_given_beside_an_open_transaction_stays(
    store: MemoryStore, clock: SettableClock, reading: str
) -> None:
    """SQL Server (sql-docs #2306): a time within an open transaction was answered twice."""
    ask = READINGS[reading]
    fact = store.remember("fact", user_id="u")
    set_to(clock, day(1))
    asked = threading.Event()

    def reader(at: datetime) -> object:
        asked.set()
        return ask(store, at)

    with ThreadPoolExecutor(1) as pool:
        answer: Future[object]
        with held_open(store, fact) as recorded_at:
            assert recorded_at == day(1)
            # Past the time that the open transaction was given, not past the clock.
            set_to(clock, day(2))
            answer = pool.submit(reader, day(2))
            assert asked.wait(PATIENCE)
            # That a reader waits for the writer is no event: it is given time to.
            wait([answer], timeout=0.2)
        first = answer.result(PATIENCE)

    set_to(clock, day(3))
    assert ask(store, day(2)) == first


def test_a_page_says_a_time_that_gives_the_same_again(
    store: MemoryStore, clock: SettableClock
) -> None:
    """Iceberg #8565, sql-docs #2306: the time it names was not the time it was read at."""
    fact = store.remember("fact", user_id="u")
    set_to(clock, day(1))
    with ThreadPoolExecutor(1) as pool:
        with held_open(store, fact):
            set_to(clock, day(2))
            # In memory this waits for the writer; in SQL it reads what is committed.
            reading = pool.submit(store.get_all, user_id="u")
            if isinstance(store._ledger.recorder, SqlRecorder):
                reading.result(PATIENCE)
        page = reading.result(PATIENCE)
    set_to(clock, day(3))

    again = store.get_memory_as_of(
        user_id="u", timestamp=page.recorded_at, valid_at=page.valid_at
    )

    assert again.facts == page.items
    assert again.position == page.position


def test_one_of_two_writers_is_told_that_the_other_was_first(
    store: MemoryStore, caplog: pytest.LogCaptureFixture
) -> None:
    """letta #3366: a race between two agents was logged as an error of the server."""
    fact = store.remember("block", user_id="u", core=True)
    barrier = threading.Barrier(2)

    def write(text: str) -> Fact:
        barrier.wait(PATIENCE)
        return store.update(fact.fact_id, content=text, expected_version=1)

    with caplog.at_level(logging.DEBUG), ThreadPoolExecutor(2) as pool:
        writes = [pool.submit(write, text) for text in ("one", "two")]
        errors = [error for each in writes if (error := each.exception(PATIENCE))]
        won = [each.result() for each in writes if not each.exception()]

    assert [type(each) for each in errors] == [VersionConflictError]
    assert "retry with expected_version=2" in str(errors[0])
    assert [each for each in caplog.records if each.levelno >= logging.WARNING] == []
    assert store.get(fact.fact_id) == won[0]
    retried = store.update(fact.fact_id, content="both", expected_version=2)
    assert [each.version for each in store.get_fact_history(fact.fact_id)] == [1, 2, 3]
    assert retried.content == "both"


def test_paging_beside_writers_sees_every_fact_once(store: MemoryStore) -> None:
    """codex #26684: pages by offset over a set that moved skipped and repeated."""
    with store:
        store.remember_many([f"fact {number}" for number in range(120)], user_id="u")
        expected = [each.fact_id for each in store.get_all(user_id="u", limit=1000)]
        stop = threading.Event()

        def write(writer: int) -> int:
            count = 0
            while not stop.is_set() or count < 3:
                store.remember(f"{writer} {count}", user_id="u", valid_from=day(-count))
                store.forget(expected[(count * 7 + writer * 31) % len(expected)])
                count += 1
            return count

        with ThreadPoolExecutor(4) as pool:
            writers = [pool.submit(write, number) for number in range(4)]
            page = store.get_all(user_id="u", limit=9)
            at_start, seen = page.position, [each.fact_id for each in page]
            while page.next_cursor:
                page = store.get_all(user_id="u", limit=9, cursor=page.next_cursor)
                seen += [each.fact_id for each in page]
                assert page.position == at_start
            stop.set()
            counts = [each.result(PATIENCE) for each in writers]

        assert min(counts) >= 3
        assert len(seen) == len(set(seen))
        then = store.get_memory_as_of(
            user_id="u", timestamp=page.recorded_at, valid_at=page.valid_at
        )
        assert [each.fact_id for each in then] == seen


_OTHER_PROCESS = """
import sys
from muniment import MemoryStore, Settings
settings = Settings.model_validate_json(sys.argv[1])
with MemoryStore.open(settings, create=False) as store:
    for fact in store.get_all(user_id="u"):
        if fact.content != "kept":
            store.forget(fact.fact_id)
    store.remember("new", user_id="u")
"""


@pytest.mark.parametrize("warm", [True, False])
def test_what_another_process_retired_is_gone_here_at_once(
    durable: Backend, *, warm: bool
) -> None:
    """LongMemory #186: what was deleted was returned until the server restarted."""
    with durable.open() as store:
        fact = store.remember("retired elsewhere", user_id="u")
        store.remember("kept", user_id="u")
        if warm:
            assert len(store.get_all(user_id="u")) == 2
            assert store.get(fact.fact_id) == fact

        subprocess.run(
            [sys.executable, "-c", _OTHER_PROCESS, durable.settings().model_dump_json()],
            check=True,
            timeout=60,
        )

        contents = [each.content for each in store.get_all(user_id="u")]
        assert contents == ["kept", "new"]
        with pytest.raises(FactNotCurrentError):
            store.get(fact.fact_id)
        assert store.get(fact.fact_id, as_of=fact.recorded_at) == fact


def test_no_event_slips_in_behind_what_was_projected(store: MemoryStore) -> None:
    """Marten #4952, protean #1088, eventuous #222: an event committed late was lost."""
    fact = store.remember("fact", user_id="u")
    recorder = store._ledger.recorder
    seen: list[int] = []

    def tail() -> None:
        events = recorder.read(after=seen[-1] if seen else 0, limit=1000)
        seen.extend(each.position for each in events)

    with ThreadPoolExecutor(8) as pool:
        with held_open(store, fact):
            writers = [
                pool.submit(store.remember, f"by {number}", user_id=f"u-{number % 3}")
                for number in range(8)
            ]
        for each in writers:
            tail()
            each.result(PATIENCE)
    tail()

    events = recorder.read(limit=1000)
    assert [each.position for each in events] == seen == list(range(1, 11))
    assert [each.sealed.topic for each in events].count("fact.retired.v1") == 1
    streams = {str(each.sealed.originator_id) for each in events}
    folded = [
        row
        for stream in streams
        if stream.startswith(FACT)
        for row in rows_of(store._ledger.fact(stream.removeprefix(FACT))[1])
    ]
    projected = list(store._lookup.timeline.rows())
    assert sorted(folded, key=repr) == sorted(projected, key=repr)


def test_twenty_threads_make_one_chain(backend: Backend) -> None:
    """Containarium #1326: concurrent appends forked the chain, times lost digits."""
    with backend.open() as store, ThreadPoolExecutor(20) as pool:
        facts = list(
            pool.map(
                lambda number: store.remember(f"{number}", user_id=f"u-{number % 7}"),
                range(200),
            )
        )

        events = store._ledger.recorder.read(limit=1000)
        assert [each.position for each in events] == list(range(1, 201))
        assert [each.tx_id for each in events] == list(range(1, 201))
        times = [each.recorded_at for each in events]
        assert times == sorted(set(times))
        by_position = {each.position: each for each in facts}
        for user in range(7):
            for fact in store.get_all(user_id=f"u-{user}", limit=1000):
                assert fact == by_position[fact.position]


def test_what_eight_say_at_once_is_one_fact(store: MemoryStore) -> None:
    """M9, mem0 #4412: the same said at the same time was copied."""
    barrier = threading.Barrier(8)

    def say(number: int) -> str:
        barrier.wait(PATIENCE)
        return store.remember("likes tea", user_id="u", source=f"turn {number}").fact_id

    with ThreadPoolExecutor(8) as pool:
        (fact_id,) = set(pool.map(say, range(8)))

    assert [each.fact_id for each in store.get_all(user_id="u")] == [fact_id]
    assert {each.source for each in store.get_fact_history(fact_id)} == {
        f"turn {number}" for number in range(8)
    }


_OPENED_AT_ONCE = """
import sys
from muniment import MemoryStore, Settings
settings = Settings.model_validate_json(sys.argv[1])
sys.stdout.write("ready\\n")
sys.stdout.flush()
sys.stdin.read()
with MemoryStore.open(settings) as store:
    store.remember(sys.argv[2], user_id="u")
"""


def test_processes_that_open_a_new_place_at_once_make_one_store(untouched: Backend) -> None:
    """Containarium #1326: the first appends to an empty table raced."""
    settings = untouched.settings().model_dump_json()
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", _OPENED_AT_ONCE, settings, f"by {number}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(3)
    ]
    for each in processes:
        assert each.stdout is not None
        assert each.stdout.readline() == "ready\n"
    for each in processes:
        assert each.stdin is not None
        each.stdin.close()
        each.stdin = None
    ended = [(each.communicate(timeout=60), each.returncode) for each in processes]

    assert [(err, code) for (_, err), code in ended] == [("", 0)] * 3
    with untouched.open() as store:
        contents = sorted(each.content or "" for each in store.get_all(user_id="u"))
        assert contents == [f"by {number}" for number in range(3)]


def test_threads_that_open_a_new_place_at_once_make_one_store(untouched: Backend) -> None:
    """Containarium #1326: the first appends to an empty table raced."""
    barrier = threading.Barrier(6)

    def open_and_write(number: int) -> Fact:
        barrier.wait(PATIENCE)
        with untouched.open() as store:
            return store.remember(f"by {number}", user_id="u")

    with ThreadPoolExecutor(6) as pool:
        facts = list(pool.map(open_and_write, range(6)))

    with untouched.open() as store:
        assert set(store.get_all(user_id="u")) == set(facts)
        assert sorted(each.position for each in facts) == list(range(1, 7))
        events = store._ledger.recorder.read(limit=100)
        assert {each.sealed.subject_ref for each in events} == {
            events[0].sealed.subject_ref
        }
