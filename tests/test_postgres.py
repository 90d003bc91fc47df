"""The server that other tests stand on."""

import psycopg
import sqlalchemy as sa

from tests.postgres import postgres_server


OLDEST_VERSION = 15_00_00


def test_a_fresh_database_is_empty_and_recent_enough(postgres_database: str) -> None:
    with psycopg.connect(postgres_database) as connection:
        tables = connection.execute(
            "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
        ).fetchall()

        assert tables == []
        assert connection.info.server_version >= OLDEST_VERSION


def test_sqlalchemy_understands_the_url(postgres_database: str) -> None:
    engine = sa.create_engine(postgres_database)

    with engine.begin() as connection:
        found = connection.scalar(sa.text("SELECT current_database()"))
    engine.dispose()

    assert engine.dialect.driver == "psycopg"
    assert found == sa.make_url(postgres_database).database


def test_a_server_that_is_measured_waits_for_the_disk() -> None:
    with postgres_server(fsync=True) as url, psycopg.connect(url) as connection:
        setting = connection.execute("SHOW fsync").fetchone()

    assert setting == ("on",)
