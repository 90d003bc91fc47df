"""PostgreSQL shows a connection the rows of its own ledger alone."""

import sqlalchemy as sa
from alembic import op


revision = "0005"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Put every table that has a ledger under a policy; SQLite knows none."""
    connection = op.get_bind()
    if op.get_context().opts["target"] == "vault" or connection.dialect.name == "sqlite":
        return
    names = connection.execute(
        sa.text(
            "SELECT table_name FROM information_schema.columns "
            "WHERE table_schema = current_schema() AND column_name = 'ledger' "
            "ORDER BY table_name"
        )
    ).scalars()
    for name in names.all():
        op.execute(f"ALTER TABLE {name} ENABLE ROW LEVEL SECURITY")
        # The owner of a table is bound, too.
        op.execute(f"ALTER TABLE {name} FORCE ROW LEVEL SECURITY")
        op.execute(
            f"CREATE POLICY of_ledger ON {name} USING ({_OURS}) WITH CHECK ({_OURS})"
        )


# Once for a statement, not for each row. After a transaction-local setting PostgreSQL
# says '' where it was not set before: that is no ledger, either.
_OURS = "ledger = (SELECT nullif(current_setting('muniment.ledger', true), ''))"
