import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from hypothesis import HealthCheck, settings
from psycopg import sql
from sqlalchemy import make_url

from muniment.api.opening import LEDGER_FILE
from tests.postgres import postgres_server
from tests.stores import (
    BACKENDS,
    DURABLE,
    POSTGRESQL,
    SQLITE,
    Backend,
    backend_at,
    upgrade_empty,
)


settings.register_profile("dev", max_examples=50)
settings.register_profile(
    "ci",
    max_examples=300,
    deadline=None,
    derandomize=True,
    # The gate shares its two processors with a database server.
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("nightly", max_examples=20_000, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "dev"))


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """A database of a server of this test process, or of the one that is named."""
    if named := os.environ.get("MUNIMENT_TEST_DATABASE_URL"):
        # psycopg does not know the driver that SQLAlchemy allows in a URL.
        yield (
            make_url(named)
            .set(drivername="postgresql")
            .render_as_string(hide_password=False)
        )
        return
    with postgres_server(fsync=False) as url:
        yield url


@contextmanager
def _database(server: str, template: str) -> Iterator[str]:
    """Make a database as *template* is; yield its URL, and drop it at the end."""
    # Drawn at random: several test processes may share the server that is named.
    name = f"muniment_test_{secrets.token_hex(8)}"
    database = sql.Identifier(name)
    # Copied as files: page by page through the log takes the server twice as long.
    create = sql.SQL("CREATE DATABASE {} TEMPLATE {} STRATEGY FILE_COPY")
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(create.format(database, sql.Identifier(template)))
    try:
        yield make_url(server).set(database=name).render_as_string(hide_password=False)
    finally:
        with psycopg.connect(server, autocommit=True) as connection:
            # FORCE, so that a connection that a failed test left open does not hide
            # the failure behind another.
            connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(database))


@pytest.fixture
def postgres_database(postgres_url: str) -> Iterator[str]:
    """The URL of a fresh, empty database that is dropped after the test."""
    with _database(postgres_url, "template1") as url:
        yield url


@pytest.fixture(scope="session")
def _upgraded_database(postgres_url: str) -> Iterator[str]:
    """The name of a database with all tables and no ledger, to be copied."""
    with _database(postgres_url, "template1") as url:
        upgrade_empty(url)
        yield str(make_url(url).database)


@pytest.fixture
def upgraded_database(postgres_url: str, _upgraded_database: str) -> Iterator[str]:
    """The URL of a fresh database with all tables and no ledger, dropped after the test."""
    with _database(postgres_url, _upgraded_database) as url:
        yield url


@pytest.fixture(scope="session")
def upgraded_directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with all tables and no ledger, to be copied."""
    directory = tmp_path_factory.mktemp("upgraded")
    upgrade_empty(f"sqlite:///{directory / LEDGER_FILE}")
    return directory


def _backend(
    request: pytest.FixtureRequest, directory: Path, *, is_upgraded: bool = True
) -> Backend:
    # Asked for only where it is needed, so that other tests start no server.
    url = None
    if request.param == POSTGRESQL:
        name = "upgraded_database" if is_upgraded else "postgres_database"
        url = request.getfixturevalue(name)
    elif request.param == SQLITE and is_upgraded:
        shutil.copytree(request.getfixturevalue("upgraded_directory"), directory)
    return backend_at(request.param, directory=directory, postgres_url=url)


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Backend:
    """Each place a store can live in, with its tables made: that costs the most."""
    return _backend(request, tmp_path / "store")


@pytest.fixture(params=DURABLE)
def durable(request: pytest.FixtureRequest, tmp_path: Path) -> Backend:
    """Each place that outlives its process, with its tables made."""
    return _backend(request, tmp_path / "store")


@pytest.fixture(params=DURABLE)
def untouched(request: pytest.FixtureRequest, tmp_path: Path) -> Backend:
    """Each place that outlives its process, where nothing was ever made."""
    return _backend(request, tmp_path / "store", is_upgraded=False)
