"""A store with a history, and what somebody who can write to its database does to it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import sqlalchemy as sa

from muniment import MemoryStore
from muniment.domain.time import Instant
from muniment.ledger import tables
from muniment.ledger.leaves import LeafHasher, digest_of
from muniment.ledger.merkle import WIDTH, root_of
from muniment.ledger.records import SealedEvent, StampedEvent, TransactionRow
from muniment.ledger.verification import Finding
from muniment.projections.tables import belief
from tests.stores import Backend


EVENT, TRANSACTION, TILE = tables.event, tables.transaction, tables.tile
TABLES = (EVENT, TRANSACTION, TILE, tables.tree_head, belief)

BATCH = 260
"""Facts of the last transaction: they complete a tile."""
LAST = 7 + BATCH
HEADS = (5, 7, LAST)
"""Sizes at which a tree head was signed."""


def flipped(value: bytes, *, at: int = -1) -> bytes:
    """Return *value* with one bit of one byte turned."""
    turned = bytearray(value)
    turned[at] ^= 1
    return bytes(turned)


@dataclass(frozen=True)
class Victim:
    """
    A store that is open, and its database.

    Positions 1 to 4 are facts of user ``u``, 5 revises the second, 6 and 7 are of one
    transaction, 8 to `LAST` of another.

    Attributes:
        backend: Where it is.
        store: Open.
        heads: Published when they were signed, for `HEADS`.
    """

    backend: Backend
    store: MemoryStore
    heads: tuple[str, ...]

    def run(self, *statements: sa.Executable | str) -> None:
        """Run *statements*, past all of Muniment."""
        with self.backend.sql() as connection:
            for each in statements:
                connection.execute(sa.text(each) if isinstance(each, str) else each)

    def value(self, column: sa.Column[bytes], position: int) -> bytes:
        """Return what is stored in a column of the event at *position*."""
        with self.backend.sql() as connection:
            found = connection.execute(
                sa.select(column).where(EVENT.c.position == position)
            )
            return bytes(found.scalar_one())

    def put(self, position: int, /, **values: object) -> None:
        """Store other *values* in the columns of the event at *position*."""
        self.run(sa.update(EVENT).where(EVENT.c.position == position).values(**values))

    def hash_again(self) -> None:
        """Make every leaf and tile fit what is stored; it needs no key."""
        with self.backend.sql() as connection:
            transactions = {
                row["tx_id"]: digest_of(_transaction(row))
                for row in connection.execute(sa.select(TRANSACTION)).mappings()
            }
            rows = connection.execute(
                sa.select(EVENT).order_by(EVENT.c.position)
            ).mappings()
            hasher = LeafHasher(self.store._ledger.name)
            leaves = {
                row["position"]: hasher.leaf(_stamped(row), transactions[row["tx_id"]])
                for row in rows
            }
            for position, leaf in leaves.items():
                there = EVENT.c.position == position
                connection.execute(sa.update(EVENT).where(there).values(leaf=leaf))
            tile = [leaves[position] for position in sorted(leaves)][:WIDTH]
            values = {"root": root_of(tile), "hashes": b"".join(tile)}
            connection.execute(sa.update(TILE).values(**values))

    def first(self, *, published: tuple[str, ...] = ()) -> Finding:
        """Return the first thing that a verification finds wrong."""
        found = self.store.verify(published=published)
        assert not found
        return found.findings[0]

    @contextmanager
    def restored(self) -> Iterator[None]:
        """Put every row back at the end."""
        with self.backend.sql() as connection:
            kept = {
                table: [
                    dict(row) for row in connection.execute(sa.select(table)).mappings()
                ]
                for table in TABLES
            }
        try:
            yield
        finally:
            with self.backend.sql() as connection:
                for table, rows in kept.items():
                    connection.execute(sa.delete(table))
                    connection.execute(sa.insert(table), rows)


@contextmanager
def victim(backend: Backend) -> Iterator[Victim]:
    """Open a store with a history."""
    with backend.open() as store:
        facts = [store.remember(f"fact {number}", user_id="u") for number in range(4)]
        store.update(facts[1].fact_id, content="fact 1, corrected")
        heads = [store.tree_head()]
        pair = [{"content": f"pair {number}"} for number in range(2)]
        store.remember_many(pair, user_id="u")
        heads.append(store.tree_head())
        batch = [{"content": f"batch {number}"} for number in range(BATCH)]
        store.remember_many(batch, user_id="u")
        heads.append(store.tree_head())
        yield Victim(backend, store, tuple(heads))


def _stamped(row: sa.RowMapping) -> StampedEvent:
    return StampedEvent(
        position=row["position"],
        tx_id=row["tx_id"],
        recorded_at=Instant(row["recorded_at_us"]),
        sealed=SealedEvent(
            originator_id=row["stream"],
            originator_version=row["version"],
            topic=row["topic"],
            state=bytes(row["state"]),
            subject_ref=row["subject_ref"],
            key_id=row["key_id"],
        ),
    )


def _transaction(row: sa.RowMapping) -> TransactionRow:
    values = {name: value for name, value in row.items() if name != "ledger"}
    return TransactionRow(recorded_at=values.pop("recorded_at_us"), **values)


def kind_at(victim: Victim, *, published: tuple[str, ...] = ()) -> tuple[int | None, str]:
    found = victim.first(published=published)
    return found.position, found.kind


def copied(table: sa.Table, where: sa.ColumnElement[bool], **values: object) -> sa.Insert:
    """Insert a row again, with other *values*."""
    names = [column.name for column in table.columns]
    changed = [
        sa.bindparam(None, values[name], type_=column.type).label(name)
        if (name := column.name) in values
        else column
        for column in table.columns
    ]
    return sa.insert(table).from_select(names, sa.select(*changed).where(where))
