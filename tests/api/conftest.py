from collections.abc import Iterator

import pytest

from muniment import MemoryStore
from tests.stores import Backend, SettableClock


@pytest.fixture
def clock() -> SettableClock:
    """Stands at the start of 2026 until a test moves it."""
    return SettableClock()


@pytest.fixture
def store(backend: Backend, clock: SettableClock) -> Iterator[MemoryStore]:
    """An empty store in each place, on *clock*."""
    with backend.open(clock=clock) as store:
        yield store
