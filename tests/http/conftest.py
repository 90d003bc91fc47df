from collections.abc import Iterator

import pytest

from muniment import MemoryStore, Settings
from tests.served import served


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MemoryStore]:
    """A store that the tests of a module share; each writes for users of its own."""
    place = tmp_path_factory.mktemp("served")
    settings = Settings(
        database_url=f"sqlite:///{place}/store/ledger.db",
        embedder="none",
        upkeep=False,
        rate_limit=1_000_000,
        request_limit=1_048_576,
    )
    with MemoryStore.open(settings) as store:
        yield store


@pytest.fixture(scope="module")
def url(store: MemoryStore) -> Iterator[str]:
    """The URL of a service for *store*."""
    with served(store) as url:
        yield url
