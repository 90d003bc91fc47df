"""Statements on PostgreSQL in one call: what a cursor promises they promise as well."""

import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import psycopg
import pytest
import sqlalchemy as sa

from muniment.errors import CommitUncertainError
from muniment.ledger.bulk import insert_rows
from muniment.ledger.database import connect, dispose
from muniment.ledger.prepared import Prepared, session


TABLE = sa.Table(
    "thing",
    sa.MetaData(),
    sa.Column("number", sa.BigInteger, primary_key=True),
    sa.Column("name", sa.Text),
    sa.Column("bytes", sa.LargeBinary),
    sa.Column("share", sa.Double),
    sa.Column("is_new", sa.Boolean),
)
ALL = Prepared(sa.select(TABLE).order_by(TABLE.c.number))
NAMED = Prepared(sa.select(TABLE.c.number).where(TABLE.c.name == sa.bindparam("name")))
RENAME = Prepared(
    sa.update(TABLE).where(TABLE.c.share > 0).values(name=sa.bindparam("new_name"))
)
DIVIDE = Prepared(sa.select(sa.literal(1) / sa.bindparam("number", type_=sa.BigInteger)))
NAMES = [each.name for each in TABLE.columns]
ADD = Prepared(sa.insert(TABLE), waits=True)
WAITING = sa.text(
    "SELECT count(*) FROM pg_stat_activity"
    " WHERE datname = current_database() AND wait_event_type = 'Lock'"
)
LOCKS = sa.text("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'")
ROWS = [
    (-(2**63), "茶 \\ \"quoted\", 'and' {braced}", b"\x00\xff\\x", -0.1, True),
    (1, "NULL", b"", 1e-300, False),
    (2**40, "", None, None, None),
    (2**63 - 1, None, b"\xe8\x8c\xb6", 2.5, True),
]


@pytest.fixture
def engine(postgres_database: str) -> Iterator[sa.Engine]:
    engine = connect(postgres_database, lock_timeout=10, pool_size=4)
    with engine.begin() as connection:
        TABLE.create(connection)
    try:
        yield engine
    finally:
        dispose(engine)


@contextmanager
def undone(connection: sa.Connection) -> Iterator[None]:
    """Begin a transaction and undo it in the end."""
    with connection.begin() as transaction:
        yield
        transaction.rollback()


@pytest.mark.parametrize("count", [1, len(ROWS)])
def test_what_is_inserted_is_what_is_read(engine: sa.Engine, count: int) -> None:
    with engine.begin() as connection:
        insert_rows(connection, TABLE, ROWS[:count])

        answer = ALL.run(connection)
        assert answer.fetchone() == ROWS[0]
        assert NAMED.first(connection, name="nobody's") is None
        # Another statement was run meanwhile, on the same connection.
        assert list(answer) == answer.fetchall() == ROWS[:count]
        assert RENAME.run(connection, new_name="茶").rowcount == (0 if count == 1 else 2)


def test_what_is_prepared_outlasts_a_transaction_that_is_undone(engine: sa.Engine) -> None:
    with engine.connect() as connection:
        with undone(connection):
            insert_rows(connection, TABLE, ROWS[:1])
            assert ALL.rows(connection) == ROWS[:1]
            for _ in range(10):  # as often as would make the driver prepare it, too
                connection.execute(sa.text("SELECT 1 WHERE :number > 0"), {"number": 1})
        with undone(connection):
            assert ALL.rows(connection) == []


def test_errors_are_those_of_the_driver(engine: sa.Engine) -> None:
    with engine.connect() as connection:
        with undone(connection):
            with pytest.raises(psycopg.errors.DivisionByZero):
                DIVIDE.rows(connection, number=0)
            with pytest.raises(psycopg.errors.InFailedSqlTransaction):
                ALL.rows(connection)
        with undone(connection), pytest.raises(psycopg.errors.UniqueViolation):
            insert_rows(connection, TABLE, [ROWS[0], ROWS[0]])
        with undone(connection), pytest.raises(psycopg.DataError, match="NUL"):
            NAMED.rows(connection, name="a\x00b")
        with undone(connection), pytest.raises(psycopg.errors.UndefinedTable):
            session(connection).run("SELECT * FROM nowhere", [])
        with undone(connection):
            assert ALL.rows(connection) == []


def test_a_connection_that_is_cut_is_an_operational_error(engine: sa.Engine) -> None:
    with engine.connect() as connection:
        cut = "SELECT pg_terminate_backend(pg_backend_pid())"
        with pytest.raises(psycopg.OperationalError):
            session(connection).run(cut, [])
        with pytest.raises(psycopg.OperationalError):
            ALL.rows(connection)


def driver_of(connection: sa.Connection) -> psycopg.Connection:
    driver = connection.connection.driver_connection
    assert isinstance(driver, psycopg.Connection)
    return driver


@contextmanager
def autocommitting(engine: sa.Engine) -> Iterator[sa.Connection]:
    """Give a connection whose transactions are begun and ended by statements."""
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        yield connection


@pytest.mark.parametrize("count", [1, len(ROWS)])
def test_what_was_left_for_later_is_there_with_the_next_and_kept_by_the_commit(
    engine: sa.Engine, count: int
) -> None:
    with autocommitting(engine) as connection, autocommitting(engine) as other:
        with session(connection).locked(1):
            assert ALL.rows(connection) == []
            insert_rows(connection, TABLE, ROWS[:count], later=True)
            assert ALL.rows(connection) == ROWS[:count]
            assert ALL.rows(other) == []
            RENAME.run(connection, new_name="茶")
            assert other.execute(LOCKS).scalar_one() == 1
            session(connection).commit()
        renamed = [row[0] for row in ALL.rows(other) if row[1] == "茶"]
        assert renamed == [row[0] for row in ROWS[:count] if row[3] and row[3] > 0]
        assert [row[0] for row in ALL.rows(other)] == [row[0] for row in ROWS[:count]]
        assert other.execute(LOCKS).scalar_one() == 0


def test_nothing_is_kept_of_a_block_without_its_commit(engine: sa.Engine) -> None:
    with autocommitting(engine) as connection:
        with session(connection).locked(1):
            insert_rows(connection, TABLE, ROWS[:1], later=True)
        # Neither the lock nor the row was asked for, so what follows is on its own.
        assert ALL.rows(connection) == []
        assert connection.execute(LOCKS).scalar_one() == 0


def test_one_that_fails_before_the_commit_leaves_nothing(engine: sa.Engine) -> None:
    """And is raised as itself, since the server did not come to the commit."""
    with autocommitting(engine) as connection:
        with session(connection).locked(1):
            insert_rows(connection, TABLE, [ROWS[0]], later=True)
            insert_rows(connection, TABLE, [ROWS[0]], later=True)
            insert_rows(connection, TABLE, [ROWS[1]], later=True)
            with pytest.raises(psycopg.errors.UniqueViolation):
                session(connection).commit()
        driver_of(connection).rollback()
        assert ALL.rows(connection) == []


def test_one_that_fails_together_with_others_is_raised_as_itself(engine: sa.Engine) -> None:
    with autocommitting(engine) as connection:
        with session(connection).locked(1):
            with pytest.raises(psycopg.errors.DivisionByZero):
                DIVIDE.rows(connection, number=0)
            with pytest.raises(psycopg.errors.InFailedSqlTransaction):
                ALL.rows(connection)
        driver_of(connection).rollback()
        assert DIVIDE.rows(connection, number=1) == [(1,)]


def test_a_commit_on_a_connection_that_was_cut_is_uncertain(engine: sa.Engine) -> None:
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        with session(connection).locked(1):
            ALL.rows(connection)
            driver = driver_of(connection)
            with autocommitting(engine) as other:
                cut = sa.text("SELECT pg_terminate_backend(:pid, 5000)")
                other.execute(cut, {"pid": driver.info.backend_pid})
            insert_rows(connection, TABLE, ROWS, later=True)
            with pytest.raises(CommitUncertainError):
                session(connection).commit()
        assert driver.closed
        connection.invalidate()
        assert ALL.rows(connection) == []


def test_a_wait_for_the_lock_can_be_interrupted(engine: sa.Engine) -> None:
    """And what was sent with it is not done once the lock is free."""
    with autocommitting(engine) as other, autocommitting(engine) as connection:
        other.execute(sa.text("SELECT pg_advisory_lock(1)"))
        with interrupted_once_it_waits(engine), session(connection).locked(1):
            insert_rows(connection, TABLE, ROWS, later=True)
            with pytest.raises(KeyboardInterrupt):
                ALL.rows(connection)
        driver_of(connection).rollback()
        other.execute(sa.text("SELECT pg_advisory_unlock(1)"))
        assert ALL.rows(connection) == ALL.rows(other) == []


def test_a_statement_that_waits_for_others_can_be_interrupted(engine: sa.Engine) -> None:
    with engine.begin() as other, engine.connect() as connection:
        insert_rows(other, TABLE, ROWS)
        with (
            undone(connection),
            interrupted_once_it_waits(engine),
            pytest.raises(KeyboardInterrupt),
        ):
            ADD.run(connection, **dict(zip(NAMES, ROWS[1], strict=True)))
        assert ALL.rows(connection) == []


@contextmanager
def interrupted_once_it_waits(engine: sa.Engine) -> Iterator[None]:
    """As by Ctrl-C: only the main thread, in which tests run, is told of signals."""

    is_over = threading.Event()

    def interrupt() -> None:
        with autocommitting(engine) as watching:
            while not (watching.execute(WAITING).scalar_one() or is_over.is_set()):
                pass
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGUSR1)

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGUSR1, stop)
    try:
        with ThreadPoolExecutor(1) as pool:
            interrupting = pool.submit(interrupt)
            try:
                yield
            finally:
                is_over.set()
            interrupting.result(10)
    finally:
        signal.signal(signal.SIGUSR1, before)
