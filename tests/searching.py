"""Stores to search in, and embedders one can read."""

from array import array
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from muniment import MemoryStore, Settings
from muniment.api.found import SearchHits
from muniment.api.recalling import LEXICON
from muniment.errors import EmbedderUnavailableError
from muniment.projections.catch_up import Makers
from muniment.projections.ports import Vector


START = datetime(2026, 1, 1, tzinfo=UTC)
PLACES = ("memory", "sqlite", "postgresql")


class SteppingClock:
    """Stands at a time until it is moved; each transaction is a microsecond on anyway."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        return self.now

    def forward(self, **span: float) -> datetime:
        self.now += timedelta(**span)
        return self.now


class MeaningOfThree:
    """An embedder that knows three meanings: of food, of work, of all else."""

    name = "three"
    dimensions = 3
    batch = 4

    def __init__(self) -> None:
        self.is_down = False
        self.refused: set[str] = set()
        self.asked: list[str] = []

    def passages(self, texts: Sequence[str]) -> Sequence[Vector]:
        self.asked += texts
        if self.is_down or self.refused.intersection(texts):
            raise EmbedderUnavailableError(self.name, "it is down")
        return [self._vector(text) for text in texts]

    def query(self, text: str) -> Vector:
        return self.passages([text])[0]

    def _vector(self, text: str) -> Vector:
        food = any(word in text for word in ("tea", "dumplings", "drink", "cuisine"))
        work = any(word in text for word in ("engineer", "compiler", "profession"))
        return array("f", [0.1 + food, 0.1 + work, 0.1 + (not food and not work)])


def settings_at(url: str, **fields: Any) -> Settings:  # noqa: ANN401 - of any setting
    """
    Return settings of a store at *url* that searches without a model or a thread.

    And without receipts: they would count as uses of what is found from the moment when
    they happen to be recorded, on a clock that stands still that of the question itself.
    """
    usual = {"embedder": "none", "upkeep": False, "receipts": False}
    return Settings(**{"database_url": url, **usual, **fields})


def open_at(
    target: str | Path,
    *,
    clock: Callable[[], datetime] | None = None,
    **fields: Any,  # noqa: ANN401 - of any setting
) -> MemoryStore:
    """Open a store at a URL or in a directory."""
    url = target if isinstance(target, str) else f"sqlite:///{target / 'ledger.db'}"
    return MemoryStore.open(settings_at(url, **fields), clock=clock)


def open_with(
    embedder: MeaningOfThree,
    target: str | Path,
    *,
    clock: Callable[[], datetime] | None = None,
) -> MemoryStore:
    """Open a store that *embedder* makes the vectors of."""
    store = open_at(target, clock=clock)
    recall = store._recall
    recall.meaning.use(embedder)
    recall.upkeep._makers = Makers(embedder=embedder, lexicon=LEXICON)
    return store


def contents(hits: SearchHits) -> list[str | None]:
    """Return what was found, best first."""
    return [hit.fact.content for hit in hits]
