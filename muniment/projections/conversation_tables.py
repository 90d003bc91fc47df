"""The tables of conversations and of receipts, as the migrations leave them."""

import sqlalchemy as sa

from muniment.ledger.tables import metadata


session = sa.Table(
    "conversation_session",
    metadata,
    sa.Column("ledger", sa.Text, primary_key=True),
    sa.Column("session_id", sa.Text, primary_key=True),
    sa.Column("subject_ref", sa.Text, nullable=False),
    sa.Column("position", sa.BigInteger, nullable=False),
    sa.Column("started_at_us", sa.BigInteger, nullable=False),
    sa.Column("ended_at_us", sa.BigInteger),
    sa.Index("session_by_subject", "ledger", "subject_ref", "position"),
    sqlite_with_rowid=False,
)

turn = sa.Table(
    "conversation_turn",
    metadata,
    sa.Column("ledger", sa.Text, primary_key=True),
    sa.Column("subject_ref", sa.Text, primary_key=True),
    sa.Column("said_at_us", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("position", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("session_id", sa.Text, nullable=False),
    sa.Column("number", sa.BigInteger, nullable=False),
    sa.Column("recorded_at_us", sa.BigInteger, nullable=False),
    sa.Column("role", sa.Text, nullable=False),
    sa.Index("turn_by_session", "ledger", "session_id", "said_at_us", "position"),
    sqlite_with_rowid=False,
)

receipt = sa.Table(
    "recall_receipt",
    metadata,
    sa.Column("ledger", sa.Text, primary_key=True),
    sa.Column("subject_ref", sa.Text, primary_key=True),
    sa.Column("asked_at_us", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("position", sa.BigInteger, primary_key=True, autoincrement=False),
    sqlite_with_rowid=False,
)

use = sa.Table(
    "fact_use",
    metadata,
    sa.Column("ledger", sa.Text, primary_key=True),
    sa.Column("fact_id", sa.Text, primary_key=True),
    sa.Column("position", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("subject_ref", sa.Text, nullable=False),
    sa.Column("version", sa.BigInteger, nullable=False),
    sa.Column("used_at_us", sa.BigInteger, nullable=False),
    sa.Index("use_by_subject", "ledger", "subject_ref"),
    sqlite_with_rowid=False,
)

EVERY = (session, turn, receipt, use)
