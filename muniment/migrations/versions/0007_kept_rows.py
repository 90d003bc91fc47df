"""Nobody changes what is recorded; on PostgreSQL ledgers keep their keys apart, too."""

from collections.abc import Iterator

import sqlalchemy as sa
from alembic import op


revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Guard the tables of the database that `target` names."""
    is_sqlite = op.get_context().dialect.name == "sqlite"
    if op.get_context().opts["target"] == "vault":
        if not is_sqlite:
            _keys_apart()
        return
    for statement in _of_sqlite() if is_sqlite else _of_postgresql():
        op.execute(statement)


_KEPT = ("ledger_transaction", "tree_head", "merkle_tile", "archive_segment")
"""What only ever gains rows."""

_WHY = "what is recorded is never changed or removed"
_OURS = "ledger = (SELECT nullif(current_setting('muniment.ledger', true), ''))"

_SAME = (
    *("ledger", "position", "tx_id", "recorded_at_us", "stream", "version"),
    *("topic", "subject_ref", "key_id", "leaf"),
)
"""All of an event but its payload, which leaves once the archive has it."""


def _of_sqlite() -> Iterator[str]:
    refused = f"BEGIN SELECT RAISE(ABORT, 'muniment: {_WHY}'); END"
    for table in (*_KEPT, "ledger_event", "ledger"):
        yield f"CREATE TRIGGER {table}_kept BEFORE DELETE ON {table} {refused}"
    for table in _KEPT:
        yield f"CREATE TRIGGER {table}_unchanged BEFORE UPDATE ON {table} {refused}"
    same = " AND ".join(f"NEW.{each} IS OLD.{each}" for each in _SAME)
    archived = (
        "EXISTS (SELECT 1 FROM archive_segment s WHERE s.ledger = OLD.ledger AND "
        "OLD.position BETWEEN s.first_position AND s.last_position)"
    )
    leaves = f"length(NEW.state) = 0 AND OLD.stream LIKE 'fact-%' AND {archived}"
    yield (
        "CREATE TRIGGER ledger_event_unchanged BEFORE UPDATE ON ledger_event "
        f"WHEN NOT ({same} AND {leaves}) {refused}"
    )


def _of_postgresql() -> Iterator[str]:
    raised = f"RAISE EXCEPTION 'muniment: {_WHY}' USING ERRCODE = 'insufficient_privilege'"
    yield (
        "CREATE FUNCTION muniment_kept() RETURNS trigger LANGUAGE plpgsql AS "
        f"$$ BEGIN {raised}; END $$"
    )
    same = ", ".join(f"NEW.{each}" for each in _SAME)
    before = same.replace("NEW.", "OLD.")
    # Named by its schema: one of the session's own could stand before it on the path.
    yield (
        "CREATE FUNCTION muniment_payload_leaves() RETURNS trigger LANGUAGE plpgsql AS $$ "
        "DECLARE archived boolean; BEGIN "
        "EXECUTE format('SELECT EXISTS (SELECT 1 FROM %I.archive_segment s WHERE "
        "s.ledger = $1 AND $2 BETWEEN s.first_position AND s.last_position)', "
        "TG_TABLE_SCHEMA) INTO archived USING OLD.ledger, OLD.position; "
        f"IF ROW({same}) IS DISTINCT FROM ROW({before}) OR octet_length(NEW.state) > 0 "
        f"OR OLD.stream NOT LIKE 'fact-%' OR NOT archived THEN {raised}; END IF; "
        "RETURN NEW; END $$"
    )
    for table in (*_KEPT, "ledger_event", "ledger"):
        events = "UPDATE OR DELETE" if table in _KEPT else "DELETE"
        yield (
            f"CREATE TRIGGER kept BEFORE {events} ON {table} "
            "FOR EACH ROW EXECUTE FUNCTION muniment_kept()"
        )
        yield (
            f"CREATE TRIGGER kept_whole BEFORE TRUNCATE ON {table} "
            "FOR EACH STATEMENT EXECUTE FUNCTION muniment_kept()"
        )
    yield (
        "CREATE TRIGGER kept_but_its_payload BEFORE UPDATE ON ledger_event "
        "FOR EACH ROW EXECUTE FUNCTION muniment_payload_leaves()"
    )


def _keys_apart() -> None:
    """Show a connection the keys of its own ledger; who rotates them all says so."""
    names = op.get_bind().execute(
        sa.text(
            "SELECT table_name FROM information_schema.columns "
            "WHERE table_schema = current_schema() AND column_name = 'ledger' "
            "ORDER BY table_name"
        )
    )
    for name in names.scalars().all():
        op.execute(f"ALTER TABLE {name} ENABLE ROW LEVEL SECURITY")
        op.execute(f"ALTER TABLE {name} FORCE ROW LEVEL SECURITY")
        op.execute(
            f"CREATE POLICY of_ledger ON {name} USING ({_OURS}) WITH CHECK ({_OURS})"
        )
    for name in ("ledger_key", "subject_key"):
        # `*` names no ledger. It reads and wraps again; it adds and removes nothing.
        every = "current_setting('muniment.ledger', true) = '*'"
        op.execute(f"CREATE POLICY rotation ON {name} FOR SELECT USING ({every})")
        op.execute(
            f"CREATE POLICY rotation_writes ON {name} FOR UPDATE USING ({every}) "
            f"WITH CHECK ({every})"
        )
