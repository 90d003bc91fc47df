"""Two processes with eight threads each write to and read from one store."""

import itertools
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import msgspec
import pytest

from muniment import MemoryStore
from tests.concurrency.worker import SHARED_KEYS, THREADS, USERS, Done, answer
from tests.stores import Backend


ROOT = Path(__file__).parents[2]
SECONDS = 8
STOP_SECONDS_MAX = 90
PROCESSES = ("a", "b")


def work(backend: Backend, seconds: float) -> list[Done]:
    """Let the processes work on a new store for *seconds*; return what each did."""
    backend.open().close()
    settings = backend.settings().model_dump_json(exclude={"key"})
    workers = [
        subprocess.Popen(
            [
                sys.executable,
                "-m",
                "tests.concurrency.worker",
                settings,
                name,
                str(seconds),
            ],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for name in PROCESSES
    ]
    for worker in workers:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "ready\n"
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write("go\n")
        worker.stdin.flush()
    printed = [worker.communicate(timeout=seconds + STOP_SECONDS_MAX) for worker in workers]
    return [msgspec.json.decode(stdout, type=Done) for stdout, _ in printed]


@pytest.mark.slow
def test_nothing_is_lost_or_changed_by_sixteen_threads_in_two_processes(
    durable: Backend,
) -> None:
    """Case S13: under concurrent appends there is one chain, and it verifies."""
    done = work(durable, SECONDS)

    assert [each.errors for each in done] == [[], []]
    assert all(len(each.writes) > THREADS for each in done)
    assert all(len(each.answers) > THREADS for each in done)
    with durable.open() as store:
        check_the_ledger_holds_exactly(store, done)
        check_every_key_wrote_once(store, done)
        for taken in itertools.chain.from_iterable(each.answers for each in done):
            asked = taken.user_id, taken.asked_at, taken.valid_at
            assert answer(store, *asked) == taken
        check_the_timeline_is_a_fresh_fold(store)
        assert store.verify()


def check_the_ledger_holds_exactly(store: MemoryStore, done: list[Done]) -> None:
    """Every write that returned is where its receipt says, and there is nothing else."""
    recorder = store._ledger.recorder
    events = recorder.read(limit=10_000_000)
    assert [each.position for each in events] == list(range(1, len(events) + 1))
    by_tx = {each.tx_id: each for each in events}  # the last event of each
    assert list(by_tx) == list(range(1, len(by_tx) + 1))
    times = [each.recorded_at for each in by_tx.values()]
    assert all(earlier < later for earlier, later in itertools.pairwise(times))

    writes = {write for each in done for write in each.writes}
    assert {write.tx_id for write in writes} == by_tx.keys()
    for write in writes:
        stored = by_tx[write.tx_id]
        assert stored.sealed.originator_id == f"fact-{write.fact_id}"
        assert (stored.recorded_at, stored.position) == (write.recorded_at, write.position)


def check_every_key_wrote_once(store: MemoryStore, done: list[Done]) -> None:
    """Whoever asked with one key was told of the same transaction."""
    by_key: defaultdict[str, set[int]] = defaultdict(set)
    for write in (write for each in done for write in each.writes if write.key):
        by_key[str(write.key)].add(write.tx_id)
    assert {len(transactions) for transactions in by_key.values()} == {1}

    shared = [key for key in by_key if key.startswith("shared-")]
    assert len(shared) > SHARED_KEYS // 4
    for key in shared[:20]:
        number = int(key.removeprefix("shared-"))
        fact = store.remember(
            f"shared fact {number}", user_id=f"u-{number % USERS}", idempotency_key=key
        )
        assert {fact.tx_id} == by_key[key]


def check_the_timeline_is_a_fresh_fold(store: MemoryStore) -> None:
    before = list(store._lookup.timeline.rows())

    count = store.rebuild()

    assert count == len(before)
    assert list(store._lookup.timeline.rows()) == before
