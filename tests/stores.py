"""Stores to test: in memory, in a directory, in a database of a real server."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from muniment import MemoryStore, Settings, migrations
from muniment.api.key_files import KEY_FILE
from muniment.api.opening import (
    VAULT_FILE,
    VAULT_SCHEMA,
    ClockSource,
    OpenLedger,
    open_ledger,
)
from muniment.domain.time import Instant
from muniment.ledger.database import connect, dispose
from muniment.ledger.recorder import Append, LedgerRecorder
from muniment.ledger.records import SealedEvent, StampedEvent, TransactionRow


MEMORY, SQLITE, POSTGRESQL = "memory", "sqlite", "postgresql"
DURABLE = (SQLITE, POSTGRESQL)
BACKENDS = (MEMORY, *DURABLE)

NEW_YEAR = Instant(1_767_225_600_000_000)
"""2026-01-01T00:00:00Z."""
SECOND = 1_000_000


def in_memory_at(directory: Path, **changes: Any) -> Settings:  # noqa: ANN401 - of any setting
    """Return settings of a ledger in memory, with its key and its vault in *directory*."""
    return Settings(
        database_url="memory://",
        vault_url=f"sqlite:///{directory / VAULT_FILE}",
        key_file=directory / KEY_FILE,
        **changes,
    )


@contextmanager
def unguarded(connection: sa.Connection) -> Iterator[None]:
    """Take the triggers away that keep what is recorded, and put them back at the end."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql("SET LOCAL session_replication_role = replica")
        yield
        return
    query = "SELECT name, sql FROM sqlite_master WHERE type = 'trigger'"
    triggers = connection.exec_driver_sql(query).all()
    for name, _ in triggers:
        connection.exec_driver_sql(f"DROP TRIGGER {name}")
    yield
    for _, statement in triggers:
        connection.exec_driver_sql(statement)


@dataclass(frozen=True)
class Backend:
    """
    One place where stores can live.

    Attributes:
        kind: One of `BACKENDS`.
        database_url: Of the ledger's database.
        directory: Holds the key, and on SQLite everything else; may not exist yet.
    """

    kind: str
    database_url: str
    directory: Path

    def settings(self, **changes: object) -> Settings:
        """Return settings for a store here; durable, equal settings reopen it."""
        located: dict[str, object] = {"database_url": self.database_url}
        if self.kind == POSTGRESQL:
            located["key_file"] = self.directory / "key"
            located["archive_url"] = str(self.directory / "archive")
        return Settings.model_validate({**located, **changes})

    def open(self, *, clock: ClockSource | None = None, **changes: object) -> MemoryStore:
        """Open a store here, made if absent."""
        return MemoryStore.open(self.settings(**changes), clock=clock)

    @contextmanager
    def ledger(
        self, *, clock: ClockSource | None = None, **changes: object
    ) -> Iterator[OpenLedger]:
        """Open what is under a store, made if absent."""
        opened = open_ledger(self.settings(**changes), clock=clock, create=True)
        try:
            yield opened
        finally:
            opened.ledger.close()

    @contextmanager
    def recorder(
        self, *, clock: ClockSource | None = None, **changes: object
    ) -> Iterator[LedgerRecorder]:
        """Open the recorder of a store, made if absent."""
        with self.ledger(clock=clock, **changes) as opened:
            yield opened.ledger.recorder

    @contextmanager
    def sql(self, *, vault: bool = False) -> Iterator[sa.Connection]:
        """
        Give a connection of our own, past all of Muniment and its triggers, as somebody
        has it who owns the database; commit at the end.
        """
        url, arguments = self.database_url, {}
        if vault and self.kind == POSTGRESQL:
            arguments = {"options": f"-c search_path={VAULT_SCHEMA}"}
        elif vault:
            url = f"sqlite:///{self.directory / VAULT_FILE}"
        engine = sa.create_engine(url, connect_args=arguments)
        try:
            with engine.begin() as connection, unguarded(connection):
                yield connection
        finally:
            engine.dispose()


def backend_at(kind: str, *, directory: Path, postgres_url: str | None) -> Backend:
    """Return the backend of one kind; *postgres_url* names an empty database for it."""
    match kind:
        case "memory":
            return Backend(kind, "memory://", directory)
        case "sqlite":
            return Backend(kind, f"sqlite:///{directory / 'ledger.db'}", directory)
        case _:
            assert postgres_url is not None, "a database of the server is named"
            return Backend(kind, postgres_url, directory)


def upgrade_empty(database_url: str) -> None:
    """Make the tables of a ledger, and no ledger in them: a place to be copied."""
    engine = connect(database_url, lock_timeout=10, pool_size=1)
    try:
        migrations.upgrade(engine, "ledger", lock_timeout=10)
    finally:
        dispose(engine)


class SteppingClock:
    """A clock that shows each of *steps*, in seconds from `NEW_YEAR`, then stands still."""

    def __init__(self, *steps: float) -> None:
        self._steps = list(steps) or [0]

    def __call__(self) -> Instant:
        step = self._steps.pop(0) if len(self._steps) > 1 else self._steps[0]
        return Instant(NEW_YEAR + int(step * SECOND))


class SettableClock:
    """A clock that shows what it was told last."""

    def __init__(self, now: int = NEW_YEAR) -> None:
        self.now = now

    def __call__(self) -> Instant:
        return Instant(self.now)


def plain_event(
    stream: str, version: int, *, subject_ref: str = "", state: bytes = b"state"
) -> SealedEvent:
    """Return an event for tests that look at the recorder alone: nothing is sealed."""
    return SealedEvent(
        originator_id=stream,
        originator_version=version,
        topic="fact.asserted.v1",
        state=state,
        subject_ref=subject_ref,
        key_id=1,
    )


def insert(
    append: Append,
    *events: SealedEvent,
    idempotency_tag: bytes | None = None,
    subject_ref: str = "",
) -> tuple[StampedEvent, ...]:
    """Insert *events* as the next transaction of *append*."""
    return append.insert(
        TransactionRow(
            tx_id=append.head.tx_id + 1,
            recorded_at=append.next_time(),
            first_position=append.head.position + 1,
            last_position=append.head.position + len(events),
            action="test",
            subject_ref=subject_ref,
            idempotency_tag=idempotency_tag,
            request_tag=None if idempotency_tag is None else b"body",
            header=b"header",
        ),
        events,
    )


def append_once(recorder: LedgerRecorder, *events: SealedEvent) -> tuple[StampedEvent, ...]:
    """Append *events* in a transaction of their own."""
    with recorder.appending() as append:
        return insert(append, *events)
