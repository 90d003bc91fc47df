"""Keys of single payloads, which outlive their stream's; and what was thinned."""

import sqlalchemy as sa
from alembic import op


revision = "0008"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the tables of the database that `target` names."""
    if op.get_context().opts["target"] == "ledger":
        return
    op.create_table(
        "payload_key",
        sa.Column("ledger", sa.Text, primary_key=True),
        sa.Column("subject_ref", sa.Text, primary_key=True),
        sa.Column("stream", sa.Text, primary_key=True),
        sa.Column("version", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("key_id", sa.BigInteger, nullable=False),
        sa.Column("wrapped", sa.LargeBinary, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "thinning",
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
