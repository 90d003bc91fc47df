from pathlib import Path

import pytest

from muniment import MemoryStore
from muniment.errors import ConfigurationError, InvalidValueError
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


def _use(store: MemoryStore, embedder: MeaningOfThree) -> None:
    """Make *embedder* the one that the store and its index ask."""
    store._recall.meaning.use(embedder)
