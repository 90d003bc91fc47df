"""Where a measurement runs: fresh databases of one backend, on one disk."""

import os
import secrets
import sqlite3
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol, cast

import psycopg
from psycopg import sql
from sqlalchemy import make_url

from muniment.settings import Settings
from tests.postgres import postgres_server


Row = Sequence[object]
Backend = Literal["sqlite", "postgresql"]
BACKENDS: tuple[Backend, ...] = ("sqlite", "postgresql")


class Cursor(Protocol):
    """What the drivers' cursors have in common."""

    @property
    def description(self) -> Sequence[object] | None: ...

    def fetchall(self) -> list[tuple[object, ...]]: ...

    def executemany(self, statement: str, rows: Iterable[Row], /) -> object: ...


class Connection(Protocol):
    """What the drivers' connections have in common, in autocommit mode."""

    def execute(self, statement: str, values: Row = (), /) -> Cursor: ...

    def cursor(self) -> Cursor: ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Place:
    """
    One backend to measure on.

    Attributes:
        backend: Which.
        directory: Holds keys and SQLite databases.
        server: URL of the PostgreSQL server, where that is the backend.
        prefix: Of the names of the databases on the server.
    """

    backend: Backend
    directory: Path
    server: str | None
    prefix: str = ""

    @property
    def mark(self) -> str:
        """How the driver spells a parameter."""
        return "?" if self.backend == "sqlite" else "%s"

    def settings(self, name: str) -> Settings:
        """Return the settings of the store *name*; made when it is opened first."""
        return Settings(database_url=self.url(name), key_file=self.directory / name / "key")

    def url(self, name: str) -> str:
        """Return the URL of the database *name*, which is made if there is none."""
        if self.server is None:
            return f"sqlite:///{self.directory / name / 'ledger.db'}"
        with psycopg.connect(self.server, autocommit=True) as connection:
            known = connection.execute(
                "SELECT 1 FROM pg_database WHERE datname = %s", [name]
            )
            if known.fetchone() is None:
                connection.execute(
                    sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name))
                )
        located = make_url(self.server).set(database=name)
        return located.render_as_string(hide_password=False)

    def connect(self, name: str) -> Connection:
        """Return a connection of the driver to the database *name*; durable like ours."""
        if self.server is not None:
            return cast("Connection", psycopg.connect(self.url(name), autocommit=True))
        (self.directory / name).mkdir(exist_ok=True)
        connection = sqlite3.connect(
            self.directory / name / "ledger.db", isolation_level=None
        )
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        return cast("Connection", connection)


@contextmanager
def places(
    backends: Sequence[Backend], *, directory: Path | None, server: str | None
) -> Iterator[list[Place]]:
    """
    Give a place for each of *backends*; what was made there is deleted in the end.

    Args:
        backends: Which.
        directory: On the disk to measure; the one for temporary files if left out.
        server: URL of a PostgreSQL server to use; else one is started whose data lies
            in *directory*, too, and that waits for the disk.
    """
    with ExitStack() as stack:
        made = tempfile.TemporaryDirectory(prefix="muniment-bench-", dir=directory)
        root = Path(stack.enter_context(made))
        found: list[Place] = []
        for backend in backends:
            (root / backend).mkdir()
            if backend == "sqlite":
                found.append(Place(backend, root / backend, None))
                continue
            url = server or stack.enter_context(_server_in(root))
            prefix = f"muniment_bench_{secrets.token_hex(4)}_"
            stack.callback(_drop_databases, url, prefix)
            found.append(Place(backend, root / backend, url, prefix))
        yield found


def _databases(server: str, prefix: str) -> set[str]:
    with psycopg.connect(server) as connection:
        rows = connection.execute("SELECT datname FROM pg_database").fetchall()
    return {name for (name,) in rows if name.startswith(prefix)}


def _drop_databases(server: str, prefix: str) -> None:
    for name in _databases(server, prefix):
        with psycopg.connect(server, autocommit=True) as connection:
            # FORCE, because a baseline's connection may still be open.
            connection.execute(
                sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name))
            )


@contextmanager
def _server_in(directory: Path) -> Iterator[str]:
    # The process that keeps the server puts its data where temporary files go.
    before = os.environ.get("TMPDIR")
    os.environ["TMPDIR"] = str(directory)
    try:
        with postgres_server(fsync=True) as url:
            yield url
    finally:
        if before is None:
            del os.environ["TMPDIR"]
        else:
            os.environ["TMPDIR"] = before
