"""The ledger, the timeline and the vault."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op


revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the tables of the database that `target` names."""
    if op.get_context().opts["target"] == "vault":
        _vault()
        _plan(_OF_VAULT)
        return
    _ledger()
    _events()
    _tree()
    _belief()
    _plan(_OF_LEDGER)


_OF_LEDGER = (
    ("ledger_transaction", "ledger_transaction", "1000000 1000000 1"),
    ("ledger_transaction", "transaction_by_time", "1000000 1000000 1"),
    ("ledger_transaction", "transaction_by_key", "1000000 1000000 1"),
    ("ledger_event", "ledger_event", "1000000 1000000 1"),
    ("ledger_event", "event_by_stream", "1000000 1000000 10 1"),
    ("ledger_event", "event_by_subject", "1000000 1000000 1000 1"),
    ("belief", "sqlite_autoindex_belief_1", "2000000 2000000 20 2 1"),
    ("belief", "belief_by_subject", "2000000 2000000 2000 10 2 1 1"),
    ("belief", "belief_by_content", "1000000 1000000 1000 1 1"),
)
_OF_VAULT = (
    ("stream_key", "stream_key", "1000000 1000000 1"),
    ("stream_key", "stream_key_by_subject", "1000000 1000000 100"),
)
"""
By table and index, what SQLite is to believe of a store: how many rows there are, and how
many share one column of the index, two, and so on.

SQLite knows nothing of its tables until it is told. It then takes all rows of a ledger for
ten, and reads every event to find those of one subject.
"""


def _plan(statistics: Sequence[tuple[str, str, str]]) -> None:
    """Tell SQLite what a large store is like, so that it chooses the index that leads."""
    if op.get_context().dialect.name != "sqlite":
        return
    op.execute("ANALYZE")  # it makes the table, which stays empty as the others are
    for row in statistics:
        known = sa.table("sqlite_stat1", *map(sa.column, ("tbl", "idx", "stat")))
        values = dict(zip(("tbl", "idx", "stat"), row, strict=True))
        op.execute(sa.insert(known).values(values))
    op.execute("ANALYZE sqlite_schema")  # for what is asked on this connection


def _ledger() -> None:
    op.create_table(
        "ledger",
        sa.Column("ledger", sa.Text, primary_key=True),
        sa.Column("created_at_us", sa.BigInteger, nullable=False),
        sa.Column("vault_id", sa.Text, nullable=False),
        sa.Column("horizon_us", sa.BigInteger, nullable=False),
        sa.Column("key_mark", sa.BigInteger, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "ledger_transaction",
        sa.Column("ledger", sa.Text, primary_key=True),
        sa.Column("tx_id", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("recorded_at_us", sa.BigInteger, nullable=False),
        sa.Column("first_position", sa.BigInteger, nullable=False),
        sa.Column("last_position", sa.BigInteger, nullable=False),
        sa.Column("action", sa.Text, nullable=False),
        sa.Column("subject_ref", sa.Text, nullable=False),
        sa.Column("idempotency_tag", sa.LargeBinary),
        sa.Column("request_tag", sa.LargeBinary),
        sa.Column("header", sa.LargeBinary, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_index(
        "transaction_by_time",
        "ledger_transaction",
        ["ledger", "recorded_at_us"],
        unique=True,
    )
    has_key = sa.text("idempotency_tag IS NOT NULL")
    op.create_index(
        "transaction_by_key",
        "ledger_transaction",
        ["ledger", "idempotency_tag"],
        unique=True,
        sqlite_where=has_key,
        postgresql_where=has_key,
    )


def _events() -> None:
    op.create_table(
        "ledger_event",
        sa.Column("ledger", sa.Text, primary_key=True),
        sa.Column("position", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("tx_id", sa.BigInteger, nullable=False),
        sa.Column("recorded_at_us", sa.BigInteger, nullable=False),
        sa.Column(
            "stream",
            sa.Text().with_variant(sa.Text(collation="C"), "postgresql"),
            nullable=False,
        ),
        sa.Column("version", sa.BigInteger, nullable=False),
        sa.Column("topic", sa.Text, nullable=False),
        sa.Column("subject_ref", sa.Text, nullable=False),
        sa.Column("key_id", sa.BigInteger, nullable=False),
        sa.Column("state", sa.LargeBinary, nullable=False),
        sa.Column("leaf", sa.LargeBinary, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_index(
        "event_by_stream", "ledger_event", ["ledger", "stream", "version"], unique=True
    )
    op.create_index(
        "event_by_subject", "ledger_event", ["ledger", "subject_ref", "position"]
    )
    op.create_table(
        "projection_checkpoint",
        sa.Column("ledger", sa.Text, primary_key=True),
        sa.Column("projection", sa.Text, primary_key=True),
        sa.Column("position", sa.BigInteger, nullable=False),
        sqlite_with_rowid=False,
    )


def _tree() -> None:
    op.create_table(
        "merkle_tile",
        sa.Column("ledger", sa.Text, primary_key=True),
        sa.Column("level", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("root", sa.LargeBinary, nullable=False),
        sa.Column("hashes", sa.LargeBinary, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "tree_head",
        sa.Column("ledger", sa.Text, primary_key=True),
        sa.Column("size", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("made_at_us", sa.BigInteger, nullable=False),
        sa.Column("note", sa.Text, nullable=False),
        sqlite_with_rowid=False,
    )


def _belief() -> None:
    op.create_table(
        "belief",
        sa.Column("ledger", sa.Text, primary_key=True),
        sa.Column("fact_id", sa.Text, primary_key=True),
        sa.Column("recorded_from_us", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("valid_from_us", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("recorded_to_us", sa.BigInteger, nullable=False),
        sa.Column("valid_to_us", sa.BigInteger, nullable=False),
        sa.Column("subject_ref", sa.Text, nullable=False),
        sa.Column("version", sa.BigInteger, nullable=False),
        sa.Column("position", sa.BigInteger, nullable=False),
        sa.Column("category", sa.Text),
        sa.Column("attribute", sa.Text),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("confidence", sa.Double, nullable=False),
        sa.Column("importance", sa.Double, nullable=False),
        sa.Column("core", sa.Boolean(create_constraint=False), nullable=False),
        sa.Column("expires_at_us", sa.BigInteger),
        sa.Column("content_tag", sa.LargeBinary),
        sa.CheckConstraint("recorded_from_us < recorded_to_us", "belief_recorded"),
        sa.CheckConstraint("valid_from_us < valid_to_us", "belief_valid"),
    )
    op.create_index(
        "belief_by_subject",
        "belief",
        [
            "ledger",
            "subject_ref",
            "recorded_to_us",
            "recorded_from_us",
            "valid_from_us",
            "valid_to_us",
        ],
    )
    still_believed = sa.text("recorded_to_us = 9223372036854775807")
    op.create_index(
        "belief_by_content",
        "belief",
        ["ledger", "subject_ref", "content_tag", "recorded_to_us"],
        sqlite_where=still_believed,
        postgresql_where=still_believed,
    )


def _vault() -> None:
    op.create_table(
        "vault",
        sa.Column("vault_id", sa.Text, primary_key=True),
        sa.Column("kek_id", sa.Text, nullable=False),
        sa.Column("next_key_id", sa.BigInteger, nullable=False),
        sa.Column("epoch", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "ledger_key",
        sa.Column("ledger", sa.Text, primary_key=True),
        sa.Column("kek_id", sa.Text, nullable=False),
        sa.Column("wrapped", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "subject_key",
        sa.Column("ledger", sa.Text, primary_key=True),
        sa.Column("subject_ref", sa.Text, primary_key=True),
        sa.Column("scope_tag", sa.LargeBinary, nullable=False),
        sa.Column("scope_sealed", sa.LargeBinary, nullable=False),
        sa.Column("kek_id", sa.Text, nullable=False),
        sa.Column("wrapped", sa.LargeBinary, nullable=False),
    )
    op.create_index("subject_by_scope", "subject_key", ["ledger", "scope_tag"], unique=True)
    op.create_table(
        "stream_key",
        sa.Column("ledger", sa.Text, primary_key=True),
        sa.Column("key_id", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("subject_ref", sa.Text, nullable=False),
        sa.Column("wrapped", sa.LargeBinary, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_index("stream_key_by_subject", "stream_key", ["ledger", "subject_ref"])
    op.create_table(
        "destruction",
        sa.Column("ledger", sa.Text, primary_key=True),
        sa.Column("subject_ref", sa.Text, primary_key=True),
        sa.Column("stream", sa.Text, primary_key=True),
        sa.Column("key_id", sa.BigInteger, nullable=False),
        sa.Column("position", sa.BigInteger, nullable=False),
        sa.Column("step", sa.Text, nullable=False),
        sa.Column("counts", sa.Text, nullable=False),
        sa.Column("certificate", sa.Text),
        sqlite_with_rowid=False,
    )
