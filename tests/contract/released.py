"""
Stores as each released revision of the schema left them, with what they answered.

``released/REVISION.json`` holds every row of ledger and vault, the key, and answers taken
when it was made. A file is never changed or removed: a store that someone made then must
open now. ``python -m tests.contract.released`` writes the one of the newest revision, if
there is none yet.
"""

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import sqlalchemy as sa

from muniment import MemoryStore, migrations
from muniment.api.opening import VAULT_SCHEMA
from muniment.domain.time import Instant
from muniment.instants import moment
from muniment.ledger.database import connect
from tests.stores import NEW_YEAR, POSTGRESQL, SECOND, SQLITE, Backend, SettableClock


FOLDER = Path(__file__).with_name("released")
KEY = "5e" * 32
USERS = ("u-1", "u-2")
TARGETS: tuple[migrations.Target, ...] = ("ledger", "vault")


class Question(msgspec.Struct, frozen=True):
    """What was known at one time about another, in microseconds."""

    user_id: str
    asked_at: int
    valid_at: int


class Released(msgspec.Struct):
    """
    One store.

    Attributes:
        tables: By target and table, its rows; bytes as hexadecimal.
        answers: Questions, with the contents known then.
        histories: By fact, the kind and content of each version.
    """

    tables: dict[str, dict[str, list[dict[str, Any]]]]
    answers: list[tuple[Question, list[str | None]]]
    histories: dict[str, list[tuple[str, str | None]]]


@dataclass(frozen=True)
class _Stored:
    """How a value is written: bytes are marked, the rest is JSON."""

    mark: str = "hex:"

    def written(self, value: object) -> object:
        return self.mark + value.hex() if isinstance(value, bytes) else value

    def read(self, value: object) -> object:
        if isinstance(value, str) and value.startswith(self.mark):
            return bytes.fromhex(value.removeprefix(self.mark))
        return value


STORED = _Stored()


def revisions() -> list[str]:
    """Return the revisions of which a store is kept, oldest first."""
    return sorted(each.stem for each in FOLDER.glob("*.json"))


def read(revision: str) -> Released:
    return msgspec.json.decode((FOLDER / f"{revision}.json").read_bytes(), type=Released)


@contextmanager
def engine_of(backend: Backend, target: migrations.Target) -> Iterator[sa.Engine]:
    """Give an engine as a store makes it, with the schema of the vault where it has one."""
    url, schema = backend.database_url, None
    if target == "vault" and backend.kind == SQLITE:
        url = f"sqlite:///{backend.directory / 'vault.db'}"
    elif target == "vault":
        schema = VAULT_SCHEMA
    engine = connect(url, lock_timeout=10, pool_size=2, schema=schema)
    try:
        yield engine
    finally:
        engine.dispose()


def upgrade(backend: Backend, target: migrations.Target, revision: str = "head") -> None:
    """Bring one database of *backend* to *revision*, as opening a store does."""
    backend.directory.mkdir(parents=True, exist_ok=True)
    schema = VAULT_SCHEMA if target == "vault" and backend.kind == POSTGRESQL else None
    with engine_of(backend, target) as engine:
        migrations.upgrade(
            engine, target, lock_timeout=10, schema=schema, revision=revision
        )


def restore(backend: Backend, revision: str) -> Released:
    """Make the store of *revision* at *backend*, as it was then."""
    released = read(revision)
    for target in TARGETS:
        upgrade(backend, target, revision)
        with engine_of(backend, target) as engine, engine.begin() as connection:
            known = sa.MetaData()
            known.reflect(connection)
            for name, rows in released.tables[target].items():
                for row in rows:
                    values = {column: STORED.read(each) for column, each in row.items()}
                    connection.execute(sa.insert(known.tables[name]), values)
    return released


def answers(
    store: MemoryStore, questions: Iterable[Question]
) -> list[tuple[Question, list[str | None]]]:
    """Ask each of *questions*."""
    found = []
    for each in questions:
        snapshot = store.get_memory_as_of(
            user_id=each.user_id,
            timestamp=moment(Instant(each.asked_at)),
            valid_at=moment(Instant(each.valid_at)),
        )
        found.append((each, [fact.content for fact in snapshot]))
    return found


def histories(
    store: MemoryStore, fact_ids: Iterable[str]
) -> dict[str, list[tuple[str, str | None]]]:
    """Return the kind and content of each version of each fact."""
    return {
        fact_id: [(each.kind, each.content) for each in store.get_fact_history(fact_id)]
        for fact_id in fact_ids
    }


def make(directory: Path) -> Released:
    """Make a store with something of everything in it, and return it as it is kept."""
    backend = Backend(SQLITE, f"sqlite:///{directory / 'ledger.db'}", directory)
    clock = SettableClock()
    with backend.open(clock=clock, key=KEY) as store:
        fact_ids = _lived(store, clock)
        questions = [
            Question(user_id, asked_at, asked_at + ahead * SECOND)
            for user_id in USERS
            for asked_at in range(NEW_YEAR - SECOND, clock.now + 1, SECOND)
            for ahead in (-2, 0, 2)
        ]
        answered = answers(store, questions)
        told = histories(store, fact_ids)
    tables = {str(target): _rows(backend, target) for target in TARGETS}
    return Released(tables=tables, answers=answered, histories=told)


def _lived(store: MemoryStore, clock: SettableClock) -> list[str]:
    """Write to *store* with every verb, a second apart; return the facts."""
    facts: list[str] = []

    def tick() -> None:
        clock.now += SECOND

    for user_id in USERS:
        moved = store.remember("lives in Kiel", user_id=user_id, category="home")
        tick()
        store.update(moved.fact_id, content="lives in 北京", actor="chat", reason="moved")
        tick()
        store.correct(moved.fact_id, content="lives in Beijing", session_id="s-1")
        tick()
        many = store.remember_many(["likes tea", "likes rain"], user_id=user_id)
        tick()
        store.remember("likes tea", user_id=user_id, source="mail")
        tick()
        store.end(many.fact_ids[0])
        tick()
        store.forget(many.fact_ids[1])
        tick()
        store.restore(many.fact_ids[1], idempotency_key=f"restored-{user_id}")
        tick()
        store.rollback_where(user_id=user_id, session_id="s-1")
        tick()
        store.freeze(user_id=user_id)
        store.thaw(user_id=user_id)
        tick()
        _talked(store, user_id, tick)
        facts += [moved.fact_id, *many.fact_ids]
    return facts


def _talked(store: MemoryStore, user_id: str, tick: Callable[[], None]) -> None:
    """Say something to *store*, and have it answer."""
    session_id = store.start_session(user_id=user_id, agent="chat").session_id
    tick()
    said = "2026-01-01T08:00:00+08:00"
    store.add_turn(session_id, role="user", content="我喝茶", uttered_at=said)
    tick()
    store.record_config("prompt", {"for": user_id})
    tick()
    store.search("茶", user_id=user_id, session_id=session_id)
    store.flush_receipts()
    tick()
    store.add_turn(session_id, role="assistant", content="noted")
    tick()
    store.end_session(session_id)
    tick()


def _rows(backend: Backend, target: migrations.Target) -> dict[str, list[dict[str, Any]]]:
    with engine_of(backend, target) as engine, engine.begin() as connection:
        known = sa.MetaData()
        known.reflect(connection)
        return {
            table.name: [
                {name: STORED.written(value) for name, value in row._mapping.items()}
                for row in connection.execute(sa.select(table))
            ]
            for table in known.sorted_tables
            if table.name != migrations.VERSION_TABLE
        }


if __name__ == "__main__":
    newest = FOLDER / f"{migrations.HEAD}.json"
    if newest.exists():
        raise SystemExit(f"{newest} is there, and is never changed")
    FOLDER.mkdir(exist_ok=True)
    encoded = msgspec.json.encode(make(Path(sys.argv[1])))
    newest.write_bytes(msgspec.json.format(encoded, indent=1) + b"\n")
