"""
The tables of the ledger, as the migrations leave them.

Only the migrations create them. Every row of every table starts with its ledger, so
that a database can be split by it.
"""

import sqlalchemy as sa


metadata = sa.MetaData()

BY_CODE_POINT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
"""
Text that is looked up by its beginning: in the order of code points wherever the database
is, since a locale may put ``fact-~`` before ``fact-0``.
"""


def _table(name: str, *items: sa.schema.SchemaItem) -> sa.Table:
    ledger = sa.Column("ledger", sa.Text, primary_key=True)
    # Rows are found by primary key alone, so on SQLite the key is the table.
    return sa.Table(name, metadata, ledger, *items, sqlite_with_rowid=False)


ledger = _table(
    "ledger",
    sa.Column("created_at_us", sa.BigInteger, nullable=False),
    sa.Column("vault_id", sa.Text, nullable=False),
    sa.Column("horizon_us", sa.BigInteger, nullable=False),
    sa.Column("key_mark", sa.BigInteger, nullable=False),
)

transaction = _table(
    "ledger_transaction",
    sa.Column("tx_id", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("recorded_at_us", sa.BigInteger, nullable=False),
    sa.Column("first_position", sa.BigInteger, nullable=False),
    sa.Column("last_position", sa.BigInteger, nullable=False),
    sa.Column("action", sa.Text, nullable=False),
    sa.Column("subject_ref", sa.Text, nullable=False),
    sa.Column("idempotency_tag", sa.LargeBinary),
    sa.Column("request_tag", sa.LargeBinary),
    sa.Column("header", sa.LargeBinary, nullable=False),
    sa.Index("transaction_by_time", "ledger", "recorded_at_us", unique=True),
    sa.Index(
        "transaction_by_key",
        "ledger",
        "idempotency_tag",
        unique=True,
        sqlite_where=sa.text("idempotency_tag IS NOT NULL"),
        postgresql_where=sa.text("idempotency_tag IS NOT NULL"),
    ),
)

event = _table(
    "ledger_event",
    sa.Column("position", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("tx_id", sa.BigInteger, nullable=False),
    sa.Column("recorded_at_us", sa.BigInteger, nullable=False),
    sa.Column("stream", BY_CODE_POINT, nullable=False),
    sa.Column("version", sa.BigInteger, nullable=False),
    sa.Column("topic", sa.Text, nullable=False),
    sa.Column("subject_ref", sa.Text, nullable=False),
    sa.Column("key_id", sa.BigInteger, nullable=False),
    sa.Column("state", sa.LargeBinary, nullable=False),
    sa.Column("leaf", sa.LargeBinary, nullable=False),
    sa.Index("event_by_stream", "ledger", "stream", "version", unique=True),
    sa.Index("event_by_subject", "ledger", "subject_ref", "position"),
)

tile = _table(
    "merkle_tile",
    sa.Column("level", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("root", sa.LargeBinary, nullable=False),
    sa.Column("hashes", sa.LargeBinary, nullable=False),
)

tree_head = _table(
    "tree_head",
    sa.Column("size", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("made_at_us", sa.BigInteger, nullable=False),
    sa.Column("note", sa.Text, nullable=False),
)

checkpoint = _table(
    "projection_checkpoint",
    sa.Column("projection", sa.Text, primary_key=True),
    sa.Column("position", sa.BigInteger, nullable=False),
)

segment = _table(
    "archive_segment",
    sa.Column("first_tx", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("last_tx", sa.BigInteger, nullable=False),
    sa.Column("first_position", sa.BigInteger, nullable=False),
    sa.Column("last_position", sa.BigInteger, nullable=False),
    sa.Column("manifest", sa.Text, nullable=False),
    sa.Column("manifest_sha256", sa.Text, nullable=False),
)
