"""An as-of answer never changes once given, whatever is being written meanwhile."""

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from muniment import MemoryStore
from muniment.domain.time import Instant
from muniment.errors import FutureAsOfError, LedgerBusyError
from muniment.instants import moment
from tests.stores import (
    NEW_YEAR,
    SECOND,
    Backend,
    SettableClock,
    insert,
    plain_event,
)


SECONDS_MAX = 30
HOLD = """
import sys
from muniment import Settings
from muniment.api.opening import open_ledger
from tests.stores import insert, plain_event
settings = Settings.model_validate_json(sys.argv[1])
opened = open_ledger(settings, clock=None, create=False)
with opened.ledger.recorder.appending() as append:
    (event,) = insert(append, plain_event("slow", 1))
    print(event.recorded_at, flush=True)
    sys.stdin.readline()
opened.ledger.close()
"""


def contents(store: MemoryStore, at: int, *, user: str = "alice") -> list[str | None]:
    snapshot = store.get_memory_as_of(user_id=user, timestamp=moment(Instant(at)))
    return [each.content for each in snapshot]


def test_a_question_waits_for_a_transaction_that_is_held_open(backend: Backend) -> None:
    with backend.ledger() as opened, ThreadPoolExecutor(2) as pool:
        recorder, resolve = opened.ledger.recorder, opened.ledger.resolve
        with recorder.appending() as append:
            (early,) = insert(append, plain_event("slow", 1))
            if backend.kind == "memory":
                asked_at = recorder.present().now
            else:
                asked_at = Instant(early.recorded_at + 1)
            asking = pool.submit(resolve, asked_at)
            # It must not answer "position 0" while position 1 may still come before it.
            with pytest.raises(TimeoutError):
                asking.result(0.3)

        answer = asking.result(SECONDS_MAX)

        assert answer.position == 1
        assert resolve(asked_at) == answer


def test_an_answer_given_while_another_process_holds_a_transaction_stays(
    durable: Backend,
) -> None:
    settings = durable.settings().model_dump_json(exclude={"key"})
    with durable.open() as store, ThreadPoolExecutor(1) as pool:
        with subprocess.Popen(
            [sys.executable, "-c", HOLD, settings],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as holding:
            assert holding.stdin is not None
            assert holding.stdout is not None
            in_flight = int(holding.stdout.readline())
            asking = pool.submit(store._ledger.resolve, Instant(in_flight))
            with pytest.raises(TimeoutError):
                asking.result(0.3)
            holding.stdin.write("go\n")
            holding.stdin.close()
            answer = asking.result(SECONDS_MAX)
            assert holding.wait(SECONDS_MAX) == 0

        assert answer.position == 1
        assert answer.recorded_at == in_flight
        assert store._ledger.resolve(Instant(in_flight)) == answer
        assert store._ledger.resolve(Instant(in_flight - 1)).position == 0


def test_a_question_gives_up_when_a_transaction_is_held_for_too_long(
    durable: Backend,
) -> None:
    with (
        durable.ledger() as holder,
        durable.open(lock_timeout=0.3) as store,
        holder.ledger.recorder.appending() as append,
    ):
        insert(append, plain_event("slow", 1))
        with pytest.raises(LedgerBusyError):
            store.get_memory_as_of(user_id="alice", timestamp=moment(append.now))
        with pytest.raises(LedgerBusyError):
            store.remember("new", user_id="alice")


def test_a_question_about_what_was_answered_before_does_not_wait(durable: Backend) -> None:
    with durable.ledger() as holder, durable.open(lock_timeout=0.3) as store:
        fact = store.remember("known", user_id="alice")
        now = store._ledger.present().now
        before = contents(store, now)

        with holder.ledger.recorder.appending() as append:
            insert(append, plain_event("slow", 1))
            assert contents(store, now) == before == ["known"]
            assert contents(store, now - 1) in (["known"], [])
            assert store.get(fact.fact_id).content == "known"


def test_an_answer_stays_when_the_clock_steps_back(backend: Backend) -> None:
    clock = SettableClock(NEW_YEAR)
    with backend.open(clock=clock) as store:
        store.remember("one", user_id="alice")
        clock.now = NEW_YEAR + 5 * SECOND
        asked = {at: contents(store, at) for at in range(NEW_YEAR, clock.now + 1, SECOND)}
        clock.now = NEW_YEAR + 2 * SECOND

        later = store.remember("two", user_id="alice")

        assert later.recorded_at == moment(Instant(NEW_YEAR + 5 * SECOND + 1))
        assert {at: contents(store, at) for at in asked} == asked
        clock.now = NEW_YEAR + 6 * SECOND
        assert {at: contents(store, at) for at in asked} == asked
        assert contents(store, clock.now) == ["one", "two"]


def test_an_answer_stays_when_a_clock_that_steps_back_belongs_to_another_process(
    durable: Backend,
) -> None:
    fast, slow = SettableClock(NEW_YEAR + 60 * SECOND), SettableClock(NEW_YEAR)
    with durable.open(clock=fast) as asking, durable.open(clock=slow) as writing:
        asked = contents(asking, fast.now)

        fact = writing.remember("late", user_id="alice")

        assert contents(asking, fast.now) == asked == []
        assert contents(writing, fast.now) == asked
        assert fact.recorded_at > moment(Instant(fast.now))
        assert writing.get(fact.fact_id) == fact


def test_asking_ahead_of_the_ledger_is_refused_and_repeatable_once_it_has_come(
    backend: Backend,
) -> None:
    clock = SettableClock(NEW_YEAR)
    hour = 3600 * SECOND
    with backend.open(clock=clock) as store:
        store.remember("one", user_id="alice")
        for ahead in (1, hour):
            with pytest.raises(FutureAsOfError):
                contents(store, NEW_YEAR + ahead)
        clock.now = NEW_YEAR + hour
        store.remember("two", user_id="alice")

        first = contents(store, NEW_YEAR + hour)
        clock.now += hour
        store.remember("three", user_id="alice")

        assert first == ["one", "two"]
        assert contents(store, NEW_YEAR + hour) == first


def test_asking_before_the_first_transaction_finds_nothing_for_ever(
    backend: Backend,
) -> None:
    clock = SettableClock(NEW_YEAR)
    with backend.open(clock=clock) as store:
        assert contents(store, NEW_YEAR) == []
        assert contents(store, NEW_YEAR - SECOND) == []

        fact = store.remember("one", user_id="alice")

        assert fact.recorded_at == moment(Instant(NEW_YEAR + 1))
        assert contents(store, NEW_YEAR) == []


def test_now_includes_a_write_that_returned(backend: Backend) -> None:
    with backend.open() as store:
        for number in range(50):
            fact = store.remember(f"fact {number}", user_id="alice")
            snapshot = store.get_memory_as_of(user_id="alice", timestamp=fact.recorded_at)

            assert fact.fact_id in {each.fact_id for each in snapshot}
            assert snapshot.position == fact.position
            assert len(snapshot) == number + 1


def test_answers_taken_at_full_speed_while_others_write_stay(backend: Backend) -> None:
    with backend.open() as store, ThreadPoolExecutor(6) as pool:
        ended = threading.Event()

        def write(writer: int) -> None:
            for number in range(40):
                store.remember(f"{writer}-{number}", user_id="alice")

        def ask() -> list[tuple[int, int, list[str | None]]]:
            taken: list[tuple[int, int, list[str | None]]] = []
            while not ended.is_set():
                now = store._ledger.present().now
                when = moment(now)
                snapshot = store.get_memory_as_of(user_id="alice", timestamp=when)
                taken.append((now, snapshot.position, [each.content for each in snapshot]))
            return taken

        asking = [pool.submit(ask) for _ in range(2)]
        for writing in [pool.submit(write, writer) for writer in range(4)]:
            writing.result(SECONDS_MAX)
        ended.set()
        taken = [answer for each in asking for answer in each.result(SECONDS_MAX)]

        assert len(taken) > 2
        for now, position, known in taken:
            again = store.get_memory_as_of(user_id="alice", timestamp=moment(Instant(now)))
            assert again.position == position
            assert [each.content for each in again] == known
        last = moment(store._ledger.present().head.recorded_at)
        assert len(store.get_memory_as_of(user_id="alice", timestamp=last)) == 160
