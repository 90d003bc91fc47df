"""Tree heads that are signed by the way: with every so many transactions."""

import threading

import pytest
import sqlalchemy as sa

from muniment import MemoryStore
from muniment.errors import TamperedError
from muniment.ledger import proof, tables
from tests.stores import Backend


def sizes(store: MemoryStore) -> list[int]:
    return [size for size, _ in store._ledger.recorder.tree_heads()]


def test_a_head_is_signed_with_every_so_many_transactions(backend: Backend) -> None:
    with backend.open(tree_head_every=3) as store:
        for number in range(7):
            store.remember_many([f"{number} a", f"{number} b"], user_id="ann")

        assert sizes(store) == [6, 12]
        heads = [
            proof.read_head(note, public_key=store.public_key)
            for _, note in store._ledger.recorder.tree_heads()
        ]
        _, path, _ = proof.read_consistency(store.prove_consistency(6))
        last = proof.read_head(store.tree_head(), public_key=store.public_key)
        proof.check_consistency(heads[0], last, path)
        assert store.verify()


def test_no_head_is_signed_where_none_is_asked_for(backend: Backend) -> None:
    with backend.open(tree_head_every=0) as store:
        for number in range(5):
            store.remember(f"{number}", user_id="ann")

        assert sizes(store) == []


def test_a_head_is_signed_before_a_copy_is_given_out(backend: Backend) -> None:
    with backend.open(tree_head_every=0) as store:
        store.remember("likes tea", user_id="ann")

        given = store.export(user_id="ann")

        assert sizes(store) == [given.position]


def test_writers_of_several_stores_sign_each_due_head_once(durable: Backend) -> None:
    with durable.open(tree_head_every=5) as one, durable.open(tree_head_every=5) as two:

        def write(store: MemoryStore, name: str) -> None:
            for number in range(20):
                store.remember(f"{name} {number}", user_id=name)

        writers = [
            threading.Thread(target=write, args=(store, f"{name}{thread}"))
            for name, store in (("one", one), ("two", two))
            for thread in range(2)
        ]
        for each in writers:
            each.start()
        for each in writers:
            each.join()

        # Those of one commit share a head: it is signed once all of them stand.
        signed = sizes(one)
        assert signed[-1] == 80
        assert 4 <= len(signed) <= 16
        assert one.verify().heads == len(signed)


# What does not continue an earlier head must never be signed.
def test_a_tree_that_contradicts_an_earlier_head_takes_no_more_when_one_is_due(
    durable: Backend,
) -> None:
    with durable.open(tree_head_every=2) as store:
        store.remember("1", user_id="ann")
        store.remember("2", user_id="ann")
        with durable.sql() as connection:
            connection.execute(
                sa.update(tables.event)
                .where(tables.event.c.position == 1)
                .values(leaf=bytes(32))
            )
        store.remember("3", user_id="ann")

        with pytest.raises(TamperedError):
            store.remember("4", user_id="ann")

        assert sizes(store) == [2]
        assert {each.content for each in store.get_all(user_id="ann")} == {"1", "2", "3"}
