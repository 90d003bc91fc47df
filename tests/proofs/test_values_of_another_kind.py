"""Rows that hold what no event or transaction can hold: each is found where it stands."""

import pytest
import sqlalchemy as sa

from tests.proofs.malice import EVENT, TRANSACTION, Victim
from tests.stores import POSTGRESQL


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

    assert attacked.first().position == 4


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
