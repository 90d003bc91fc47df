"""What every engine promises of its generations, run on each."""

import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from muniment.domain.events import Status
from muniment.errors import ConfigurationError, IndexHeldError, IndexUnavailableError
from muniment.projections import current
from muniment.projections.current_edge import EdgeCurrent, EdgeEngine
from muniment.projections.current_server import ServerEngine
from muniment.projections.ports import Engine, Generation, Terms
from muniment.projections.reconcile import differences
from tests.engines import (
    ENGINES,
    FIRST,
    engine_of,
    names,
    point,
    quiet_client,
    within,
)
from tests.projecting import (
    a_life,
    applied,
    believed,
    findable,
    place_at,
    settings_of,
    shown,
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
    assert [each.has_dense for each in facts.scroll(after=None, limit=5)[0]] == [False]
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


def test_what_binds_every_search_is_indexed_in_a_shard_that_came_before_the_index_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(current, "KEYWORDS", ("category",))
    engine = EdgeEngine(tmp_path)
    old = engine.open(FIRST)
    old.upsert([point("f1")], until=1)
    old.close()
    monkeypatch.undo()

    facts = engine.open(FIRST)

    assert isinstance(facts, EdgeCurrent)
    indexed = facts._shard.info().payload_schema
    must, must_not = current.conditions(within(statuses=(Status.ACTIVE,)))
    assert {each.field for each in (*must, *must_not)} <= indexed.keys()
    assert indexed["status"].points == 1
    assert names(facts.nearest(EAST, within(), limit=5)) == ["f1"]
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


class _Answer(BaseHTTPRequestHandler):
    """Answers every question with one status and one version."""

    status, version = 200, "1.15.4"

    def do_GET(self) -> None:
        body = json.dumps({"title": "qdrant", "version": self.version}).encode()
        self.send_response(self.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_ignored: object) -> None:
        """Keep quiet."""


@contextmanager
def server(answer: type[_Answer]) -> Iterator[str]:
    """Run a server that is none; give its URL."""
    with ThreadingHTTPServer(("127.0.0.1", 0), answer) as listening:
        serving = threading.Thread(target=listening.serve_forever)
        serving.start()
        try:
            yield f"http://127.0.0.1:{listening.server_port}"
        finally:
            listening.shutdown()
            serving.join()


def test_a_server_too_old_to_compare_and_set_is_refused() -> None:
    with server(_Answer) as url:
        engine = ServerEngine.at(url, store="test", api_key=None, timeout=2)

        with pytest.raises(ConfigurationError, match="upgrade it to"):
            engine.open(FIRST)
        engine.close()


def test_a_server_that_answers_with_an_error_is_unavailable() -> None:
    class Broken(_Answer):
        status = 503

    with server(Broken) as url:
        engine = ServerEngine.at(url, store="test", api_key=None, timeout=2)

        with pytest.raises(IndexUnavailableError):
            engine.exists(1)
        engine.close()


def test_the_projector_ends_where_the_timeline_does_on_every_engine(
    engine: Engine, tmp_path: Path
) -> None:
    with place_at(settings_of("memory", tmp_path), engine) as place:
        a_life(place)

        catch_up = applied(place.catch_up(), limit=5)

        for user_id in ("ann", "bob"):
            assert shown(findable(place, catch_up, user_id)) == believed(place, user_id)
        assert differences(place.sources, catch_up) == []
        catch_up.facts.close()


def test_searches_and_writes_at_once_disturb_each_other_nowhere(tmp_path: Path) -> None:
    engine = EdgeEngine(tmp_path)
    facts = engine.open(FIRST)
    facts.upsert([point("steady")], until=1)
    done = threading.Event()

    def write() -> None:
        for number in range(20):
            facts.upsert([point("moving", position=number)], until=number)
            facts.delete([point("moving").point_id], until=number)
            facts.flush()
        done.set()

    with ThreadPoolExecutor(2) as pool:
        writing = pool.submit(write)
        while not done.is_set() and not writing.done():
            assert "steady" in names(facts.nearest(EAST, within(), limit=5))
        writing.result()

    assert names(facts.nearest(EAST, within(), limit=5)) == ["steady"]
    facts.close()
    engine.close()
