"""What an append to the ledger in SQLite or PostgreSQL does while it holds the lock."""

from collections.abc import Callable, Sequence

import sqlalchemy as sa

from muniment.domain.time import Instant
from muniment.ledger import sql_cold, statements, tables
from muniment.ledger.bulk import insert_rows
from muniment.ledger.cold import Segment
from muniment.ledger.leaves import LeafHasher, digest_of
from muniment.ledger.merkle import TreeStore
from muniment.ledger.prepared import Row
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


class SqlAppend:
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
        leaf_of = self._hasher.leaf_of
        rows = [
            (self._ledger, *row, leaf_of(row, digest)) for row in map(event_row, result)
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

    def read_stream_end(self, stream: str) -> StampedEvent | None:
        row = statements.STREAM_END.first(
            self.connection, ledger=self._ledger, stream=stream
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
            self.connection, ledger=self._ledger, idempotency_tag=idempotency_tag
        )
        return None if row is None else transaction_row(row)

    def subject_moved_at(self, subject_ref: str) -> int:
        row = statements.MOVED_AT.first(
            self.connection,
            ledger=self._ledger,
            subject_ref=subject_ref,
        )
        return int(row[0] or 0) if row else 0


def transaction_row(row: Row) -> TransactionRow:
    """Return the transaction that a row of a statement on transactions holds."""
    return TransactionRow(**dict(zip(TransactionRow.__struct_fields__, row, strict=True)))
