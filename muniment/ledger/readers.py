"""Connections kept open for reading, since to fetch one costs more than a short read."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import sqlalchemy as sa

from muniment.errors import DatabaseUnavailableError
from muniment.ledger.database import IDLE_SECONDS, close, translated


_FREE_SECONDS: Final = 30.0


class ReadingConnections:
    """
    Connections whose statements each see what is committed then, kept open for reading.

    To fetch one from the pool, set it up and give it back costs more than a short read.
    A thread that finds all in use waits for one.

    Args:
        engine: Where they lead.
        pool_size: Of its pool, which keeps room for others.
    """

    def __init__(self, engine: sa.Engine, *, pool_size: int) -> None:
        self._engine = engine.execution_options(isolation_level="AUTOCOMMIT")
        self._idle: list[tuple[sa.Connection, float]] = []
        # Most of the pool stays for others, who may share it.
        self._idle_max = pool_size // 4
        # It gives out twice its size; a writer has one, and what is done seldom.
        self._free = threading.Semaphore(max(1, 2 * pool_size - 2))

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """
        Give a connection of this thread's own.

        Raises:
            DatabaseUnavailableError: If the database cannot be reached.
        """
        if not self._free.acquire(timeout=_FREE_SECONDS):
            raise DatabaseUnavailableError("all connections are in use")
        try:
            with translated(0):
                connection = self._taken()
                try:
                    yield connection
                except BaseException:
                    close(connection)
                    raise
                self._put(connection)
        finally:
            self._free.release()

    def close(self) -> None:
        """Give all connections back that nobody uses."""
        self._idle_max = 0
        while self._idle:
            self._idle.pop()[0].close()

    def _taken(self) -> sa.Connection:
        try:
            connection, used_at = self._idle.pop()
        except IndexError:
            return self._engine.connect()
        if time.monotonic() - used_at < IDLE_SECONDS:
            return connection
        connection.close()
        return self._engine.connect()

    def _put(self, connection: sa.Connection) -> None:
        if len(self._idle) < self._idle_max:
            self._idle.append((connection, time.monotonic()))
        else:
            connection.close()
