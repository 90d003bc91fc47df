import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from muniment import MemoryStore
from tests.stores import SQLITE, Backend, SettableClock, backend_at


@pytest.fixture
def clock() -> SettableClock:
    """Stands at the start of 2026 until a test moves it."""
    return SettableClock()


@pytest.fixture
def changes() -> dict[str, object]:
    """The settings of *store* that are not as usual; a module may name its own."""
    return {}


@pytest.fixture
def store(
    request: pytest.FixtureRequest, tmp_path: Path, clock: SettableClock
) -> Iterator[MemoryStore]:
    """
    An empty store on *clock*: on SQLite, or where the `backend` is that a test uses.

    Who may do what is decided before a database is asked, so that one place is enough for
    most; what takes keys, transactions and locks is tried in each.
    """
    changes: dict[str, object] = request.getfixturevalue("changes")
    with _place(request, tmp_path / "store").open(
        clock=clock, embedder="none", upkeep=False, **changes
    ) as store:
        yield store


def _place(request: pytest.FixtureRequest, directory: Path) -> Backend:
    if "backend" in request.fixturenames:
        found: Backend = request.getfixturevalue("backend")
        return found
    shutil.copytree(request.getfixturevalue("upgraded_directory"), directory)
    return backend_at(SQLITE, directory=directory, postgres_url=None)
