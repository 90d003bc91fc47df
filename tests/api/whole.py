"""All that a store holds, as one value: what a refused request must leave as it was."""

from collections.abc import Mapping
from datetime import datetime

import sqlalchemy as sa

from muniment import Fact, MemoryStore
from muniment.ledger.memory_recorder import MemoryRecorder
from muniment.ledger.sql_recorder import SqlRecorder


def whole(store: MemoryStore) -> Mapping[str, object]:
    """Return every row of every table of the ledger and the vault, and the head."""
    ledger = store._ledger
    recorder = ledger.recorder
    found: dict[str, object] = {"head": recorder.present().head}
    match recorder:
        case SqlRecorder():
            found |= _tables(recorder.engine)
        case MemoryRecorder():
            found["transactions"] = tuple(recorder._transactions)
            found["events"] = tuple(recorder._events)
            found["rows"] = tuple(store._lookup.timeline.rows())
            found["horizon"] = recorder._horizon
        case _:
            raise AssertionError("there are two kinds of recorder")
    vault = _tables(ledger.vault._engine)
    return found | {f"vault {name}": rows for name, rows in vault.items()}


def every_answer(store: MemoryStore, user_id: str, at: datetime) -> tuple[object, ...]:
    """Return all that *store* says of a user, known and about *at*, and fact by fact."""
    snapshot = store.get_memory_as_of(user_id=user_id, timestamp=at)
    histories = [store.get_fact_history(fact.fact_id) for fact in snapshot]
    blame = store.blame(user_id=user_id, as_of=at)
    return snapshot.facts, tuple(each.versions for each in histories), blame


def current(store: MemoryStore, user_id: str) -> dict[str, Fact]:
    """Return by content what is believed of a user now; each content is said once."""
    facts = list(store.get_all(user_id=user_id, limit=1000))
    found = {fact.content or "": fact for fact in facts}
    assert len(found) == len(facts), "no content is believed twice"
    return found


def _tables(engine: sa.Engine) -> dict[str, object]:
    with engine.connect() as connection:
        inspector = sa.inspect(connection)
        return {
            name: sorted(
                (
                    tuple(row)
                    for row in connection.execute(sa.text(f"SELECT * FROM {name}"))
                ),
                key=repr,
            )
            for name in inspector.get_table_names()
        }
