"""
What is not to be used comes back through no leg, each tested alone.

By both ways a search goes: with every fact read from the timeline, and with an engine
that says which could matter and still holds what is gone (M17, M27, M55, B51, S3).
"""

from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from muniment import MemoryStore, SearchHits
from muniment.recall import search
from tests.searching import (
    START,
    MeaningOfThree,
    SteppingClock,
    ask_the_engine,
    contents,
    open_with,
)


GONE = "zanzibar dumplings"
KEPT = "zanzibar cuisine"
QUERIES = {
    search.KEYWORD: "zanzibar",
    search.ENTITY: "Orinoco",
    search.MEANING: "what is there to drink",
    search.CONTEXT: "what is there to drink",
    search.EXACT: GONE,
}


def retired(store: MemoryStore, fact_id: str) -> None:
    store.forget(fact_id)


def ended(store: MemoryStore, fact_id: str) -> None:
    store.end(fact_id)


def unverified(store: MemoryStore, fact_id: str) -> None:
    store.correct(fact_id, status="unverified")


def superseded(store: MemoryStore, fact_id: str) -> None:
    store.update(fact_id, content="nothing alike", entities=())


def rolled_back(store: MemoryStore, fact_id: str) -> None:
    store.rollback_fact(fact_id, to_version=0)


def redacted(store: MemoryStore, fact_id: str) -> None:
    store.forget(fact_id, mode="redact", reason="asked")


def restricted(store: MemoryStore, fact_id: str) -> None:
    store.place_hold(user_id="u", fact_id=fact_id, matter="case 1")
    store.forget(fact_id, mode="redact", reason="asked")


def restricted_with_all(store: MemoryStore, _fact_id: str) -> None:
    store.place_hold(user_id="u", matter="case 1")
    store.erase(user_id="u", reason="asked")


def erased(store: MemoryStore, _fact_id: str) -> None:
    store.erase(user_id="u", reason="asked")


def expired(_store: MemoryStore, _fact_id: str) -> None:
    """Time alone does it: both stores are asked after the fact has expired."""


WAYS: dict[str, Callable[[MemoryStore, str], None]] = {
    each.__name__: each
    for each in (
        retired,
        ended,
        unverified,
        superseded,
        rolled_back,
        redacted,
        restricted,
        restricted_with_all,
        erased,
        expired,
    )
}
OF_ALL = {"restricted_with_all", "erased"}
"""After these nothing of the subject is used."""


@pytest.fixture
def clock() -> SteppingClock:
    return SteppingClock()


@pytest.fixture(params=["timeline", "engine"])
def store(
    request: pytest.FixtureRequest, tmp_path: Path, clock: SteppingClock
) -> Iterator[MemoryStore]:
    """A store that reads every fact, or asks Qdrant Edge from the first one on."""
    is_engine = request.param == "engine"
    target = tmp_path / "store" if is_engine else "memory://"
    with open_with(MeaningOfThree(), target, clock=clock) as opened:
        if is_engine:
            ask_the_engine(opened)
        yield opened


@pytest.mark.parametrize("way", WAYS)
def test_what_may_not_be_used_comes_back_through_no_leg(
    store: MemoryStore, clock: SteppingClock, way: str
) -> None:
    expires_at = START + timedelta(days=1) if way == "expired" else None
    fact = store.remember(GONE, user_id="u", entities=["Orinoco"], expires_at=expires_at)
    store.remember(KEPT, user_id="u", entities=["Orinoco"])
    store.remember(GONE, user_id="v", entities=["Orinoco"])
    store.catch_up()
    asked = {**QUERIES, "id": fact.fact_id}
    before = {leg: _found(store, query) for leg, query in asked.items()}
    clock.forward(days=2)
    # As if the engine had heard of everything: what it holds is believed no more.
    store._recall.upkeep.reached = lambda: 2**62  # type: ignore[method-assign]

    WAYS[way](store, fact.fact_id)
    after = {leg: _found(store, query) for leg, query in asked.items()}

    for leg in QUERIES:
        assert leg in _legs_of(before[leg], fact.fact_id), "this leg alone would find it"
    for leg, hits in after.items():
        assert GONE not in contents(hits), leg
        if leg not in ("id", search.EXACT):
            assert (KEPT in contents(hits)) is (way not in OF_ALL)


def test_what_waits_to_be_forgotten_is_still_seen_as_of_then(store: MemoryStore) -> None:
    fact = store.remember(GONE, user_id="u")
    restricted(store, fact.fact_id)
    now = store.get_all(user_id="u").recorded_at

    assert contents(store.search("zanzibar", user_id="u")) == []
    assert contents(store.search("zanzibar", user_id="u", as_of=now)) == [GONE]


def test_what_nobody_has_vouched_for_is_found_only_where_it_is_asked_for(
    store: MemoryStore,
) -> None:
    claimed = store.remember(GONE, user_id="u", status="unverified", source="web:page")
    store.remember(KEPT, user_id="u")
    store.catch_up()
    now = store.get_all(user_id="u").recorded_at

    def found(**narrow: object) -> set[str | None]:
        return set(contents(store.search("zanzibar", user_id="u", **narrow)))  # type: ignore[arg-type]

    assert claimed.status == "unverified"
    assert found() == {KEPT}
    assert found(status="unverified") == {GONE}
    assert found(status=["active", "unverified"]) == {GONE, KEPT}

    confirmed = store.correct(claimed.fact_id, status="active", reason="checked")

    assert (confirmed.status, confirmed.content) == ("active", GONE)
    assert found() == {GONE, KEPT}
    assert found(as_of=now) == {KEPT}


def _found(store: MemoryStore, query: str) -> SearchHits:
    return store.search(query, user_id="u", explain=True)


def _legs_of(hits: SearchHits, fact_id: str) -> set[str]:
    return {leg for hit in hits if hit.fact_id == fact_id for leg in hit.legs}
