"""Stores to search in, and embedders one can read."""

from array import array
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from muniment import MemoryStore, Settings
from muniment.api.found import SearchHits
from muniment.api.recalling import LEXICON
from muniment.errors import EmbedderUnavailableError
from muniment.projections.catch_up import Makers
from muniment.projections.ports import Vector
from muniment.recall.preselection import Preselection


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

    def queries(self, texts: Sequence[str]) -> Sequence[Vector]:
        return self.passages(texts)

    def _vector(self, text: str) -> Vector:
        food = any(word in text for word in ("tea", "dumplings", "drink", "cuisine"))
        work = any(word in text for word in ("engineer", "compiler", "profession"))
        return array("f", [0.1 + food, 0.1 + work, 0.1 + (not food and not work)])


def settings_at(url: str, **fields: Any) -> Settings:  # noqa: ANN401 - of any setting
    """Return settings of a store at *url* that searches without a model or upkeep."""
    usual = {"embedder": "none", "upkeep": False}
    return Settings(**{"database_url": url, **usual, **fields})


def target_of(request: pytest.FixtureRequest, directory: Path) -> str | Path:
    """Return where the store of a fixture is, which is run for each of `PLACES`."""
    match request.param:
        case "memory":
            return "memory://"
        case "sqlite":
            return directory / "store"
        case _:
            url: str = request.getfixturevalue("postgres_database")
            return url


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


def asked_again(
    store: MemoryStore,
    query: str,
    hits: SearchHits,
    **fields: Any,  # noqa: ANN401 - of any search
) -> SearchHits:
    """Return what *query* finds as of where *hits* were found, but for when it is asked."""
    again = store.search(
        query, user_id="u", as_of=hits.known_at, valid_at=hits.valid_at, **fields
    )
    return replace(again, recorded_at=hits.recorded_at)


def ask_the_engine(store: MemoryStore) -> None:
    """Make *store* ask its engine from the first fact on."""
    recall = store._recall
    recall.searcher._preselection = Preselection(
        recall.upkeep, recall.meaning, LEXICON, ranked_max=0
    )


def contents(hits: SearchHits) -> list[str | None]:
    """Return what was found, best first."""
    return [hit.fact.content for hit in hits]
