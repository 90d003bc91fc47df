"""
What the revisions say to an empty database, one after the other.

``python -m tests.contract.fresh`` writes it to where new databases are made from, which
is to be done after a revision was added.
"""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from muniment import migrations
from muniment.api.opening import VAULT_SCHEMA
from tests.contract import released
from tests.postgres import postgres_server
from tests.stores import DURABLE, POSTGRESQL, Backend, backend_at


READS = ("PRAGMA", "SELECT", "SHOW")


ALSO_KNOWN = {
    "sqlite": """
        SELECT name, sql FROM sqlite_master WHERE type = 'trigger' ORDER BY name;
        SELECT tbl, idx, stat FROM sqlite_stat1 ORDER BY tbl, idx
        """,
    "postgresql": """
        SELECT proname, pg_get_functiondef(oid) FROM pg_proc
        WHERE pronamespace = current_schema()::regnamespace ORDER BY proname;
        SELECT tgrelid::regclass::text, pg_get_triggerdef(oid) FROM pg_trigger
        WHERE NOT tgisinternal ORDER BY 1, 2;
        SELECT * FROM pg_policies WHERE schemaname = current_schema()
        ORDER BY tablename, policyname;
        SELECT relname, relrowsecurity, relforcerowsecurity, reloptions FROM pg_class
        WHERE relnamespace = current_schema()::regnamespace ORDER BY relname
        """,
}
"""Questions to a database about what no inspector of tables looks at."""


def run_all_revisions(connection: sa.Connection, target: migrations.Target) -> None:
    migrations._run_alembic(connection, target, "head")


def make_schema(connection: sa.Connection, target: migrations.Target) -> None:
    """Make the schema of a vault where it has one."""
    if target == "vault" and connection.dialect.name == POSTGRESQL:
        connection.execute(sa.schema.CreateSchema(VAULT_SCHEMA))


def also_known(connection: sa.Connection) -> list[Sequence[Any]]:
    """Return the version of a database, then the answers to `ALSO_KNOWN`."""
    asked = ALSO_KNOWN[connection.dialect.name].split(";")
    version = f"SELECT version_num FROM {migrations.VERSION_TABLE}"
    return [connection.exec_driver_sql(each).all() for each in (version, *asked)]


def script(backend: Backend, target: migrations.Target) -> str:
    """Upgrade an empty database at *backend* by each revision; return what that took."""
    said: list[str] = []
    with released.engine_of(backend, target) as engine, engine.begin() as connection:
        make_schema(connection, target)
        with _heard(engine, said):
            run_all_revisions(connection, target)
    # Each revision says that it was reached; it is enough to say so of the last one.
    _, *reached = (each for each in said if migrations.VERSION_TABLE in each)
    written = [each for each in said if each not in reached]
    version = f"(version_num) VALUES ('{migrations.HEAD}')"
    written.append(f"INSERT INTO {migrations.VERSION_TABLE} {version}")
    assert not any(migrations.SEPARATOR in each for each in written)
    return migrations.SEPARATOR.join(written) + ";\n"


@contextmanager
def _heard(engine: sa.Engine, said: list[str]) -> Iterator[None]:
    """Add to *said* each statement that writes."""

    def hear(*args: Any) -> None:  # noqa: ANN401 - as SQLAlchemy calls it
        _, _, statement, values, *_ = args
        if not statement.lstrip().startswith(READS):
            said.append(_with_values(statement.strip(), values))

    sa.event.listen(engine, "before_cursor_execute", hear)
    yield
    sa.event.remove(engine, "before_cursor_execute", hear)


def _with_values(statement: str, values: Sequence[str]) -> str:
    if not isinstance(values, tuple):
        # With named ones, of which there are none, the driver reads one sign for two.
        statement = statement.replace("%%", "%")
    for each in values:
        assert "'" not in each
        statement = statement.replace("?", f"'{each}'", 1)
    return "\n".join(each.rstrip() for each in statement.expandtabs(4).splitlines())


def _write() -> None:
    with (
        tempfile.TemporaryDirectory() as place,
        postgres_server(fsync=False) as url,
    ):
        for kind in DURABLE:
            backend = backend_at(kind, directory=Path(place), postgres_url=url)
            for target in released.TARGETS:
                file = migrations.fresh_file(target, kind)
                file.write_text(script(backend, target), encoding="utf-8")


if __name__ == "__main__":
    _write()
