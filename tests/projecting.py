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
from muniment.ledger import vault_tables as vault
from muniment.ledger.ledger import Ledger
from muniment.ledger.memory_recorder import MemoryRecorder
from muniment.ledger.records import Origin
from muniment.ledger.sql_recorder import SqlRecorder
from muniment.ledger.transaction import Request, Transaction
from muniment.ledger.vault import Subject
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

    def queries(self, texts: Sequence[str]) -> Sequence[Vector]:
        return [self._vector(text) for text in texts]

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
        for table in (vault.stream_key, vault.subject_key):
            theirs = table.c.subject_ref == subject.ref
            connection.execute(sa.delete(table).where(theirs))
        connection.execute(sa.update(vault.vault).values(epoch=vault.vault.c.epoch + 1))


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


def subject_of(place: Place, user_id: str) -> Subject:
    subject = place.ledger.vault.find(Scope.user(user_id))
    assert subject is not None, "the user has a memory"
    return subject


def applied(catch_up: CatchUp, limit: int = 1_000) -> CatchUp:
    """Apply all there is."""
    while catch_up.step(limit):
        pass
    return catch_up


def shown(found: Sequence[Found]) -> set[tuple[str, int]]:
    return {(each.fact_id, each.version) for each in found}


def by_words(place: Place, catch_up: CatchUp, user_id: str, text: str) -> list[str]:
    now = place.ledger.present().now
    within = Within(
        subject_refs=(subject_of(place, user_id).ref,), valid_at=now, expired_at=now
    )
    return [
        each.fact_id
        for each in catch_up.facts.matching(ToyLexicon().query(text), within, limit=9)
    ]


def a_life(place: Place) -> None:
    """Write what happens to facts: each verb at least once, for two people."""
    store = place.store
    first = store.remember("writes Python", user_id="ann", category="skill")
    store.update(first.fact_id, content="writes Rust")
    second = store.remember("lives in Oslo", user_id="ann")
    store.correct(second.fact_id, content="lives in Bergen")
    third = store.remember("has a cat", user_id="ann")
    store.end(third.fact_id)
    fourth = store.remember("likes tea", user_id="ann")
    store.forget(fourth.fact_id, mode="retire", reason="asked")
    fifth = store.remember("likes coffee", user_id="ann")
    store.forget(fifth.fact_id, mode="retire", reason="asked")
    store.restore(fifth.fact_id)
    sixth = store.remember("is vegan", user_id="ann")
    store.update(sixth.fact_id, content="eats fish")
    store.rollback_fact(sixth.fact_id, to_version=1)
    store.remember("starts in May", user_id="ann", valid_from="2999-05-01T00:00:00Z")
    store.remember("is gone", user_id="ann", valid_to="2001-01-01T00:00:00Z")
    store.remember_many(["plays chess", "plays go", "sings"], user_id="bob")
    store.remember("plays chess", user_id="bob", source="a tool")
    gone = store.remember("a secret", user_id="bob")
    redact(place, gone.fact_id)


def poison(place: Place, *, position: int) -> Callable[[], None]:
    """Make one event unreadable; return what makes it readable again."""
    recorder = place.ledger.recorder
    assert isinstance(recorder, MemoryRecorder)
    good = recorder._events[position - 1]
    sealed = {**good.sealed.__dict__, "topic": "fact.enchanted.v1"}
    bad = type(good)(
        position=good.position,
        tx_id=good.tx_id,
        recorded_at=good.recorded_at,
        sealed=type(good.sealed)(**sealed),
    )
    recorder._events[position - 1] = bad

    def mended() -> None:
        recorder._events[position - 1] = good

    return mended
