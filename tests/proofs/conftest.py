import secrets
from collections.abc import Iterator

import psycopg
import pytest
from psycopg import sql
from sqlalchemy import make_url

from tests.proofs.malice import Victim, victim
from tests.stores import DURABLE, POSTGRESQL, backend_at


@pytest.fixture(scope="session", params=DURABLE)
def shared_victim(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Victim]:
    """A store with a history, made once for each backend."""
    directory = tmp_path_factory.mktemp("victim") / "store"
    if request.param != POSTGRESQL:
        with victim(
            backend_at(request.param, directory=directory, postgres_url=None)
        ) as it:
            yield it
        return
    server = request.getfixturevalue("postgres_url")
    name = f"muniment_test_{secrets.token_hex(8)}"
    database = sql.Identifier(name)
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(database))
    url = make_url(server).set(database=name).render_as_string(hide_password=False)
    try:
        with victim(backend_at(POSTGRESQL, directory=directory, postgres_url=url)) as it:
            yield it
    finally:
        with psycopg.connect(server, autocommit=True) as connection:
            connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(database))


@pytest.fixture
def attacked(shared_victim: Victim) -> Iterator[Victim]:
    """A store with a history, put right again after the test."""
    with shared_victim.restored():
        yield shared_victim
