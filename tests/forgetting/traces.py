"""What is left in files and tables, byte by byte, past all of Muniment; and backups."""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import sqlalchemy as sa

from muniment import MemoryStore
from muniment.api.key_files import KEY_FILE
from muniment.api.opening import VAULT_SCHEMA
from muniment.ledger import tables
from muniment.projections import tables as projections
from tests.stores import MEMORY, POSTGRESQL, SQLITE, Backend


LEDGER_FILE = "ledger.db"
_SETTLES_WITHIN_SECONDS = 30

assert projections.belief.metadata is tables.metadata


def places(backend: Backend) -> Iterator[tuple[str, bytes]]:
    """Yield each file and each row of a store's tables with all the bytes it holds."""
    if backend.directory.exists():
        yield from every_file(backend.directory)
    if backend.kind == POSTGRESQL:
        with backend.sql() as connection:
            for schema in ("public", VAULT_SCHEMA):
                yield from _rows(connection, schema)


def every_file(directory: Path) -> list[tuple[str, bytes]]:
    """
    Return each file anywhere in a directory with all it holds, keys aside.

    An index in the making renames and removes files meanwhile: one that was moved after it
    was listed would be missed, so a look counts only if all it listed was there to read.
    """
    deadline = time.monotonic() + _SETTLES_WITHIN_SECONDS
    while True:
        try:
            return [
                (file.name, file.read_bytes())
                for file in sorted(directory.rglob("*"))
                if file.is_file() and file.name != KEY_FILE
            ]
        except FileNotFoundError:
            if time.monotonic() > deadline:
                raise


def traces(backend: Backend, *needles: str | bytes) -> list[str]:
    """Return where any of *needles* is found, as text in UTF-8, as bytes, or in hex."""
    wanted = [each.encode() if isinstance(each, str) else each for each in needles]
    wanted += [each.hex().encode() for each in wanted]
    return [name for name, held in places(backend) if any(each in held for each in wanted)]


def wrapped_keys(backend: Backend) -> list[bytes]:
    """Return every wrapped key of the vault as it is stored."""
    with backend.sql(vault=True) as connection:
        return [
            row[0]
            for table in ("subject_key", "stream_key")
            for row in connection.execute(sa.text(f"SELECT wrapped FROM {table}"))
        ]


@dataclass
class Backup:
    """A copy of the ledger's database alone, as a backup makes one."""

    backend: Backend
    file: Path | None = None
    rows: dict[str, list[dict[str, object]]] = field(default_factory=dict)

    @classmethod
    def of(cls, backend: Backend, file: Path) -> "Backup":
        """Copy the ledger, its store open or not."""
        if backend.kind == SQLITE:
            source = sqlite3.connect(backend.directory / LEDGER_FILE)
            with closing(source), closing(sqlite3.connect(file)) as target:
                source.backup(target)
            return cls(backend, file)
        assert backend.kind != MEMORY, "what ends with its process has no backup"
        with backend.sql() as connection:
            rows = {
                table.name: [dict(each) for each in connection.execute(query).mappings()]
                for table in tables.metadata.sorted_tables
                for query in [sa.select(table)]
            }
        return cls(backend, rows=rows)

    def restore(self) -> None:
        """Put the copy in the place of the ledger, whose store is closed."""
        if self.file is not None:
            for end in ("", "-wal", "-shm"):
                (self.backend.directory / f"{LEDGER_FILE}{end}").unlink(missing_ok=True)
            target = sqlite3.connect(self.backend.directory / LEDGER_FILE)
            with closing(target), closing(sqlite3.connect(self.file)) as source:
                source.backup(target)
            return
        with self.backend.sql() as connection:
            for table in tables.metadata.sorted_tables:
                connection.execute(sa.delete(table))
                if self.rows[table.name]:
                    connection.execute(sa.insert(table), self.rows[table.name])


def said(store: MemoryStore, *, user_id: str) -> list[str | None]:
    """Return what is in use of a user's memory, sorted."""
    page = store.get_all(user_id=user_id, limit=1_000)
    return sorted((each.content for each in page), key=str)


def _rows(connection: sa.Connection, schema: str) -> Iterator[tuple[str, bytes]]:
    found = connection.execute(
        sa.text("SELECT table_name FROM information_schema.tables WHERE table_schema = :s"),
        {"s": schema},
    )
    for name in sorted(found.scalars()):
        for row in connection.execute(sa.text(f'SELECT * FROM {schema}."{name}"')):
            yield (
                name,
                b"\0".join(
                    each if isinstance(each, bytes) else str(each).encode() for each in row
                ),
            )
