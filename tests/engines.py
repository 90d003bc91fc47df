"""Engines of current facts to test, and points to put into them."""

import os
import secrets
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from qdrant_client import QdrantClient

from muniment.domain.events import Status, Traits
from muniment.domain.time import FOREVER, Instant, Period
from muniment.projections.current import point_id
from muniment.projections.current_edge import EdgeEngine
from muniment.projections.current_server import ServerEngine
from muniment.projections.memory_current import MemoryEngine
from muniment.projections.ports import (
    Engine,
    Found,
    Generation,
    Point,
    Terms,
    Vector,
    Within,
)


SERVER_URL = os.environ.get("MUNIMENT_TEST_QDRANT_URL")
ENGINES = ("memory", "edge", "client", *(["server"] if SERVER_URL else []))
LEDGER = "main"
FIRST = Generation(
    number=1, model="toy-3", dimensions=3, lexicon="toy", active_from=Instant(0)
)


@contextmanager
def engine_of(kind: str, directory: Path) -> Iterator[Engine]:
    """Give an engine of one kind; what it holds is gone afterwards."""
    match kind:
        case "memory":
            yield MemoryEngine()
        case "edge":
            engine = EdgeEngine(directory / "current")
            yield engine
            engine.close()
        case "client":
            yield ServerEngine(QdrantClient(":memory:"), store="test")
        case _:
            assert SERVER_URL is not None, "a server is named"
            store = f"test-{secrets.token_hex(4)}"
            server = ServerEngine.at(SERVER_URL, store=store, api_key=None, timeout=10)
            yield server
            for number in range(1, 4):
                server.drop(number)
            server.close()


@contextmanager
def quiet_client() -> Iterator[None]:
    """Let the client's imitation say that it has no payload indexes."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Payload indexes have no effect", UserWarning)
        yield


def traits(
    *,
    category: str | None = None,
    confidence: float = 1.0,
    expires_at: int | None = None,
) -> Traits:
    return Traits(
        category=category,
        attribute=None,
        status=Status.ACTIVE,
        confidence=confidence,
        importance=0.5,
        core=False,
        expires_at=None if expires_at is None else Instant(expires_at),
    )


def point(
    fact_id: str,
    *,
    subject_ref: str = "ann",
    position: int = 1,
    valid: tuple[int, int] = (0, FOREVER),
    said: Traits | None = None,
    vectors: tuple[Vector | None, Terms | None] = ((1.0, 0.0, 0.0), None),
) -> Point:
    period = Period(Instant(valid[0]), Instant(valid[1]))
    return Point(
        point_id=point_id(LEDGER, fact_id, period.start),
        fact_id=fact_id,
        subject_ref=subject_ref,
        version=position,
        position=position,
        valid=period,
        traits=said or traits(),
        dense=vectors[0],
        sparse=vectors[1],
    )


def within(
    *subject_refs: str, valid_at: int = 10, expired_at: int = 10, **narrowed: object
) -> Within:
    return Within(
        subject_refs=subject_refs or ("ann",),
        valid_at=Instant(valid_at),
        expired_at=Instant(expired_at),
        **narrowed,  # type: ignore[arg-type]
    )


def names(found: Sequence[Found]) -> list[str]:
    """Return the facts that were found, best first."""
    return [each.fact_id for each in found]
