"""
PostgreSQL keeps ledgers apart beneath the application, tried by its own connection.

Case S21, a tenant's setting that leaks through a pool, is here.
"""

import secrets
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import psycopg
import pytest
import sqlalchemy as sa
from psycopg import sql

from muniment import MemoryStore
from muniment.ledger.sql_recorder import SqlRecorder
from muniment.ledger.tables import metadata
from muniment.ledger.vault_tables import metadata as vault_metadata
from tests.access.matrix import IDENTITIES, REASON
from tests.stores import POSTGRESQL, Backend, backend_at


PASSWORD = "p"  # noqa: S105 - of a role that ends with the test
TABLES = tuple(
    sorted(each.name for each in metadata.tables.values() if "ledger" in each.columns)
)


@dataclass(frozen=True)
class Roles:
    """One database: who made its tables, and who uses them without owning any."""

    owner: Backend
    application: Backend


@pytest.fixture
def roles(postgres_database: str, tmp_path: Path) -> Iterator[Roles]:
    """A database that an owner made and granted to an application; no superusers."""
    name = secrets.token_hex(4)
    owner, application = f"owner_{name}", f"application_{name}"
    url = sa.make_url(postgres_database)
    with psycopg.connect(postgres_database, autocommit=True) as connection:
        for role in (owner, application):
            connection.execute(
                sql.SQL("CREATE ROLE {} LOGIN PASSWORD {}").format(
                    sql.Identifier(role), sql.Literal(PASSWORD)
                )
            )
        database = sql.Identifier(str(url.database))
        for text in ("ALTER DATABASE {} OWNER TO {}", "GRANT CREATE ON DATABASE {} TO {}"):
            connection.execute(sql.SQL(text).format(database, sql.Identifier(owner)))
        grant = sql.SQL("GRANT ALL ON SCHEMA public TO {}")
        connection.execute(grant.format(sql.Identifier(owner)))
    whole = backend_at(POSTGRESQL, directory=tmp_path / "store", postgres_url="")
    theirs, ours = (
        replace(
            whole,
            database_url=url.set(username=role, password=PASSWORD).render_as_string(
                hide_password=False
            ),
        )
        for role in (owner, application)
    )
    for ledger in ("acme", "bolt"):
        with quiet(theirs, ledger) as store:
            store.remember(f"secret of {ledger}", user_id="u-1", reason="seed")
    _grant(theirs, application)
    yield Roles(theirs, ours)
    with psycopg.connect(postgres_database, autocommit=True) as connection:
        for role in (application, owner):
            for text in ("REASSIGN OWNED BY {} TO CURRENT_USER", "DROP OWNED BY {}"):
                connection.execute(sql.SQL(text).format(sql.Identifier(role)))
            connection.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier(role)))


def quiet(backend: Backend, ledger: str) -> MemoryStore:
    return backend.open(ledger=ledger, embedder="none", upkeep=False)


def _grant(owner: Backend, application: str) -> None:
    name = sql.Identifier(application)
    with psycopg.connect(owner.database_url, autocommit=True) as connection:
        for schema in ("public", "muniment_vault"):
            for right, what in (
                ("USAGE", "SCHEMA"),
                ("SELECT, INSERT, UPDATE, DELETE", "ALL TABLES IN SCHEMA"),
            ):
                statement = sql.SQL(f"GRANT {right} ON {what} {{schema}} TO {{name}}")
                connection.execute(
                    statement.format(schema=sql.Identifier(schema), name=name)
                )


def engine_of(store: MemoryStore) -> sa.Engine:
    recorder = store._ledger.recorder
    assert isinstance(recorder, SqlRecorder)
    return recorder.engine


def seen(connection: sa.Connection) -> set[tuple[str, str]]:
    """Return which ledgers each table shows a connection."""
    return {
        (table, ledger)
        for table in TABLES
        for (ledger,) in connection.exec_driver_sql(f"SELECT DISTINCT ledger FROM {table}")
    }


def ledgers(connection: sa.Connection) -> set[str]:
    return {ledger for _, ledger in seen(connection)}


@pytest.mark.parametrize("who", ["owner", "application"])
def test_a_connection_of_one_ledger_never_sees_a_row_of_another(
    roles: Roles, who: str
) -> None:
    backend: Backend = getattr(roles, who)

    with quiet(backend, "acme") as store:
        engine = engine_of(store)
        with engine.connect() as connection:
            assert ledgers(connection) == {"acme"}
            for statement in (
                "SELECT count(*) FROM ledger_event WHERE ledger = 'bolt'",
                "SELECT count(*) FROM ledger_event WHERE ledger <> 'acme'",
                "SELECT count(*) FROM belief b, ledger_event e WHERE e.ledger = 'bolt'",
            ):
                assert connection.exec_driver_sql(statement).scalar() == 0
            gone = connection.exec_driver_sql("DELETE FROM belief WHERE ledger = 'bolt'")
            assert gone.rowcount == 0
            connection.rollback()


def test_a_row_cannot_be_written_into_another_ledger(roles: Roles) -> None:
    with (
        quiet(roles.application, "acme") as store,
        engine_of(store).connect() as connection,
    ):
        for statement in (
            "INSERT INTO projection_checkpoint VALUES ('bolt', 'x', 1)",
            "UPDATE belief SET ledger = 'bolt'",
        ):
            with pytest.raises(sa.exc.ProgrammingError, match="row-level security"):
                connection.exec_driver_sql(statement)
            connection.rollback()
            assert ledgers(connection) == {"acme"}


@pytest.mark.parametrize("setting", ["''", "DEFAULT", "'bolt '", "'%'"])
def test_no_setting_is_no_ledger_and_what_a_transaction_set_ends_with_it(
    roles: Roles, setting: str
) -> None:
    with (
        quiet(roles.application, "acme") as store,
        engine_of(store).connect() as connection,
    ):
        connection.exec_driver_sql(
            f"SET LOCAL muniment.ledger = {setting}".replace("%", "%%")
        )
        during = ledgers(connection)
        connection.rollback()

        assert during == ({"acme"} if setting == "DEFAULT" else set())
        assert ledgers(connection) == {"acme"}


def test_a_stranger_without_a_ledger_sees_nothing(roles: Roles) -> None:
    engine = sa.create_engine(roles.application.database_url)
    try:
        with engine.connect() as connection:
            assert seen(connection) == set()
    finally:
        engine.dispose()


def vault_of(store: MemoryStore) -> sa.Engine:
    return store._ledger.vault._engine


VAULT_TABLES = tuple(
    sorted(e.name for e in vault_metadata.tables.values() if "ledger" in e.columns)
)


@pytest.mark.parametrize("who", ["owner", "application"])
def test_the_keys_of_another_ledger_are_out_of_sight_too(roles: Roles, who: str) -> None:
    backend: Backend = getattr(roles, who)

    with (
        quiet(backend, "acme") as store,
        vault_of(store).connect() as connection,
    ):
        for table in VAULT_TABLES:
            query = f"SELECT DISTINCT ledger FROM {table}"
            found = set(connection.exec_driver_sql(query).scalars())
            assert found <= {"acme"}, table
        connection.exec_driver_sql("SET LOCAL muniment.ledger = ''")
        for table in VAULT_TABLES:
            query = f"SELECT count(*) FROM {table}"
            assert connection.exec_driver_sql(query).scalar() == 0, table
        connection.rollback()
        connection.exec_driver_sql("SET LOCAL muniment.ledger = '*'")
        gone = connection.exec_driver_sql("DELETE FROM subject_key")
        assert gone.rowcount == 0
        seen = connection.exec_driver_sql("SELECT DISTINCT ledger FROM subject_key")
        assert set(seen.scalars()) == {"acme", "bolt"}
        with pytest.raises(sa.exc.ProgrammingError, match="row-level security"):
            connection.exec_driver_sql("INSERT INTO ledger_key VALUES ('x', 'y', '')")


def test_a_rotation_reaches_the_keys_of_every_ledger(roles: Roles) -> None:
    with quiet(roles.application, "acme") as store:
        wrapped = store.rotate_key()

    for ledger in ("acme", "bolt"):
        with quiet(roles.application, ledger) as store:
            (fact,) = store.get_all(user_id="u-1")
            assert fact.content == f"secret of {ledger}"
    assert wrapped >= 4


def test_one_connection_used_for_one_ledger_and_then_another_leaks_neither(
    roles: Roles,
) -> None:
    """Case S21, with a pooler between that gives both ledgers the same connection."""
    engine = sa.create_engine(roles.application.database_url, pool_size=1, max_overflow=0)
    failing = ("SELECT 1 / 0", "SET LOCAL statement_timeout = 1; SELECT pg_sleep(5)")
    try:
        for name in ("acme", "bolt", "acme"):
            with engine.connect() as connection:
                assert ledgers(connection) == set()
                connection.exec_driver_sql(f"SET LOCAL muniment.ledger = '{name}'")
                assert ledgers(connection) == {name}
                connection.rollback()
                for statement in failing:
                    connection.exec_driver_sql(f"SET LOCAL muniment.ledger = '{name}'")
                    with pytest.raises(sa.exc.DBAPIError):
                        connection.exec_driver_sql(statement)
                    connection.rollback()
                assert ledgers(connection) == set()
    finally:
        engine.dispose()


KEPT = (
    "DELETE FROM ledger_event WHERE stream LIKE 'access-%%'",
    "UPDATE ledger_event SET state = '' WHERE stream LIKE 'access-%%'",
    "UPDATE ledger_event SET state = '' WHERE position = 1",
    "UPDATE ledger_event SET tx_id = 1",
    "UPDATE ledger_transaction SET header = ''",
    "DELETE FROM ledger_transaction",
    "DELETE FROM tree_head",
    "DELETE FROM ledger",
    "TRUNCATE ledger_event",
)


@pytest.mark.parametrize("who", ["owner", "application"])
def test_c12_nobody_changes_or_removes_what_is_recorded_on_postgresql(
    roles: Roles, who: str
) -> None:
    backend: Backend = getattr(roles, who)
    with quiet(backend, "acme") as store:
        officer = store.acting_as(IDENTITIES["officer"])
        officer.blame(user_id="u-1", reason=REASON)
        store.tree_head()
        before = len(store.access_log())

        for statement in KEPT:
            with (
                engine_of(store).connect() as connection,
                pytest.raises(sa.exc.ProgrammingError, match=r"never changed|permission"),
            ):
                connection.exec_driver_sql(statement)

        assert len(store.access_log()) == before
        assert store.verify()


def test_pooled_connections_stay_with_their_ledger_after_errors_and_cancelling(
    roles: Roles,
) -> None:
    with quiet(roles.application, "acme") as one, quiet(roles.application, "bolt") as other:
        for _ in range(3):
            for store, name in ((one, "acme"), (other, "bolt")):
                with (
                    engine_of(store).connect() as connection,
                    pytest.raises(sa.exc.DBAPIError),
                ):
                    connection.exec_driver_sql("SELECT 1 / 0")
                with engine_of(store).connect() as connection:
                    connection.exec_driver_sql("SET LOCAL statement_timeout = 1")
                    with pytest.raises(sa.exc.DBAPIError):
                        connection.exec_driver_sql("SELECT pg_sleep(5)")
                with engine_of(store).connect() as connection:
                    assert ledgers(connection) == {name}
                (fact,) = store.get_all(user_id="u-1")
                assert fact.content == f"secret of {name}"


def test_everything_works_for_a_role_that_owns_nothing(roles: Roles) -> None:
    with quiet(roles.application, "acme") as store:
        # Above 200 rows these would be copied, which row security does not allow.
        receipt = store.remember_many([f"fact {n}" for n in range(300)], user_id="u-2")
        store.update(receipt.fact_ids[0], content="changed 变了")
        store.rollback_to_timestamp(user_id="u-2", rollback_to=receipt.recorded_at)
        then = store.get_memory_as_of(user_id="u-2", timestamp=receipt.recorded_at)
        rebuilt = store.rebuild()
        certificate = store.erase(user_id="u-2", reason="request 2026-19")

        assert len(then) == 300
        assert rebuilt > 300
        assert certificate.position is not None
        assert store.verify()


def test_every_table_that_has_a_ledger_is_under_a_forced_policy(roles: Roles) -> None:
    with psycopg.connect(roles.owner.database_url) as connection:
        rows = connection.execute(
            "SELECT c.relname, c.relrowsecurity AND c.relforcerowsecurity, "
            "(SELECT count(*) FROM pg_policy p WHERE p.polrelid = c.oid) "
            "FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid "
            "WHERE c.relkind IN ('r', 'p', 'v', 'm') AND a.attname = 'ledger' "
            "AND c.relnamespace = 'public'::regnamespace"
        ).fetchall()

    assert {name for name, _, _ in rows} == set(TABLES)
    assert all(forced and policies == 1 for _, forced, policies in rows)
