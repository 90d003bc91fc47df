"""
One of several processes that write to and read from one store at once.

Started as ``python -m tests.concurrency.worker SETTINGS NAME SECONDS``; prints ``ready``,
starts when a line comes in, and prints what it did as one line of JSON.
"""

import hashlib
import random
import sys
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field

import msgspec

from muniment import Fact, MemoryStore, Receipt, Settings
from muniment.domain.time import Instant
from muniment.errors import PlanOutdatedError
from muniment.instants import moment, to_instant


THREADS = 8
USERS = 48
SHARED_KEYS = 200
ANSWERS_KEPT_MAX = 120
"""Of each thread; a question costs as much again when all are asked anew at the end."""


class Write(msgspec.Struct, frozen=True):
    """One write that returned: where the ledger says it is."""

    tx_id: int
    position: int
    recorded_at: int
    fact_id: str
    key: str | None


class Answer(msgspec.Struct, frozen=True):
    """One as-of answer, and the question it belongs to."""

    user_id: str
    asked_at: int
    valid_at: int
    position: int
    digest: str


class Done(msgspec.Struct):
    """What one process did."""

    writes: list[Write] = msgspec.field(default_factory=list)
    answers: list[Answer] = msgspec.field(default_factory=list)
    errors: list[str] = msgspec.field(default_factory=list)


def answer(store: MemoryStore, user_id: str, asked_at: int, valid_at: int) -> Answer:
    """Ask what was known of a user at *asked_at* about *valid_at*."""
    snapshot = store.get_memory_as_of(
        user_id=user_id,
        timestamp=moment(Instant(asked_at)),
        valid_at=moment(Instant(valid_at)),
    )
    known = [
        (each.fact_id, each.version, each.content, each.valid_from, each.valid_to)
        for each in snapshot
    ]
    digest = hashlib.sha256(repr(known).encode()).hexdigest()
    return Answer(user_id, asked_at, valid_at, snapshot.position, digest)


@dataclass
class Worker:
    """One thread: does one thing after the other until *deadline*."""

    store: MemoryStore
    name: str
    deadline: float
    done: Done = field(default_factory=Done)
    facts: list[str] = field(default_factory=list)
    count: int = 0

    def run(self) -> None:
        chance = random.Random(self.name)  # noqa: S311 - nothing secret
        actions: list[Callable[[random.Random], None]] = [
            *[self.remember] * 5,
            *[self.remember_with_shared_key] * 2,
            *[self.remember_many] * 1,
            *[self.change] * 4,
            *[self.ask] * 3,
            self.list_all,
        ]
        try:
            while time.monotonic() < self.deadline:
                self.count += 1
                chance.choice(actions)(chance)
        except Exception:
            self.done.errors.append(traceback.format_exc())
            raise

    def remember(self, chance: random.Random) -> None:
        said = f"{self.name} says {self.count}"
        user_id, key = _user(chance), f"{self.name}-{self.count}"
        fact = self.store.remember(said, user_id=user_id, idempotency_key=key)
        self.facts.append(fact.fact_id)
        self._wrote(fact, key)
        if chance.random() < 0.3:
            again = self.store.remember(said, user_id=user_id, idempotency_key=key)
            assert again == fact, "a retry is answered as the first time"

    def remember_with_shared_key(self, chance: random.Random) -> None:
        # Asked by every thread of every process: one of them writes it.
        number = chance.randrange(SHARED_KEYS)
        key = f"shared-{number}"
        fact = self.store.remember(
            f"shared fact {number}", user_id=f"u-{number % USERS}", idempotency_key=key
        )
        self._wrote(fact, key)

    def remember_many(self, chance: random.Random) -> None:
        said = [f"{self.name} says {self.count}.{each}" for each in range(5)]
        receipt = self.store.remember_many(said, user_id=_user(chance))
        assert [fact.content for fact in receipt] == said
        self._wrote(receipt, None)

    def change(self, chance: random.Random) -> None:
        if not self.facts:
            return
        fact_id = chance.choice(self.facts)
        said = f"{self.name} changes {self.count}"
        match chance.randrange(4):
            case 0:
                self._wrote(self.store.update(fact_id, content=said), None)
            case 1:
                self._wrote(self.store.correct(fact_id, content=said), None)
            case 2:
                self._wrote(self.store.forget(fact_id), None)
                self._wrote(self.store.restore(fact_id), None)
            case _:
                self._wrote(self.store.update(fact_id, content=said), None)
                self._wrote(self._rolled_back(fact_id), None)

    def ask(self, chance: random.Random) -> None:
        now = self.store._ledger.present().now
        asked_at = now - chance.choice((0, 0, 0, 1, 1_000, 100_000, 1_000_000))
        valid_at = asked_at + chance.choice((0, 0, -1_000, 1_000_000))
        user_id = _user(chance)
        found = answer(self.store, user_id, asked_at, valid_at)
        assert answer(self.store, user_id, asked_at, valid_at) == found
        if len(self.done.answers) < ANSWERS_KEPT_MAX:
            self.done.answers.append(found)

    def list_all(self, chance: random.Random) -> None:
        user_id = _user(chance)
        page = self.store.get_all(user_id=user_id, limit=7)
        items, position = list(page.items), page.position
        while page.next_cursor is not None:
            page = self.store.get_all(user_id=user_id, limit=7, cursor=page.next_cursor)
            assert page.position == position, "all parts are read at one position"
            items += page.items
        assert all(each.content is not None for each in items)
        assert len({(each.fact_id, each.valid_from) for each in items}) == len(items)

    def _rolled_back(self, fact_id: str) -> Receipt:
        while True:
            try:
                return self.store.rollback_fact(fact_id, to_version=1)
            except PlanOutdatedError:
                # Others write to the same subject all the time; a conflict says: again.
                continue

    def _wrote(self, made: Fact | Receipt, key: str | None) -> None:
        fact_id = made.fact_id if isinstance(made, Fact) else made.fact_ids[-1]
        assert made.tx_id is not None, "something was written"
        at = to_instant(made.recorded_at)
        self.done.writes.append(Write(made.tx_id, made.position, at, fact_id, key))


def _user(chance: random.Random) -> str:
    return f"u-{chance.randrange(USERS)}"


def main(settings: str, name: str, seconds: str) -> None:
    """Work with `THREADS` threads for *seconds*, and print what was done."""
    with MemoryStore.open(Settings.model_validate_json(settings)) as store:
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        sys.stdin.readline()
        deadline = time.monotonic() + float(seconds)
        workers = [Worker(store, f"{name}{each}", deadline) for each in range(THREADS)]
        threads = [threading.Thread(target=each.run) for each in workers]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    done = Done()
    for worker in workers:
        done.writes += worker.done.writes
        done.answers += worker.done.answers
        done.errors += worker.done.errors
    sys.stdout.write(msgspec.json.encode(done).decode() + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
