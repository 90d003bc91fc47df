"""A ledger verifies, and continues its published heads, after all that is done to one."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import sqlalchemy as sa

from muniment import RetentionRule
from muniment.ledger import tables
from tests.forgetting.traces import Backup
from tests.stores import Backend


# C4: concurrency, the microseconds of a server, restart, restore, erasure, retention and
# holds; each of them broke the chain of some other system.
def test_a_ledger_verifies_after_all_that_is_done_to_it(
    durable: Backend, tmp_path: Path
) -> None:
    with durable.open(tree_head_every=16) as store, ThreadPoolExecutor(20) as pool:
        facts = list(
            pool.map(
                lambda n: store.remember(f"{n}", user_id=f"u-{n % 5}", importance=n / 60),
                range(60),
            )
        )
        heads = [store.tree_head()]
        assert store.verify(published=heads)
    with durable.open() as store:
        store.place_hold(user_id="u-1", matter="case", hold_id="h-1")
        store.forget(facts[2].fact_id, mode="redact")
        store.erase(user_id="u-1", reason="asked")
        heads.append(store.tree_head())
        backup = Backup.of(durable, tmp_path / "backup.db")
        store.erase(user_id="u-3", reason="asked")
        store.retain([RetentionRule(importance_below=0.5)])
        store.release_hold("h-1", user_id="u-1")
        assert store.verify(published=[*heads, store.tree_head()])
    backup.restore()
    with durable.open() as store:
        assert store.verify(published=heads)
        assert store.get_all(user_id="u-3").items == ()
        assert len(store.get_all(user_id="u-4").items) == 12


# S11 (areev#280: the record of a destruction was in no chain).
def test_a_destruction_cannot_be_taken_out_of_the_ledger(durable: Backend) -> None:
    with durable.open() as store:
        store.remember("a", user_id="ann")
        store.place_hold(user_id="bob", matter="case", hold_id="h-1")
        position = store.erase(user_id="ann", reason="asked").position
        store.remember("b", user_id="bob")
        assert store.verify()

        with durable.sql() as connection:
            event = tables.event
            found = sa.select(event.c.tx_id).where(event.c.position == position)
            tx_id = connection.execute(found).scalar_one()
            row = tables.transaction
            connection.execute(sa.delete(event).where(event.c.position == position))
            connection.execute(sa.delete(row).where(row.c.tx_id == tx_id))

        assert store.verify().findings[0].position == position
