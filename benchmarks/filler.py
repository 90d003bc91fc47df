"""
A large table quickly: transactions of other users copied within the database.

The copies have the shape of what they are copied from, row by row, in the ledger and the
timeline: new positions, times, users, fact ids and content tags, the same sealed bytes.
They lie between the facts that were really remembered in every index that a read goes
through but for the one by position. What they say can not be opened, the vault knows
nobody of them, and the tree of hashes does not reach them; no read of another user sees
any of that.
"""

import secrets
from collections.abc import Iterator
from contextlib import closing

from benchmarks.places import Connection, Place


_CLONES = """
    CREATE TEMPORARY TABLE clone (
        tx_id BIGINT PRIMARY KEY, of_tx_id BIGINT, shift BIGINT, recorded_at_us BIGINT,
        subject_ref TEXT, suffix TEXT
    )
"""
_NO_FACTS = "copy", "leave_receipts"
_KEPT = 20
"""So much of a fact's id, which is 26 characters long, the ids of its copies share."""


def fill(place: Place, name: str, *, first_tx: int, transactions: int) -> None:
    """
    Copy transactions of the store *name*, which nobody has open, and settle the tables.

    Args:
        place: Where.
        name: Of the store.
        first_tx: Copied in turn from this one on, but for copies and receipts.
        transactions: So many in all.
    """
    with closing(place.connect(name)) as connection:
        if place.server is None:
            connection.execute("PRAGMA cache_size = -2000000")
        connection.execute("BEGIN")
        connection.execute(_CLONES)
        connection.cursor().executemany(
            f"INSERT INTO clone VALUES ({', '.join([place.mark] * 6)})",
            list(_clones(connection, first_tx, transactions)),
        )
        tag = (
            "decode(md5(b.fact_id || c.suffix), 'hex')"
            if place.server
            else "randomblob(16)"
        )
        for statement in (_TRANSACTIONS, _EVENTS, _BELIEFS.format(tag=tag)):
            connection.execute(statement)
        connection.execute("COMMIT")
        if place.server is None:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        else:
            connection.execute("VACUUM (ANALYZE)")


def _clones(
    connection: Connection, first_tx: int, transactions: int
) -> Iterator[tuple[object, ...]]:
    """Yield what each copy has that its original has not."""
    known = connection.execute(
        "SELECT tx_id, recorded_at_us, last_position, action, first_position"
        " FROM ledger_transaction ORDER BY tx_id"
    ).fetchall()
    originals = [
        each for each in known if int(str(each[0])) >= first_tx and each[3] not in _NO_FACTS
    ]
    last_tx, recorded_at, position = (int(str(each)) for each in known[-1][:3])
    ((horizon,),) = connection.execute("SELECT horizon_us FROM ledger").fetchall()
    recorded_at = max(recorded_at, int(str(horizon)))  # what was promised stays true
    for number in range(transactions):
        original = originals[number % len(originals)]
        first, last = int(str(original[4])), int(str(original[2]))
        yield (
            last_tx + number + 1,
            original[0],
            position + 1 - first,
            recorded_at + number + 1,
            secrets.token_hex(10),
            f"{last_tx + number:0{26 - _KEPT}}",
        )
        position += last + 1 - first


# SQLite takes the tables of a CROSS JOIN in the order they are named, and of the indexes
# the one with most equal columns.
_TRANSACTIONS = """
    INSERT INTO ledger_transaction
    SELECT t.ledger, c.tx_id, c.recorded_at_us, t.first_position + c.shift,
        t.last_position + c.shift, 'copy', c.subject_ref, NULL, NULL, t.header
    FROM clone c CROSS JOIN ledger_transaction t
    WHERE t.ledger = 'main' AND t.tx_id = c.of_tx_id
"""
_EVENTS = f"""
    INSERT INTO ledger_event
    SELECT e.ledger, e.position + c.shift, c.tx_id, c.recorded_at_us,
        substr(e.stream, 1, {len("fact-") + _KEPT}) || c.suffix, e.version, e.topic,
        c.subject_ref, e.key_id, e.state, e.leaf
    FROM clone c CROSS JOIN ledger_transaction t CROSS JOIN ledger_event e
    WHERE t.ledger = 'main' AND t.tx_id = c.of_tx_id AND e.ledger = 'main'
        AND e.position BETWEEN t.first_position AND t.last_position
"""
_BELIEFS = f"""
    INSERT INTO belief
    SELECT b.ledger, substr(b.fact_id, 1, {_KEPT}) || c.suffix, c.recorded_at_us,
        c.recorded_at_us, b.recorded_to_us, b.valid_to_us, c.subject_ref, b.version,
        b.position + c.shift, b.category, b.attribute, b.status, b.confidence,
        b.importance, b.core, b.expires_at_us, {{tag}}
    FROM clone c CROSS JOIN ledger_transaction t CROSS JOIN belief b
    WHERE t.ledger = 'main' AND t.tx_id = c.of_tx_id AND b.ledger = 'main'
        AND b.subject_ref = t.subject_ref AND b.recorded_to_us = 9223372036854775807
"""
