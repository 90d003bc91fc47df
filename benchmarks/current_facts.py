"""
How fast the current facts follow the ledger, and how fast they answer.

    python benchmarks/current_facts.py [--points 100000] [--facts 20000]

Vectors are given: random numbers of 384 dimensions, so that no embedder is measured. The
projector reads a ledger in SQLite and writes to Qdrant Edge, as an embedded store does. A
hybrid query is both legs of one user, by meaning and by words, each with its bounds.
"""

import argparse
import random
import tempfile
import time
from array import array
from collections.abc import Callable, Sequence
from pathlib import Path

from muniment import MemoryStore
from muniment.api.opening import open_ledger
from muniment.domain.events import Status, Traits
from muniment.domain.time import FOREVER, Instant, Period
from muniment.ledger.sql_recorder import SqlRecorder
from muniment.projections.catch_up import CatchUp, Makers, Sources
from muniment.projections.current import point_id
from muniment.projections.current_edge import EdgeEngine
from muniment.projections.generations import SqlGenerations
from muniment.projections.ports import (
    CurrentFacts,
    Generation,
    Point,
    Terms,
    Vector,
    Within,
)
from muniment.projections.vectors import SqlVersionVectors
from muniment.settings import Settings


DIMENSIONS = 384
WORDS = 30_000
TERMS_OF_A_FACT = 12
PER_USER = 100
QUERIES = 2_000
BATCH = 1_000


class Given:
    """An embedder and lexicon that cost next to nothing."""

    name = "given"
    dimensions = DIMENSIONS
    batch = BATCH

    def __init__(self) -> None:
        self._random = random.Random(7)  # noqa: S311 - a benchmark is to be repeatable
        self._vectors = [self._vector() for _ in range(997)]
        self._terms = [self._some_terms() for _ in range(997)]

    def passages(self, texts: Sequence[str]) -> Sequence[Vector]:
        return [self.query(text) for text in texts]

    def queries(self, texts: Sequence[str]) -> Sequence[Vector]:
        return self.passages(texts)

    def query(self, text: str) -> Vector:
        return self._vectors[hash(text) % len(self._vectors)]

    def passage(self, text: str) -> Terms:
        return self._terms[hash(text) % len(self._terms)]

    def _vector(self) -> Vector:
        return array("f", (self._random.gauss(0, 1) for _ in range(DIMENSIONS)))

    def _some_terms(self) -> Terms:
        indices = self._random.sample(range(WORDS), TERMS_OF_A_FACT)
        return Terms(
            indices=tuple(indices),
            weights=tuple(self._random.random() + 0.1 for _ in indices),
        )


class _Lexicon:
    """The terms of `Given`, as a lexicon."""

    name = "given"

    def __init__(self, given: Given) -> None:
        self._given = given

    def passage(self, text: str) -> Terms:
        return self._given.passage(text)

    def query(self, text: str) -> Terms:
        return self._given.passage(text)


def projector(directory: Path, facts: int) -> None:
    """Measure facts a second from the ledger to a flushed engine, checkpoint and all."""
    settings = Settings(database_url=f"sqlite:///{directory / 'ledger.db'}")
    opened = open_ledger(settings, clock=None, create=True)
    recorder, vault = opened.ledger.recorder, opened.ledger.vault
    assert isinstance(recorder, SqlRecorder)
    engine = EdgeEngine(directory / "bench")
    given = Given()
    generations = SqlGenerations(recorder)
    generation = generations.begin(
        model=given.name, dimensions=DIMENSIONS, lexicon=given.name
    )
    with MemoryStore(opened, settings) as store:
        for user in range(facts // PER_USER):
            told = [f"user {user} says {number}" for number in range(PER_USER)]
            store.remember_many(told, user_id=f"u-{user}")
        catch_up = CatchUp(
            Sources(
                ledger=opened.ledger,
                timeline=opened.timeline,
                vectors=SqlVersionVectors(recorder, vault, lock_timeout=30),
            ),
            Makers(embedder=given, lexicon=_Lexicon(given)),
            generation=generation,
            facts=engine.open(generation),
        )
        started, own = time.perf_counter(), time.process_time()
        while catch_up.step():
            pass
        elapsed, own = time.perf_counter() - started, time.process_time() - own
        assert catch_up.facts.count() == facts
        catch_up.facts.close()
    engine.close()
    speed = f"{facts / elapsed:,.0f} facts/s, {facts / own:,.0f} a second of processor time"
    _say(f"projector, vectors given, {facts:,} facts", speed)


def queries(directory: Path, points: int) -> None:
    """Measure both legs of one user among *points*, beside a projector and without."""
    engine = EdgeEngine(directory / "queries")
    given = Given()
    facts = engine.open(
        Generation(
            number=1,
            model=given.name,
            dimensions=DIMENSIONS,
            lexicon=given.name,
            active_from=Instant(0),
        )
    )
    started = time.perf_counter()
    for first in range(0, points, BATCH):
        facts.upsert(
            [_point(given, number) for number in range(first, first + BATCH)], until=points
        )
    facts.flush()
    elapsed = time.perf_counter() - started
    _say(f"upsert into Edge, {points:,} points", f"{points / elapsed:,.0f} points/s")
    users = points // PER_USER
    _measure("by meaning", lambda user: _nearest(facts, given, user), users)
    _measure("by words", lambda user: _matching(facts, given, user), users)
    _measure(
        "hybrid: both legs",
        lambda user: (_nearest(facts, given, user), _matching(facts, given, user)),
        users,
    )
    facts.close()
    engine.close()


def _measure(what: str, query: Callable[[int], object], users: int) -> None:
    chosen = random.Random(3)  # noqa: S311 - a benchmark is to be repeatable
    for _ in range(50):
        query(chosen.randrange(users))
    took = []
    for _ in range(QUERIES):
        user = chosen.randrange(users)
        started = time.perf_counter()
        query(user)
        took.append(1_000 * (time.perf_counter() - started))
    took.sort()
    p50, p95, p99 = (took[int(len(took) * share)] for share in (0.50, 0.95, 0.99))
    _say(
        f"{what}, one user of {users:,}",
        f"p50 {p50:.2f} ms, p95 {p95:.2f} ms, p99 {p99:.2f} ms",
    )


def _nearest(facts: CurrentFacts, given: Given, user: int) -> object:
    return facts.nearest(given.query(f"question {user}"), _within(user), limit=100)


def _matching(facts: CurrentFacts, given: Given, user: int) -> object:
    terms = given.passage(f"user {user}")
    return facts.matching(terms, _within(user), limit=100)


def _within(user: int) -> Within:
    now = Instant(1_767_225_600_000_000)
    return Within(subject_refs=(f"s{user}",), valid_at=now, expired_at=now)


def _point(given: Given, number: int) -> Point:
    fact_id, text = f"f{number}", f"fact {number}"
    valid = Period(Instant(1_700_000_000_000_000 + number), FOREVER)
    return Point(
        point_id=point_id("main", fact_id, valid.start),
        fact_id=fact_id,
        subject_ref=f"s{number // PER_USER}",
        version=1,
        position=number,
        valid=valid,
        traits=Traits(
            category="skill" if number % 2 else None,
            attribute=None,
            status=Status.ACTIVE,
            confidence=1.0,
            importance=0.5,
            core=False,
            expires_at=None,
        ),
        dense=given.query(text),
        sparse=given.passage(text),
    )


def _say(what: str, figure: str) -> None:
    print(f"{what:55} {figure}", flush=True)  # noqa: T201 - its output is its use


def main() -> None:
    """Measure what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=100_000)
    parser.add_argument("--facts", type=int, default=20_000)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="muniment-bench-") as place:
        projector(Path(place), asked.facts)
        queries(Path(place), asked.points)


if __name__ == "__main__":
    main()
