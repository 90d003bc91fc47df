"""What an append to the ledger in SQLite or PostgreSQL does while it holds the lock."""

from collections.abc import Callable, Sequence

import sqlalchemy as sa
from msgspec.structs import astuple

from muniment.domain.time import Instant
from muniment.ledger import sql_cold, statements, tables
from muniment.ledger.bulk import insert_rows
from muniment.ledger.cold import Segment
from muniment.ledger.leaves import LeafHasher, digest_of
from muniment.ledger.merkle import TreeStore
from muniment.ledger.prepared import Row, rows_of_each
from muniment.ledger.recorder import Present
from muniment.ledger.records import (
    Head,
    SealedEvent,
    StampedEvent,
    TransactionRow,
    event_row,
    stamped,
)
from muniment.ledger.sql_tree import SqlTree


_WAITING_MAX = 5_000
"""With so many rows of one table, what waits is inserted before the next transaction."""


class SqlAppend:
    """
    The ledger while its lock is held.

    What is inserted waits until something is asked that it might answer, or the block
    ends: so the requests of a batch are inserted together, not each on its own.
    """

    def __init__(
        self,
        connection: sa.Connection,
        ledger: str,
        present: Present,
        whole: Callable[[Sequence[StampedEvent]], Sequence[StampedEvent]],
    ) -> None:
        self._connection = connection
        self._whole = whole
        self.head = present.head
        self._ledger = ledger
        self._hasher = LeafHasher(ledger)
        self._horizon = present.horizon
        self.now = present.now
        self._waiting: dict[sa.Table, list[tuple[object, ...]]] = {}
        self._waits_for: set[object] = set()
        self._latest: set[object] = set()
        self._grown_to = present.head.position
        self._foreseen: dict[str, list[StampedEvent]] = {}
        self.repeats: dict[str, dict[bytes, list[str]]] = {}

    @property
    def connection(self) -> sa.Connection:
        """The database transaction, with all that was inserted."""
        self.flush()
        return self._connection

    def connection_about(self, subject_ref: str) -> sa.Connection:
        return self._with(subject_ref)

    def insert_rows(self, table: sa.Table, rows: Sequence[tuple[object, ...]]) -> None:
        """Insert rows of a projection, after what is waiting already."""
        if not rows:
            return
        self._waiting.setdefault(table, []).extend(rows)

    def flush(self, *, at_end: bool = False) -> None:
        """
        Insert what is waiting.

        Args:
            at_end: Whether nothing but the commit follows, which may take it along.

        Raises:
            sqlite3.IntegrityError, psycopg.IntegrityError: If a key is taken.
        """
        if not self._waiting:
            return
        waiting, self._waiting = self._waiting, {}
        # Rows of projections may follow, of the transaction that was inserted last.
        self._waits_for = set(self._latest)
        for table, rows in waiting.items():
            insert_rows(self._connection, table, rows, later=at_end)
        grown, self._grown_to = self._grown_to, self.head.position
        SqlTree(self._connection, self._ledger).grow(grown, self._grown_to)

    def next_time(self) -> Instant:
        return Instant(max(self.now, self.head.recorded_at + 1, self._horizon + 1))

    def promise(self, until: Instant) -> None:
        if until > self._horizon:
            self._horizon = until
            statements.PROMISE.run(
                self._connection, this_ledger=self._ledger, horizon_us=until
            )

    def mark_key(self, key_id: int) -> None:
        statements.MARK_KEY.run(self._connection, this_ledger=self._ledger, key_mark=key_id)

    def insert(
        self, transaction: TransactionRow, events: Sequence[SealedEvent]
    ) -> tuple[StampedEvent, ...]:
        if any(len(rows) >= _WAITING_MAX for rows in self._waiting.values()):
            # Here, and nowhere below: the tree grows to the head, whose events must be in.
            self.flush()
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
        leaf_of = self._hasher.leaf_of
        rows = [
            (self._ledger, *row, leaf_of(row, digest)) for row in map(event_row, result)
        ]
        self.head = Head(
            transaction.tx_id, transaction.last_position, transaction.recorded_at
        )
        for each in events:
            self._foreseen.pop(str(each.originator_id), None)
            self.repeats.pop(each.subject_ref, None)
        self._latest = {transaction.subject_ref, transaction.idempotency_tag}.union(
            *((each.originator_id, each.subject_ref) for each in events)
        )
        self._waits_for |= self._latest
        self.insert_rows(tables.transaction, [(self._ledger, *astuple(transaction))])
        self.insert_rows(tables.event, rows)
        return result

    def foresee(self, streams: Sequence[str]) -> None:
        if not streams:
            return
        rows = rows_of_each(
            self.connection,
            streams,
            one=(statements.READ_STREAM, "stream"),
            every=statements.READ_STREAMS,
            ledger=self._ledger,
        )
        self._foreseen = {each: [] for each in streams}
        for event in self._whole([stamped(row) for row in rows]):
            self._foreseen[str(event.sealed.originator_id)].append(event)

    def read_stream(self, stream: str) -> Sequence[StampedEvent]:
        foreseen = self._foreseen.get(stream)
        if foreseen is not None:
            return foreseen
        rows = statements.READ_STREAM.rows(
            self._with(stream), ledger=self._ledger, stream=stream
        )
        return self._whole([stamped(row) for row in rows])

    def read_stream_end(self, stream: str) -> StampedEvent | None:
        row = statements.STREAM_END.first(
            self._with(stream), ledger=self._ledger, stream=stream
        )
        return None if row is None else stamped(row)

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
            self._with(idempotency_tag),
            ledger=self._ledger,
            idempotency_tag=idempotency_tag,
        )
        return None if row is None else transaction_row(row)

    def subject_moved_at(self, subject_ref: str) -> int:
        row = statements.MOVED_AT.first(
            self._with(subject_ref),
            ledger=self._ledger,
            subject_ref=subject_ref,
        )
        return int(row[0] or 0) if row else 0

    def _with(self, name: object) -> sa.Connection:
        """Return the database transaction, with what was inserted under a name."""
        if name in self._waits_for:
            self.flush()
        return self._connection


def transaction_row(row: Row) -> TransactionRow:
    """Return the transaction that a row of a statement on transactions holds."""
    tx_id, recorded_at, first, last, action, subject_ref, key, request, header = row
    return TransactionRow(
        tx_id=tx_id,
        recorded_at=recorded_at,
        first_position=first,
        last_position=last,
        action=action,
        subject_ref=subject_ref,
        idempotency_tag=key,
        request_tag=request,
        header=header,
    )
