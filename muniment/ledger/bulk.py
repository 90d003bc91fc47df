"""Many rows into one table, the quickest way each database has."""

from collections.abc import Sequence
from functools import cache
from typing import Any

import sqlalchemy as sa

from muniment.ledger.prepared import driver_cursor, session


COPY_FROM_ROWS = 200
"""PostgreSQL's COPY pays from here on; below, its set-up costs more than it saves."""

_TYPES: dict[type[sa.types.TypeEngine[Any]], str] = {
    sa.BigInteger: "int8",
    sa.Boolean: "bool",
    sa.Double: "float8",
    sa.LargeBinary: "bytea",
    sa.Text: "text",
}
"""As PostgreSQL calls the types that our columns have."""


def insert_rows(
    connection: sa.Connection,
    table: sa.Table,
    rows: Sequence[tuple[object, ...]],
    *,
    later: bool = False,
) -> None:
    """
    Insert *rows*, each with a value for every column of *table* in order.

    Args:
        connection: In a transaction.
        table: Where they go.
        rows: What is inserted.
        later: Whether it may be left to the next statement, or the commit, on PostgreSQL.

    Raises:
        sqlite3.IntegrityError, psycopg.IntegrityError: If a key is taken; the
            transaction is lost then.
    """
    if not rows:
        return
    if _can_copy(connection, table, len(rows)):
        _copy(connection, table, rows)
        return
    if connection.dialect.name == "postgresql":
        insert = session(connection).later if later else session(connection).run
        if len(rows) == 1:
            insert(_insert_one(table), rows[0])
        else:
            insert(
                _insert_lists(table), [list(column) for column in zip(*rows, strict=True)]
            )
        return
    statement = _insert(table)
    if len(rows) == 1:
        driver_cursor(connection).execute(statement, rows[0])
    else:
        driver_cursor(connection).executemany(statement, rows)


def _can_copy(connection: sa.Connection, table: sa.Table, count: int) -> bool:
    """Whether COPY pays, and may be used: PostgreSQL refuses it under row security."""
    if connection.dialect.name != "postgresql" or count < COPY_FROM_ROWS:
        return False
    cursor = driver_cursor(connection)
    cursor.execute("SELECT row_security_active(%s::regclass)", (table.name,))
    row = cursor.fetchone()
    return row is not None and not row[0]


@cache
def _insert(table: sa.Table) -> str:
    marks = ", ".join("?" for _ in table.columns)
    return f"INSERT INTO {table.name} ({_names(table)}) VALUES ({marks})"


@cache
def _insert_one(table: sa.Table) -> str:
    marks = ", ".join(f"${number}" for number in range(1, len(table.columns) + 1))
    return f"INSERT INTO {table.name} ({_names(table)}) VALUES ({marks})"


@cache
def _insert_lists(table: sa.Table) -> str:
    """Return the statement for however many rows, whose parameters are columns."""
    lists = ", ".join(
        f"${number}::{_TYPES[type(column.type)]}[]"
        for number, column in enumerate(table.columns, 1)
    )
    return f"INSERT INTO {table.name} ({_names(table)}) SELECT * FROM unnest({lists})"


def _copy(
    connection: sa.Connection, table: sa.Table, rows: Sequence[tuple[object, ...]]
) -> None:
    driver = connection.connection.driver_connection
    assert driver is not None, "a connection in a transaction has its driver's"
    # In binary, since the server takes half as long to read bytes as they are.
    statement = f"COPY {table.name} ({_names(table)}) FROM STDIN (FORMAT BINARY)"
    with driver.cursor() as cursor, cursor.copy(statement) as copy:
        copy.set_types([_TYPES[type(column.type)] for column in table.columns])
        for row in rows:
            copy.write_row(row)


def _names(table: sa.Table) -> str:
    return ", ".join(column.name for column in table.columns)
