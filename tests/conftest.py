import os
import secrets
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from hypothesis import HealthCheck, settings
from psycopg import sql
from sqlalchemy import make_url

from tests.postgres import postgres_server
from tests.stores import BACKENDS, DURABLE, POSTGRESQL, Backend, backend_at


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


@pytest.fixture
def postgres_database(postgres_url: str) -> Iterator[str]:
    """The URL of a fresh, empty database that is dropped after the test."""
    # Drawn at random: several test processes may share the server that is named.
    name = f"muniment_test_{secrets.token_hex(8)}"
    database = sql.Identifier(name)
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(database))
    try:
        yield (
            make_url(postgres_url).set(database=name).render_as_string(hide_password=False)
        )
    finally:
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            # FORCE, so that a connection that a failed test left open does not hide
            # the failure behind another.
            connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(database))


def _backend(request: pytest.FixtureRequest, directory: Path) -> Backend:
    # Asked for only where it is needed, so that other tests start no server.
    url = (
        request.getfixturevalue("postgres_database")
        if request.param == POSTGRESQL
        else None
    )
    return backend_at(request.param, directory=directory, postgres_url=url)


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Backend:
    """Each place a store can live in, empty."""
    return _backend(request, tmp_path / "store")


@pytest.fixture(params=DURABLE)
def durable(request: pytest.FixtureRequest, tmp_path: Path) -> Backend:
    """Each place that outlives its process, empty."""
    return _backend(request, tmp_path / "store")
