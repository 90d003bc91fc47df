"""
Statements on PostgreSQL, each in one call of its client library.

The driver's cursor sends a statement, waits and takes what comes in steps, between which
it lets go of the interpreter: with many threads, that is several changes of threads for
one round trip, and three times the processor time of the statement itself. Here it is let
go of once. Nothing that waits for others is to be run like this, such as the lock of an
append: a cursor can be interrupted, this cannot.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final

import psycopg
from psycopg.abc import Transformer
from psycopg.adapt import PyFormat
from psycopg.adapt import Transformer as NewTransformer
from psycopg.errors import error_from_result
from psycopg.pq import ConnStatus, ExecStatus, Format, TransactionStatus
from psycopg.pq.abc import PGresult


Row = Sequence[Any]

_CHUNK: Final = 1_000
_ANSWERED: Final = ExecStatus.COMMAND_OK, ExecStatus.TUPLES_OK


class Session:
    """
    One connection of the driver, which one thread uses at a time.

    Attributes:
        driver: The connection.
    """

    def __init__(self, driver: psycopg.Connection[Any]) -> None:
        self.driver = driver
        self._transformer: Transformer = NewTransformer(driver)
        self._names: dict[str, bytes] = {}

    def run(self, sql: str, values: Sequence[object]) -> "Answer":
        """
        Run a statement, whose parameters are numbered.

        Raises:
            psycopg.Error: As by a cursor.
        """
        driver = self.driver
        idle = driver.pgconn.transaction_status == TransactionStatus.IDLE
        if idle and not driver.autocommit:
            driver.execute("SELECT")  # A cursor begins the transaction, and knows how.
        name = self._names.get(sql) or self._prepare(sql)
        # As text, so that its types are those of the statement and not of the values.
        dumped: Any = self._transformer.dump_sequence(values, [PyFormat.TEXT] * len(values))
        result = driver.pgconn.exec_prepared(name, dumped, None, Format.BINARY)
        if result.status not in _ANSWERED:
            raise self._error(result)
        return Answer(self._transformer, result)

    def _prepare(self, sql: str) -> bytes:
        name = f"muniment_{len(self._names)}".encode()
        result = self.driver.pgconn.prepare(name, sql.encode())
        if result.status != ExecStatus.COMMAND_OK:
            raise self._error(result)
        self._names[sql] = name
        return name

    def _error(self, result: PGresult) -> psycopg.Error:
        pgconn = self.driver.pgconn
        if pgconn.status == ConnStatus.BAD:
            return psycopg.OperationalError(result.get_error_message())
        return error_from_result(result)


class Answer:
    """What a statement gave: the part of a cursor that reads."""

    def __init__(self, transformer: Transformer, result: PGresult) -> None:
        self._transformer = transformer
        self._result = result

    @property
    def rowcount(self) -> int:
        """How many rows a statement changed, or gave."""
        return self._result.command_tuples or 0

    def fetchone(self) -> Row | None:
        """Return the first row, if there is one."""
        return next(iter(self._loaded(0, 1)), None)

    def fetchall(self) -> Sequence[Row]:
        """Return all rows."""
        return self._loaded(0, self._result.ntuples)

    def __iter__(self) -> Iterator[Row]:
        for first in range(0, self._result.ntuples, _CHUNK):
            yield from self._loaded(first, first + _CHUNK)

    def _loaded(self, first: int, end: int) -> Sequence[Row]:
        # Others of the connection may have been read with it since.
        self._transformer.set_pgresult(self._result)
        return self._transformer.load_rows(first, min(end, self._result.ntuples), tuple)
