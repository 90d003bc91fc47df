"""A process that is killed leaves each write whole or not there, and no lock behind."""

import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from muniment import MemoryStore
from tests.crash.writer import (
    AFTER_COMMIT,
    KILLED,
    LARGE,
    STEPS,
    WRITES_BEFORE_KILL,
    contents,
    write,
)
from tests.stores import Backend


ROOT = Path(__file__).parents[2]
SIGKILL = -9
ROUNDS = 4
LINES_MAX = 60
SECONDS_MAX = 60
USERS = ("alice", "new")


class Writes:
    """What a killed process printed: the size of each write, asked for and returned."""

    def __init__(self) -> None:
        self.asked: dict[str, int] = {}
        self.returned: set[str] = set()

    def read(self, line: str) -> None:
        word, key, count = line.split()
        if word == "asked":
            self.asked[key] = int(count)
        else:
            self.returned.add(key)


def started(durable: Backend, step: str) -> "subprocess.Popen[str]":
    settings = durable.settings().model_dump_json(exclude={"key"})
    return subprocess.Popen(
        [sys.executable, "-m", "tests.crash.writer", settings, step],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )


def remembered(store: MemoryStore) -> Counter[str]:
    """Return every content the store knows, with how many facts say it."""
    found: Counter[str] = Counter()
    for user_id in USERS:
        cursor: str | None = None
        while True:
            page = store.get_all(user_id=user_id, limit=1_000, cursor=cursor)
            found.update(str(each.content) for each in page.items)
            cursor = page.next_cursor
            if cursor is None:
                break
    return found


def stored_keys(store: MemoryStore, writes: Writes) -> set[str]:
    """Return which writes are there; each is there once and whole, or not at all."""
    known, expected, stored = remembered(store), Counter[str](), set()
    for key, count in writes.asked.items():
        said = contents(key, count)
        if known[said[0]]:
            stored.add(key)
            expected.update(said)
    assert known == expected
    return stored


def check_the_ledger_is_whole(store: MemoryStore) -> None:
    recorder = store._ledger.recorder
    events = recorder.read(limit=10_000_000)
    head = store._ledger.present().head
    assert [each.position for each in events] == list(range(1, head.position + 1))
    for tx_id in range(1, head.tx_id + 1):
        row = recorder.transaction(tx_id)
        assert row is not None
        mine = [each.position for each in events if each.tx_id == tx_id]
        assert mine == list(range(row.first_position, row.last_position + 1))
    before = list(store._lookup.timeline.rows())
    store.rebuild()
    assert list(store._lookup.timeline.rows()) == before


def retry(store: MemoryStore, writes: Writes, *, user_id: str = "alice") -> None:
    """Do again what was asked; whatever was stored before, it is stored once then."""
    for key, count in writes.asked.items():
        write(store, key, count, user_id=user_id)


@pytest.mark.slow
@pytest.mark.parametrize("step", STEPS)
def test_a_write_that_is_killed_is_whole_or_not_there(durable: Backend, step: str) -> None:
    writes = Writes()

    with started(durable, step) as process:
        assert process.stdout is not None
        for line in process.stdout:
            writes.read(line)
    assert process.returncode == SIGKILL

    assert len(writes.returned) == WRITES_BEFORE_KILL
    assert writes.asked.keys() - writes.returned == {KILLED}
    with durable.open() as store:
        stored = stored_keys(store, writes)
        assert stored - {KILLED} == writes.returned
        assert (KILLED in stored) == (step == AFTER_COMMIT)
        check_the_ledger_is_whole(store)
        for _ in range(2):
            write(store, KILLED, LARGE, user_id="new")
            assert stored_keys(store, writes) == writes.asked.keys()
        store.remember("writable", user_id="alice")
        check_the_ledger_is_whole(store)


@pytest.mark.slow
def test_a_writer_killed_at_any_moment_loses_nothing_that_returned(
    durable: Backend,
) -> None:
    chance = random.Random(1)  # noqa: S311 - nothing secret
    writes = Writes()
    durable.open().close()

    for _ in range(ROUNDS):
        with started(durable, "any") as process:
            assert process.stdout is not None
            for _ in range(chance.randrange(1, LINES_MAX)):
                writes.read(process.stdout.readline())
            process.kill()
            for line in process.stdout:
                writes.read(line)
        assert process.returncode == SIGKILL

        with durable.open() as store:
            stored = stored_keys(store, writes)
            assert stored >= writes.returned
            check_the_ledger_is_whole(store)

    with durable.open() as store:
        retry(store, writes)
        assert stored_keys(store, writes) == writes.asked.keys()
        assert len(writes.returned) > ROUNDS
        check_the_ledger_is_whole(store)
