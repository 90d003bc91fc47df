"""What of a ledger lies in its archive."""

import sqlalchemy as sa
from alembic import op


revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the table of the database that `target` names."""
    if op.get_context().opts["target"] == "vault":
        return
    op.create_table(
        "archive_segment",
        sa.Column("ledger", sa.Text, primary_key=True),
        sa.Column("first_tx", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("last_tx", sa.BigInteger, nullable=False),
        sa.Column("first_position", sa.BigInteger, nullable=False),
        sa.Column("last_position", sa.BigInteger, nullable=False),
        sa.Column("manifest", sa.Text, nullable=False),
        sa.Column("manifest_sha256", sa.Text, nullable=False),
        sqlite_with_rowid=False,
    )
