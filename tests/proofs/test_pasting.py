"""Ciphertext pasted into another row, another store or another ledger does not open."""

import pytest
import sqlalchemy as sa

from muniment import MemoryStore
from muniment.errors import BrokenSealError, VaultMismatchError
from muniment.ledger.tables import event
from muniment.ledger.vault_tables import ledger_key, stream_key, subject_key
from tests.stores import Backend


def paste(
    here: Backend, column: sa.Column[bytes], keys: tuple[object, object], *, by: str
) -> None:
    """Overwrite a sealed value of one row by that of another, found *by* a column."""
    table, (source, target) = column.table, keys
    assert isinstance(table, sa.Table)
    key = table.c[by]
    with here.sql(vault=table is not event) as connection:
        value = connection.execute(sa.select(column).where(key == source)).scalar_one()
        update = sa.update(table).where(key == target).values({column.name: value})
        assert connection.execute(update).rowcount == 1


@pytest.mark.parametrize(("source", "target"), [(1, 2), (1, 3), (4, 1), (1, 5)])
def test_a_payload_pasted_over_another_does_not_open(
    durable: Backend, source: int, target: int
) -> None:
    """Over one of another fact, an earlier version, a later one, another subject's."""
    with durable.open() as store:
        facts = [store.remember(f"{n}", user_id="u").fact_id for n in range(3)]
        store.update(facts[0], content="0, revised")
        facts.append(store.remember("of somebody else", user_id="v").fact_id)
    paste(durable, event.c.state, (source, target), by="position")

    with durable.open() as store:
        streams = [*facts[:3], facts[0], facts[3]]
        with pytest.raises(BrokenSealError, match="it was altered or moved"):
            store.get_fact_history(streams[target - 1])
        found = store.verify().findings[0]
    assert (found.position, found.kind) == (target, "payload")


def test_a_stream_key_pasted_over_another_does_not_open(durable: Backend) -> None:
    with durable.open() as store:
        facts = [store.remember(f"{n}", user_id="u").fact_id for n in range(2)]
    with durable.sql() as connection:
        query = sa.select(event.c.key_id).order_by(event.c.position)
        first, second = connection.execute(query).scalars()
    paste(durable, stream_key.c.wrapped, (first, second), by="key_id")

    with durable.open() as store, pytest.raises((BrokenSealError, VaultMismatchError)):
        store.get_fact_history(facts[1])


def test_a_subject_key_pasted_over_another_does_not_open(durable: Backend) -> None:
    with durable.open() as store:
        store.remember("a", user_id="u")
        store.remember("b", user_id="v")
    with durable.sql() as connection:
        query = sa.select(event.c.subject_ref).order_by(event.c.position)
        u, v = connection.execute(query).scalars()
    paste(durable, subject_key.c.wrapped, (u, v), by="subject_ref")

    with (
        durable.open() as store,
        pytest.raises(VaultMismatchError, match="does not open under key"),
    ):
        store.get_all(user_id="v")


def test_a_ledger_key_pasted_over_another_does_not_open(durable: Backend) -> None:
    for name in ("one", "two"):
        with durable.open(ledger=name) as store:
            store.remember("a", user_id="u")
    paste(durable, ledger_key.c.wrapped, ("one", "two"), by="ledger")

    with pytest.raises(VaultMismatchError, match="does not open under key"):
        durable.open(ledger="two")


def test_the_vault_of_another_store_is_refused(durable: Backend) -> None:
    with durable.open() as store:
        store.remember("a", user_id="u")
    elsewhere = durable.directory.with_name("elsewhere")
    with MemoryStore.open(elsewhere) as store:
        store.remember("b", user_id="u")
    vault = f"sqlite:///{elsewhere / 'vault.db'}"

    with pytest.raises(VaultMismatchError):
        durable.open(vault_url=vault, key_file=elsewhere / "key")
    with durable.open() as store:
        assert store.verify().findings == ()
