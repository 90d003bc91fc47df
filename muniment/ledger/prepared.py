"""
Statements of SQLAlchemy Core, compiled once for a dialect and run by its driver.

What a request asks of the database is a few short statements, the same each time. Building
and wrapping each one anew costs several times what SQLite needs to run it; see
``benchmarks/``.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final, Protocol

import msgspec
import sqlalchemy as sa


Row = Sequence[Any]
"""A row as the driver gives it: integers, text, bytes, floats and ``None``."""


class Answer(Protocol):
    """What a statement gave."""

    @property
    def rowcount(self) -> int: ...

    def fetchone(self) -> Row | None: ...

    def fetchall(self) -> Sequence[Row]: ...

    def __iter__(self) -> Iterator[Row]: ...


class Cursor(Answer, Protocol):
    """What the drivers' cursors have in common."""

    def execute(self, sql: str, arguments: Any, /) -> object: ...

    def executemany(self, sql: str, arguments: Any, /) -> object: ...


class Session(Protocol):
    """Runs statements with numbered parameters on one connection of PostgreSQL."""

    def run(self, sql: str, values: Sequence[object], /) -> Answer: ...

    def later(self, sql: str, values: Sequence[object], /) -> None: ...

    def locked(self, lock_key: int, /) -> AbstractContextManager[None]: ...

    def commit(self) -> None: ...


def driver_cursor(connection: sa.Connection) -> Cursor:
    """Return a cursor of the driver, in the transaction of *connection*."""
    driver: Any = connection.connection.driver_connection
    cursor: Cursor = driver.cursor()
    return cursor


def session(connection: sa.Connection) -> Session:
    """Return what runs statements on PostgreSQL quickly, in the transaction as above."""
    proxied = connection.connection
    known: Session | None = proxied.info.get(_SESSION)
    if known is None:
        # Not imported with this module: with SQLite nobody needs the other driver.
        from muniment.ledger import libpq  # noqa: PLC0415

        driver: Any = proxied.driver_connection
        known = proxied.info[_SESSION] = libpq.Session(driver)
    return known


_SESSION: Final = "muniment session"
"""Under this name with a connection of the driver, and gone with it."""


def insert_of(dialect: str) -> Any:
    """Return the insert of a dialect by its name, which knows of rows that are there."""
    # A dialect is loaded by whoever needs it: PostgreSQL's takes longer than a command.
    return import_module(f"sqlalchemy.dialects.{dialect}").insert


class Prepared:
    """
    One statement with named parameters.

    Its parameters and columns must be of types that need no conversion by the dialect.

    Args:
        statement: What is run.
        waits: Whether it may have to wait for others: then it can be interrupted.

    Attributes:
        clause: The statement.
    """

    def __init__(self, statement: sa.ClauseElement, *, waits: bool = False) -> None:
        self.clause = statement
        self._waits = waits
        self._compiled: dict[str, _Compiled] = {}

    def run(self, connection: sa.Connection, **values: object) -> Answer:
        """Run it in the transaction of *connection* and return what it gave."""
        compiled = self._compiled.get(connection.dialect.name) or self._compile(connection)
        if connection.dialect.name == "postgresql" and not self._waits:
            return session(connection).run(compiled.sql, compiled.arguments(values))
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
        compiled = _compiled(self.clause, connection.dialect)
        values: list[Any] = [compiled.arguments(row) for row in rows]
        if values:
            driver_cursor(connection).executemany(compiled.sql, values)

    def _compile(self, connection: sa.Connection) -> "_Compiled":
        dialect: Any = connection.dialect
        if dialect.name == "postgresql" and not self._waits:
            dialect = type(dialect)(paramstyle="numeric_dollar")
        compiled = _compiled(self.clause, dialect)
        self._compiled[dialect.name] = compiled
        return compiled


def rows_of_each(
    connection: sa.Connection,
    wanted: Sequence[object],
    *,
    one: tuple[Prepared, str],
    every: Mapping[str, Prepared],
    ledger: str,
) -> Sequence[Row]:
    """
    Return the rows of each of *wanted*.

    Args:
        connection: To run on.
        wanted: What each row is found by.
        one: The statement for one of them, and its parameter: quicker for one.
        every: The statements for a list of them, by dialect, as `among` makes them.
        ledger: Whose rows.
    """
    if len(wanted) == 1:
        statement, name = one
        return statement.rows(connection, ledger=ledger, **{name: wanted[0]})
    return rows_among(connection, every, wanted, ledger=ledger)


def rows_among(
    connection: sa.Connection,
    statements: Mapping[str, Prepared],
    wanted: Sequence[object],
    **values: object,
) -> Sequence[Row]:
    """Return the rows of each of *wanted*, by *statements* that `among` made."""
    dialect = connection.dialect.name
    listed = wanted if dialect == "postgresql" else msgspec.json.encode(wanted).decode()
    return statements[dialect].rows(connection, wanted=listed, **values)


def among(query: sa.Select[Any], column: sa.Column[Any]) -> Mapping[str, Prepared]:
    """
    Return by dialect the statements for the rows of *query* with a *column* in a list.

    The list is one parameter, ``wanted``: so a statement is compiled once, not once for
    each length. PostgreSQL takes a list, SQLite a list in JSON.
    """
    a_list = sa.bindparam("wanted", type_=sa.ARRAY(column.type))
    as_json = sa.func.json_each(sa.bindparam("wanted", type_=sa.Text)).table_valued("value")
    return {
        "sqlite": Prepared(query.where(column.in_(sa.select(as_json.c.value)))),
        "postgresql": Prepared(query.where(column == sa.any_(a_list))),
    }


def about_each(
    query: Callable[[sa.ColumnElement[str]], sa.Select[Any]],
) -> Mapping[str, Prepared]:
    """Return by dialect the statements for *query* of each text in a list, likewise."""
    listed = sa.func.unnest(sa.bindparam("wanted", type_=sa.ARRAY(sa.Text)))
    in_json = sa.func.json_each(sa.bindparam("wanted", type_=sa.Text))
    return {
        "sqlite": Prepared(query(in_json.table_valued("value").c.value)),
        "postgresql": Prepared(
            query(listed.table_valued("value").render_derived().c.value)
        ),
    }


@dataclass(frozen=True, slots=True)
class _Compiled:
    """The text of a statement, the order of its parameters, and those with a value."""

    sql: str
    order: tuple[str, ...] | None
    fixed: Mapping[str, object]

    def arguments(self, values: Mapping[str, object]) -> Any:
        given = {**self.fixed, **values} if self.fixed else values
        return given if self.order is None else tuple(given[name] for name in self.order)


def _compiled(clause: sa.ClauseElement, dialect: sa.Dialect) -> _Compiled:
    built: Any = clause.compile(dialect=dialect)
    fixed = {name: each for name, each in built.params.items() if each is not None}
    order = tuple(built.positiontup) if built.positional else None
    return _Compiled(str(built), order, fixed)
