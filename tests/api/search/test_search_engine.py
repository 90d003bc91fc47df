"""Searches of a subject with more facts than are ranked one by one."""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path

import pytest

from muniment import MemoryStore, Scope
from muniment.api.recalling import LEXICON
from muniment.errors import InvalidValueError
from muniment.ledger.records import StampedEvent
from muniment.recall import documents, preselection
from muniment.recall.preselection import Preselected, Preselection, Sought
from tests.searching import START, SteppingClock, ask_the_engine, contents, open_at


@pytest.fixture(params=["memory", "edge"])
def store(
    request: pytest.FixtureRequest, tmp_path: Path, clock: SteppingClock
) -> Iterator[MemoryStore]:
    """A store in which the engine is asked from the first fact on."""
    target = "memory://" if request.param == "memory" else tmp_path / "store"
    with open_at(target, clock=clock, embedder="hashing") as opened:
        ask_the_engine(opened)
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


def test_what_the_engine_finds_is_ranked_as_among_all(store: MemoryStore) -> None:
    said = ["which tea do you like?", "jasmine, with honey", "a red car", "a blue car"]
    facts = [
        {"content": text, "source_turns": [f"t{number}"], "valid_from": START}
        for number, text in enumerate(said)
    ]
    store.remember_many(facts, user_id="u")
    store.catch_up()
    preselected = store.search("tea", user_id="u", explain=True)
    store._recall.searcher._preselection = Preselection(
        store._recall.upkeep, store._recall.meaning, LEXICON
    )

    among_all = store.search("tea", user_id="u", explain=True)

    assert contents(preselected) == contents(among_all)
    assert [hit.legs["meaning"] for hit in preselected] == [
        hit.legs["meaning"] for hit in among_all
    ]
    assert [hit.fact.content for hit in preselected if "keyword" in hit.legs] == said[:2]


def test_a_history_too_long_to_be_kept_is_not_read_for_every_search(
    store: MemoryStore, clock: SteppingClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    store._recall.searcher._preselection = Preselection(
        store._recall.upkeep, store._recall.meaning, LEXICON
    )
    monkeypatch.setattr(documents, "_RECTANGLES_MAX", 2)
    monkeypatch.setattr(preselection, "REREAD_MAX", 0)
    store.remember_many(["green tea", "black tea", "a red car"], user_id="u")
    store.catch_up()
    whole = store.search("tea", user_id="u")
    subject = store._ledger.vault.find(Scope.user("u"))
    assert subject is not None
    opened = store._recall.documents.of
    asked: list[object] = []
    monkeypatch.setattr(
        store._recall.documents, "of", lambda *whose, **_at: asked.append(whose)
    )

    again = store.search("tea", user_id="u", limit=2)

    assert asked == []
    assert contents(again) == contents(whole)[:2]
    monkeypatch.setattr(store._recall.documents, "of", opened)
    clock.forward(days=1)
    store.remember("white tea", user_id="u")
    assert "white tea" in contents(store.search("white", user_id="u"))


def test_what_was_opened_of_a_history_too_long_to_be_kept_does_not_pile_up(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = store._recall.documents
    monkeypatch.setattr(documents, "_RECTANGLES_MAX", 2)
    monkeypatch.setattr(kept, "_kept_max", 3)
    store.remember_many([f"tea number {number}" for number in range(6)], user_id="u")

    hits = store.search("tea", user_id="u")

    assert len(hits) == 6
    assert sum(len(each.opened) for each in kept._kept.values()) <= 3
    assert contents(store.search("tea", user_id="u")) == contents(hits)


def test_only_what_the_engine_finds_is_read_from_the_ledger(tmp_path: Path) -> None:
    teas = ["green tea", *(f"number {number}" for number in range(300)), "black tea"]
    with open_at(tmp_path / "store") as store:
        store.remember_many(teas, user_id="u")
        store.catch_up()
        ask_the_engine(store)
        recorder = store._ledger.recorder
        read: list[int] = []
        of_events = recorder.whole

        def noted(events: Sequence[StampedEvent]) -> Sequence[StampedEvent]:
            read.extend(each.position for each in events)
            return of_events(events)

        recorder.whole = noted  # type: ignore[method-assign]

        hits = store.search("tea", user_id="u", limit=2)

    assert sorted(read) == sorted({hit.fact.position for hit in hits})
    assert set(contents(hits)) == {"green tea", "black tea"}


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


def test_receipts_and_what_others_write_put_nobody_behind(store: MemoryStore) -> None:
    store.remember("green tea", user_id="u")
    store.catch_up()
    asks = store._recall.searcher._preselection.of
    found: list[Preselected | None] = []

    def noted(sought: Sought) -> Preselected | None:
        found.append(asks(sought))
        return found[-1]

    store._recall.searcher._preselection.of = noted  # type: ignore[method-assign]

    store.search("tea", user_id="u")
    store._receipts.flush()
    store.remember("tea of another", user_id="u2")
    hits = store.search("tea", user_id="u")
    store.remember("black tea", user_id="u")
    behind = store.search("tea", user_id="u")

    assert contents(hits) == ["green tea"]
    assert [each is not None for each in found] == [True, True, False]
    assert set(contents(behind)) == {"green tea", "black tea"}


def test_an_engine_that_is_closed_is_done_without(store: MemoryStore) -> None:
    store.remember("green tea", user_id="u")
    store.catch_up()
    current = store._recall.upkeep.current()
    assert current is not None
    current[1].close()

    assert contents(store.search("green", user_id="u")) == ["green tea"]


def test_a_filter_never_shortens_an_answer_that_could_be_full(
    store: MemoryStore, clock: SteppingClock
) -> None:
    early = [f"tea number {number}" for number in range(150)]
    store.remember_many(early, user_id="u")
    day = clock.forward(days=1)
    late = [
        {"content": f"tea of {number}", "source": f"tool-{number % 2}"}
        for number in range(8)
    ]
    store.remember_many(late, user_id="u")
    store.remember("nobody knows since when, tea", user_id="u", valid_to=START)
    clock.forward(days=1)
    store.catch_up()

    def count(**narrow: object) -> int:
        hits = store.search("tea", user_id="u", limit=120, **narrow)  # type: ignore[arg-type]
        return len(hits)

    assert count() == 120
    assert count(since=day) == 8
    assert count(until=day) == 120
    assert count(since=day, until=day + timedelta(hours=1)) == 8
    assert count(source="tool-1") == 4
    assert count(source=["tool-0", "tool-1"], since=day) == 8


def test_what_the_engine_finds_and_may_not_be_shown_is_made_up_for(
    store: MemoryStore, clock: SteppingClock
) -> None:
    facts = store.remember_many([f"tea {number}" for number in range(260)], user_id="u")
    store.catch_up()
    clock.forward(days=1)
    # As if it were up to date: most of what it finds best is not believed any more.
    store._recall.upkeep.reached = lambda: 2**62  # type: ignore[method-assign]
    best = store.search("tea", user_id="u", limit=200)
    for hit in best:
        store.forget(hit.fact_id)

    hits = store.search("tea", user_id="u", limit=60)

    left = set(facts.fact_ids) - {hit.fact_id for hit in best}
    assert {hit.fact_id for hit in hits} == left


def test_an_answer_knows_at_least_what_is_asked_for(store: MemoryStore) -> None:
    first = store.remember("black tea", user_id="u")
    store.catch_up()
    last = store.remember("green tea", user_id="u")

    def found(min_position: int | None) -> set[str | None]:
        return set(contents(store.search("tea", user_id="u", min_position=min_position)))

    assert found(None) == found(last.position) == {"black tea", "green tea"}
    # The engine is behind, and that is said to be good enough.
    assert found(first.position) == found(0) == {"black tea"}
    assert contents(
        store.search("tea", user_id="u", as_of=first.recorded_at, min_position=1)
    ) == ["black tea"]
    # Further than the receipts of these searches can have come.
    beyond = last.position + 1_000
    for as_of, asked in ((None, beyond), (first.recorded_at, last.position)):
        with pytest.raises(InvalidValueError, match="the last position known there"):
            store.search("tea", user_id="u", as_of=as_of, min_position=asked)
    with pytest.raises(InvalidValueError):
        store.search("tea", user_id="u", min_position=-1)
