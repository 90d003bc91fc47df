"""The tables of version vectors and generations, as the migrations leave them."""

import sqlalchemy as sa

from muniment.ledger.tables import metadata


_EMBEDDED = sa.text("state IS NOT NULL")
_PENDING = sa.text("state IS NULL")

version_vector = sa.Table(
    "version_vector",
    metadata,
    sa.Column("ledger", sa.Text, primary_key=True),
    sa.Column("subject_ref", sa.Text, primary_key=True),
    sa.Column("model", sa.Text, primary_key=True),
    sa.Column("fact_id", sa.Text, primary_key=True),
    sa.Column("version", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("position", sa.BigInteger, nullable=False),
    # Of the stream's key that it is sealed by. Below zero once the fact was thinned: it is
    # sealed by the payload's own key, which bears the number of the stream's, now gone.
    sa.Column("key_id", sa.BigInteger, nullable=False),
    sa.Column("text_tag", sa.LargeBinary, nullable=False),
    sa.Column("attempts", sa.BigInteger, nullable=False),
    sa.Column("dimensions", sa.BigInteger, nullable=False),
    sa.Column("state", sa.LargeBinary),
    sa.Index(
        "vector_by_text",
        "ledger",
        "model",
        "text_tag",
        sqlite_where=_EMBEDDED,
        postgresql_where=_EMBEDDED,
    ),
    sa.Index(
        "vector_pending",
        "ledger",
        "model",
        "attempts",
        sqlite_where=_PENDING,
        postgresql_where=_PENDING,
    ),
    # With row ids: SQLite keeps so long a row in one page only in a table that has them.
)

vector_generation = sa.Table(
    "vector_generation",
    metadata,
    sa.Column("ledger", sa.Text, primary_key=True),
    sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("model", sa.Text, nullable=False),
    sa.Column("dimensions", sa.BigInteger, nullable=False),
    sa.Column("lexicon", sa.Text, nullable=False),
    sa.Column("active_from_us", sa.BigInteger),
    sqlite_with_rowid=False,
)
