"""Thinning reaches every place: the vault, the archive, vectors, older backups."""

import re
import threading
from pathlib import Path

import pytest
import sqlalchemy as sa

from muniment import FactHistory, MemoryStore
from muniment.api.thinning import Thinner
from muniment.errors import (
    IndexUnavailableError,
    InvalidValueError,
    ThinnedError,
    UnknownFactError,
)
from muniment.ledger.destruction import Step
from muniment.ledger.prepared import Answer, Prepared
from tests.forgetting.lived import BETWEEN, GONE, KEPT, RULES, USER, Lived, at, lived
from tests.forgetting.traces import Backup, said, traces, wrapped_keys
from tests.stores import MEMORY, SQLITE, Backend, SettableClock
from tests.years import us


def test_keys_of_what_was_kept_go_with_a_redaction_and_with_an_erasure(
    durable: Backend,
) -> None:
    memory = lived(durable)
    with memory.store as store:
        memory.thin()
        assert _count(durable, "payload_key") == 4

        store.forget(memory.fact_id, mode="redact")

        assert _count(durable, "payload_key") == 0
        assert {e.content for e in store.get_fact_history(memory.fact_id)} == {None}
        again = store.remember("CANARY", user_id=USER)
        memory.clock.now = us(at(2024, 8))
        store.update(again.fact_id, content="danach")
        memory.clock.now = us(at(2029))
        memory.thin()
        store.erase(user_id=USER, reason="asked")
        assert _count(durable, "payload_key") + _count(durable, "thinning") == 0
        assert store.verify()
    assert traces(durable, "CANARY") == []


def test_a_redaction_reaches_what_a_thinning_that_is_not_done_has_left(
    durable: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = lived(durable)
    with memory.store as store:
        with monkeypatch.context() as died:
            died.setattr(Thinner, "resume", lambda _self: None)
            memory.thin()
        before = set(wrapped_keys(durable))

        store.forget(memory.fact_id, mode="redact")

        (said,) = store._ledger.vault.destructions.all()
        assert said.step is Step.DONE
        # Of the stream: the one from before it was thinned, and the one since.
        assert len(before - set(wrapped_keys(durable))) == 2
        assert _count(durable, "payload_key") == 0
        assert {e.content for e in store.get_fact_history(memory.fact_id)} == {None}
    with durable.open(clock=memory.clock) as store:
        assert [e.step for e in store._ledger.vault.thinnings.all()] == [Step.DONE]
        assert store.verify()


# B55, B13: archived and backed-up copies say no more than the ledger does.
def test_neither_the_archive_nor_an_older_backup_brings_it_back(
    durable: Backend, tmp_path: Path
) -> None:
    memory = lived(durable)
    with memory.store as store:
        backup = Backup.of(durable, tmp_path / "backup.db")
        store.archive()
        store.prune()
        before = [memory.known(each) for each in KEPT]
        keys = set(wrapped_keys(durable))

        memory.thin()

        assert [memory.known(each) for each in KEPT] == before
        destroyed = keys - set(wrapped_keys(durable))
        assert len(destroyed) == 1
        assert traces(durable, "CANARY", *destroyed) == []
        store.remember("later", user_id=USER)

    for _ in range(2):
        backup.restore()
        with durable.open(clock=memory.clock, embedder="none") as store:
            memory.store = store
            history = store.get_fact_history(memory.fact_id)
            assert [each.kind for each in history][7:] == ["thinned"]
            assert history.versions[-1].thinned == GONE
            assert [memory.known(each).facts for each in KEPT] == [e.facts for e in before]
            for when in BETWEEN:
                with pytest.raises(ThinnedError):
                    memory.known(when)
            assert store.verify()
            store.update(memory.fact_id, content="danach")
            assert store.get(memory.fact_id).content == "danach"


def test_a_backup_from_before_the_fact_opens(durable: Backend, tmp_path: Path) -> None:
    with durable.open(clock=SettableClock(us(at(2018)))) as store:
        store.remember("first", user_id="bob")
        backup = Backup.of(durable, tmp_path / "backup.db")
    memory = lived(durable)
    with memory.store:
        memory.thin()

    backup.restore()

    with durable.open(clock=memory.clock) as store:
        with pytest.raises(UnknownFactError):
            store.get_fact_history(memory.fact_id)
        assert store.verify()


def test_what_was_thinned_is_moved_as_it_is(durable: Backend, tmp_path: Path) -> None:
    memory = lived(durable)
    other = Backend(MEMORY, "memory://", tmp_path / "other")
    with memory.store as store, other.open(clock=memory.clock) as moved:
        memory.thin()
        exported = store.export(user_id=USER)
        before = [(e.kind, e.content, e.thinned) for e in _history(store, memory)]
        forged = re.sub(r"\[\s+1,\s+1\s+\]", "[1, 1000000000000]", exported.json())

        assert forged != exported.json()
        with pytest.raises(InvalidValueError):
            moved.import_export(forged)
        moved.import_export(exported.document)

        after = [(e.kind, e.content, e.thinned) for e in _history(moved, memory)]
        assert after == before
        assert said(moved, user_id=USER) == said(store, user_id=USER)
        assert moved.verify()
        with pytest.raises(ThinnedError):
            moved.rollback_fact(memory.fact_id, to_version=1)


# C3: what nobody can read is accepted only where an event says so.
def test_verify_finds_a_key_that_is_gone_without_an_event(durable: Backend) -> None:
    memory = lived(durable)
    with memory.store as store:
        memory.thin()
        fact = store.remember("CANARY", user_id=USER)
        assert store.verify()
    with durable.sql() as connection:
        query = "SELECT key_id FROM ledger_event WHERE position = :at"
        key_id = connection.execute(sa.text(query), {"at": fact.position}).scalar_one()
    with durable.sql(vault=True) as connection:
        delete = "DELETE FROM stream_key WHERE key_id = :key_id"
        connection.execute(sa.text(delete), {"key_id": key_id})

    with durable.open(clock=memory.clock) as store:
        store.rebuild()
        findings = store.verify().findings

    assert [(each.position, each.kind) for each in findings] == [
        (fact.position, "projection")
    ]
    assert "no event says why" in findings[0].problem


def test_vectors_of_what_was_kept_are_kept_and_the_others_go(
    durable: Backend, tmp_path: Path
) -> None:
    memory = lived(durable, embedder="hashing")
    with memory.store as store:
        store.catch_up()
        found = [
            store.search("zwei fünf", user_id=USER, as_of=each, explain=True)
            for each in KEPT
        ]
        backup = Backup.of(durable, tmp_path / "backup.db")

        memory.thin()
        store.catch_up()

        assert _count(durable, "version_vector", vault=False) == 1 + 4
        assert [
            store.search("zwei fünf", user_id=USER, as_of=each, explain=True)
            for each in KEPT
        ] == found
        if durable.kind == SQLITE:
            assert store.reconcile() == ()
        else:
            with pytest.raises(IndexUnavailableError):
                store.reconcile()
    backup.restore()
    with durable.open(clock=memory.clock, embedder="hashing") as store:
        store.catch_up()
        again = [store.search("zwei fünf", user_id=USER, as_of=each) for each in KEPT]
    assert [[hit.fact for hit in hits] for hits in again] == [
        [hit.fact for hit in hits] for hits in found
    ]


@pytest.mark.parametrize("at_once", [True, False])
def test_a_thinning_that_was_announced_and_never_said_is_withdrawn(
    durable: Backend, *, at_once: bool
) -> None:
    memory = lived(durable)
    with memory.store as store:
        thinnings = store._ledger.vault.thinnings

        def fail(*_: object) -> None:
            raise RuntimeError

        store._ledger.before_commit = fail
        with pytest.raises(RuntimeError):
            memory.thin()
        assert [each.step for each in thinnings.all()] == [Step.ANNOUNCED]
        store._ledger.before_commit = lambda *_: None

        if at_once:
            Thinner(store._lookup).resume()
            assert _count(durable, "payload_key") + len(thinnings.all()) == 0
        store.remember("goes on", user_id=USER)
        kept = [memory.known(each).facts for each in KEPT]
        (receipt,) = memory.thin()

        assert receipt.fact_ids == (memory.fact_id,)
        assert [each.step for each in thinnings.all()] == [Step.DONE]
        # The one that was never said had made keys for the same payloads.
        assert _count(durable, "payload_key") == 4
        assert [memory.known(each).facts for each in KEPT] == kept


def test_to_open_a_store_takes_no_longer_the_more_was_made_unreadable(
    durable: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = lived(durable)
    with memory.store as store:
        make_unreadable(store)
        assert len(memory.thin()) == 1
    few = statements_of_opening(durable, memory, monkeypatch)

    with durable.open(clock=memory.clock, embedder="none") as store:
        for month in (7, 8, 9):
            memory.clock.now = us(at(2024, month))
            store.update(memory.fact_id, content=f"of {month}")
        memory.clock.now = us(at(2027, 6))
        for _ in range(2):
            make_unreadable(store)
        assert len(store.retain(RULES)) == 1
        listed = store._ledger.vault.thinnings.all(), store._ledger.vault.destructions.all()
        assert [len(each) for each in listed] == [2, 9]
    many = statements_of_opening(durable, memory, monkeypatch)

    assert many == few


def _history(store: MemoryStore, memory: Lived) -> FactHistory:
    return store.get_fact_history(memory.fact_id)


def _count(backend: Backend, table: str, *, vault: bool = True) -> int:
    with backend.sql(vault=vault) as connection:
        return int(
            connection.execute(sa.text(f"SELECT count(*) FROM {table}")).scalar_one()
        )


def make_unreadable(store: MemoryStore) -> None:
    """Redact a fact and a turn, and erase somebody."""
    fact = store.remember("no longer to be read", user_id=USER)
    store.forget(fact.fact_id, mode="redact")
    session = store.start_session(user_id=USER)
    store.add_turn(session_id=session.session_id, role="user", content="nor this")
    store.redact_turn(f"{session.session_id}.1")
    store.remember("nor that", user_id="bob")
    store.erase(user_id="bob", reason="asked for")


def statements_of_opening(
    durable: Backend, memory: Lived, monkeypatch: pytest.MonkeyPatch
) -> list[str]:
    """Return what is asked of the databases while a store is opened."""
    asked: list[str] = []
    run, opening = Prepared.run, threading.get_ident()

    def noted(self: Prepared, connection: sa.Connection, **values: object) -> Answer:
        # A thread that keeps an index up, of whatever store, asks on its own account.
        if threading.get_ident() == opening:
            asked.append(str(self.clause))
        return run(self, connection, **values)

    with monkeypatch.context() as counting:
        counting.setattr(Prepared, "run", noted)
        durable.open(clock=memory.clock, embedder="none", upkeep=False).close()
    return asked
