"""Keys of single payloads, which outlive their stream's; and what was thinned."""

import sqlalchemy as sa
from alembic import op


revision = "0008"
down_revision = "0007"
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
    if op.get_bind().dialect.name != "sqlite":
        # As every table of the vault that has a ledger, since revision 0007.
        for name in ("payload_key", "thinning"):
            op.execute(f"ALTER TABLE {name} ENABLE ROW LEVEL SECURITY")
            op.execute(f"ALTER TABLE {name} FORCE ROW LEVEL SECURITY")
            op.execute(
                f"CREATE POLICY of_ledger ON {name} USING ({_OURS}) WITH CHECK ({_OURS})"
            )


_OURS = "ledger = (SELECT nullif(current_setting('muniment.ledger', true), ''))"
