"""Run by Alembic: migrates the connection it is given, in the transaction it is in."""

from alembic import context

from muniment.migrations import VERSION_TABLE


_attributes = context.config.attributes

context.configure(
    connection=_attributes["connection"],
    target=_attributes["target"],
    version_table=VERSION_TABLE,
)
with context.begin_transaction():
    context.run_migrations()
