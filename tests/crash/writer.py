"""
A process that writes to a store until it is killed, or kills itself within a write.

Started as ``python -m tests.crash.writer SETTINGS STEP``. It prints a line before each
write and one after it returned, each with the key of the write.
"""

import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any

from muniment import MemoryStore, Settings
from muniment.ledger import database
from muniment.ledger.recorder import Append
from muniment.ledger.sql_append import SqlAppend
from muniment.ledger.transaction import FactChange
from muniment.ledger.vault import Vault
from muniment.projections.timeline import SqlTimeline


THREADS = 4
LARGE = 250
"""So many facts in one write that PostgreSQL gets them by COPY."""
WRITES_BEFORE_KILL = 3
KILLED = "killed"

BEFORE_SUBJECT, AFTER_SUBJECT = "before the subject", "after the subject"
BEFORE_KEYS, AFTER_KEYS = "before the keys", "after the keys"
BEFORE_INSERT, AFTER_INSERT = "before the insert", "after the insert"
AFTER_TIMELINE = "after the timeline"
BEFORE_COMMIT, AFTER_COMMIT = "before the commit", "after the commit"
STEPS = (
    BEFORE_SUBJECT,
    AFTER_SUBJECT,
    BEFORE_KEYS,
    AFTER_KEYS,
    BEFORE_INSERT,
    AFTER_INSERT,
    AFTER_TIMELINE,
    BEFORE_COMMIT,
    AFTER_COMMIT,
)


def contents(key: str, count: int) -> list[str]:
    """Return what the write with *key* says; no other write says it."""
    return [f"{key} says {number}" for number in range(count)]


def write(store: MemoryStore, key: str, count: int, *, user_id: str = "alice") -> None:
    """Remember *count* facts in one transaction."""
    store.remember_many(contents(key, count), user_id=user_id, idempotency_key=key)


def report(word: str, key: str, count: int) -> None:
    # One system call, so that a line is there wholly or not at all.
    os.write(sys.stdout.fileno(), f"{word} {key} {count}\n".encode())


def reported_write(
    store: MemoryStore, key: str, count: int, *, user_id: str = "alice"
) -> None:
    report("asked", key, count)
    write(store, key, count, user_id=user_id)
    report("returned", key, count)


def die(*_: object, **__: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def die_around(owner: Any, name: str, *, before: bool, armed: Callable[[], bool]) -> None:  # noqa: ANN401
    """Let the process die when *name* of *owner* is called and *armed* says so."""
    whole = getattr(owner, name)

    def deadly(*args: Any, **rest: Any) -> Any:  # noqa: ANN401
        if before and armed():
            die()
        result = whole(*args, **rest)
        if armed():
            die()
        return result

    setattr(owner, name, deadly)


def arm(step: str) -> None:
    """Let the process die at *step* of the next write."""
    inserted = threading.Event()

    def always() -> bool:
        return True

    match step:
        case "before the subject" | "after the subject":
            die_around(Vault, "_make", before=step == BEFORE_SUBJECT, armed=always)
        case "before the keys" | "after the keys":
            die_around(Vault, "_make_keys", before=step == BEFORE_KEYS, armed=always)
        case "before the insert" | "after the insert":
            die_around(SqlAppend, "insert", before=step == BEFORE_INSERT, armed=always)
        case "after the timeline":
            die_around(SqlTimeline, "apply", before=False, armed=always)
        case "before the commit" | "after the commit":
            # Keys are committed too, but before anything is inserted.
            apply, early = SqlTimeline.apply, step == BEFORE_COMMIT

            def noted(
                self: SqlTimeline, append: Append, changes: Sequence[FactChange]
            ) -> None:
                apply(self, append, changes)
                inserted.set()

            SqlTimeline.apply = noted  # type: ignore[method-assign]
            die_around(database, "_commit", before=early, armed=inserted.is_set)
        case _:
            raise AssertionError(step)


def main(settings: str, step: str) -> None:
    with MemoryStore.open(Settings.model_validate_json(settings)) as store:
        if step != "any":
            for number in range(WRITES_BEFORE_KILL):
                reported_write(store, f"whole-{number}", number + 1)
            arm(step)
            reported_write(store, KILLED, LARGE, user_id="new")
            raise AssertionError(f"survived {step}")
        threads = [
            threading.Thread(target=write_for_ever, args=(store, f"{os.getpid()}-{each}"))
            for each in range(THREADS)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def write_for_ever(store: MemoryStore, name: str) -> None:
    number = 0
    while True:
        number += 1
        reported_write(
            store, f"{name}-{number}", LARGE if number % 7 == 0 else number % 3 + 1
        )


if __name__ == "__main__":
    main(*sys.argv[1:])
