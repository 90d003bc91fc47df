"""What somebody did to the database of a store is found, and located, with its kind."""

import pytest
import sqlalchemy as sa

from muniment.ledger import proof
from muniment.projections.tables import belief
from tests.proofs.malice import (
    EVENT,
    HEADS,
    LAST,
    TRANSACTION,
    Victim,
    copied,
    flipped,
    kind_at,
)
from tests.stores import POSTGRESQL


pytestmark = pytest.mark.slow


def test_nothing_is_found_where_nothing_was_done(attacked: Victim) -> None:
    found = attacked.store.verify(published=attacked.heads)

    assert found.findings == ()
    assert (found.events, found.heads) == (LAST, 2 * len(HEADS))


@pytest.mark.parametrize("at", [0, 1, 5, -40, -1])
def test_an_edited_payload_is_found_whichever_byte(attacked: Victim, at: int) -> None:
    attacked.put(3, state=flipped(attacked.value(EVENT.c.state, 3), at=at))

    assert kind_at(attacked) == (3, "payload")


def test_a_payload_that_was_cut_short_is_found(attacked: Victim) -> None:
    attacked.put(3, state=b"")

    assert kind_at(attacked) == (3, "payload")


@pytest.mark.parametrize(("one", "other"), [(2, 3), (2, 5), (6, 7)])
def test_swapped_payloads_are_found_at_the_first(
    attacked: Victim, one: int, other: int
) -> None:
    """Of two facts, of two versions of one, and of one transaction."""
    states = [attacked.value(EVENT.c.state, position) for position in (one, other)]
    attacked.put(one, state=states[1])
    attacked.put(other, state=states[0])

    assert kind_at(attacked) == (one, "payload")


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ({"recorded_at_us": 1}, "envelope"),
        ({"tx_id": 2}, "envelope"),
        ({"subject_ref": "0" * 32}, "envelope"),
        ({"leaf": bytes(32)}, "envelope"),
        # What a payload is sealed to: it does not open beside anything else.
        ({"stream": "fact-other"}, "payload"),
        ({"topic": "fact.revised.v1"}, "payload"),
        ({"key_id": 1}, "payload"),
        ({"version": 2}, "order"),
    ],
    ids=lambda given: next(iter(given)) if isinstance(given, dict) else given,
)
def test_an_edited_column_beside_a_payload_is_found(
    attacked: Victim, values: dict[str, object], kind: str
) -> None:
    attacked.put(3, **values)

    assert kind_at(attacked) == (3, kind)


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ({"action": "forget"}, "envelope"),
        ({"subject_ref": "0" * 32}, "envelope"),
        ({"idempotency_tag": bytes(16)}, "envelope"),
        ({"request_tag": bytes(16)}, "envelope"),
        ({"request_tag": b""}, "envelope"),
        ({"idempotency_tag": b""}, "envelope"),
        ({"header": b"\x01"}, "envelope"),
        ({"recorded_at_us": 1}, "order"),
        ({"first_position": 2}, "order"),
        ({"last_position": 2}, "order"),
        ({"tx_id": 99}, "missing"),
    ],
    ids=lambda given: next(iter(given)) if isinstance(given, dict) else given,
)
def test_an_edited_transaction_is_found_at_its_first_event(
    attacked: Victim, values: dict[str, object], kind: str
) -> None:
    attacked.run(sa.update(TRANSACTION).where(TRANSACTION.c.tx_id == 3).values(**values))

    assert 3 in {each.position for each in attacked.store.verify().findings[:2]}
    assert kind in {each.kind for each in attacked.store.verify().findings[:2]}


# SQLite keeps any kind of value in any column; PostgreSQL refuses these.
@pytest.mark.parametrize("kind", ["text", "text that is no UTF-8", "number", "nothing"])
@pytest.mark.parametrize("column", ["state", "leaf"])
def test_what_is_not_even_bytes_is_found_where_it_stands(
    attacked: Victim, column: str, kind: str
) -> None:
    if attacked.backend.kind == POSTGRESQL:
        pytest.skip("a server keeps nothing but bytes in such a column")
    value = {
        "text": f"CAST({column} AS TEXT)",
        "text that is no UTF-8": "CAST(x'ff' AS TEXT)",
        "number": "7",
        "nothing": "x''",
    }[kind]
    attacked.run(f"UPDATE ledger_event SET {column} = {value} WHERE position = 4")

    assert kind_at(attacked)[0] == 4


@pytest.mark.parametrize(
    ("table", "column", "value"),
    [
        *((EVENT, each, "'x'") for each in ("recorded_at_us", "version", "key_id")),
        *((EVENT, each, "x'00ff'") for each in ("stream", "topic", "subject_ref")),
        *((EVENT, each, "0.5") for each in ("tx_id", "key_id", "topic", "state")),
        *((TRANSACTION, e, "'x'") for e in ("recorded_at_us", "last_position", "header")),
        *((TRANSACTION, each, "x'00ff'") for each in ("action", "subject_ref")),
        (TRANSACTION, "request_tag", "'x'"),
        (TRANSACTION, "idempotency_tag", "7"),
    ],
    ids=str,
)
def test_a_value_of_another_kind_is_found_where_it_stands(
    attacked: Victim, table: sa.Table, column: str, value: str
) -> None:
    if attacked.backend.kind == POSTGRESQL:
        pytest.skip("a server keeps one kind of value in a column")
    # Each of the first transactions has one event.
    where = "position" if table is EVENT else "tx_id"
    attacked.run(f"UPDATE {table.name} SET {column} = {value} WHERE {where} = 4")

    assert {each.position for each in attacked.store.verify().findings} >= {4}


def test_two_events_in_each_others_place_are_found(attacked: Victim) -> None:
    for place, other in ((2, -2), (3, 2), (-2, 3)):
        attacked.put(place, position=other)

    assert kind_at(attacked) == (2, "envelope")


def test_two_transactions_in_each_others_time_are_found(attacked: Victim) -> None:
    with attacked.backend.sql() as connection:
        times = list(
            connection.execute(
                sa.select(EVENT.c.recorded_at_us).order_by(EVENT.c.position).limit(3)
            ).scalars()
        )
    for tx_id, time in ((2, -1), (3, times[1]), (2, times[2])):
        row = sa.update(TRANSACTION).where(TRANSACTION.c.tx_id == tx_id)
        attacked.run(row.values(recorded_at_us=time))
        attacked.put(tx_id, recorded_at_us=time)

    found = attacked.store.verify().findings

    assert (found[0].position, found[0].kind) == (2, "envelope")
    assert (3, "order") in {(each.position, each.kind) for each in found}


@pytest.mark.parametrize("position", [1, 3, 6, 7, 100, LAST])
def test_a_removed_event_is_missing(attacked: Victim, position: int) -> None:
    attacked.run(sa.delete(EVENT).where(EVENT.c.position == position))

    assert kind_at(attacked) == (position, "missing")


def test_a_removed_transaction_is_missing_with_its_events(attacked: Victim) -> None:
    attacked.run(
        sa.delete(EVENT).where(EVENT.c.tx_id == 3),
        sa.delete(TRANSACTION).where(TRANSACTION.c.tx_id == 3),
    )

    assert kind_at(attacked) == (3, "missing")


def test_a_removed_event_whose_gap_was_closed_is_found(attacked: Victim) -> None:
    attacked.run(
        sa.delete(EVENT).where(EVENT.c.position == 6),
        sa.update(TRANSACTION).where(TRANSACTION.c.tx_id == 6).values(last_position=6),
        sa.update(TRANSACTION)
        .where(TRANSACTION.c.tx_id == 7)
        .values(first_position=7, last_position=LAST - 1),
    )
    for position in range(7, LAST + 1):
        attacked.put(position, position=position - 1)
    attacked.hash_again()

    assert kind_at(attacked) == (7, "tree head")


def test_an_event_that_no_transaction_has_is_extra(attacked: Victim) -> None:
    where = EVENT.c.position == 4
    attacked.run(copied(EVENT, where, position=LAST + 1, tx_id=99, stream="fact-x"))

    assert kind_at(attacked) == (LAST + 1, "extra")


def test_an_event_before_the_first_is_extra(attacked: Victim) -> None:
    attacked.run(copied(EVENT, EVENT.c.position == 4, position=0, stream="fact-x"))

    assert kind_at(attacked) == (0, "extra")


def test_an_added_event_with_transaction_and_hashes_to_fit_does_not_open(
    attacked: Victim,
) -> None:
    last = LAST + 1
    attacked.run(
        copied(
            TRANSACTION,
            TRANSACTION.c.tx_id == 4,
            tx_id=8,
            recorded_at_us=2**60,
            first_position=last,
            last_position=last,
        ),
        copied(
            EVENT,
            EVENT.c.position == 4,
            position=last,
            tx_id=8,
            recorded_at_us=2**60,
            stream="fact-x",
        ),
    )
    attacked.hash_again()

    assert kind_at(attacked) == (last, "payload")


def test_an_edited_row_of_a_projection_is_found_at_the_event_it_rests_on(
    attacked: Victim,
) -> None:
    for change in ({"importance": 0.987}, {"status": "ended"}, {"valid_from_us": 5}):
        with attacked.restored():
            attacked.run(sa.update(belief).where(belief.c.position == 4).values(change))
            assert kind_at(attacked) == (4, "projection")


def test_a_removed_row_of_a_projection_is_found(attacked: Victim) -> None:
    attacked.run(sa.delete(belief).where(belief.c.position == 5))

    assert kind_at(attacked) == (5, "projection")


def test_an_added_row_of_a_projection_is_found(attacked: Victim) -> None:
    attacked.run(copied(belief, belief.c.position == 6, fact_id="other"))

    found = attacked.first()

    assert (found.position, found.kind) == (6, "projection")
    assert "fact other, version 1, does not follow" in found.problem


def test_the_first_twenty_findings_are_enough(attacked: Victim) -> None:
    attacked.run(sa.update(EVENT).values(leaf=bytes(32)))

    found = attacked.store.verify().findings

    assert [each.position for each in found] == list(range(1, 21))


def test_a_proof_of_an_edited_event_is_refused_by_whoever_checks_it(
    attacked: Victim,
) -> None:
    attacked.put(3, state=flipped(attacked.value(EVENT.c.state, 3)))

    proven = attacked.store.prove(3)

    index, path, note = proof.read_proof(proven.text)
    head = proof.read_head(note, public_key=attacked.store.public_key)
    with pytest.raises(proof.RefusedError, match="leaf 2 does not lead to the root"):
        proof.check_inclusion(proof.leaf_hash(proven.envelope.packed()), index, path, head)
