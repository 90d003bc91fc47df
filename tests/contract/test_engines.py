"""What every engine promises of its generations, run on each."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from muniment.errors import IndexHeldError, IndexUnavailableError
from muniment.projections.current_edge import EdgeEngine
from muniment.projections.current_server import ServerEngine
from muniment.projections.ports import Engine, Generation, Terms
from tests.engines import (
    ENGINES,
    FIRST,
    engine_of,
    names,
    point,
    quiet_client,
    within,
)


EAST, NORTH = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    with quiet_client(), engine_of(request.param, tmp_path) as engine:
        yield engine


def test_generations_are_apart_and_dropping_one_spares_the_other(engine: Engine) -> None:
    second = Generation(
        number=2, model="toy-2", dimensions=2, lexicon="toy", active_from=None
    )
    one = engine.open(FIRST)
    two = engine.open(second)
    one.upsert([point("f1")], until=1)
    two.upsert([point("f2", vectors=((1.0, 0.0), None))], until=1)
    one.flush()

    one.close()
    engine.drop(1)

    assert (engine.exists(1), engine.exists(2)) == (False, True)
    again = engine.open(FIRST)
    assert (again.count(), two.count()) == (0, 1)
    again.close()
    two.close()


def test_what_was_flushed_is_there_when_it_is_opened_again(engine: Engine) -> None:
    facts = engine.open(FIRST)
    facts.upsert([point("f1")], until=1)
    facts.flush()
    facts.close()

    assert engine.exists(1)
    again = engine.open(FIRST)
    assert names(again.nearest(EAST, within(), limit=5)) == ["f1"]
    again.close()


def test_a_generation_without_an_embedder_finds_by_terms_alone(engine: Engine) -> None:
    bare = Generation(number=1, model="", dimensions=0, lexicon="toy", active_from=None)
    terms = Terms(indices=(3,), weights=(1.0,))
    facts = engine.open(bare)

    facts.upsert([point("f1", vectors=(None, terms))], until=1)

    assert names(facts.matching(terms, within(), limit=5)) == ["f1"]
    facts.close()


def test_a_vector_of_another_size_is_refused_and_nothing_is_lost(
    engine: Engine, request: pytest.FixtureRequest
) -> None:
    facts = engine.open(FIRST)
    facts.upsert([point("f1")], until=1)

    if "memory" not in request.node.name:
        with pytest.raises(IndexUnavailableError):
            facts.upsert([point("f2", vectors=((1.0, 0.0), None))], until=2)

    assert names(facts.nearest(EAST, within(), limit=5)) == ["f1"]
    facts.close()


def test_an_engine_in_process_is_held_by_one_at_a_time(tmp_path: Path) -> None:
    first = EdgeEngine(tmp_path)

    with pytest.raises(IndexHeldError):
        EdgeEngine(tmp_path)

    first.close()
    EdgeEngine(tmp_path).close()


def test_a_shard_that_was_half_made_is_made_anew(tmp_path: Path) -> None:
    engine = EdgeEngine(tmp_path)
    (tmp_path / "generation-1.new").mkdir()
    (tmp_path / "generation-1.new" / "segments").write_bytes(b"half")

    assert not engine.exists(1)
    facts = engine.open(FIRST)

    assert facts.count() == 0
    facts.close()
    engine.close()


def test_a_shard_that_cannot_be_read_says_so(tmp_path: Path) -> None:
    engine = EdgeEngine(tmp_path)
    (tmp_path / "generation-1").mkdir()

    with pytest.raises(IndexUnavailableError):
        engine.open(FIRST)
    engine.close()


def test_a_server_that_is_not_there_is_unavailable() -> None:
    engine = ServerEngine.at("http://127.0.0.1:9", store="test", api_key=None, timeout=1)

    with pytest.raises(IndexUnavailableError):
        engine.open(FIRST)
    engine.close()
