"""What is stored is sealed, and opens at the place it was written to alone."""

import pytest
import sqlalchemy as sa

from muniment import Scope
from muniment.domain.events import FactAsserted
from muniment.errors import BrokenSealError
from tests.stores import Backend


def move(durable: Backend, statement: str, **values: object) -> None:
    """Move stored bytes to where they do not belong."""
    with durable.sql() as connection:
        moved = connection.execute(sa.text(statement), values)
        assert moved.rowcount == 1


@pytest.mark.parametrize("columns", ["state", "state, key_id"])
@pytest.mark.parametrize("whose", ["alice", "bob"])
def test_a_ciphertext_pasted_from_another_row_does_not_open(
    durable: Backend, whose: str, columns: str
) -> None:
    with durable.open() as store:
        mine = store.remember("mine", user_id="alice")
        theirs = store.remember("theirs", user_id=whose)

        pasted = ", ".join(f"{each} = source.{each}" for each in columns.split(", "))
        move(
            durable,
            f"UPDATE ledger_event AS target SET {pasted} FROM ledger_event AS source "
            "WHERE target.position = :mine AND source.position = :theirs",
            mine=mine.position,
            theirs=theirs.position,
        )

        with pytest.raises(BrokenSealError):
            store.get(mine.fact_id)
    with durable.open() as store, pytest.raises(BrokenSealError):
        # Nor in a process that has no key in memory yet.
        store.get(mine.fact_id)


def test_a_ciphertext_pasted_within_its_stream_does_not_open(durable: Backend) -> None:
    with durable.open() as store:
        first = store.remember("one", user_id="alice")
        second = store.correct(first.fact_id, content="two")

        move(
            durable,
            "UPDATE ledger_event AS target SET state = source.state "
            "FROM ledger_event AS source "
            "WHERE target.position = :second AND source.position = :first",
            first=first.position,
            second=second.position,
        )

        with pytest.raises(BrokenSealError):
            store.get(first.fact_id)


def test_a_ciphertext_pasted_from_another_ledger_does_not_open(durable: Backend) -> None:
    with durable.open(ledger="one") as one, durable.open(ledger="two") as two:
        mine = one.remember("mine", user_id="alice")
        two.remember("theirs", user_id="alice")

        move(
            durable,
            "UPDATE ledger_event AS target "
            "SET state = source.state, key_id = source.key_id FROM ledger_event AS source "
            "WHERE target.ledger = 'one' AND source.ledger = 'two' AND source.position = 1",
        )

        assert one.get(mine.fact_id).content is None
        move(
            durable,
            "UPDATE ledger_event SET key_id = :key_id WHERE ledger = 'one'",
            key_id=1,
        )
        with pytest.raises(BrokenSealError):
            one.get(mine.fact_id)


@pytest.mark.parametrize("column", ["topic", "stream", "version"])
def test_an_edited_column_beside_a_ciphertext_is_noticed(
    durable: Backend, column: str
) -> None:
    edited = {"topic": "fact.revised.v1", "stream": "fact-other", "version": 2}[column]
    with durable.open() as store:
        store.remember("mine", user_id="alice")

        move(durable, f"UPDATE ledger_event SET {column} = :edited", edited=edited)

        alice = store._ledger.vault.find(Scope.user("alice"))
        assert alice is not None
        with pytest.raises(BrokenSealError):
            store._ledger.subject_events(alice)


def test_an_edited_byte_is_noticed_and_named(durable: Backend) -> None:
    with durable.open() as store:
        fact = store.remember("mine", user_id="alice")
        (event,) = store._ledger.recorder.read(limit=1)
        state = bytearray(event.sealed.state)
        state[-1] ^= 1

        move(durable, "UPDATE ledger_event SET state = :state", state=bytes(state))

        with pytest.raises(BrokenSealError, match=fact.fact_id):
            store.get(fact.fact_id)


def test_an_edited_header_is_noticed(durable: Backend) -> None:
    with durable.open() as store:
        fact = store.remember("mine", user_id="alice", confidence=0.25)
        (event,) = store._ledger.recorder.read(limit=1)
        edited = event.sealed.state.replace(b'"confidence":0.25', b'"confidence":0.75')
        assert edited != event.sealed.state

        move(durable, "UPDATE ledger_event SET state = :state", state=edited)

        with pytest.raises(BrokenSealError):
            store.get(fact.fact_id)


def test_what_is_sealed_is_nowhere_readable(durable: Backend) -> None:
    with durable.open() as store:
        store.remember(
            "canary-content",
            user_id="canary-user",
            source="canary-source",
            actor="canary-actor",
            reason="canary-reason",
            session_id="canary-session",
            entities=["canary-entity"],
            metadata={"canary-key": "canary-value"},
            idempotency_key="canary-idempotency",
        )
        first = store._ledger.recorder.read(limit=1)
        (recorded,) = store._ledger.mapper.opened(first, None)
        event = recorded.event

    for vault in (False, True):
        with durable.sql(vault=vault) as connection:
            tables = sa.MetaData()
            tables.reflect(connection)
            stored = [
                value if isinstance(value, bytes) else str(value).encode()
                for table in tables.sorted_tables
                for row in connection.execute(sa.select(table))
                for value in row
            ]
        assert stored
        assert not [each for each in stored if b"canary" in each]
    assert isinstance(event, FactAsserted)
    assert event.content is None
