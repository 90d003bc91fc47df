"""The tables of the vault, as the migrations leave them."""

import sqlalchemy as sa


metadata = sa.MetaData()

vault = sa.Table(
    "vault",
    metadata,
    sa.Column("vault_id", sa.Text, primary_key=True),
    sa.Column("kek_id", sa.Text, nullable=False),
    sa.Column("next_key_id", sa.BigInteger, nullable=False),
    sa.Column("epoch", sa.BigInteger, nullable=False),
)
ledger_key = sa.Table(
    "ledger_key",
    metadata,
    sa.Column("ledger", sa.Text, primary_key=True),
    sa.Column("kek_id", sa.Text, nullable=False),
    sa.Column("wrapped", sa.LargeBinary, nullable=False),
)
subject_key = sa.Table(
    "subject_key",
    metadata,
    sa.Column("ledger", sa.Text, primary_key=True),
    sa.Column("subject_ref", sa.Text, primary_key=True),
    sa.Column("scope_tag", sa.LargeBinary, nullable=False),
    sa.Column("scope_sealed", sa.LargeBinary, nullable=False),
    sa.Column("kek_id", sa.Text, nullable=False),
    sa.Column("wrapped", sa.LargeBinary, nullable=False),
    sa.Index("subject_by_scope", "ledger", "scope_tag", unique=True),
)
stream_key = sa.Table(
    "stream_key",
    metadata,
    sa.Column("ledger", sa.Text, primary_key=True),
    sa.Column("key_id", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("subject_ref", sa.Text, nullable=False),
    sa.Column("wrapped", sa.LargeBinary, nullable=False),
    sa.Index("stream_key_by_subject", "ledger", "subject_ref"),
    sqlite_with_rowid=False,
)

payload_key = sa.Table(
    "payload_key",
    metadata,
    sa.Column("ledger", sa.Text, primary_key=True),
    sa.Column("subject_ref", sa.Text, primary_key=True),
    sa.Column("stream", sa.Text, primary_key=True),
    sa.Column("version", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("key_id", sa.BigInteger, nullable=False),
    sa.Column("wrapped", sa.LargeBinary, nullable=False),
    sqlite_with_rowid=False,
)

thinning = sa.Table(
    "thinning",
    metadata,
    sa.Column("ledger", sa.Text, primary_key=True),
    sa.Column("subject_ref", sa.Text, primary_key=True),
    sa.Column("stream", sa.Text, primary_key=True),
    sa.Column("position", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("until_us", sa.BigInteger, nullable=False),
    sa.Column("key_id", sa.BigInteger, nullable=False),
    sa.Column("versions", sa.Text, nullable=False),
    sa.Column("step", sa.Text, nullable=False),
    sqlite_with_rowid=False,
)

destruction = sa.Table(
    "destruction",
    metadata,
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
