"""What of a ledger lies in its archive."""

import sqlalchemy as sa
from alembic import op


revision = "0006"
down_revision = "0005"
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
    if op.get_bind().dialect.name != "sqlite":
        # As every table that has a ledger, since revision 0005.
        op.execute("ALTER TABLE archive_segment ENABLE ROW LEVEL SECURITY")
        op.execute("ALTER TABLE archive_segment FORCE ROW LEVEL SECURITY")
        op.execute(
            f"CREATE POLICY of_ledger ON archive_segment USING ({_OURS}) "
            f"WITH CHECK ({_OURS})"
        )


_OURS = "ledger = (SELECT nullif(current_setting('muniment.ledger', true), ''))"
