"""
The ledger in SQLite or PostgreSQL, on SQLAlchemy Core.

An append holds the ledger's lock until its commit: on PostgreSQL an advisory lock of
the transaction, on SQLite the one write lock. So positions and recorded times become
visible in the order in which they were given out, and a reader never sees a gap.
"""

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import cast

import sqlalchemy as sa
from eventsourcing.persistence import IntegrityError, Tracking

from muniment.clock import Clock
from muniment.domain.time import BEGINNING, Instant
from muniment.ledger import sql_cold, statements
from muniment.ledger.archiving_lock import archiving
from muniment.ledger.cold import Segment
from muniment.ledger.database import (
    StandingConnection,
    dispose,
    of_drivers,
    reading,
    transaction,
)
from muniment.ledger.leaves import StoredRow
from muniment.ledger.merkle import TreeStore
from muniment.ledger.prepared import rows_among, rows_of_each
from muniment.ledger.readers import ReadingConnections
from muniment.ledger.recorder import Append, LedgerRecorder, Present
from muniment.ledger.records import Head, StampedEvent, TransactionRow, stamped
from muniment.ledger.sql_append import SqlAppend, transaction_row
from muniment.ledger.sql_tree import SqlTree


_NO_END = 2**62


class SqlRecorder(LedgerRecorder):
    """
    A `LedgerRecorder` for one ledger of a migrated database.

    Args:
        engine: Of the database; closed with the recorder.
        ledger: Name of the ledger; its row exists.
        clock: Source of recorded time; ``None`` for the database server's clock, or
            this machine's on SQLite.
        lock_timeout: Seconds to wait for another writer.
        pool_size: Of the engine.

    Attributes:
        reading: Gives a connection to read by, whose statements each see what is
            committed then.
    """

    def __init__(
        self,
        engine: sa.Engine,
        *,
        ledger: str,
        clock: Clock | None,
        lock_timeout: float,
        pool_size: int,
    ) -> None:
        self.engine = engine
        self.ledger = ledger
        self._clock = clock
        self._readers = ReadingConnections(engine, pool_size=pool_size)
        self.reading = self._readers.reading
        self._standing = StandingConnection(
            engine.execution_options(isolation_level="AUTOCOMMIT"),
            lock_timeout=lock_timeout,
        )
        self._lock_key = _lock_key(ledger)

    @contextmanager
    def appending(self) -> Iterator[SqlAppend]:
        try:
            with (
                self._standing.held() as connection,
                transaction(connection, lock_key=self._lock_key),
            ):
                # A statement of its own: it sees what was committed by whoever held
                # the lock before.
                present = self._present(connection)
                append = SqlAppend(connection, self.ledger, present, self.whole)
                yield append
                append.flush(at_end=True)
        except of_drivers("IntegrityError") as error:
            raise IntegrityError(str(error)) from error

    def damages(self) -> Sequence[str]:
        with self.reading() as connection:
            if connection.dialect.name != "sqlite":
                return ()
            check = connection.exec_driver_sql("PRAGMA integrity_check(20)")
            return [str(each) for each in check.scalars() if each != "ok"]

    def present(self) -> Present:
        with self.reading() as connection:
            return self._present(connection)

    def head_at(self, recorded_at: Instant) -> Head:
        with self.reading() as connection:
            row = statements.HEAD_AT.first(
                connection, ledger=self.ledger, recorded_at_us=recorded_at
            )
        return Head(0, 0, BEGINNING) if row is None else Head(*row)

    def settled_at(self, recorded_at: Instant) -> Head | None:
        with self.reading() as connection:
            settled = statements.SETTLED_AT[connection.dialect.name]
            row = settled.first(connection, ledger=self.ledger, recorded_at_us=recorded_at)
        if row is None:
            return None
        tx_id, position, known_at = row
        return Head(tx_id or 0, position or 0, BEGINNING if tx_id is None else known_at)

    def read(
        self, *, after: int = 0, until: int | None = None, limit: int
    ) -> Sequence[StampedEvent]:
        last = min(after + limit, _NO_END if until is None else until)
        with self.reading() as connection:
            rows = statements.READ.rows(
                connection, ledger=self.ledger, after=after, until=last
            )
        return self.whole([stamped(row) for row in rows])

    def read_at(self, positions: Collection[int]) -> Sequence[StampedEvent]:
        if not positions:
            return []
        with self.reading() as connection:
            rows = rows_among(
                connection,
                statements.READ_AT,
                sorted(set(positions)),
                ledger=self.ledger,
            )
        return [stamped(row) for row in rows]

    def has_facts(self, subject_refs: Collection[str], *, after: int, until: int) -> bool:
        with self.reading() as connection:
            rows = rows_among(
                connection,
                statements.SOME_FACT,
                sorted(subject_refs),
                ledger=self.ledger,
                after=after,
                until=until,
            )
        return bool(rows)

    def read_stream(self, stream: str) -> Sequence[StampedEvent]:
        with self.reading() as connection:
            rows = statements.READ_STREAM.rows(
                connection, ledger=self.ledger, stream=stream
            )
        return self.whole([stamped(row) for row in rows])

    def read_streams(self, streams: Collection[str]) -> Sequence[StampedEvent]:
        with self.reading() as connection:
            rows = rows_of_each(
                connection,
                sorted(set(streams)),
                one=(statements.READ_STREAM, "stream"),
                every=statements.READ_STREAMS,
                ledger=self.ledger,
            )
        return self.whole([stamped(row) for row in rows])

    def read_subject(
        self, subject_ref: str, *, after: int = 0, until: int | None = None
    ) -> Sequence[StampedEvent]:
        last = _NO_END if until is None else until
        with self.reading() as connection:
            rows = statements.READ_SUBJECT.rows(
                connection,
                ledger=self.ledger,
                subject_ref=subject_ref,
                after=after,
                until=last,
            )
        return self.whole([stamped(row) for row in rows])

    def read_prefix(
        self, prefix: str, *, before: str | None, subject_ref: str | None, limit: int
    ) -> Sequence[StampedEvent]:
        last = f"{prefix}~" if before is None else before
        statement = statements.READ_PREFIX
        named = {"ledger": self.ledger, "prefix": prefix, "before": last, "most": limit}
        if subject_ref is not None:
            statement = statements.READ_PREFIX_OF_SUBJECT
            named["subject_ref"] = subject_ref
        with self.reading() as connection:
            rows = statement.rows(connection, **named)
        return self.whole([stamped(row) for row in rows])

    def transactions(self, numbers: Collection[int]) -> Sequence[TransactionRow]:
        with self.reading() as connection:
            rows = rows_of_each(
                connection,
                sorted(set(numbers)),
                one=(statements.TRANSACTION, "tx_id"),
                every=statements.TRANSACTIONS,
                ledger=self.ledger,
            )
        return [transaction_row(row) for row in rows]

    def transaction(self, tx_id: int) -> TransactionRow | None:
        with self.reading() as connection:
            row = statements.TRANSACTION.first(connection, ledger=self.ledger, tx_id=tx_id)
        return None if row is None else transaction_row(row)

    @contextmanager
    def tree(self) -> Iterator[TreeStore]:
        with self.reading() as connection:
            yield SqlTree(connection, self.ledger)

    def read_transactions(self, *, after: int, limit: int) -> Sequence[TransactionRow]:
        with self.reading() as connection:
            rows = statements.TRANSACTIONS_AFTER.rows(
                connection, ledger=self.ledger, after=after, most=limit
            )
        return [transaction_row(row) for row in rows]

    def read_rows(self, *, after: int, limit: int) -> Sequence[StoredRow]:
        with self.reading() as connection:
            rows = statements.READ_WITH_LEAVES.rows(
                connection, ledger=self.ledger, after=after, most=limit
            )
        return cast("Sequence[StoredRow]", rows)

    def payload_bytes(self, *, first: int, last: int) -> int:
        with self.reading() as connection:
            return sql_cold.payload_bytes(connection, self.ledger, first=first, last=last)

    def tree_heads(self) -> Sequence[tuple[int, str]]:
        with self.reading() as connection:
            rows = statements.TREE_HEADS.rows(connection, ledger=self.ledger, least=0)
        return [(size, note) for size, note in rows]

    def stream_lengths(self, streams: Sequence[str], *, until: int) -> Mapping[str, int]:
        with self.reading() as connection:
            return sql_cold.stream_lengths(connection, self.ledger, streams, until=until)

    def segments(self) -> Sequence[Segment]:
        # Asked for while a page of events is read, so not by a connection for reading.
        engine = self.engine.execution_options(isolation_level="AUTOCOMMIT")
        with reading(engine) as connection:
            return sql_cold.segments(connection, self.ledger)

    @contextmanager
    def archiving(self) -> Iterator[None]:
        with archiving(self.engine, self.ledger):
            yield

    def insert_tracking(self, tracking: Tracking) -> None:
        with self.appending() as append:
            self._track(append, tracking)

    def max_tracking_id(self, application_name: str) -> int | None:
        with self.reading() as connection:
            row = statements.CHECKPOINT.first(
                connection, ledger=self.ledger, projection=application_name
            )
        return None if row is None else int(row[0])

    def close(self) -> None:
        """Close the connections; what was committed stays."""
        self._standing.close()
        self._readers.close()
        dispose(self.engine)

    def _present(self, connection: sa.Connection) -> Present:
        dialect = connection.dialect.name
        row = statements.PRESENT[dialect].first(connection, ledger=self.ledger)
        assert row is not None, "the ledger was made when the store was opened"
        server_now, horizon, tx_id, position, recorded_at = row
        head = Head(tx_id or 0, position or 0, BEGINNING if tx_id is None else recorded_at)
        now = server_now if self._clock is None else self._clock()
        return Present(head, max(now, head.recorded_at), horizon)

    def _track(self, append: Append, tracking: Tracking | None) -> None:
        if tracking is None:
            return
        assert append.connection is not None, "an append of this recorder has a connection"
        track(
            append.connection,
            self.ledger,
            tracking.application_name,
            tracking.notification_id,
        )


def track(connection: sa.Connection, ledger: str, projection: str, position: int) -> None:
    """
    Move the checkpoint of a projection forward.

    Raises:
        IntegrityError: Of the library, if it is there or further already.
    """
    reached = statements.CHECKPOINT.first(connection, ledger=ledger, projection=projection)
    if reached is not None and reached[0] >= position:
        raise IntegrityError(f"{projection} is at {reached[0]}, not before {position}")
    if reached is None:
        statements.NEW_CHECKPOINT.run(
            connection, ledger=ledger, projection=projection, position=position
        )
    else:
        statements.MOVE_CHECKPOINT.run(
            connection, this_ledger=ledger, this_projection=projection, position=position
        )


def _lock_key(ledger: str) -> int:
    digest = hashlib.sha256(f"muniment/{ledger}".encode()).digest()
    return int.from_bytes(digest[:8], "big", signed=True)
