"""Tree heads are made on demand, kept, and never inconsistent with one another."""

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import pytest

from muniment import MemoryStore
from muniment.errors import InvalidValueError
from muniment.ledger import proof
from muniment.ledger.proof import EMPTY_ROOT, TreeHead
from tests.stores import Backend


def read(store: MemoryStore, note: str) -> TreeHead:
    return proof.read_head(note, public_key=store.public_key)


def test_every_head_continues_every_earlier_one(backend: Backend) -> None:
    with backend.open() as store:
        notes = [store.tree_head()]
        for count in (1, 2, 3, 250, 1, 40):
            store.remember_many([{"content": f"{n}"} for n in range(count)], user_id="u")
            notes.append(store.tree_head())
        last = read(store, notes[-1])
        for note in notes:
            first = read(store, note)
            size, path, later = proof.read_consistency(store.prove_consistency(first.size))
            assert (size, later) == (first.size, notes[-1])
            proof.check_consistency(first, last, path)

    sizes = [int(note.split("\n")[1]) for note in notes]
    assert sizes == [0, 1, 3, 6, 256, 257, 297]


def test_every_event_is_proven_in_the_head_of_the_moment(backend: Backend) -> None:
    with backend.open() as store:
        store.remember_many([{"content": f"{n}"} for n in range(260)], user_id="u")
        for position in (1, 2, 255, 256, 257, 260):
            proven = store.prove(position)
            index, path, note = proof.read_proof(proven.text)
            leaf = proof.leaf_hash(proven.envelope.packed())
            proof.check_inclusion(leaf, index, path, read(store, note))
            assert (index, proven.envelope.position) == (position - 1, position)


def test_the_proof_of_an_erased_event_stays_valid_and_says_nothing(
    durable: Backend,
) -> None:
    with durable.open() as store:
        store.remember("a canary", user_id="u")
        before = store.prove(1)
        store.erase(user_id="u", reason="asked")
        after = store.prove(1)

        for each in (before, after):
            index, path, note = proof.read_proof(each.text)
            leaf = proof.leaf_hash(after.envelope.packed())
            proof.check_inclusion(leaf, index, path, read(store, note))
    assert after.envelope == before.envelope
    assert b"canary" not in after.envelope.state


def test_the_head_of_an_empty_ledger_is_that_of_the_empty_tree(backend: Backend) -> None:
    with backend.open() as store:
        found = read(store, store.tree_head())

        assert (found.size, found.root) == (0, EMPTY_ROOT)
        assert found.origin == store.origin


def test_a_head_is_made_once_and_its_root_outlives_the_process(durable: Backend) -> None:
    with durable.open() as store:
        store.remember("a", user_id="u")
        notes = [store.tree_head(), store.tree_head()]
        key = store.public_key
    with durable.open() as store:
        notes.append(store.tree_head())
        assert store.public_key == key

    assert len(set(notes)) == 1


@pytest.mark.slow
def test_heads_signed_while_others_write_form_one_chain(durable: Backend) -> None:
    notes: set[str] = set()
    with durable.open() as store, durable.open() as other:

        def write_and_sign(number: int) -> None:
            each = (store, other)[number % 2]
            each.remember(f"{number}", user_id=f"u-{number % 3}")
            notes.add(each.tree_head())

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(write_and_sign, range(40)))
        heads = sorted((read(store, note) for note in notes), key=lambda head: head.size)
        assert store.verify(published=sorted(notes)).findings == ()

    assert heads[-1].size == 40
    assert all(one.size < other.size for one, other in pairwise(heads))


@pytest.mark.parametrize("position", [0, -1, 3, 2**62])
def test_a_position_that_is_not_there_has_no_proof(position: int) -> None:
    with MemoryStore.open("memory://") as store:
        store.remember_many([{"content": "a"}, {"content": "b"}], user_id="u")

        with pytest.raises(InvalidValueError):
            store.prove(position)


@pytest.mark.parametrize("size", [-1, 3, 2**62])
def test_a_size_the_ledger_never_had_has_no_proof(size: int) -> None:
    with MemoryStore.open("memory://") as store:
        store.remember_many([{"content": "a"}, {"content": "b"}], user_id="u")

        with pytest.raises(InvalidValueError):
            store.prove_consistency(size)


def test_two_ledgers_of_one_database_sign_with_keys_of_their_own(durable: Backend) -> None:
    with durable.open(ledger="one") as one, durable.open(ledger="two") as two:
        for store in (one, two):
            store.remember("the same", user_id="u")
        note = one.tree_head()

        assert one.public_key != two.public_key
        assert one.origin != two.origin
        with pytest.raises(proof.RefusedError):
            proof.read_head(note, public_key=two.public_key)
        assert two.verify(published=[note]).findings[0].kind == "tree head"
