"""Erasure: nothing of a subject at any as-of, anywhere, and everything else intact."""

import sqlite3
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from typing import Any

import pytest

from muniment import MemoryStore, Scope
from muniment.api.certificates import ErasureCertificate, ErasureStatus
from muniment.api.destroying import Destroyer
from muniment.errors import (
    InvalidInput,
    NotFound,
    SubjectFrozenError,
    UnknownFactError,
)
from muniment.ledger.destruction import Destruction
from tests.forgetting.traces import LEDGER_FILE, said, traces, wrapped_keys
from tests.stores import POSTGRESQL, SQLITE, Backend


USER = "CANARY-user"
CANARIES = [
    "CANARY",
    "金丝雀",
    # What the header of a transaction holds.
    "Kanarienvogel",
]


def talked(store: MemoryStore, user_id: str) -> None:
    """Let a user say something, have it answered, and have all of it summarised."""
    begun = store.start_session(
        user_id=user_id, agent="CANARY-agent", metadata={"CANARY-key": "CANARY-value"}
    )
    said = {"role": "user", "content": "CANARY 金丝雀 sings", "entities": ["CANARY-entity"]}
    store.add_turns(begun.session_id, turns=[said, {**said, "tool": "CANARY-tool"}])
    store.summarize_session(begun.session_id, keep=0, force=True)
    store.build_context("CANARY 金丝雀", user_id=user_id, agent="CANARY-agent")
    store.flush_receipts()


def lived(store: MemoryStore, *, user_id: str = USER) -> list[str]:
    """Let a user have a memory of every kind; return the facts of it."""
    who: Mapping[str, Any] = {"actor": "Kanarienvogel", "reason": "Kanarienvogel sang"}
    first = store.remember(
        "CANARY likes 金丝雀",
        user_id=user_id,
        entities=("CANARY-entity",),
        metadata={"CANARY-key": "CANARY-value"},
        session_id="CANARY-session",
        source="CANARY-tool",
        source_turns=("CANARY-turn",),
        idempotency_key="CANARY-idempotency",
        **who,
    )
    store.update(first.fact_id, content="CANARY left", **who)
    store.correct(first.fact_id, content="CANARY never left")
    second = store.remember("CANARY two", user_id=user_id)
    store.remember("CANARY two", user_id=user_id, source="CANARY-other")
    store.forget(second.fact_id)
    store.restore(second.fact_id)
    third = store.remember("CANARY three", user_id=user_id)
    store.forget(third.fact_id, mode="redact")
    hold = store.place_hold(user_id=user_id, matter="CANARY v. 金丝雀").hold_id
    store.release_hold(str(hold), user_id=user_id)
    store.rollback_fact(first.fact_id, to_version=1)
    talked(store, user_id)
    return [first.fact_id, second.fact_id, third.fact_id]


@contextmanager
def reader_of_the_log(backend: Backend) -> Iterator[None]:
    """Read a database in a transaction that stays open, as any other program can."""
    file = backend.directory / LEDGER_FILE
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("BEGIN")
        connection.execute("SELECT count(*) FROM ledger_event").fetchone()
        yield


def erased(store: MemoryStore, *, user_id: str = USER) -> ErasureCertificate:
    return store.erase(user_id=user_id, reason="asked", actor="dpo")


def test_nothing_of_an_erased_subject_is_found_by_any_question(backend: Backend) -> None:
    with backend.open() as store:
        fact_ids = lived(store)
        other = store.remember("stays", user_id="bob")
        times = [each.recorded_at for each in store.get_fact_history(fact_ids[0])]
        before = store.get_all(user_id="bob")

        certificate = erased(store)

        assert certificate.status is ErasureStatus.DONE
        assert said(store, user_id=USER) == []
        for at in times:
            assert len(store.get_memory_as_of(user_id=USER, timestamp=at)) == 0
            assert len(store.blame(user_id=USER, as_of=at)) == 0
        assert not store.diff_memory(user_id=USER, time_a=times[0], time_b=times[-1])
        assert not list(store.list_modified_facts(user_id=USER, start=times[0], end=None))
        for fact_id in fact_ids:
            for read in (store.get, store.get_fact_history):
                with pytest.raises(NotFound):
                    read(fact_id)
        assert store.get_all(user_id="bob").items == before.items
        assert store.get(other.fact_id).content == "stays"
        assert store.verify()


def test_no_write_reaches_a_fact_of_an_erased_subject(backend: Backend) -> None:
    with backend.open() as store:
        fact_id = lived(store)[0]
        erased(store)
        head = store.get_all(user_id="bob").position

        for write in (
            lambda: store.update(fact_id, content="back"),
            lambda: store.end(fact_id),
            lambda: store.forget(fact_id),
            lambda: store.forget(fact_id, mode="redact"),
            lambda: store.restore(fact_id),
            lambda: store.rollback_fact(fact_id, to_version=1),
        ):
            with pytest.raises(UnknownFactError):
                write()

        assert store.get_all(user_id="bob").position == head


def test_no_byte_of_an_erased_subject_is_left(durable: Backend) -> None:
    with durable.open() as store:
        lived(store)
        store.remember("stays", user_id="bob")
        before = wrapped_keys(durable)

        erased(store)

        after = wrapped_keys(durable)
        keys = [each for each in before if each not in after]
        assert len(keys) > 1
        assert traces(durable, *CANARIES) == []
        if durable.kind == SQLITE:
            # The wrapped keys themselves are overwritten in file and log.
            assert traces(durable, *keys) == []
    assert traces(durable, *CANARIES, *keys) == []


def test_what_is_sought_is_found_where_it_is_not_erased(durable: Backend) -> None:
    with durable.open() as store:
        fact_id = lived(store)[0]

        keys = wrapped_keys(durable)
        assert traces(durable, *keys)
        assert traces(durable, f"fact-{fact_id}")


def test_the_way_from_a_name_to_what_it_is_called_inside_is_gone(durable: Backend) -> None:
    with durable.open() as store:
        lived(store)
        subject = store._ledger.vault.find(Scope.user(USER))
        assert subject is not None

        certificate = erased(store)

        assert certificate.subject_ref == subject.ref
        assert store._ledger.vault.find(Scope.user(USER)) is None
        assert store._ledger.vault.subject(subject.ref) is None


def test_a_rebuild_and_a_restart_bring_nothing_back(durable: Backend) -> None:
    with durable.open() as store:
        fact_ids = lived(store)
        store.remember("stays", user_id="bob")
        erased(store)
        rows = list(store._lookup.timeline.rows())

        store.rebuild()

        assert list(store._lookup.timeline.rows()) == rows
        assert store.verify()
    with durable.open() as store:
        assert said(store, user_id=USER) == []
        with pytest.raises(UnknownFactError):
            store.get_fact_history(fact_ids[0])
        assert traces(durable, *CANARIES) == []
        assert store.verify()


# S5: a cache serves what was erased. Here another store on the same place erases.
def test_a_store_that_has_read_a_memory_gives_none_of_it_once_another_erased_it(
    durable: Backend,
) -> None:
    with durable.open() as reading, durable.open() as erasing:
        fact_ids = lived(erasing)
        at = erasing.get_fact_history(fact_ids[0]).versions[0].recorded_at
        assert len(said(reading, user_id=USER)) == 2

        erased(erasing)

        assert said(reading, user_id=USER) == []
        assert len(reading.get_memory_as_of(user_id=USER, timestamp=at)) == 0
        with pytest.raises(UnknownFactError):
            reading.get_fact_history(fact_ids[0])
        with pytest.raises(UnknownFactError):
            reading.update(fact_ids[0], content="back")


# M7 (mem0#3928: a scoped delete wiped everybody).
def test_an_erasure_touches_nobody_else(backend: Backend) -> None:
    with backend.open() as store:
        for scope in (
            Scope.user("ann"),
            Scope.team("ann"),
            Scope.user("ann2"),
            Scope.org(),
        ):
            store.remember(f"of {scope}", scope=scope)

        erased(store, user_id="ann")

        assert said(store, user_id="ann") == []
        for scope in (Scope.team("ann"), Scope.user("ann2"), Scope.org()):
            assert [each.content for each in store.get_all(scope=scope)] == [f"of {scope}"]


def test_erasing_twice_changes_nothing_and_succeeds(backend: Backend) -> None:
    with backend.open() as store:
        lived(store)
        erased(store)
        head = store.get_all(user_id="bob").position

        again = erased(store)

        assert again.status is ErasureStatus.DONE
        assert store.get_all(user_id="bob").position == head


def test_a_subject_that_comes_back_shares_nothing_with_its_first_life(
    backend: Backend,
) -> None:
    with backend.open() as store:
        lived(store)
        first = erased(store)

        again = store.remember("CANARY likes 金丝雀", user_id=USER)

        assert said(store, user_id=USER) == ["CANARY likes 金丝雀"]
        assert [each.kind for each in store.get_fact_history(again.fact_id)] == ["asserted"]
        second = erased(store)
        assert second.status is ErasureStatus.DONE
        assert second.subject_ref != first.subject_ref
        assert said(store, user_id=USER) == []
        assert store.verify()


def test_a_plan_counts_what_an_erasure_reaches_and_destroys_nothing(
    backend: Backend,
) -> None:
    with backend.open() as store:
        lived(store)
        before = said(store, user_id=USER)

        plan = store.plan_erasure(user_id=USER)
        again = store.plan_erasure(user_id=USER)

        assert plan == again
        assert said(store, user_id=USER) == before
        certificate = erased(store)
        removed = {each.store: each.removed for each in certificate.stores}
        # The thread that keeps the index up may be first to remove what is in it.
        assert removed | {"recall": 0} == plan.rows | {"recall": 0}
        assert certificate.skeletons == plan.events + 1
        assert plan.facts == 3
        nobody = store.plan_erasure(user_id="nobody")
        assert (nobody.facts, nobody.events, nobody.rows) == (0, 0, {})


def test_an_erasure_says_why(backend: Backend) -> None:
    with backend.open() as store:
        lived(store)

        for nothing in (None, "", " ", "\u3000\n", "\u200b", 7):
            with pytest.raises(InvalidInput):
                store.erase(user_id=USER, reason=nothing)  # type: ignore[arg-type]

        assert said(store, user_id=USER)


def test_a_frozen_subject_is_not_erased(backend: Backend) -> None:
    with backend.open() as store:
        lived(store)
        store.freeze(user_id=USER)

        with pytest.raises(SubjectFrozenError):
            erased(store)

        assert said(store, user_id=USER)
        store.thaw(user_id=USER)
        assert erased(store).status is ErasureStatus.DONE


def test_the_event_stays_in_the_ledger_with_who_asked_and_why(backend: Backend) -> None:
    with backend.open() as store:
        lived(store)

        certificate = erased(store)

        assert certificate.position is not None
        recorder = store._ledger.recorder
        (event,) = recorder.read(after=certificate.position - 1, limit=1)
        assert event.sealed.topic == "subject.erased.v1"
        row = recorder.transaction(event.tx_id)
        assert row is not None
        origin = store._ledger.mapper.origin(None, row)
        assert (origin.actor, origin.reason) == ("dpo", "asked")


# C7: while a store is not verified, it is PARTIAL, never DONE.
def test_an_erasure_is_partial_while_a_reader_keeps_the_old_log(
    durable: Backend,
) -> None:
    if durable.kind == POSTGRESQL:
        pytest.skip("its log is the server's: keys are destroyed instead, and said so")
    with durable.open() as store:
        lived(store)
    with durable.open(lock_timeout=0.5) as store:
        with reader_of_the_log(durable):
            partial = erased(store)
            again = erased(store)

        assert partial.status is ErasureStatus.PARTIAL
        unverified = {each.store for each in partial.stores if not each.verified}
        assert unverified == {"timeline", "conversation", "recall"}
        assert "status PARTIAL" in partial.text
        assert "unverified" in partial.text
        assert again.status is ErasureStatus.PARTIAL
        assert said(store, user_id=USER) == []
        done = erased(store)

        assert done.status is ErasureStatus.DONE
    assert traces(durable, *CANARIES) == []


def test_a_partial_erasure_is_finished_when_the_store_is_opened_again(
    durable: Backend,
) -> None:
    if durable.kind == POSTGRESQL:
        pytest.skip("its log is the server's: keys are destroyed instead, and said so")
    with durable.open() as store:
        lived(store)
    with durable.open(lock_timeout=0.2) as store, reader_of_the_log(durable):
        partial = erased(store)
    assert partial.status is ErasureStatus.PARTIAL

    with durable.open() as store:
        (kept,) = [e for e in store._ledger.vault.destructions.all() if not e.stream]
        assert kept.step == "done"
        assert kept.certificate is not None
        assert "status DONE" in kept.certificate


def test_what_is_done_is_not_looked_up_again_when_something_is_forgotten(
    backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    whole = Destroyer._said

    def counted(
        self: Destroyer, destructions: Sequence[Destruction]
    ) -> Collection[Destruction]:
        asked.extend(each.stream for each in destructions)
        return whole(self, destructions)

    with backend.open() as store:
        facts = [store.remember(f"tea {n}", user_id="ann").fact_id for n in range(4)]
        for fact_id in facts[:3]:
            store.forget(fact_id, mode="redact")
        monkeypatch.setattr(Destroyer, "_said", counted)

        store.forget(facts[3], mode="redact")

        assert asked == [f"fact-{facts[3]}"]
