"""Statements on PostgreSQL in one call: what a cursor promises they promise as well."""

import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import psycopg
import pytest
import sqlalchemy as sa

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
ROWS = [
    (-(2**63), "茶 \\ \"quoted\", 'and' {braced}", b"\x00\xff\\x", -0.1, True),
    (1, "NULL", b"", 1e-300, False),
    (2**40, "", None, None, None),
    (2**63 - 1, None, b"\xe8\x8c\xb6", 2.5, True),
]


@pytest.fixture
def engine(postgres_database: str) -> Iterator[sa.Engine]:
    engine = connect(postgres_database, lock_timeout=10, pool_size=3)
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


def test_a_statement_that_waits_for_others_can_be_interrupted(engine: sa.Engine) -> None:
    """As by Ctrl-C: only the main thread, in which tests run, is told of signals."""

    is_over = threading.Event()

    def interrupt() -> None:
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as watching:
            while not (watching.execute(WAITING).scalar_one() or is_over.is_set()):
                pass
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGUSR1)

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGUSR1, stop)
    try:
        with engine.begin() as other, engine.connect() as connection:
            insert_rows(other, TABLE, ROWS)
            with ThreadPoolExecutor(1) as pool, undone(connection):
                interrupting = pool.submit(interrupt)
                try:
                    with pytest.raises(KeyboardInterrupt):
                        ADD.run(connection, **dict(zip(NAMES, ROWS[1], strict=True)))
                finally:
                    is_over.set()
                interrupting.result(10)
            assert ALL.rows(connection) == []
    finally:
        signal.signal(signal.SIGUSR1, before)
