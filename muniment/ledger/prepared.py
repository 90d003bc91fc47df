"""
Statements of SQLAlchemy Core, compiled once for a dialect and run as they are.

Compiling is what Core spends most of a short statement's time on; an append is eight
short statements under the ledger's lock.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa


Row = Sequence[Any]
"""A row as the driver gives it: integers, text, bytes, floats and ``None``."""


class Prepared:
    """
    One statement with named parameters.

    Its parameters and columns must be of types that need no conversion by the dialect.
    """

    def __init__(self, statement: sa.ClauseElement) -> None:
        self._statement = statement
        self._compiled: dict[str, _Compiled] = {}

    def run(self, connection: sa.Connection, **values: object) -> sa.CursorResult[Any]:
        """Run it on *connection* and return the result."""
        compiled = self._compiled.get(connection.dialect.name) or self._compile(connection)
        return connection.exec_driver_sql(compiled.sql, compiled.arguments(values))

    def rows(self, connection: sa.Connection, **values: object) -> Sequence[Row]:
        """Run it and return all rows."""
        return self.run(connection, **values).fetchall()

    def first(self, connection: sa.Connection, **values: object) -> Row | None:
        """Run it and return the first row, if there is one."""
        return self.run(connection, **values).first()

    def run_many(
        self, connection: sa.Connection, rows: Iterable[Mapping[str, object]]
    ) -> None:
        """Run it once for each of *rows*; nothing when there are none."""
        compiled = self._compiled.get(connection.dialect.name) or self._compile(connection)
        values: list[Any] = [compiled.arguments(row) for row in rows]
        if values:
            connection.exec_driver_sql(compiled.sql, values)

    def _compile(self, connection: sa.Connection) -> "_Compiled":
        built: Any = self._statement.compile(dialect=connection.dialect)
        fixed = {name: each for name, each in built.params.items() if each is not None}
        order = tuple(built.positiontup) if built.positional else None
        compiled = _Compiled(str(built), order, fixed)
        self._compiled[connection.dialect.name] = compiled
        return compiled


@dataclass(frozen=True, slots=True)
class _Compiled:
    """The text of a statement, the order of its parameters, and those with a value."""

    sql: str
    order: tuple[str, ...] | None
    fixed: Mapping[str, object]

    def arguments(self, values: Mapping[str, object]) -> Any:
        given = {**self.fixed, **values} if self.fixed else values
        return given if self.order is None else tuple(given[name] for name in self.order)
