"""The tables of the projections, as the migrations leave them."""

import sqlalchemy as sa

from muniment.ledger.tables import metadata


_STILL_BELIEVED = sa.text("recorded_to_us = 9223372036854775807")

# With rowids on SQLite, unlike the ledger's tables: several indexes lead to its wide rows,
# and do so in half the time by a number.
belief = sa.Table(
    "belief",
    metadata,
    sa.Column("ledger", sa.Text, primary_key=True),
    sa.Column("fact_id", sa.Text, primary_key=True),
    sa.Column("recorded_from_us", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("valid_from_us", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("recorded_to_us", sa.BigInteger, nullable=False),
    sa.Column("valid_to_us", sa.BigInteger, nullable=False),
    sa.Column("subject_ref", sa.Text, nullable=False),
    sa.Column("version", sa.BigInteger, nullable=False),
    sa.Column("position", sa.BigInteger, nullable=False),
    sa.Column("category", sa.Text),
    sa.Column("attribute", sa.Text),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("confidence", sa.Double, nullable=False),
    sa.Column("importance", sa.Double, nullable=False),
    sa.Column("core", sa.Boolean(create_constraint=False), nullable=False),
    sa.Column("expires_at_us", sa.BigInteger),
    sa.Column("content_tag", sa.LargeBinary),
    sa.CheckConstraint("recorded_from_us < recorded_to_us", "belief_recorded"),
    sa.CheckConstraint("valid_from_us < valid_to_us", "belief_valid"),
    sa.Index(
        "belief_by_subject",
        "ledger",
        "subject_ref",
        "recorded_to_us",
        "recorded_from_us",
        "valid_from_us",
        "valid_to_us",
    ),
    sa.Index(
        "belief_by_content",
        "ledger",
        "subject_ref",
        "content_tag",
        # Equal to what the index is limited to: SQLite chooses by equal columns.
        "recorded_to_us",
        sqlite_where=_STILL_BELIEVED,
        postgresql_where=_STILL_BELIEVED,
    ),
)
