"""What a vault has one of, made by whichever process opens it first."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

import sqlalchemy as sa

from muniment.ledger import sealing
from muniment.ledger import vault_statements as statements
from muniment.ledger.database import reading, writing
from muniment.ledger.keys import KeyRing
from muniment.ledger.prepared import Row


def vault(engine: sa.Engine, keys: KeyRing, *, lock_timeout: float) -> str:
    """
    Return the id of the vault; make it if there is none.

    Raises:
        VaultMismatchError: If it goes by a key that is not at hand.
    """
    with reading(engine) as connection:
        row = statements.VAULT.first(connection)
    if row is None:
        with _making(engine, lock_timeout) as connection:
            row = _the_vault(connection, keys)
    keys.key(row[1])
    return str(row[0])


def ledger_key(
    engine: sa.Engine, keys: KeyRing, ledger: str, *, lock_timeout: float
) -> bytes:
    """Return the key of a ledger; make it if there is none."""
    place = f"ledger-key/{ledger}".encode()
    with reading(engine) as connection:
        row = statements.LEDGER_KEY.first(connection, ledger=ledger)
    if row is None:
        with _making(engine, lock_timeout) as connection:
            row = _the_ledger_key(connection, keys, ledger, place)
    return keys.unwrap(row[0], row[1], place=place)


def _the_vault(connection: sa.Connection, keys: KeyRing) -> Row:
    row = statements.VAULT.first(connection)
    if row is None:
        row = os.urandom(8).hex(), keys.ids()[0]
        statements.NEW_VAULT.run(
            connection, vault_id=row[0], kek_id=row[1], next_key_id=1, epoch=0
        )
    return row


def _the_ledger_key(
    connection: sa.Connection, keys: KeyRing, ledger: str, place: bytes
) -> Row:
    row = statements.LEDGER_KEY.first(connection, ledger=ledger)
    if row is None:
        row = wrapped(connection, keys, sealing.new_key(), place)
        statements.NEW_LEDGER_KEY.run(
            connection, ledger=ledger, kek_id=row[0], wrapped=row[1]
        )
    return row


def wrapped(
    connection: sa.Connection, keys: KeyRing, key: bytes, place: bytes
) -> tuple[str, bytes]:
    """Return *key* wrapped by the key the vault goes by now, and the name of that."""
    row = statements.VAULT.first(connection)
    assert row is not None, "the vault was made when it was opened"
    kek = keys.key(row[1])
    return kek.kek_id, kek.wrap(key, place=place)


@contextmanager
def _making(engine: sa.Engine, lock_timeout: float) -> Iterator[sa.Connection]:
    """Let one process at a time make what the vault has one of."""
    with writing(engine, lock_timeout=lock_timeout) as connection:
        if connection.dialect.name == "postgresql":
            connection.execute(sa.text("LOCK TABLE vault IN SHARE ROW EXCLUSIVE MODE"))
        yield connection
