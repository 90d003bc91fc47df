"""
The one way tables come to be: Alembic, one head, for the ledger and for the vault.

Both databases are upgraded by the same revisions; each revision says what it does for
which of them. Tables of the ledger only ever gain; tables of projections may be
dropped, since a rebuild brings them back.
"""

import threading
from pathlib import Path
from typing import Literal

import sqlalchemy as sa

from muniment.errors import NewerSchemaError
from muniment.ledger.database import reading, writing


_KNOWN = ("0001", "0002", "0003", "0005", "0006", "0007", "0008")
"""Every revision there ever was, oldest first."""

HEAD = _KNOWN[-1]
"""The newest revision; held equal to Alembic's own head by a test."""

VERSION_TABLE = "muniment_version"

Target = Literal["ledger", "vault"]


_one_at_a_time = threading.Lock()


def upgrade(
    engine: sa.Engine,
    target: Target,
    *,
    lock_timeout: float,
    schema: str | None = None,
    revision: str = "head",
) -> None:
    """
    Bring a database to the newest revision; nothing when it is there already.

    Args:
        engine: Of the database.
        target: Which tables it holds.
        lock_timeout: Seconds to wait for another process that does the same.
        schema: On PostgreSQL, made if absent.
        revision: Where to stop; for tests.

    Raises:
        NewerSchemaError: If a newer version of Muniment upgraded it.
    """
    if _current(engine, target) == HEAD:
        return
    with writing(engine, lock_timeout=lock_timeout) as connection:
        if connection.dialect.name == "postgresql":
            connection.execute(sa.text("SELECT pg_advisory_xact_lock(7_166_203)"))
            if schema is not None:
                connection.execute(sa.schema.CreateSchema(schema, if_not_exists=True))
        _run_alembic(connection, target, revision)


def exists(engine: sa.Engine) -> bool:
    """Whether *engine* names a database that holds a store."""
    with reading(engine) as connection:
        return VERSION_TABLE in sa.inspect(connection).get_table_names()


def _current(engine: sa.Engine, target: Target) -> str | None:
    """Return the revision a database is at, refusing one we do not know."""
    if not exists(engine):
        return None
    with reading(engine) as connection:
        found = connection.execute(sa.text(f"SELECT version_num FROM {VERSION_TABLE}"))
        current = found.scalar()
    if current not in (None, *_KNOWN):
        raise NewerSchemaError(f"the {target} database", str(current), HEAD)
    return current


def _run_alembic(connection: sa.Connection, target: Target, revision: str) -> None:
    # Imported here: an up-to-date store opens without it, six times as fast.
    from alembic import command  # noqa: PLC0415
    from alembic.config import Config  # noqa: PLC0415

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))
    config.attributes["connection"] = connection
    config.attributes["target"] = target
    # Alembic keeps what it works on in globals of its modules.
    with _one_at_a_time:
        command.upgrade(config, revision)
