"""
Statements on PostgreSQL, each in one call of its client library, or several in one trip.

The driver's cursor sends a statement, waits and takes what comes in steps, between which
it lets go of the interpreter: with many threads, that is several changes of threads for
one round trip, and three times the processor time of the statement itself. Here it is let
go of once. Nothing that waits for others is to be run alone like this: a cursor can be
interrupted, this cannot. What is sent together can, since the driver waits for it.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import psycopg
from psycopg.abc import PQGen, Transformer
from psycopg.adapt import PyFormat
from psycopg.adapt import Transformer as NewTransformer
from psycopg.errors import error_from_result
from psycopg.generators import fetch_many, send
from psycopg.pq import ConnStatus, ExecStatus, Format, TransactionStatus
from psycopg.pq.abc import PGconn, PGresult

from muniment.errors import CommitUncertainError


Row = Sequence[Any]
Statement = tuple[str, Sequence[object]]
"""Its text, whose parameters are numbered, and their values."""

_BEGIN: Final = "BEGIN"
_LOCK: Final = "SELECT pg_advisory_xact_lock($1::bigint)"
_COMMIT: Final = "COMMIT"
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
        self._waiting: list[Statement] = []

    @contextmanager
    def locked(self, lock_key: int) -> Iterator[None]:
        """
        Begin a transaction under an advisory lock, with the first statement of the block.

        What waits at the end of the block and was not committed is not run.
        """
        self._waiting = [(_BEGIN, ()), (_LOCK, (lock_key,))]
        try:
            yield
        finally:
            self._waiting = []

    def later(self, sql: str, values: Sequence[object]) -> None:
        """Run a statement of which no answer is read, in one trip with the next."""
        self._waiting.append((sql, values))

    def commit(self) -> None:
        """
        Commit a transaction that this began, in one trip with what waits.

        Raises:
            CommitUncertainError: If the answer to the commit is lost.
            psycopg.Error: If what waited failed; nothing is committed.
        """
        if not self.driver.autocommit:
            return  # The driver began it.
        waiting, self._waiting = self._waiting, []
        try:
            results = self._sent([*waiting, (_COMMIT, ())])
        except psycopg.OperationalError as error:
            raise _uncertain(error) from error
        failed = _failed(results)
        if failed is None and len(results) > len(waiting):
            return
        problem = self._error(results[-1 if failed is None else failed])
        # What failed before the commit keeps the server from coming to it; but of a
        # connection that broke nobody knows how far it came.
        is_whole = self.driver.pgconn.status == ConnStatus.OK
        if is_whole and failed in range(len(waiting)):
            raise problem
        raise _uncertain(problem)

    def run(self, sql: str, values: Sequence[object]) -> "Answer":
        """
        Run a statement, whose parameters are numbered.

        Raises:
            psycopg.Error: As by a cursor.
        """
        if self._waiting:
            together, self._waiting = [*self._waiting, (sql, values)], []
            results = self._sent(together)
            failed = _failed(results)
            if failed is not None or len(results) < len(together):
                raise self._error(results[-1 if failed is None else failed])
            return Answer(self._transformer, results[-1])
        driver = self.driver
        idle = driver.pgconn.transaction_status == TransactionStatus.IDLE
        if idle and not driver.autocommit:
            driver.execute("SELECT")  # A cursor begins the transaction, and knows how.
        name = self._names.get(sql) or self._prepare(sql)
        result = driver.pgconn.exec_prepared(
            name, self._dumped(values), None, Format.BINARY
        )
        if result.status not in _ANSWERED:
            raise self._error(result)
        return Answer(self._transformer, result)

    def _sent(self, statements: Sequence[Statement]) -> Sequence[PGresult]:
        """
        Return what *statements* gave, sent in one go; less if the connection broke.

        After one that failed the server carries out none of the rest.
        """
        named = [(self._names.get(sql) or self._prepare(sql), v) for sql, v in statements]
        pgconn = self.driver.pgconn
        pgconn.enter_pipeline_mode()
        try:
            for name, values in named:
                pgconn.send_query_prepared(name, self._dumped(values), None, Format.BINARY)
            pgconn.pipeline_sync()
            return self.driver.wait(_results(pgconn))
        finally:
            self._leave_pipeline()

    def _leave_pipeline(self) -> None:
        try:
            self.driver.pgconn.exit_pipeline_mode()
        except psycopg.OperationalError:
            # Whoever came next would take an answer that is still to come for theirs.
            self.driver.close()

    def _dumped(self, values: Sequence[object]) -> Sequence[Any]:
        # As text, so that its types are those of the statement and not of the values.
        return self._transformer.dump_sequence(values, [PyFormat.TEXT] * len(values))

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


def _results(pgconn: PGconn) -> PQGen[list[PGresult]]:
    """Return what statements sent together gave, once all is answered or one broke off."""
    yield from send(pgconn)
    results: list[PGresult] = []
    while True:
        found = yield from fetch_many(pgconn)
        if found and found[0].status == ExecStatus.PIPELINE_SYNC:
            return results
        results += found
        if pgconn.status == ConnStatus.BAD:
            return results


def _failed(results: Sequence[PGresult]) -> int | None:
    """Return the number of the first that failed."""
    return next((n for n, each in enumerate(results) if each.status not in _ANSWERED), None)


def _uncertain(error: psycopg.Error) -> CommitUncertainError:
    # The database may have committed before the connection broke.
    return CommitUncertainError(str(error).strip().partition("\n")[0])
