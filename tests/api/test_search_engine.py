"""Searches of a subject with more facts than are ranked one by one."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from muniment import MemoryStore
from muniment.api.recalling import LEXICON
from muniment.recall.preselection import Preselection
from tests.searching import SteppingClock, contents, open_at


@pytest.fixture
def clock() -> SteppingClock:
    return SteppingClock()


@pytest.fixture(params=["memory", "edge"])
def store(
    request: pytest.FixtureRequest, tmp_path: Path, clock: SteppingClock
) -> Iterator[MemoryStore]:
    """A store in which the engine is asked from the first fact on."""
    target = "memory://" if request.param == "memory" else tmp_path / "store"
    with open_at(target, clock=clock, embedder="hashing") as opened:
        recall = opened._recall
        recall.searcher._preselection = Preselection(
            recall.upkeep, recall.meaning, LEXICON, ranked_max=0
        )
        yield opened


def test_the_engine_finds_by_words_by_meaning_and_by_id(store: MemoryStore) -> None:
    fact = store.remember("green tea", user_id="u", category="food")
    store.remember_many(["用户住在朝阳区", "a red car"], user_id="u")
    store.remember("tea of another", user_id="u2")
    store.catch_up()

    by_word = store.search("朝阳", user_id="u", explain=True)
    by_id = store.search(fact.fact_id, user_id="u")
    narrowed = store.search("tea", user_id="u", category="food")

    assert contents(by_word)[0] == "用户住在朝阳区"
    assert {"keyword", "meaning", "exact"} <= set(by_word[0].legs)
    assert contents(by_id)[0] == "green tea"
    assert contents(narrowed) == ["green tea"]


def test_what_the_engine_holds_wrongly_is_never_shown(
    store: MemoryStore, clock: SteppingClock
) -> None:
    fact = store.remember("green tea", user_id="u")
    store.remember("black tea", user_id="u")
    store.catch_up()
    current = store._recall.upkeep.current()
    assert current is not None
    held, _ = current[1].scroll(after=None, limit=10)
    clock.forward(days=1)
    store.forget(fact.fact_id)
    # As if it were up to date, and a deleted point had come back.
    store._recall.upkeep.reached = lambda: 2**62  # type: ignore[method-assign]

    hits = store.search("green tea", user_id="u")

    assert fact.fact_id in {each.fact_id for each in held}
    assert contents(hits) == ["black tea"]


def test_what_was_just_written_is_found_though_the_engine_is_behind(
    store: MemoryStore,
) -> None:
    store.remember("black tea", user_id="u")
    store.catch_up()
    store.remember("green tea", user_id="u")

    assert contents(store.search("green", user_id="u"))[0] == "green tea"


def test_an_engine_that_is_closed_is_done_without(store: MemoryStore) -> None:
    store.remember("green tea", user_id="u")
    store.catch_up()
    current = store._recall.upkeep.current()
    assert current is not None
    current[1].close()

    assert contents(store.search("green", user_id="u")) == ["green tea"]
