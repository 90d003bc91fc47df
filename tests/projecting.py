"""Ledgers with current facts to test, written to through the facade's own verbs."""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import sqlalchemy as sa

from muniment.api.opening import open_ledger
from muniment.api.store import MemoryStore
from muniment.domain.events import FactRedacted, SubjectErased
from muniment.domain.scope import Scope
from muniment.errors import EmbedderUnavailableError
from muniment.ledger import vault
from muniment.ledger.ledger import Ledger
from muniment.ledger.memory_recorder import MemoryRecorder
from muniment.ledger.records import Origin
from muniment.ledger.sql_recorder import SqlRecorder
from muniment.ledger.transaction import Request, Transaction
from muniment.projections.catch_up import CatchUp, Makers, Sources
from muniment.projections.generations import MemoryGenerations, SqlGenerations
from muniment.projections.memory_current import MemoryEngine
from muniment.projections.memory_vectors import MemoryVersionVectors
from muniment.projections.ports import (
    Engine,
    Found,
    Generations,
    Terms,
    Vector,
    VersionVectors,
    Within,
)
from muniment.projections.upkeep import Upkeep
from muniment.projections.vectors import SqlVersionVectors
from muniment.settings import Settings


@dataclass
class ToyEmbedder:
    """
    An embedder one can read, that fails when it is told to.

    Attributes:
        fails: Whether it cannot embed a text.
        asked: Every text it was asked for, in order.
    """

    name: str = "toy-8"
    dimensions: int = 8
    batch: int = 4
    fails: Callable[[str], bool] = lambda _text: False
    asked: list[str] = field(default_factory=list)

    def passages(self, texts: Sequence[str]) -> Sequence[Vector]:
        self.asked += texts
        if any(map(self.fails, texts)):
            raise EmbedderUnavailableError(self.name, "it was told to fail")
        return [self._vector(text) for text in texts]

    def query(self, text: str) -> Vector:
        return self._vector(text)

    def _vector(self, text: str) -> Vector:
        digest = hashlib.shake_128(text.encode()).digest(self.dimensions)
        return [byte - 127.5 for byte in digest]


class ToyLexicon:
    """Every word is a term."""

    name = "toy"

    def passage(self, text: str) -> Terms:
        indices = sorted({self._index(word) for word in text.split()})
        return Terms(indices=tuple(indices), weights=(1.0,) * len(indices))

    def query(self, text: str) -> Terms:
        return self.passage(text)

    def _index(self, word: str) -> int:
        return int.from_bytes(hashlib.shake_128(word.encode()).digest(3), "big")


@dataclass
class Place:
    """
    A store, with everything its current facts need.

    Attributes:
        store: To write and read with.
        sources: Over a connection of its own.
    """

    store: MemoryStore
    sources: Sources
    generations: Generations
    engine: Engine
    embedder: ToyEmbedder

    @property
    def ledger(self) -> Ledger:
        return self.sources.ledger

    @property
    def makers(self) -> Makers:
        return Makers(embedder=self.embedder, lexicon=ToyLexicon())

    def catch_up(self) -> CatchUp:
        """Return what brings the generation in use up to the ledger."""
        active = self.generations.active() or self.generations.begin(
            model=self.embedder.name, dimensions=self.embedder.dimensions, lexicon="toy"
        )
        return CatchUp(
            self.sources,
            self.makers,
            generation=active,
            facts=self.engine.open(active),
        )

    def upkeep(
        self, take_engine: Callable[[], Engine] | None = None, **options: float
    ) -> Upkeep:
        """Return what keeps the current facts; its thread is not started."""
        return Upkeep(
            self.sources,
            self.makers,
            self.generations,
            take_engine or (lambda: self.engine),
            **options,  # type: ignore[arg-type]
        )


@contextmanager
def place_at(
    settings: Settings, engine: Engine | None = None, embedder: ToyEmbedder | None = None
) -> Iterator[Place]:
    """Open a store and what keeps its current facts."""
    opened = open_ledger(settings, clock=None, create=True)
    recorder, keys = opened.ledger.recorder, opened.ledger.vault
    vectors: VersionVectors
    generations: Generations
    match recorder:
        case MemoryRecorder():
            vectors = MemoryVersionVectors(keys)
            generations = MemoryGenerations(recorder)
        case SqlRecorder():
            vectors = SqlVersionVectors(recorder, keys, lock_timeout=10)
            generations = SqlGenerations(recorder)
        case _:
            raise AssertionError("a recorder is in memory or in SQL")
    sources = Sources(ledger=opened.ledger, timeline=opened.timeline, vectors=vectors)
    with MemoryStore(opened, settings) as store:
        yield Place(
            store,
            sources,
            generations,
            engine or MemoryEngine(),
            embedder or ToyEmbedder(),
        )


def settings_of(kind: str, directory: Path, postgres_url: str | None = None) -> Settings:
    """Return the settings of a store of one kind."""
    match kind:
        case "memory":
            return Settings(database_url="memory://")
        case "sqlite":
            return Settings(database_url=f"sqlite:///{directory / 'ledger.db'}")
        case _:
            assert postgres_url is not None, "a database is named"
            return Settings(database_url=postgres_url, key_file=directory / "key")


def redact(place: Place, fact_id: str) -> None:
    """Append that the content of a fact was made unreadable."""

    def work(transaction: Transaction) -> None:
        transaction.add(fact_id, [FactRedacted()])

    _transact(place, work, scope=None, fact_id=fact_id)


def erase(place: Place, user_id: str) -> None:
    """Append that a user was erased, and destroy every key of theirs."""
    scope = Scope.user(user_id)
    subject = place.ledger.vault.find(scope)
    assert subject is not None, "the user has a memory"

    def work(transaction: Transaction) -> None:
        transaction.add_to_subject([SubjectErased()])

    _transact(place, work, scope=scope, fact_id=None)
    with place.ledger.vault._engine.begin() as connection:
        for table in (vault._stream_key, vault._subject_key):
            theirs = table.c.subject_ref == subject.ref
            connection.execute(sa.delete(table).where(theirs))
        connection.execute(sa.update(vault._vault).values(epoch=vault._vault.c.epoch + 1))


def _transact(
    place: Place,
    work: Callable[[Transaction], None],
    *,
    scope: Scope | None,
    fact_id: str | None,
) -> None:
    place.ledger.transact(
        Request(
            action="test",
            origin=Origin(),
            scope=scope,
            fact_id=fact_id,
            body={},
            work=work,
        )
    )


def believed(place: Place, user_id: str) -> set[tuple[str, int]]:
    """Return the facts of a user that are believed now, with their versions' places."""
    return {
        (fact.fact_id, fact.version) for fact in place.store.get_all(user_id=user_id).items
    }


def findable(place: Place, catch_up: CatchUp, user_id: str) -> list[Found]:
    """Return every point of a user that a search about now may find."""
    subject = place.ledger.vault.find(Scope.user(user_id))
    if subject is None:
        return []
    now = place.ledger.present().now
    within = Within(subject_refs=(subject.ref,), valid_at=now, expired_at=now)
    return list(catch_up.facts.nearest([1.0] * 8, within, limit=1_000))
