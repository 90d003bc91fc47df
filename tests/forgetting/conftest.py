"""Stores for tests of forgetting that share one database, each in a ledger of its own."""

import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest
from psycopg import sql
from sqlalchemy import make_url

from muniment import Settings
from tests.stores import BACKENDS, POSTGRESQL, Backend, backend_at


@dataclass(frozen=True)
class Sharing(Backend):
    """A place that others share: what is opened here is a ledger of its own."""

    ledger_name: str

    def settings(self, **changes: object) -> Settings:
        return super().settings(ledger=self.ledger_name, **changes)


@pytest.fixture(scope="module")
def shared_place(
    postgres_url: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, Path]]:
    """A database, and the directory of its key: making its tables costs the most."""
    name = f"muniment_test_{secrets.token_hex(8)}"
    database = sql.Identifier(name)
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(database))
    url = make_url(postgres_url).set(database=name).render_as_string(hide_password=False)
    yield url, tmp_path_factory.mktemp("shared")
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(database))


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Backend:
    """Each place a store can live in; what is opened there is empty."""
    if request.param != POSTGRESQL:
        return backend_at(request.param, directory=tmp_path / "store", postgres_url=None)
    url, directory = request.getfixturevalue("shared_place")
    return Sharing(POSTGRESQL, url, directory, f"ledger-{secrets.token_hex(8)}")
