"""
The one way tables come to be: Alembic, one head, for the ledger and for the vault.

Both databases are upgraded by the same revisions; each revision says what it does for
which of them. Tables of the ledger only ever gain; tables of projections may be
dropped, since a rebuild brings them back.

A new database is made at once, by what all revisions together say to an empty one. That
is kept beside them in ``fresh``, and a test holds the two equal.
"""

import threading
from functools import cache
from pathlib import Path
from typing import Final, Literal

import sqlalchemy as sa

from muniment.errors import NewerSchemaError
from muniment.ledger.database import reading, writing
from muniment.ledger.prepared import driver_cursor


_KNOWN = ("0001", "0002", "0003", "0005", "0006", "0007", "0008")
"""Every revision there ever was, oldest first."""

HEAD = _KNOWN[-1]
"""The newest revision; held equal to Alembic's own head by a test."""

VERSION_TABLE = "muniment_version"

SEPARATOR: Final = ";\n\n"
"""Between the statements that make a new database."""

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
        # Asked again, now that nobody else can make it.
        if revision == "head" and not _has_versions(connection):
            _make(connection, target)
        else:
            _run_alembic(connection, target, revision)


def exists(engine: sa.Engine) -> bool:
    """Whether *engine* names a database that holds a store."""
    with reading(engine) as connection:
        return _has_versions(connection)


def _has_versions(connection: sa.Connection) -> bool:
    query = _VERSIONS_EXIST[connection.dialect.name]
    return connection.exec_driver_sql(query).first() is not None


_VERSIONS_EXIST: Final = {
    "sqlite": f"SELECT 1 FROM sqlite_master WHERE name = '{VERSION_TABLE}'",
    "postgresql": (
        "SELECT 1 FROM pg_catalog.pg_tables "
        f"WHERE schemaname = current_schema() AND tablename = '{VERSION_TABLE}'"
    ),
}


def fresh_file(target: Target, dialect: str) -> Path:
    """Return the file with what makes a new database of *dialect*."""
    return Path(__file__).with_name("fresh") / f"{target}.{dialect}.sql"


@cache
def _fresh(target: Target, dialect: str) -> str:
    return fresh_file(target, dialect).read_text(encoding="utf-8")


def _make(connection: sa.Connection, target: Target) -> None:
    """Make the tables of a database that has none, in a fifth of the time of Alembic."""
    said = _fresh(target, connection.dialect.name)
    cursor = driver_cursor(connection)
    if connection.dialect.name == "postgresql":
        cursor.execute(said, None)  # in one message
        return
    for statement in said.split(SEPARATOR):
        cursor.execute(statement, ())


def _current(engine: sa.Engine, target: Target) -> str | None:
    """Return the revision a database is at, refusing one we do not know."""
    with reading(engine) as connection:
        if not _has_versions(connection):
            return None
        query = f"SELECT version_num FROM {VERSION_TABLE}"
        current = connection.exec_driver_sql(query).scalar()
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
