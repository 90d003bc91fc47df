"""What the projector of current facts promises, whatever the ledger lives in."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from eventsourcing.persistence import Tracking

from muniment.errors import Corruption, ProjectionError
from muniment.projections.batches import read_batch
from muniment.projections.catch_up import CatchUp
from muniment.projections.memory_current import MemoryEngine
from muniment.projections.ports import Terms
from muniment.projections.reconcile import differences
from tests.projecting import (
    Place,
    ToyLexicon,
    a_life,
    applied,
    believed,
    by_words,
    findable,
    place_at,
    poison,
    settings_of,
    shown,
)


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    url = (
        request.getfixturevalue("postgres_database")
        if request.param == "postgresql"
        else None
    )
    with place_at(settings_of(request.param, tmp_path, url)) as place:
        yield place


def test_a_search_finds_what_is_believed_and_nothing_else(place: Place) -> None:
    a_life(place)

    catch_up = applied(place.catch_up())

    assert believed(place, "ann")
    for user_id in ("ann", "bob"):
        assert shown(findable(place, catch_up, user_id)) == believed(place, user_id)
    assert catch_up.reached() == place.ledger.present().head.position


def test_every_believed_period_has_one_point(place: Place) -> None:
    a_life(place)

    catch_up = applied(place.catch_up())

    now = place.ledger.present().head.recorded_at
    rows = [row for row in place.sources.timeline.rows() if now in row.recorded]
    assert catch_up.facts.count() == len(rows) > 8
    assert differences(place.sources, catch_up) == []


@pytest.mark.parametrize("limit", [1, 2, 3, 7])
def test_small_steps_end_where_a_large_one_does(place: Place, limit: int) -> None:
    a_life(place)

    small = applied(place.catch_up(), limit)
    place.engine = MemoryEngine()
    number = place.generations.begin(model="toy-8", dimensions=8, lexicon="toy").number
    place.generations.activate(number)
    large = applied(place.catch_up())

    assert small.facts.scroll(after=None, limit=99) == large.facts.scroll(
        after=None, limit=99
    )


def test_the_index_follows_the_ledger_step_by_step(place: Place) -> None:
    fact = place.store.remember("writes Python", user_id="ann")
    catch_up = applied(place.catch_up())
    assert shown(findable(place, catch_up, "ann")) == {(fact.fact_id, 1)}

    place.store.update(fact.fact_id, content="writes Rust")
    place.store.forget(place.store.remember("x", user_id="ann").fact_id, mode="retire")

    assert shown(findable(place, catch_up, "ann")) != believed(place, "ann")
    applied(catch_up)
    assert shown(findable(place, catch_up, "ann")) == {(fact.fact_id, 2)}


def test_a_step_never_splits_a_transaction(place: Place) -> None:
    place.store.remember_many([f"fact {n}" for n in range(5)], user_id="ann")
    catch_up = place.catch_up()

    assert catch_up.step(limit=2) == 5
    assert catch_up.step(limit=2) == 0


def test_applying_a_step_again_changes_nothing(place: Place) -> None:
    a_life(place)
    catch_up = applied(place.catch_up())
    before = catch_up.facts.scroll(after=None, limit=99)

    place.generations.begin(model="toy-8", dimensions=8, lexicon="toy")
    again = CatchUp(
        place.sources,
        place.makers,
        generation=place.generations.every()[-1],
        facts=catch_up.facts,
    )
    applied(again, 3)

    assert catch_up.facts.scroll(after=None, limit=99) == before


def test_an_event_that_cannot_be_read_stops_it_there_and_says_so(tmp_path: Path) -> None:
    with place_at(settings_of("memory", tmp_path)) as place:
        for number in range(4):
            place.store.remember(f"fact {number}", user_id="ann")
        catch_up = place.catch_up()
        good = poison(place, position=3)

        assert catch_up.step() == 2
        with pytest.raises(ProjectionError) as stopped:
            catch_up.step()
        assert stopped.value.position == 3
        assert "current/1" in str(stopped.value)
        assert isinstance(stopped.value.__cause__, Corruption)
        assert catch_up.reached() == 2
        assert len(findable(place, catch_up, "ann")) == 2

        good()
        assert catch_up.step() == 2
        assert len(findable(place, catch_up, "ann")) == 4


def test_whoever_was_slower_agrees_with_whoever_was_faster(place: Place) -> None:
    fact = place.store.remember("writes Python", user_id="ann")
    slow, fast = place.catch_up(), place.catch_up()
    recorder = place.ledger.recorder
    batch = read_batch(place.ledger, after=0, limit=9, projection="current/1")
    assert batch is not None
    place.store.forget(fact.fact_id, mode="retire")
    applied(fast)
    assert fast.facts.count() == 0

    vectors = slow._embed(batch.statements)
    slow._apply(batch.touched, batch.prefix, batch.statements, vectors)
    assert slow.facts.count() == 1, "what was deleted is back"
    slow._move(batch)

    assert slow.facts.count() == 0
    assert recorder.max_tracking_id("current/1") == place.ledger.present().head.position


def test_a_checkpoint_never_moves_back(place: Place) -> None:
    a_life(place)
    catch_up = applied(place.catch_up())
    reached = catch_up.reached()
    batch = read_batch(place.ledger, after=0, limit=1, projection="current/1")
    assert batch is not None

    catch_up._move(batch)

    assert catch_up.reached() == reached


def test_a_generation_without_an_embedder_has_terms_alone(place: Place) -> None:
    place.store.remember("plays go", user_id="bob")
    bare = place.generations.begin(model="", dimensions=0, lexicon="toy")
    makers = type(place.makers)(embedder=None, lexicon=ToyLexicon())
    catch_up = applied(
        CatchUp(place.sources, makers, generation=bare, facts=place.engine.open(bare))
    )

    assert len(by_words(place, catch_up, "bob", "go")) == 1
    assert catch_up.retry(9) == 0
    assert differences(place.sources, catch_up) == []


def test_the_tracking_of_others_is_not_touched(place: Place) -> None:
    place.ledger.recorder.insert_tracking(Tracking("another", 7))
    place.store.remember("sings", user_id="bob")

    applied(place.catch_up())

    assert place.ledger.recorder.max_tracking_id("another") == 7


def test_terms_are_of_the_text(place: Place) -> None:
    fact = place.store.remember("plays go", user_id="bob")

    catch_up = applied(place.catch_up())

    assert by_words(place, catch_up, "bob", "go") == [fact.fact_id]
    assert by_words(place, catch_up, "bob", "chess") == []
    assert isinstance(ToyLexicon().query("go"), Terms)
