"""Redaction: the content is unreadable at every as-of, that it was there stays."""

from pathlib import Path

import pytest

from muniment import MemoryStore, Scope
from muniment.errors import (
    FactNotCurrentError,
    FactRedactedError,
    InvalidInput,
    UnknownFactError,
    VersionConflictError,
)
from tests.forgetting.traces import Backup, said, traces
from tests.stores import Backend


FIRST, SECOND = "CANARY-eins 金丝雀", "CANARY-zwei 金丝雀"
NAMED = "CANARY-entity"


def remembered(store: MemoryStore) -> str:
    """Remember a fact with two versions and metadata; return its name."""
    fact = store.remember(
        FIRST,
        user_id="ann",
        entities=(NAMED,),
        metadata={"k": "CANARY-metadata"},
        actor="agent",
        reason="heard it",
    )
    store.update(fact.fact_id, content=SECOND)
    return fact.fact_id


def test_a_redacted_fact_says_nothing_at_any_as_of(backend: Backend) -> None:
    with backend.open() as store:
        fact_id = remembered(store)
        store.remember("stays", user_id="ann")
        times = [each.recorded_at for each in store.get_fact_history(fact_id)]

        store.forget(fact_id, mode="redact", actor="dpo", reason="asked")

        for at in times:
            known = store.get_memory_as_of(user_id="ann", timestamp=at)
            assert {each.content for each in known if each.fact_id == fact_id} <= {None}
            assert all(
                not each.metadata and not each.entities
                for each in known
                if each.fact_id == fact_id
            )
        answers = [
            store.diff_memory(user_id="ann", time_a=times[0], time_b=times[1]),
            store.blame(user_id="ann", as_of=times[1]),
            store.list_modified_facts(user_id="ann", start=times[0], end=None),
        ]
        assert "CANARY" not in repr(answers)
        assert said(store, user_id="ann") == ["stays"]
        with pytest.raises(FactNotCurrentError):
            store.get(fact_id)


def test_the_history_of_a_redacted_fact_tells_that_it_was_when_and_by_whom(
    backend: Backend,
) -> None:
    with backend.open() as store:
        fact_id = remembered(store)
        before = store.get_fact_history(fact_id)

        receipt = store.forget(fact_id, mode="redact", actor="dpo", reason="asked")

        assert not receipt.deferred
        history = store.get_fact_history(fact_id)
        assert [each.kind for each in history] == ["asserted", "revised", "redacted"]
        assert [each.content for each in history] == [None, None, None]
        assert history.current_content is None
        assert [each.recorded_at for each in history][:2] == [e.recorded_at for e in before]
        assert [(each.actor, each.reason) for each in history] == [
            ("agent", "heard it"),
            (None, None),
            ("dpo", "asked"),
        ]
        assert store.verify()


def test_redacting_twice_writes_once(backend: Backend) -> None:
    with backend.open() as store:
        fact_id = remembered(store)
        store.forget(fact_id, mode="redact")

        again = store.forget(fact_id, mode="redact")

        assert again.tx_id is None
        assert not again.deferred
        assert len(store.get_fact_history(fact_id)) == 3


def test_nothing_can_be_said_of_a_redacted_fact(backend: Backend) -> None:
    with backend.open() as store:
        fact_id = remembered(store)
        store.forget(fact_id, mode="redact")
        at = store.get_fact_history(fact_id).versions[1].recorded_at
        head = store.get_all(user_id="ann").position

        for write in (
            lambda: store.update(fact_id, content="back"),
            lambda: store.correct(fact_id, content="back"),
            lambda: store.end(fact_id),
            lambda: store.restore(fact_id),
            lambda: store.rollback_fact(fact_id, to_version=1),
        ):
            with pytest.raises((FactRedactedError, FactNotCurrentError, InvalidInput)):
                write()
        store.rollback_to_timestamp(user_id="ann", rollback_to=at)

        assert store.get_all(user_id="ann").position == head
        assert said(store, user_id="ann") == []


def test_what_is_said_again_after_a_redaction_is_a_fact_of_its_own(
    backend: Backend,
) -> None:
    with backend.open() as store:
        fact_id = remembered(store)
        store.forget(fact_id, mode="redact")

        again = store.remember(SECOND, user_id="ann")

        assert again.fact_id != fact_id
        assert said(store, user_id="ann") == [SECOND]


def test_a_fact_nobody_recorded_cannot_be_redacted(backend: Backend) -> None:
    with backend.open() as store:
        store.remember("something", user_id="ann")

        with pytest.raises(UnknownFactError):
            store.forget("no-such-fact", mode="redact")


def test_no_byte_of_a_redacted_content_is_left(durable: Backend) -> None:
    with durable.open() as store:
        fact_id = remembered(store)
        store.forget(fact_id, mode="redact")

        assert traces(durable, FIRST, SECOND, NAMED, "CANARY") == []
    assert traces(durable, FIRST, SECOND, NAMED, "CANARY") == []


# B35 (marten#1302: delete handlers skipped on rebuild).
def test_a_rebuild_brings_nothing_back_that_was_redacted_or_retired(
    backend: Backend,
) -> None:
    with backend.open() as store:
        redacted = remembered(store)
        retired = store.remember("old", user_id="ann").fact_id
        store.remember("stays", user_id="ann")
        store.forget(redacted, mode="redact")
        store.forget(retired)
        at = store.get_fact_history(redacted).versions[1].recorded_at

        store.rebuild()

        assert said(store, user_id="ann") == ["stays"]
        known = store.get_memory_as_of(user_id="ann", timestamp=at)
        assert "CANARY" not in repr(known)
        assert store.verify()


# B39 (KurrentDB#2793: deleted events are still in a replay of the whole log).
def test_a_replay_of_the_whole_log_gives_the_redacted_form(backend: Backend) -> None:
    with backend.open() as store:
        fact_id = remembered(store)
        store.forget(fact_id, mode="redact")

        replayed = store._ledger.recorder.read(limit=100)

        assert len(replayed) == 3
        subject = store._ledger.vault.subject(replayed[-1].sealed.subject_ref)
        opened = store._ledger.mapper.opened(replayed, subject)
        assert "CANARY" not in repr(opened)


# C4, B55 (sliceworkz#127: a backup brings back what was removed in place).
def test_a_backup_made_before_a_redaction_shows_nothing_of_it(
    durable: Backend, tmp_path: Path
) -> None:
    with durable.open() as store:
        fact_id = remembered(store)
        store.remember("stays", user_id="ann")
        at = store.get_all(user_id="ann").recorded_at
        backup = Backup.of(durable, tmp_path / "backup.db")
        store.forget(fact_id, mode="redact")

    backup.restore()

    for _ in range(2):
        with durable.open() as store:
            history = store.get_fact_history(fact_id)
            assert [each.kind for each in history] == ["asserted", "revised", "redacted"]
            assert {each.content for each in history} == {None}
            assert said(store, user_id="ann") == ["stays"]
            known = store.get_memory_as_of(user_id="ann", timestamp=at)
            assert "CANARY" not in repr(known)
            assert store.verify()
            store.rebuild()


def test_a_backup_of_a_frozen_memory_opens_though_a_fact_was_redacted_since(
    durable: Backend, tmp_path: Path
) -> None:
    with durable.open() as store:
        fact_id = remembered(store)
        store.freeze(user_id="ann")
        backup = Backup.of(durable, tmp_path / "backup.db")
        store.thaw(user_id="ann")
        store.forget(fact_id, mode="redact")

    backup.restore()

    with durable.open() as store:
        assert store.get_fact_history(fact_id).versions[-1].kind == "redacted"
        assert store.verify()


def test_a_backup_made_before_a_redacted_fact_was_recorded_opens(
    durable: Backend, tmp_path: Path
) -> None:
    with durable.open() as store:
        store.remember("stays", user_id="ann")
        backup = Backup.of(durable, tmp_path / "backup.db")
        store.forget(remembered(store), mode="redact")

    backup.restore()

    for _ in range(2):
        with durable.open() as store:
            assert said(store, user_id="ann") == ["stays"]
            store.remember("goes on", user_id="bob")
            assert store.verify()


def test_a_redaction_that_was_decided_on_an_older_version_destroys_nothing(
    backend: Backend,
) -> None:
    with backend.open() as store:
        fact = store.remember("likes tea", user_id="ann")
        store.update(fact.fact_id, content="likes coffee")

        with pytest.raises(VersionConflictError):
            store.forget(fact.fact_id, mode="redact", expected_version=1)

        assert said(store, user_id="ann") == ["likes coffee"]
        store.forget(fact.fact_id, mode="redact", expected_version=2)
        assert said(store, user_id="ann") == []
        # A retry after a lost answer is no conflict.
        store.forget(fact.fact_id, mode="redact", expected_version=2)
        assert len(store.get_fact_history(fact.fact_id).versions) == 3


def test_a_redaction_that_waits_says_so_again_and_its_copies_wait_with_it(
    backend: Backend,
) -> None:
    team = Scope.team("eng")
    with backend.open() as store:
        fact = store.remember("CANARY", user_id="ann")
        proposal = store.propose_share(fact.fact_id, to=team, actor="ann")
        store.approve(proposal.proposal_id, actor="lead")
        (copy,) = store.get_all(scope=team)
        hold = store.place_hold(user_id="ann", matter="case 7").hold_id or ""
        store.freeze(scope=team)
        assert store.forget(fact.fact_id, mode="redact").deferred
        store.thaw(scope=team)
        with pytest.raises(FactNotCurrentError):
            store.get(copy.fact_id)

        again = store.forget(fact.fact_id, mode="redact")

        assert (again.deferred, again.tx_id) == (True, None)
        assert store.get_all(scope=team).items == ()
        store.release_hold(hold, user_id="ann")
        assert not store.forget(fact.fact_id, mode="redact").deferred
        assert {each.content for each in store.get_fact_history(copy.fact_id)} == {None}
