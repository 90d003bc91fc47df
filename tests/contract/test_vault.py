"""What the vault promises: keys durable before use, shared, and gone when destroyed."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest
import sqlalchemy as sa

from muniment import MemoryStore, Scope
from muniment.ledger import vault as vaults
from muniment.ledger.vault import Subject, Vault
from muniment.ledger.vault_statements import TAGS_AT_ONCE
from tests.stores import Backend


ALICE, BOB = Scope.user("alice"), Scope.user("bob")
READERS = 8


@contextmanager
def two_vaults(durable: Backend) -> Iterator[tuple[Vault, Vault]]:
    """Give the vault of one store opened twice, as two processes would."""
    with durable.ledger() as one, durable.ledger() as other:
        yield one.ledger.vault, other.ledger.vault


def stored_key_ids(durable: Backend) -> set[int]:
    with durable.sql(vault=True) as connection:
        return set(connection.scalars(sa.text("SELECT key_id FROM stream_key")))


def destroy(durable: Backend, *statements: str) -> None:
    """Destroy keys the way an erasure in another process does."""
    with durable.sql(vault=True) as connection:
        for statement in (*statements, "UPDATE vault SET epoch = epoch + 1"):
            connection.execute(sa.text(statement))


def contents(store: MemoryStore, user: str) -> list[str | None]:
    return [each.content for each in store.get_all(user_id=user).items]


def contents_after(
    start: threading.Barrier, store: MemoryStore, user: str, _reader: int
) -> list[str | None]:
    start.wait()
    return contents(store, user)


def test_keys_are_durable_before_they_are_handed_out(durable: Backend) -> None:
    with durable.ledger() as opened:
        vault = opened.ledger.vault
        alice = vault.find_or_make(ALICE)
        taken: dict[int, bytes] = {}

        for count in (1, 1, 5, 1, 300):
            fresh = dict(vault.take(alice, count))
            assert len(fresh) == count
            assert not fresh.keys() & taken.keys()
            assert fresh.keys() <= stored_key_ids(durable)
            taken |= fresh

    with durable.ledger() as again:
        vault = again.ledger.vault
        assert vault.keys(vault.find_or_make(ALICE), taken) == taken
    assert len(set(taken.values())) == len(taken)


def test_no_key_lies_in_the_vault_as_it_is(durable: Backend) -> None:
    with durable.ledger() as opened:
        vault = opened.ledger.vault
        alice = vault.find_or_make(ALICE)
        secrets = {alice.key, vault.ledger_key, *dict(vault.take(alice, 4)).values()}

    with durable.sql(vault=True) as connection:
        tables = sa.MetaData()
        tables.reflect(connection)
        stored = [
            bytes(value) if isinstance(value, bytes | memoryview) else str(value).encode()
            for table in tables.sorted_tables
            for row in connection.execute(sa.select(table))
            for value in row
        ]
    assert len(stored) > len(secrets)
    assert not [each for each in stored if any(secret in each for secret in secrets)]
    assert not [each for each in stored if b"alice" in each]


def test_two_open_vaults_see_each_others_subjects(durable: Backend) -> None:
    with two_vaults(durable) as (one, other):
        assert other.find(ALICE) is None  # and does not remember that there was none

        alice = one.find_or_make(ALICE)

        assert other.find(ALICE) == alice
        assert other.subject(alice.ref) == alice
        assert other.find_or_make(ALICE).ref == alice.ref
        assert other.find(BOB) is None


def test_two_open_vaults_open_each_others_keys(durable: Backend) -> None:
    with two_vaults(durable) as (one, other):
        alice = one.find_or_make(ALICE)
        mine = dict(one.take(alice, 3))
        theirs = dict(other.take(other.find_or_make(ALICE), 3))

        assert not mine.keys() & theirs.keys()
        assert other.keys(alice, mine) == mine
        assert one.keys(alice, {**mine, **theirs}) == {**mine, **theirs}


def test_a_subject_made_by_many_at_once_is_one_subject(durable: Backend) -> None:
    with two_vaults(durable) as vaults_open:
        start = threading.Barrier(READERS)

        def make(number: int) -> Subject:
            start.wait()
            return vaults_open[number % 2].find_or_make(ALICE)

        with ThreadPoolExecutor(READERS) as pool:
            made = list(pool.map(make, range(READERS)))

    assert len({each.ref for each in made}) == 1
    assert len({each.key for each in made}) == 1


def test_keys_taken_by_many_at_once_are_all_different(durable: Backend) -> None:
    with two_vaults(durable) as (one, other):
        alice = one.find_or_make(ALICE)

        def take(number: int) -> list[tuple[int, bytes]]:
            return [
                pair for _ in range(20) for pair in (one, other)[number % 2].take(alice, 3)
            ]

        with ThreadPoolExecutor(READERS) as pool:
            taken = [pair for pairs in pool.map(take, range(READERS)) for pair in pairs]

        assert len({key_id for key_id, _ in taken}) == len(taken) == READERS * 60
        assert one.keys(alice, dict(taken)) == dict(taken)


def test_a_destroyed_stream_key_is_refused_in_every_open_store(durable: Backend) -> None:
    with durable.open() as one, durable.open() as other:
        kept = one.remember("kept", user_id="alice")
        gone = one.remember("gone", user_id="alice")
        assert contents(other, "alice") == ["kept", "gone"]
        assert contents(one, "alice") == ["kept", "gone"]
        with durable.sql() as connection:
            key_id = connection.scalar(
                sa.text("SELECT key_id FROM ledger_event WHERE stream = :stream"),
                {"stream": f"fact-{gone.fact_id}"},
            )

        destroy(durable, f"DELETE FROM stream_key WHERE key_id = {key_id}")

        for store in (one, other):
            assert store.get(kept.fact_id).content == "kept"
            assert contents(store, "alice") == ["kept", None]


def test_a_destroyed_subject_is_unknown_in_every_open_store(durable: Backend) -> None:
    with durable.open() as one, durable.open() as other:
        one.remember("alice's", user_id="alice")
        one.remember("bob's", user_id="bob")
        assert contents(other, "alice") == ["alice's"]
        alice = other._ledger.vault.find(ALICE)
        assert alice is not None

        destroy(
            durable,
            f"DELETE FROM stream_key WHERE subject_ref = '{alice.ref}'",
            f"DELETE FROM subject_key WHERE subject_ref = '{alice.ref}'",
        )

        for store in (one, other):
            assert contents(store, "alice") == []
            assert contents(store, "bob") == ["bob's"]
            assert store._ledger.vault.subject(alice.ref) is None
        fresh = other.remember("a life of its own", user_id="alice")
        assert contents(one, "alice") == ["a life of its own"]
        again = one._ledger.vault.find(ALICE)
        assert again is not None
        assert again.ref != alice.ref
        assert one.get_fact_history(fresh.fact_id).current_version == 1


def test_a_key_kept_in_store_for_later_is_not_used_once_destroyed(durable: Backend) -> None:
    with durable.open() as store:
        store.remember("first", user_id="alice")  # leaves spare keys behind
        destroy(durable, "DELETE FROM stream_key")

        fact = store.remember("second", user_id="alice")

    with durable.open() as again:
        assert again.get(fact.fact_id).content == "second"


class Interrupted:
    """The connection of a vault; *happens* each time the main thread has used it."""

    def __init__(self, vault: Vault, happens: Callable[[], object]) -> None:
        self._standing, self._happens = vault._standing, happens

    @contextmanager
    def held(self) -> Iterator[sa.Connection]:
        with self._standing.held() as connection:
            yield connection
        if threading.current_thread() is threading.main_thread():
            elsewhere = threading.Thread(target=self._happens)
            elsewhere.start()
            elsewhere.join()

    def close(self) -> None:
        self._standing.close()


def test_keys_being_dropped_by_one_reader_do_not_blind_another(
    durable: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    with durable.open() as store:
        fact = store.remember("seen", user_id="alice")
        store.remember("another's", user_id="bob")
        vault = store._ledger.vault

        def another_is_erased() -> None:
            destroy(durable, "DELETE FROM subject_key WHERE subject_ref = 'nobody'")
            vault.find(BOB)  # the first of this process to notice

        monkeypatch.setattr(vault, "_standing", Interrupted(vault, another_is_erased))

        assert store.get(fact.fact_id).content == "seen"


def test_a_subject_erased_while_it_is_looked_up_is_not_kept(
    durable: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    with durable.open() as store:
        store.remember("alice's", user_id="alice")
    with durable.open() as store:
        vault = store._ledger.vault

        def she_is_erased() -> None:
            destroy(durable, "DELETE FROM subject_key")
            vault.find(BOB)  # the first of this process to notice

        with monkeypatch.context() as patched:
            patched.setattr(vault, "_standing", Interrupted(vault, she_is_erased))
            vault.find(ALICE)

        assert vault.find(ALICE) is None


def test_of_many_scopes_those_are_known_that_have_a_memory(durable: Backend) -> None:
    nobody = [Scope.user(f"nobody-{number}") for number in range(2 * TAGS_AT_ONCE)]
    with durable.ledger() as opened:
        vault = opened.ledger.vault
        made = {*nobody[:2], nobody[TAGS_AT_ONCE], nobody[-1], ALICE, Scope.team("bob")}
        for each in made:
            vault.find_or_make(each)

        assert vault.known([BOB, *nobody, ALICE, Scope.team("bob")]) == made
        assert vault.known([BOB]) == vault.known([]) == set()
        destroy(durable, "DELETE FROM subject_key")
        assert vault.known(made) == set()


def test_readers_that_start_at_once_all_see_every_content(durable: Backend) -> None:
    said = [f"fact {number}" for number in range(20)]
    with durable.open() as store:
        store.remember_many(said, user_id="alice")

    for _ in range(5):
        with durable.open() as store, ThreadPoolExecutor(READERS) as pool:
            start = threading.Barrier(READERS)

            seen = pool.map(partial(contents_after, start, store, "alice"), range(READERS))
            assert [set(each) for each in seen] == [set(said)] * READERS


def test_more_keys_than_are_kept_in_memory_still_open_everything(
    durable: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vaults, "_CACHED_MAX", 8)
    said = [f"fact {number}" for number in range(50)]
    with durable.open() as store:
        for content in said:
            store.remember(content, user_id="alice")

        assert sorted(map(str, contents(store, "alice"))) == sorted(said)
    with durable.open() as store, ThreadPoolExecutor(READERS) as pool:
        for seen in pool.map(lambda _: contents(store, "alice"), range(3 * READERS)):
            assert set(seen) == set(said)


def test_a_memory_that_another_process_erased_and_began_anew_is_the_new_one(
    durable: Backend,
) -> None:
    with durable.open() as one, durable.open() as other:
        one.remember("old", user_id="alice")
        then = one.get_all(user_id="alice").recorded_at
        asked: dict[str, Any] = {"user_id": "alice", "timestamp": then}
        assert [each.content for each in one.get_memory_as_of(**asked)] == ["old"]

        other.erase(user_id="alice", reason="asked for it, letter of 3 March")
        assert one.get_memory_as_of(**asked).facts == ()
        other.remember("new", user_id="alice")

        assert contents(one, "alice") == contents(other, "alice") == ["new"]
        assert one.get_memory_as_of(**asked).facts == ()
        one.remember("newer", user_id="alice")
        assert sorted(map(str, contents(other, "alice"))) == ["new", "newer"]
