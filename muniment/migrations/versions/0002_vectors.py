"""Version vectors, and the generations of current facts."""

import sqlalchemy as sa
from alembic import op


revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the tables of the ledger's database; the vault has none of them."""
    if op.get_context().opts["target"] == "vault":
        return
    _vectors()
    op.create_table(
        "vector_generation",
        sa.Column("ledger", sa.Text, primary_key=True),
        sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("model", sa.Text, nullable=False),
        sa.Column("dimensions", sa.BigInteger, nullable=False),
        sa.Column("lexicon", sa.Text, nullable=False),
        sa.Column("active_from_us", sa.BigInteger),
        sqlite_with_rowid=False,
    )


def _vectors() -> None:
    op.create_table(
        "version_vector",
        sa.Column("ledger", sa.Text, primary_key=True),
        sa.Column("subject_ref", sa.Text, primary_key=True),
        sa.Column("model", sa.Text, primary_key=True),
        sa.Column("fact_id", sa.Text, primary_key=True),
        sa.Column("version", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("position", sa.BigInteger, nullable=False),
        sa.Column("key_id", sa.BigInteger, nullable=False),
        sa.Column("text_tag", sa.LargeBinary, nullable=False),
        sa.Column("attempts", sa.BigInteger, nullable=False),
        sa.Column("dimensions", sa.BigInteger, nullable=False),
        sa.Column("state", sa.LargeBinary),
    )
    embedded, pending = sa.text("state IS NOT NULL"), sa.text("state IS NULL")
    op.create_index(
        "vector_by_text",
        "version_vector",
        ["ledger", "model", "text_tag"],
        sqlite_where=embedded,
        postgresql_where=embedded,
    )
    op.create_index(
        "vector_pending",
        "version_vector",
        ["ledger", "model", "attempts"],
        sqlite_where=pending,
        postgresql_where=pending,
    )
