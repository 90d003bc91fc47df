"""Sessions, turns, receipts, and how often facts were used."""

import sqlalchemy as sa
from alembic import op


revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the tables of the ledger's database; the vault has none of them."""
    if op.get_context().opts["target"] == "vault":
        return
    _conversation()
    _receipts()


def _conversation() -> None:
    op.create_table(
        "conversation_session",
        sa.Column("ledger", sa.Text, primary_key=True),
        sa.Column("session_id", sa.Text, primary_key=True),
        sa.Column("subject_ref", sa.Text, nullable=False),
        sa.Column("position", sa.BigInteger, nullable=False),
        sa.Column("started_at_us", sa.BigInteger, nullable=False),
        sa.Column("ended_at_us", sa.BigInteger),
        sqlite_with_rowid=False,
    )
    op.create_index(
        "session_by_subject",
        "conversation_session",
        ["ledger", "subject_ref", "position"],
    )
    op.create_table(
        "conversation_turn",
        sa.Column("ledger", sa.Text, primary_key=True),
        sa.Column("subject_ref", sa.Text, primary_key=True),
        sa.Column("said_at_us", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("position", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("session_id", sa.Text, nullable=False),
        sa.Column("number", sa.BigInteger, nullable=False),
        sa.Column("recorded_at_us", sa.BigInteger, nullable=False),
        sa.Column("role", sa.Text, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_index(
        "turn_by_session",
        "conversation_turn",
        ["ledger", "session_id", "said_at_us", "position"],
    )


def _receipts() -> None:
    op.create_table(
        "recall_receipt",
        sa.Column("ledger", sa.Text, primary_key=True),
        sa.Column("subject_ref", sa.Text, primary_key=True),
        sa.Column("asked_at_us", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("position", sa.BigInteger, primary_key=True, autoincrement=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "fact_use",
        sa.Column("ledger", sa.Text, primary_key=True),
        sa.Column("fact_id", sa.Text, primary_key=True),
        sa.Column("position", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("subject_ref", sa.Text, nullable=False),
        sa.Column("version", sa.BigInteger, nullable=False),
        sa.Column("used_at_us", sa.BigInteger, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_index("use_by_subject", "fact_use", ["ledger", "subject_ref"])
