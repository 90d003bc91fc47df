"""Connections to SQLite and PostgreSQL, set up so that what is committed is durable."""

import sqlite3
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final

import sqlalchemy as sa

from muniment.errors import (
    CommitUncertainError,
    ConfigurationError,
    DamagedDatabaseError,
    DatabaseUnavailableError,
    LedgerBusyError,
    NotAStoreError,
    StoreClosedError,
)
from muniment.ledger.prepared import driver_cursor, session


_DIALECTS: Final = {
    "sqlite": "sqlite",
    "postgresql": "postgresql+psycopg",
    "postgresql+psycopg": "postgresql+psycopg",
    "postgres": "postgresql+psycopg",
}


IDLE_SECONDS: Final = 5.0
"""So long a connection that lay idle is taken for a working one."""

_WAL_SECONDS: Final = 10.0
_FAILURES: Final = (
    sa.exc.OperationalError,
    sa.exc.InterfaceError,
    sa.exc.TimeoutError,
)


def of_drivers(*names: str) -> tuple[type[Exception], ...]:
    """
    Return the errors that the drivers know by *names*.

    PostgreSQL's raises none before SQLAlchemy has loaded it, and is not imported here:
    that takes a command on SQLite a sixth of its time.
    """
    drivers = sqlite3, sys.modules.get("psycopg")
    return tuple(getattr(each, name) for each in drivers if each for name in names)


def connect(
    url: str,
    *,
    lock_timeout: float,
    pool_size: int,
    schema: str | None = None,
    ledger: str | None = None,
) -> sa.Engine:
    """
    Return an engine for *url*; nothing is read or created yet.

    Args:
        url: ``sqlite:///PATH`` or ``postgresql://…``.
        lock_timeout: Seconds to wait for another writer.
        pool_size: Most connections kept open.
        schema: On PostgreSQL, where unqualified tables are.
        ledger: On PostgreSQL, whose rows a connection sees, from its first moment to
            its last: its pool serves no other ledger.

    Raises:
        ConfigurationError: If the URL names no database we know.
    """
    parsed = _parsed(url)
    if parsed.get_backend_name() == "sqlite":
        return _sqlite(parsed, lock_timeout=lock_timeout, pool_size=pool_size)
    options = f"-c lock_timeout={int(lock_timeout * 1000)} -c timezone=UTC"
    if schema is not None:
        options += f" -c search_path={schema}"
    if ledger is not None:
        options += f" -c muniment.ledger={ledger}"
    engine = sa.create_engine(
        parsed,
        pool_size=pool_size,
        max_overflow=pool_size,
        # Statements are prepared in `libpq`; the driver, where it prepares some of its own,
        # throws away all when a transaction is undone.
        connect_args={"options": options, "prepare_threshold": None},
    )
    sa.event.listen(engine, "checkin", _note_idle)
    sa.event.listen(engine, "checkout", _refuse_stale)
    return engine


def dispose(engine: sa.Engine) -> None:
    """
    Close the connections of *engine*, those too that a thread or a generator still has.

    A pool that was disposed of takes back what was out, and closes it no more: the
    collector would, and complain.
    """
    sa.event.listen(engine.pool, "checkin", _close_late)
    engine.dispose()


def sqlite_file(url: str) -> Path | None:
    """Return the file an SQLite *url* names; ``None`` for memory or another database."""
    parsed = _parsed(url)
    if parsed.get_backend_name() != "sqlite" or not parsed.database:
        return None
    return Path(parsed.database)


class StandingConnection:
    """
    One connection that is kept open, for what is done too often to fetch one each time.

    Threads take turns. After a failure, or a while of idling, another takes its place;
    once it was closed, none.

    Args:
        engine: Where it leads.
        lock_timeout: Seconds to wait for one's turn.
    """

    def __init__(self, engine: sa.Engine, *, lock_timeout: float) -> None:
        self._engine = engine
        self._lock_timeout = lock_timeout
        self._turn = threading.Lock()
        self._connection: sa.Connection | None = None
        self._used_at = 0.0
        self._closed = False

    @contextmanager
    def held(self) -> Iterator[sa.Connection]:
        """
        Give the connection to one thread; what is uncommitted at the end is undone.

        Raises:
            LedgerBusyError: If one's turn does not come in time.
            DatabaseUnavailableError: If the database cannot be reached.
            StoreClosedError: If it was closed.
        """
        if not self._turn.acquire(timeout=self._lock_timeout):
            raise LedgerBusyError(self._lock_timeout)
        try:
            with translated(self._lock_timeout):
                connection = self._taken()
                try:
                    yield connection
                except BaseException:
                    close(connection)
                    raise
                self._connection, self._used_at = connection, time.monotonic()
        finally:
            self._turn.release()

    def close(self) -> None:
        """Give the connection back, and take no other."""
        with self._turn:
            self._closed = True
            if self._connection is not None:
                self._connection.close()
            self._connection = None

    def _taken(self) -> sa.Connection:
        if self._closed:
            raise StoreClosedError
        connection, self._connection = self._connection, None
        if connection is not None and time.monotonic() - self._used_at < IDLE_SECONDS:
            return connection
        if connection is not None:
            connection.close()
        return self._engine.connect()


def is_foreign(file: Path, version_table: str) -> bool:
    """
    Whether an SQLite *file* holds the tables of something else; it is not touched.

    Raises:
        NotAStoreError: If it is no database.
        DamagedDatabaseError: If it cannot be read.
    """
    query = "SELECT name FROM sqlite_master WHERE type = 'table'"
    with translated(0), closing(sqlite3.connect(file)) as connection:
        names = {name for (name,) in connection.execute(query)}
    return bool(names) and version_table not in names


@contextmanager
def writing(engine: sa.Engine, *, lock_timeout: float) -> Iterator[sa.Connection]:
    """
    Give a connection in a transaction that may write; commit when the block ends well.

    Raises:
        LedgerBusyError: If another writer does not finish in time.
        DatabaseUnavailableError: If the database cannot be reached.
        CommitUncertainError: If the answer to the commit is lost.
    """
    with translated(lock_timeout), engine.connect() as connection, transaction(connection):
        yield connection


@contextmanager
def transaction(
    connection: sa.Connection, *, lock_key: int | None = None
) -> Iterator[None]:
    """
    Commit on *connection* when the block ends well.

    On SQLite the one write lock is taken at once, so that nothing read in the block can
    be overtaken by another writer.

    Args:
        connection: In autocommit, where *lock_key* is given.
        lock_key: On PostgreSQL the advisory lock to take. It is taken in the round trip
            of the first statement of the block, which is to be a prepared one.

    Raises:
        CommitUncertainError: If the answer to the commit is lost.
    """
    connection.begin()
    if connection.dialect.name == "sqlite":
        driver_cursor(connection).execute("BEGIN IMMEDIATE", ())
    elif lock_key is not None:
        with session(connection).locked(lock_key):
            yield
            _commit(connection)
        return
    yield
    _commit(connection)


@contextmanager
def reading(engine: sa.Engine) -> Iterator[sa.Connection]:
    """
    Give a connection whose statements each see what is committed then.

    Raises:
        DatabaseUnavailableError: If the database cannot be reached.
    """
    with translated(0), engine.connect() as connection:
        yield connection


@contextmanager
def translated(lock_timeout: float) -> Iterator[None]:
    """Turn a failure of the database into the error that says what to do."""
    try:
        yield
    except _failures() as error:
        problem = _problem(error)
        if "locked" in problem or "lock timeout" in problem:
            raise LedgerBusyError(lock_timeout) from error
        if "decode to UTF-8" in problem:
            raise DamagedDatabaseError(problem) from error
        raise DatabaseUnavailableError(problem) from error
    except (sa.exc.DatabaseError, sqlite3.DatabaseError) as error:
        if "not a database" in _problem(error):
            raise NotAStoreError("the file", "it is not an SQLite database") from error
        if "malformed" in _problem(error):
            raise DamagedDatabaseError(_problem(error)) from error
        raise


def scrub(engine: sa.Engine, table_names: Sequence[str]) -> bool:
    """
    Overwrite what was deleted from tables; whether it is gone from their files.

    SQLite overwrites what is deleted at once; its log is folded back and cut to nothing,
    which waits until no reader needs it. PostgreSQL vacuums the tables; its own log goes
    when it is recycled.
    """
    autocommit = engine.execution_options(isolation_level="AUTOCOMMIT")
    with reading(autocommit) as connection:
        if connection.dialect.name == "sqlite":
            busy = connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)").scalar()
            return busy == 0
        for name in table_names:
            connection.exec_driver_sql(f"VACUUM {name}")
    return True


def close(connection: sa.Connection) -> None:
    """Give a connection back; that it is broken must not hide what broke it."""
    try:
        connection.close()
    except _failures():
        if not connection.closed:
            connection.invalidate()
            connection.close()


def _commit(connection: sa.Connection) -> None:
    if connection.dialect.name == "postgresql":
        session(connection).commit()
    try:
        connection.commit()
    except _failures() as error:
        # The database may have committed before the connection broke.
        raise CommitUncertainError(_problem(error)) from error


def _failures() -> tuple[type[Exception], ...]:
    """Return what is raised when a database fails, not a statement."""
    return *_FAILURES, *of_drivers("OperationalError", "InterfaceError")


def _problem(error: Exception) -> str:
    return str(getattr(error, "orig", None) or error).strip().partition("\n")[0]


def _parsed(url: str) -> sa.URL:
    try:
        parsed = sa.make_url(url)
    except sa.exc.ArgumentError as error:
        raise ConfigurationError(
            f"not a database URL: {url!r}", "use sqlite:///PATH or postgresql://…"
        ) from error
    if parsed.drivername == "sqlite" and parsed.database in (None, "", ":memory:"):
        raise ConfigurationError(
            "an SQLite URL needs a file", "use sqlite:///PATH or memory://"
        )
    if parsed.drivername not in _DIALECTS:
        raise ConfigurationError(
            f"no store can live in {parsed.drivername!r}",
            "use sqlite:///PATH or postgresql://…",
        )
    return parsed.set(drivername=_DIALECTS[parsed.drivername])


def _sqlite(url: sa.URL, *, lock_timeout: float, pool_size: int) -> sa.Engine:
    arguments = {"timeout": lock_timeout, "check_same_thread": False}
    engine = sa.create_engine(
        url, pool_size=pool_size, max_overflow=pool_size, connect_args=arguments
    )
    sa.event.listen(engine, "connect", _set_up_sqlite)
    return engine


def _set_up_sqlite(connection: Any, _record: object) -> None:
    # FULL makes a commit durable against power loss in WAL mode. secure_delete
    # overwrites what is deleted, which erasure relies on. A larger log before it is
    # folded back: one append touches eight pages, and most of them again with the next.
    _go_to_wal(connection)
    for pragma in (
        "synchronous=FULL",
        "secure_delete=ON",
        "foreign_keys=ON",
        # Else what replaces a row removes it past the triggers that keep it.
        "recursive_triggers=ON",
        "cache_size=-65536",
        "mmap_size=268435456",
        "wal_autocheckpoint=8000",
    ):
        connection.execute(f"PRAGMA {pragma}").close()


def _go_to_wal(connection: Any) -> None:
    """Keep a log before what is written, though several make the database at once."""
    deadline = time.monotonic() + _WAL_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL").close()
        except sqlite3.OperationalError:
            # The mode is changed under a lock that SQLite does not wait for.
            if time.monotonic() > deadline:
                raise
            time.sleep(0.01)
        else:
            return


def _note_idle(_connection: object, record: Any) -> None:
    record.info["idle_since"] = time.monotonic()


def _close_late(connection: Any, _record: object) -> None:
    connection.close()


def _refuse_stale(connection: Any, record: Any, _proxy: object) -> None:
    """Ask whether a connection that lay idle still works; if not, another is made."""
    if time.monotonic() - record.info.get("idle_since", time.monotonic()) < IDLE_SECONDS:
        return
    try:
        connection.execute("SELECT 1")
        connection.rollback()
    except of_drivers("Error") as error:
        raise sa.exc.DisconnectionError from error
