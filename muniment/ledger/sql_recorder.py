"""
The ledger in SQLite or PostgreSQL, on SQLAlchemy Core.

An append holds the ledger's lock until its commit: on PostgreSQL an advisory lock of
the transaction, on SQLite the one write lock. So positions and recorded times become
visible in the order in which they were given out, and a reader never sees a gap.
"""

import hashlib
import sqlite3
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager

import psycopg
import sqlalchemy as sa
from eventsourcing.persistence import IntegrityError, Tracking

from muniment.clock import Clock
from muniment.domain.time import BEGINNING, Instant
from muniment.ledger import sql_cold, statements, tables
from muniment.ledger.archiving_lock import archiving
from muniment.ledger.bulk import insert_rows
from muniment.ledger.cold import Segment
from muniment.ledger.database import StandingConnection, reading, transaction
from muniment.ledger.leaves import LeafHasher, digest_of
from muniment.ledger.merkle import TreeStore
from muniment.ledger.prepared import Row
from muniment.ledger.recorder import Append, LedgerRecorder, Present
from muniment.ledger.records import SUBJECT, Head, SealedEvent, StampedEvent, TransactionRow
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
    """

    def __init__(
        self, engine: sa.Engine, *, ledger: str, clock: Clock | None, lock_timeout: float
    ) -> None:
        self.engine = engine
        self.ledger = ledger
        self.reading_engine = engine.execution_options(isolation_level="AUTOCOMMIT")
        self._clock = clock
        self._standing = StandingConnection(engine, lock_timeout=lock_timeout)
        self._lock_key = _lock_key(ledger)

    @contextmanager
    def appending(self) -> Iterator["_SqlAppend"]:
        try:
            with self._standing.held() as connection, transaction(connection):
                if connection.dialect.name == "postgresql":
                    statements.LOCK.run(connection, lock_key=self._lock_key)
                # A statement of its own: it sees what was committed by whoever held
                # the lock before.
                present = self._present(connection)
                yield _SqlAppend(connection, self.ledger, present, self.whole)
        except (sqlite3.IntegrityError, psycopg.IntegrityError) as error:
            raise IntegrityError(str(error)) from error

    def present(self) -> Present:
        with reading(self.reading_engine) as connection:
            return self._present(connection)

    def head_at(self, recorded_at: Instant) -> Head:
        with reading(self.reading_engine) as connection:
            row = statements.HEAD_AT.first(
                connection, ledger=self.ledger, recorded_at_us=recorded_at
            )
        return Head(0, 0, BEGINNING) if row is None else Head(*row)

    def read(
        self, *, after: int = 0, until: int | None = None, limit: int
    ) -> Sequence[StampedEvent]:
        last = min(after + limit, _NO_END if until is None else until)
        with reading(self.reading_engine) as connection:
            rows = statements.READ.rows(
                connection, ledger=self.ledger, after=after, until=last
            )
        return self.whole([stamped(row) for row in rows])

    def read_stream(self, stream: str) -> Sequence[StampedEvent]:
        with reading(self.reading_engine) as connection:
            rows = statements.READ_STREAM.rows(
                connection, ledger=self.ledger, stream=stream
            )
        return self.whole([stamped(row) for row in rows])

    def read_subject(
        self, subject_ref: str, *, after: int = 0, until: int | None = None
    ) -> Sequence[StampedEvent]:
        last = _NO_END if until is None else until
        with reading(self.reading_engine) as connection:
            rows = statements.READ_SUBJECT.rows(
                connection,
                ledger=self.ledger,
                subject_ref=subject_ref,
                after=after,
                until=last,
            )
        return self.whole([stamped(row) for row in rows])

    def transactions(self, numbers: Collection[int]) -> Sequence[TransactionRow]:
        wanted = sorted(set(numbers))
        with reading(self.reading_engine) as connection:
            if connection.dialect.name == "postgresql":
                rows = statements.TRANSACTIONS.rows(
                    connection, ledger=self.ledger, numbers=wanted
                )
            else:
                rows = [
                    row
                    for each in wanted
                    for row in statements.TRANSACTION.rows(
                        connection, ledger=self.ledger, tx_id=each
                    )
                ]
        return [_transaction(row) for row in rows]

    def transaction(self, tx_id: int) -> TransactionRow | None:
        with reading(self.reading_engine) as connection:
            row = statements.TRANSACTION.first(connection, ledger=self.ledger, tx_id=tx_id)
        return None if row is None else _transaction(row)

    @contextmanager
    def tree(self) -> Iterator[TreeStore]:
        with reading(self.reading_engine) as connection:
            yield SqlTree(connection, self.ledger)

    def read_transactions(self, *, after: int, limit: int) -> Sequence[TransactionRow]:
        with reading(self.reading_engine) as connection:
            rows = statements.TRANSACTIONS_AFTER.rows(
                connection, ledger=self.ledger, after=after, most=limit
            )
        return [_transaction(row) for row in rows]

    def read_with_leaves(
        self, *, after: int, limit: int
    ) -> Sequence[tuple[StampedEvent, bytes]]:
        with reading(self.reading_engine) as connection:
            rows = statements.READ_WITH_LEAVES.rows(
                connection, ledger=self.ledger, after=after, most=limit
            )
        events = self.whole([stamped(row[:-1]) for row in rows])
        return [(each, bytes(row[-1])) for each, row in zip(events, rows, strict=True)]

    def tree_heads(self) -> Sequence[tuple[int, str]]:
        with reading(self.reading_engine) as connection:
            rows = statements.TREE_HEADS.rows(connection, ledger=self.ledger, least=0)
        return [(size, note) for size, note in rows]

    def stream_lengths(self, streams: Sequence[str], *, until: int) -> Mapping[str, int]:
        with reading(self.reading_engine) as connection:
            return sql_cold.stream_lengths(connection, self.ledger, streams, until=until)

    def segments(self) -> Sequence[Segment]:
        with reading(self.reading_engine) as connection:
            return sql_cold.segments(connection, self.ledger)

    @contextmanager
    def archiving(self) -> Iterator[None]:
        with archiving(self.reading_engine, self.ledger):
            yield

    def insert_tracking(self, tracking: Tracking) -> None:
        with self.appending() as append:
            self._track(append, tracking)

    def max_tracking_id(self, application_name: str) -> int | None:
        with reading(self.reading_engine) as connection:
            row = statements.CHECKPOINT.first(
                connection, ledger=self.ledger, projection=application_name
            )
        return None if row is None else int(row[0])

    def close(self) -> None:
        """Close the connections; what was committed stays."""
        self._standing.close()
        self.engine.dispose()

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


class _SqlAppend:
    """The ledger while its lock is held."""

    def __init__(
        self,
        connection: sa.Connection,
        ledger: str,
        present: Present,
        whole: Callable[[Sequence[StampedEvent]], Sequence[StampedEvent]],
    ) -> None:
        self.connection = connection
        self._whole = whole
        self.head = present.head
        self._ledger = ledger
        self._hasher = LeafHasher(ledger)
        self._horizon = present.horizon
        self.now = present.now

    def next_time(self) -> Instant:
        return Instant(max(self.now, self.head.recorded_at + 1, self._horizon + 1))

    def promise(self, until: Instant) -> None:
        if until > self._horizon:
            self._horizon = until
            statements.PROMISE.run(
                self.connection, this_ledger=self._ledger, horizon_us=until
            )

    def mark_key(self, key_id: int) -> None:
        statements.MARK_KEY.run(self.connection, this_ledger=self._ledger, key_mark=key_id)

    def insert(
        self, transaction: TransactionRow, events: Sequence[SealedEvent]
    ) -> tuple[StampedEvent, ...]:
        statements.NEW_TRANSACTION.run(
            self.connection,
            ledger=self._ledger,
            tx_id=transaction.tx_id,
            recorded_at_us=transaction.recorded_at,
            first_position=transaction.first_position,
            last_position=transaction.last_position,
            action=transaction.action,
            subject_ref=transaction.subject_ref,
            idempotency_tag=transaction.idempotency_tag,
            request_tag=transaction.request_tag,
            header=transaction.header,
        )
        result = tuple(
            StampedEvent(
                position=position,
                tx_id=transaction.tx_id,
                recorded_at=transaction.recorded_at,
                sealed=event,
            )
            for position, event in enumerate(events, transaction.first_position)
        )
        digest = digest_of(transaction)
        rows = [
            (self._ledger, *_event_row(each), self._hasher.leaf(each, digest))
            for each in result
        ]
        insert_rows(self.connection, tables.event, rows)
        tree = SqlTree(self.connection, self._ledger)
        tree.grow(self.head.position, transaction.last_position)
        self.head = Head(
            transaction.tx_id, transaction.last_position, transaction.recorded_at
        )
        return result

    def read_stream(self, stream: str) -> Sequence[StampedEvent]:
        rows = statements.READ_STREAM.rows(
            self.connection, ledger=self._ledger, stream=stream
        )
        return self._whole([stamped(row) for row in rows])

    def read(self, *, first: int, last: int) -> Sequence[StampedEvent]:
        rows = statements.READ.rows(
            self.connection, ledger=self._ledger, after=first - 1, until=last
        )
        return self._whole([stamped(row) for row in rows])

    @property
    def tree(self) -> TreeStore:
        return SqlTree(self.connection, self._ledger)

    def last_tree_head(self) -> tuple[int, str] | None:
        row = statements.LAST_TREE_HEAD.first(self.connection, ledger=self._ledger)
        return None if row is None else (row[0], row[1])

    def add_tree_head(self, size: int, note: str) -> None:
        statements.NEW_TREE_HEAD.run(
            self.connection, ledger=self._ledger, size=size, made_at_us=self.now, note=note
        )

    def add_segment(self, segment: Segment) -> None:
        sql_cold.add_segment(self.connection, self._ledger, segment)

    def droppable(self, *, first: int, last: int) -> Sequence[int]:
        return sql_cold.droppable(self.connection, self._ledger, first=first, last=last)

    def drop_payloads(self, positions: Sequence[int]) -> None:
        sql_cold.drop_payloads(self.connection, self._ledger, positions)

    def find_request(self, idempotency_tag: bytes) -> TransactionRow | None:
        row = statements.REQUEST.first(
            self.connection, ledger=self._ledger, idempotency_tag=idempotency_tag
        )
        return None if row is None else _transaction(row)

    def subject_moved_at(self, subject_ref: str) -> int:
        row = statements.MOVED_AT.first(
            self.connection,
            ledger=self._ledger,
            subject_ref=subject_ref,
            but=SUBJECT + subject_ref,
        )
        return int(row[0] or 0) if row else 0


def stamped(row: Row) -> StampedEvent:
    """Return the event that a row of `statements.EVENT_COLUMNS` holds."""
    position, tx_id, recorded_at, stream, version, topic, subject_ref, key_id, state = row
    return StampedEvent(
        position=position,
        tx_id=tx_id,
        recorded_at=recorded_at,
        sealed=SealedEvent(
            originator_id=stream,
            originator_version=version,
            topic=topic,
            state=bytes(state),
            subject_ref=subject_ref,
            key_id=key_id,
        ),
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


def _event_row(event: StampedEvent) -> tuple[object, ...]:
    sealed = event.sealed
    return (
        event.position,
        event.tx_id,
        event.recorded_at,
        sealed.originator_id,
        sealed.originator_version,
        sealed.topic,
        sealed.subject_ref,
        sealed.key_id,
        sealed.state,
    )


def _transaction(row: Row) -> TransactionRow:
    return TransactionRow(**dict(zip(TransactionRow.__struct_fields__, row, strict=True)))


def _lock_key(ledger: str) -> int:
    digest = hashlib.sha256(f"muniment/{ledger}".encode()).digest()
    return int.from_bytes(digest[:8], "big", signed=True)
