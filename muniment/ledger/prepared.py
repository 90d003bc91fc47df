"""
Statements of SQLAlchemy Core, compiled once for a dialect and run by its driver.

An append is eight short statements under the ledger's lock. Building and wrapping each
one anew costs several times what SQLite needs to run it; see ``benchmarks/``.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql


Row = Sequence[Any]
"""A row as the driver gives it: integers, text, bytes, floats and ``None``."""


class Cursor(Protocol):
    """What the drivers' cursors have in common."""

    @property
    def rowcount(self) -> int: ...

    def execute(self, sql: str, arguments: Any, /) -> object: ...

    def executemany(self, sql: str, arguments: Any, /) -> object: ...

    def fetchone(self) -> Row | None: ...

    def fetchall(self) -> Sequence[Row]: ...

    def __iter__(self) -> Iterator[Row]: ...


def driver_cursor(connection: sa.Connection) -> Cursor:
    """Return a cursor of the driver, in the transaction of *connection*."""
    driver: Any = connection.connection.driver_connection
    cursor: Cursor = driver.cursor()
    return cursor


class Prepared:
    """
    One statement with named parameters.

    Its parameters and columns must be of types that need no conversion by the dialect.

    Attributes:
        clause: The statement.
    """

    def __init__(self, statement: sa.ClauseElement) -> None:
        self.clause = statement
        self._compiled: dict[str, _Compiled] = {}

    def run(self, connection: sa.Connection, **values: object) -> Cursor:
        """Run it in the transaction of *connection* and return the driver's cursor."""
        compiled = self._compiled.get(connection.dialect.name) or self._compile(connection)
        cursor = driver_cursor(connection)
        cursor.execute(compiled.sql, compiled.arguments(values))
        return cursor

    def rows(self, connection: sa.Connection, **values: object) -> Sequence[Row]:
        """Run it and return all rows."""
        return self.run(connection, **values).fetchall()

    def first(self, connection: sa.Connection, **values: object) -> Row | None:
        """Run it and return the first row, if there is one."""
        return self.run(connection, **values).fetchone()

    def run_many(
        self, connection: sa.Connection, rows: Iterable[Mapping[str, object]]
    ) -> None:
        """Run it once for each of *rows*; nothing when there are none."""
        compiled = self._compiled.get(connection.dialect.name) or self._compile(connection)
        values: list[Any] = [compiled.arguments(row) for row in rows]
        if values:
            driver_cursor(connection).executemany(compiled.sql, values)

    def _compile(self, connection: sa.Connection) -> "_Compiled":
        built: Any = self.clause.compile(dialect=connection.dialect)
        fixed = {name: each for name, each in built.params.items() if each is not None}
        order = tuple(built.positiontup) if built.positional else None
        compiled = _Compiled(str(built), order, fixed)
        self._compiled[connection.dialect.name] = compiled
        return compiled


class PreparedAmong:
    """
    One query about some texts, compiled once, not once for each number of them.

    Args:
        query: Makes it of their column; they are one parameter.
    """

    def __init__(self, query: Callable[[sa.ColumnElement[str]], sa.Select[Any]]) -> None:
        listed = sa.func.json_each(sa.bindparam("among", type_=sa.Text))
        array = sa.func.unnest(sa.bindparam("among", type_=postgresql.ARRAY(sa.Text)))
        named = array.table_valued("value").render_derived()
        self._queries = {
            "sqlite": Prepared(query(listed.table_valued("value").c.value)),
            "postgresql": Prepared(query(named.c.value)),
        }

    def rows(
        self, connection: sa.Connection, among: Sequence[str], **values: object
    ) -> Sequence[Row]:
        """Run it and return all rows."""
        dialect = connection.dialect.name
        given = json.dumps(among) if dialect == "sqlite" else list(among)
        return self._queries[dialect].rows(connection, among=given, **values)


def rows_of_each(
    connection: sa.Connection,
    wanted: Sequence[object],
    *,
    one: tuple[Prepared, str],
    every: tuple[Prepared, str],
    ledger: str,
) -> Sequence[Row]:
    """
    Return the rows of each of *wanted*.

    Args:
        connection: To run on.
        wanted: What each row is found by.
        one: The statement for one of them, and its parameter.
        every: The statement for a list of them, and its parameter: PostgreSQL takes it,
            where each statement is a round trip. SQLite has no lists.
        ledger: Whose rows.
    """
    if connection.dialect.name == "postgresql":
        statement, name = every
        return statement.rows(connection, ledger=ledger, **{name: wanted})
    statement, name = one
    return [
        row
        for each in wanted
        for row in statement.rows(connection, ledger=ledger, **{name: each})
    ]


@dataclass(frozen=True, slots=True)
class _Compiled:
    """The text of a statement, the order of its parameters, and those with a value."""

    sql: str
    order: tuple[str, ...] | None
    fixed: Mapping[str, object]

    def arguments(self, values: Mapping[str, object]) -> Any:
        given = {**self.fixed, **values} if self.fixed else values
        return given if self.order is None else tuple(given[name] for name in self.order)
