from collections.abc import Iterator
from pathlib import Path

import pytest

from muniment import MemoryStore
from tests.searching import PLACES, SteppingClock, open_at, target_of


@pytest.fixture
def clock() -> SteppingClock:
    """Stands at the start of 2026 until a test moves it."""
    return SteppingClock()


@pytest.fixture(params=PLACES)
def store(
    request: pytest.FixtureRequest, tmp_path: Path, clock: SteppingClock
) -> Iterator[MemoryStore]:
    """An empty store in each place, without an embedder."""
    with open_at(
        target_of(request, tmp_path), clock=clock, key_file=tmp_path / "key"
    ) as it:
        yield it
