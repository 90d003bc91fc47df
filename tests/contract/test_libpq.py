"""Statements on PostgreSQL in one call: what a cursor promises they promise as well."""

from collections.abc import Iterator
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
ROWS = [
    (-(2**63), "茶 \\ \"quoted\", 'and' {braced}", b"\x00\xff\\x", -0.1, True),
    (1, "NULL", b"", 1e-300, False),
    (2**40, "", None, None, None),
    (2**63 - 1, None, b"\xe8\x8c\xb6", 2.5, True),
]


@pytest.fixture
def engine(postgres_database: str) -> Iterator[sa.Engine]:
    engine = connect(postgres_database, lock_timeout=10, pool_size=2)
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
