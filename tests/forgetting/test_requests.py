"""Requests with an idempotency key, and what is left of them once a subject is erased."""

import pytest
import sqlalchemy as sa

from muniment.errors import ForgottenRequestError, HoldTakenError, IdempotencyConflictError
from muniment.ledger import codec, sealing, tables
from muniment.ledger.records import Origin
from muniment.ledger.transaction import Request
from tests.forgetting.traces import said
from tests.stores import Backend


USER, KEY = "ann", "import-7"


def tags(backend: Backend) -> list[bytes]:
    """Return every digest of a request that is stored."""
    column = tables.transaction.c.request_tag
    with backend.sql() as connection:
        found = connection.execute(sa.select(column).where(column.is_not(None)))
        return [bytes(each) for each in found.scalars()]


def test_a_request_cannot_be_guessed_once_its_subject_is_erased(durable: Backend) -> None:
    with durable.open() as store:
        ledger = store._ledger
        fact = store.remember("likes tea", user_id=USER)
        store.end(fact.fact_id, idempotency_key=KEY)
        (kept,) = tags(durable)
        subject = ledger.vault.find(fact.scope)
        assert subject is not None
        row = ledger.recorder.transaction(2)
        assert row is not None
        body = {
            "origin": {
                "actor": None,
                "reason": None,
                "trigger": "user_explicit",
                "session_id": None,
                "source_turns": [],
                "idempotency_key": KEY,
            },
            "command": {"valid_to": None, "expected_version": None},
        }
        guess = codec.canonical(["end", fact.fact_id, body])
        assert sealing.tag(subject.request_key, guess) == kept

        store.erase(user_id=USER, reason="asked")

        assert tags(durable) == [kept]
        for held in (ledger.vault.ledger_key, *_derived(ledger.vault.ledger_key)):
            assert sealing.tag(held, guess) != kept
        assert ledger.vault.subject(subject.ref) is None
        assert store.verify()


def _derived(key: bytes) -> list[bytes]:
    return [sealing.derived(key, each) for each in ("request", "header", "scope", "cursor")]


# The first answer went with the subject: a new one must not be mistaken for it.
def test_a_key_that_was_used_for_an_erased_memory_is_said_to_be(backend: Backend) -> None:
    with backend.open() as store:
        fact = store.remember("likes tea", user_id=USER, idempotency_key=KEY)
        again = store.remember("likes tea", user_id=USER, idempotency_key=KEY)
        assert again == fact
        store.erase(user_id=USER, reason="asked", idempotency_key="erase-1")
        before = store.get_all(user_id=USER).position

        for user in (USER, "bob"):
            with pytest.raises(ForgottenRequestError, match=f"'{KEY}'.*transaction 1"):
                store.remember("likes tea", user_id=user, idempotency_key=KEY)
        with pytest.raises(ForgottenRequestError):
            store.update(fact.fact_id, content="x", idempotency_key=KEY)

        assert store.get_all(user_id=USER).position == before
        store.remember("likes tea", user_id=USER, idempotency_key="import-8")
        # Whoever came back is not erased by a retry of what erased the first life.
        with pytest.raises(ForgottenRequestError):
            store.erase(user_id=USER, reason="asked", idempotency_key="erase-1")
        assert said(store, user_id=USER) == ["likes tea"]


def test_a_request_of_a_store_from_before_is_still_answered_once(backend: Backend) -> None:
    with backend.open() as store:
        fact = store.remember("likes tea", user_id=USER)
        ledger = store._ledger
        new, older = ledger._request_tags(
            Request(
                action="forget",
                origin=Origin(idempotency_key=KEY),
                scope=None,
                fact_id=fact.fact_id,
                body={},
                work=lambda _: None,
            ),
            ledger.fact(fact.fact_id)[0],
        )

        assert new != older
        assert older == sealing.tag(
            ledger._request_key, codec.canonical(["forget", fact.fact_id, {}])
        )


def test_a_request_with_nothing_to_do_stands_in_the_tree(durable: Backend) -> None:
    with durable.open() as store:
        fact = store.remember("likes tea", user_id=USER)
        store.forget(fact.fact_id)
        first = store.forget(fact.fact_id, idempotency_key=KEY, actor="ann")

        again = store.forget(fact.fact_id, idempotency_key=KEY, actor="ann")

        assert first == again
        assert (first.tx_id, first.position, first.fact_ids) == (3, 3, ())
        assert len(store.get_fact_history(fact.fact_id).versions) == 2
        assert store.prove(3).envelope.topic == "subject.request_answered.v1"
        with durable.sql() as connection:
            column = tables.transaction.c
            connection.execute(
                sa.update(tables.transaction)
                .where(column.tx_id == 3)
                .values(idempotency_tag=bytes(16))
            )
        assert store.verify().findings[0].position == 3


def test_without_a_key_nothing_to_do_writes_nothing(backend: Backend) -> None:
    with backend.open() as store:
        fact = store.remember("likes tea", user_id=USER)
        store.forget(fact.fact_id)

        assert store.forget(fact.fact_id).tx_id is None
        assert store.get_all(user_id=USER).position == 2


def test_a_hold_that_is_asked_for_twice_is_one(backend: Backend) -> None:
    with backend.open() as store:
        fact = store.remember("likes tea", user_id=USER)

        first = store.place_hold(user_id=USER, matter="case", idempotency_key=KEY)
        again = store.place_hold(user_id=USER, matter="case", idempotency_key=KEY)

        assert again == first
        assert first.hold_id is not None
        assert [each.hold_id for each in store.list_holds(user_id=USER)] == [first.hold_id]
        others = ({"fact_id": fact.fact_id}, {"actor": "bob"}, {"matter": "another"})
        for other in others:
            with pytest.raises(IdempotencyConflictError):
                store.place_hold(
                    user_id=USER,
                    idempotency_key=KEY,
                    **{"matter": "case", **other},  # type: ignore[arg-type]
                )


def test_the_name_of_a_hold_means_one_hold_for_ever(backend: Backend) -> None:
    with backend.open() as store:
        fact = store.remember("likes tea", user_id=USER)
        store.place_hold(user_id=USER, matter="case", fact_id=fact.fact_id, hold_id="h-1")

        same = store.place_hold(
            user_id=USER, matter="case", fact_id=fact.fact_id, hold_id="h-1"
        )
        # It would seem that all of the memory is held, and it is not.
        with pytest.raises(HoldTakenError):
            store.place_hold(user_id=USER, matter="case", hold_id="h-1")
        with pytest.raises(HoldTakenError):
            store.place_hold(
                user_id=USER, matter="other", fact_id=fact.fact_id, hold_id="h-1"
            )
        store.release_hold("h-1", user_id=USER)
        with pytest.raises(HoldTakenError):
            store.place_hold(
                user_id=USER, matter="case", fact_id=fact.fact_id, hold_id="h-1"
            )

        assert (same.tx_id, same.hold_id) == (None, "h-1")
        assert store.list_holds(user_id=USER) == ()
