import math
from array import array
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from muniment import MemoryStore
from muniment.errors import ConfigurationError, InvalidValueError
from muniment.projections.ports import Vector
from muniment.recall.small_talk import SMALL_TALK
from tests.searching import (
    MeaningOfThree,
    SteppingClock,
    asked_again,
    contents,
    open_at,
    open_with,
)


def test_a_fact_that_cannot_be_embedded_is_found_by_its_words_and_later_by_meaning(
    tmp_path: Path,
) -> None:
    embedder = MeaningOfThree()
    embedder.refused = {"an engineer"}
    with open_with(embedder, tmp_path / "store") as store:
        store.remember_many(["likes dumplings", "an engineer", "sleeps"], user_id="u")

        by_word = store.search("engineer", user_id="u", explain=True)
        embedder.refused = set()
        by_meaning = store.search("profession", user_id="u", explain=True)

    assert contents(by_word)[0] == "an engineer"
    assert "meaning" not in by_word[0].legs
    assert by_word.unserved == {"meaning": "1 facts have no vector yet"}
    assert contents(by_meaning)[0] == "an engineer"
    assert by_meaning[0].legs["meaning"].rank == 1
    assert by_meaning.unserved == {}


def test_an_embedder_that_is_down_leaves_the_other_legs(tmp_path: Path) -> None:
    embedder = MeaningOfThree()
    with open_with(embedder, tmp_path / "store") as store:
        store.remember_many(["green tea", "dumplings"], user_id="u")
        embedder.is_down = True

        hits = store.search("tea", user_id="u")

    assert contents(hits) == ["green tea"]
    assert hits.unserved == {"meaning": "it is down"}


def test_a_text_is_embedded_once(tmp_path: Path) -> None:
    embedder = MeaningOfThree()
    with open_with(embedder, tmp_path / "store") as store:
        store.remember_many(["green tea", "dumplings"], user_id="u")
        for _ in range(3):
            store.search("anything", user_id="u")
    with open_with(embedder, tmp_path / "store") as store:
        store.search("anything", user_id="u")

    assert embedder.asked.count("green tea") == 1


def test_what_is_near_to_everything_is_not_what_was_asked_for() -> None:
    # The question is nearest to what is near to all, and nearer than usual to the tea.
    embedder = _Given(
        {
            "a bit of everything": (0.6, 0.6, 0.5),
            "green tea": (1.0, 0.0, 0.0),
            "a compiler": (0.0, 1.0, 0.0),
            "a cello": (0.0, 0.0, 1.0),
            "which drink": (0.8, 0.6, 0.0),
        }
    )
    with open_at("memory://") as store:
        store._recall.meaning.use(embedder)
        texts = ["a bit of everything", "green tea", "a compiler", "a cello"]
        store.remember_many(texts, user_id="u")

        hits = store.search("which drink", user_id="u", explain=True)

    assert {hit.fact.content: hit.legs["meaning"].rank for hit in hits} == {
        "green tea": 1,
        "a compiler": 2,
        "a bit of everything": 3,
        "a cello": 4,
    }


def test_what_all_talk_is_like_is_not_what_a_conversation_is_about() -> None:
    talk: dict[str, tuple[float, ...]] = dict.fromkeys(SMALL_TALK, (0.9, 0.1, 0.4))
    embedder = _Given(
        {
            "we talked a lot": (1.0, 0.0, 0.0),
            "the old turtle": (0.0, 1.0, 0.0),
            "I want a dog": (0.8, 0.6, 0.0),
            "hello\nI want a dog": (0.8, 0.6, 0.0),
            **talk,
        }
    )
    with open_at("memory://") as store:
        store._recall.meaning.use(embedder)
        store.remember_many(["we talked a lot", "the old turtle"], user_id="u")
        store.search("I want a dog", user_id="u")
        alone = list(embedder.asked)

        found = [
            store.search("I want a dog", user_id="u", recent_turns=["hello"], explain=True)
            for _ in range(2)
        ]

    assert not set(SMALL_TALK).intersection(alone)
    assert all(embedder.asked.count(each) == 1 for each in SMALL_TALK)
    for hits in found:
        assert contents(hits) == ["the old turtle", "we talked a lot"]
        assert [hit.legs["meaning"].rank for hit in hits] == [1, 2]


@pytest.mark.parametrize("place", ["memory", "directory"])
def test_a_search_as_of_before_a_reindexing_ranks_with_the_model_of_then(
    place: str, tmp_path: Path
) -> None:
    clock = SteppingClock()
    target = "memory://" if place == "memory" else tmp_path / "store"
    embedder = MeaningOfThree()
    with open_at(target, clock=clock) as store:
        _use(store, embedder)
        facts = store.remember_many(
            ["likes dumplings", "an engineer", "sleeps well"], user_id="u"
        )
        clock.forward(days=1)
        then = store.search("cuisine", user_id="u", explain=True)
        clock.forward(days=1)
        store.update(facts.fact_ids[0], content="likes nothing")
        store.reindex(embedder="hashing")
        clock.forward(days=1)

        now = store.search("cuisine", user_id="u", explain=True)
        again = asked_again(store, "cuisine", then, explain=True)
        # The other model came into use without anything being recorded since.
        same = asked_again(store, "cuisine", now, explain=True)

    assert now.model == "hashing-256"
    assert again == then
    assert same == now
    assert again.model == "three"
    assert contents(again)[0] == "likes dumplings"


def test_a_store_is_not_opened_with_another_embedder_than_its_own(tmp_path: Path) -> None:
    with open_at(tmp_path / "store", embedder="hashing") as store:
        store.remember("tea", user_id="u")
        store.search("tea", user_id="u")
        store.reindex(embedder="none")

    with pytest.raises(ConfigurationError, match="muniment reindex --embedder hashing"):
        open_at(tmp_path / "store", embedder="hashing")
    with open_at(tmp_path / "store", embedder="none") as store:
        assert store.search("tea", user_id="u").unserved == {
            "meaning": "no embedder is set"
        }


def test_reindexing_refuses_an_embedder_it_does_not_know() -> None:
    with open_at("memory://") as store, pytest.raises(InvalidValueError):
        store.reindex(embedder="word2vec")  # type: ignore[arg-type]


def test_catching_up_embeds_all_and_reconciles(tmp_path: Path) -> None:
    with open_at(tmp_path / "store", embedder="hashing") as store:
        store.remember_many([f"tea number {number}" for number in range(200)], user_id="u")
        before = store.search("tea", user_id="u", limit=1)

        progress = store.catch_up()

        assert before.unserved == {"meaning": "200 facts have no vector yet"}
        assert (progress.pending, progress.reached) == (0, progress.head)
        assert store.search("tea", user_id="u").unserved == {}
        assert store.reconcile() == ()


def test_a_second_store_searches_while_the_first_holds_the_engine(tmp_path: Path) -> None:
    with (
        open_at(tmp_path / "store", embedder="hashing") as first,
        open_at(tmp_path / "store", embedder="hashing") as second,
    ):
        first.remember("green tea", user_id="u")
        first.catch_up()

        progress = second.catch_up()

        assert contents(second.search("tea", user_id="u")) == ["green tea"]
        assert progress.waiting is not None
        assert progress.stopped is None


class _Given:
    """An embedder that was given the vector of each text."""

    name = "given"
    dimensions = 3
    batch = 4

    def __init__(self, known: Mapping[str, tuple[float, ...]]) -> None:
        self._known = known
        self.asked: list[str] = []

    def passages(self, texts: Sequence[str]) -> Sequence[Vector]:
        self.asked += texts
        lengths = [math.hypot(*self._known[each]) for each in texts]
        return [
            array("f", (number / length for number in self._known[each]))
            for each, length in zip(texts, lengths, strict=True)
        ]

    def query(self, text: str) -> Vector:
        return self.passages([text])[0]

    def queries(self, texts: Sequence[str]) -> Sequence[Vector]:
        return self.passages(texts)


def _use(store: MemoryStore, embedder: MeaningOfThree) -> None:
    """Make *embedder* the one that the store and its index ask."""
    store._recall.meaning.use(embedder)
