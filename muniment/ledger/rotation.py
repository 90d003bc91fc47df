"""
Replacing the key-encryption key while the store is in use.

First the new key is put beside the old one where every process finds it; then the vault
goes by the new key; then what the old key wrapped is wrapped again, some rows at a time;
only then the old key is let go. A rotation that was interrupted goes on where it was.
"""

from collections.abc import Callable
from typing import Any

import sqlalchemy as sa

from muniment.ledger import vault_tables as tables
from muniment.ledger.database import writing
from muniment.ledger.keys import KeyRing


_BATCH = 500


def go_by(engine: sa.Engine, kek_id: str, *, lock_timeout: float) -> None:
    """Let the vault wrap with the key of that name from now on."""
    with writing(engine, lock_timeout=lock_timeout) as connection:
        connection.execute(sa.update(tables.vault).values(kek_id=kek_id))


def wrap_again(
    engine: sa.Engine,
    ring: KeyRing,
    kek_id: str,
    *,
    lock_timeout: float,
    progress: Callable[[int], None],
) -> int:
    """
    Wrap what another key wrapped with the key of that name; return how many keys.

    Args:
        engine: Of the vault.
        ring: Holds both keys.
        kek_id: Of the new key.
        lock_timeout: Seconds to wait for another writer.
        progress: Told after each batch how many are done.
    """
    done = 0
    for table, place in (
        (tables.ledger_key, lambda row: f"ledger-key/{row.ledger}"),
        (tables.subject_key, lambda row: f"subject-key/{row.ledger}/{row.subject_ref}"),
    ):
        while count := _batch(engine, ring, kek_id, table, place, lock_timeout):
            done += count
            progress(done)
    return done


def _batch(
    engine: sa.Engine,
    ring: KeyRing,
    kek_id: str,
    table: sa.Table,
    place: Callable[[Any], str],
    lock_timeout: float,
) -> int:
    keys = list(table.primary_key.columns)
    query = sa.select(*keys, table.c.kek_id, table.c.wrapped)
    with writing(engine, lock_timeout=lock_timeout) as connection:
        if connection.dialect.name == "postgresql":
            # In this transaction alone: elsewhere a ledger sees no keys but its own.
            connection.exec_driver_sql("SET LOCAL muniment.ledger = '*'")
        rows = connection.execute(query.where(table.c.kek_id != kek_id).limit(_BATCH)).all()
        for row in rows:
            where = place(row).encode()
            plain = ring.unwrap(row.kek_id, row.wrapped, place=where)
            wrapped = ring.key(kek_id).wrap(plain, place=where)
            same = sa.and_(*(column == getattr(row, column.name) for column in keys))
            connection.execute(
                sa.update(table).where(same).values(kek_id=kek_id, wrapped=wrapped)
            )
    return len(rows)
