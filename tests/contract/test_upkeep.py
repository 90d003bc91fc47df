"""What keeps the current facts up while a store is open, and never stands in its way."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from muniment.errors import (
    IndexHeldError,
    IndexUnavailableError,
    ProjectionError,
)
from muniment.projections.catch_up import Makers
from muniment.projections.current_edge import EdgeEngine
from muniment.projections.ports import Engine
from muniment.projections.reconcile import Fault
from muniment.projections.upkeep import Upkeep
from tests.projecting import (
    Place,
    ToyEmbedder,
    ToyLexicon,
    believed,
    place_at,
    poison,
    settings_of,
    subject_of,
)
from tests.upkeeping import SECONDS, FlakyEngine, found, head, running, until


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    with place_at(settings_of("sqlite", tmp_path), FlakyEngine()) as place:
        yield place


def test_what_is_written_is_soon_found(place: Place) -> None:
    with running(place.upkeep()) as upkeep:
        place.store.remember("plays go", user_id="bob")
        upkeep.wake()

        assert upkeep.wait_until(head(place), seconds=SECONDS)
        assert found(place, upkeep, "bob") == believed(place, "bob")


def test_what_another_process_writes_is_noticed_without_a_word(place: Place) -> None:
    with running(place.upkeep(poll_seconds=0.01)) as upkeep:
        place.store.remember("plays go", user_id="bob")

        until(upkeep, lambda: upkeep.reached() == head(place))


def test_without_a_lasting_engine_vectors_are_made_and_nobody_is_told_of_points(
    place: Place,
) -> None:
    def without() -> Upkeep:
        return Upkeep(place.sources, place.makers, place.generations, None)

    place.store.remember("plays go", user_id="bob")
    first, second = without(), without()
    first.tend()
    place.store.remember("sings", user_id="bob")
    second.tend()
    second.rebuild()

    assert second.progress().reached == head(place)
    assert place.sources.vectors.count(subject_of(place, "bob").ref) == 2
    assert place.embedder.asked == ["plays go", "sings"]
    assert (second.current(), second.reached(), second.is_in_use()) == (None, 0, False)
    with pytest.raises(IndexUnavailableError):
        second.reconcile(mend=True)

    # Whoever has an engine begins at the beginning, and nothing is counted for it.
    with running(place.upkeep()) as upkeep:
        assert upkeep.wait_until(head(place), seconds=SECONDS)
        assert found(place, upkeep, "bob") == believed(place, "bob")
    place.store.remember("dives", user_id="bob")
    second.tend()
    assert second.progress().reached == head(place) > second.reached()
    assert second.is_in_use()
    second.rebuild()
    assert second.is_in_use(), "its points are there until it opens the new ones"
    with running(place.upkeep()) as upkeep:
        assert upkeep.wait_until(head(place), seconds=SECONDS)
        assert found(place, upkeep, "bob") == believed(place, "bob")
    assert not place.engine.exists(2)


def test_nobody_waits_longer_than_asked(place: Place) -> None:
    place.store.remember("plays go", user_id="bob")
    upkeep = place.upkeep()

    assert not upkeep.wait_until(head(place), seconds=0.01)
    assert upkeep.wait_until(0, seconds=0)


def test_while_the_engine_is_down_writes_go_on_and_then_it_catches_up_alone(
    place: Place,
) -> None:
    assert isinstance(place.engine, FlakyEngine)
    outage = place.engine.outage
    with running(place.upkeep(poll_seconds=0.01)) as upkeep:
        place.store.remember("plays go", user_id="bob")
        assert upkeep.wait_until(head(place), seconds=SECONDS)

        outage.is_on = True
        place.store.remember("plays chess", user_id="bob")
        until(upkeep, lambda: upkeep.progress().waiting is not None)
        assert isinstance(upkeep.progress().waiting, IndexUnavailableError)
        assert upkeep.reached() < head(place)
        assert len(believed(place, "bob")) == 2

        outage.is_on = False
        assert upkeep.wait_until(head(place), seconds=SECONDS)
        until(upkeep, lambda: upkeep.progress().waiting is None)
        assert found(place, upkeep, "bob") == believed(place, "bob")


def test_an_engine_that_is_down_at_the_start_comes_later(place: Place) -> None:
    assert isinstance(place.engine, FlakyEngine)
    place.engine.outage.is_on = True
    upkeep = place.upkeep()
    place.store.remember("plays go", user_id="bob")

    upkeep.tend()
    assert upkeep.current() is None
    assert upkeep.progress().generation is None

    place.engine.outage.is_on = False
    upkeep.tend()
    assert found(place, upkeep, "bob") == believed(place, "bob")
    upkeep.close()


def test_an_engine_that_another_process_holds_is_taken_when_it_is_let_go(
    tmp_path: Path,
) -> None:
    with place_at(settings_of("sqlite", tmp_path)) as place:
        holder = EdgeEngine(tmp_path / "current")
        upkeep = place.upkeep(lambda: EdgeEngine(tmp_path / "current"))
        place.store.remember("plays go", user_id="bob")

        upkeep.tend()
        assert isinstance(upkeep.progress().waiting, IndexHeldError)
        assert upkeep.current() is None
        with pytest.raises(IndexHeldError):
            upkeep.reconcile(mend=False)

        holder.close()
        upkeep.tend()
        assert found(place, upkeep, "bob") == believed(place, "bob")
        assert upkeep.progress().waiting is None
        upkeep.close()
        EdgeEngine(tmp_path / "current").close()


def test_a_process_without_the_engine_has_the_vectors_that_another_made(
    tmp_path: Path,
) -> None:
    settings = settings_of("sqlite", tmp_path)
    with place_at(settings) as holder, place_at(settings) as other:
        upkeep = holder.upkeep()
        fact = other.store.remember("plays go", user_id="bob")
        upkeep.tend()

        vectors = other.sources.vectors.of(
            subject_of(other, "bob"), "toy-8", [(fact.fact_id, 1)]
        )

        assert [list(each) for each in vectors.values()] == [
            ToyEmbedder().query("plays go")
        ]
        assert other.upkeep().reached() == head(other)
        upkeep.close()


def test_it_stops_at_an_event_that_cannot_be_read_and_goes_on_when_told(
    tmp_path: Path,
) -> None:
    with place_at(settings_of("memory", tmp_path)) as place:
        for number in range(4):
            place.store.remember(f"fact {number}", user_id="ann")
        mended = poison(place, position=3)
        upkeep = place.upkeep()

        upkeep.tend()
        stopped = upkeep.progress()
        assert isinstance(stopped.stopped, ProjectionError)
        assert (stopped.reached, stopped.head) == (2, 4)
        mended()
        upkeep.tend()
        assert upkeep.progress().reached == 2, "it waits until it is told"

        upkeep.resume()
        upkeep.tend()
        assert (upkeep.progress().stopped, upkeep.reached()) == (None, 4)
        upkeep.close()


def test_a_fault_of_ours_is_told_and_not_swallowed(place: Place) -> None:
    class Broken(ToyLexicon):
        def passage(self, text: str) -> object:  # type: ignore[override]
            raise ZeroDivisionError(text)

    place.store.remember("plays go", user_id="bob")
    makers = Makers(embedder=place.embedder, lexicon=Broken())  # type: ignore[arg-type]
    upkeep = Upkeep(place.sources, makers, place.generations, lambda: place.engine)

    upkeep.tend()

    assert isinstance(upkeep.progress().stopped, ZeroDivisionError)
    assert upkeep.reached() == 0
    upkeep.close()


def test_pending_embeddings_are_tried_again_by_themselves(place: Place) -> None:
    place.embedder.fails = lambda text: "go" in text
    with running(place.upkeep(poll_seconds=0.01)) as upkeep:
        place.store.remember_many(["plays go", "sings"], user_id="bob")
        assert upkeep.wait_until(head(place), seconds=SECONDS)
        assert upkeep.progress().pending == 1

        place.embedder.fails = lambda _text: False
        until(upkeep, lambda: upkeep.progress().pending == 0)
        assert found(place, upkeep, "bob") == believed(place, "bob")


def test_reconcile_mends_when_asked_to(place: Place) -> None:
    place.store.remember_many(["plays go", "sings"], user_id="bob")
    upkeep = place.upkeep()
    upkeep.tend()
    current = upkeep.current()
    assert current is not None
    current[1].delete_subject(subject_of(place, "bob").ref)

    listed = upkeep.reconcile(mend=False)
    mended = upkeep.reconcile(mend=True)

    assert [each.fault for each in listed] == [Fault.MISSING] * 2
    assert mended == listed
    assert upkeep.reconcile(mend=False) == []
    assert found(place, upkeep, "bob") == believed(place, "bob")
    upkeep.close()


def test_closing_twice_and_starting_twice_is_harmless(place: Place) -> None:
    upkeep = place.upkeep()
    upkeep.start()
    upkeep.start()

    upkeep.close()
    upkeep.close()

    assert upkeep.current() is None


def test_the_engine_in_process_serves_a_store_and_its_next_opening(tmp_path: Path) -> None:
    settings = settings_of("sqlite", tmp_path)

    def engine() -> Engine:
        return EdgeEngine(tmp_path / "current")

    with place_at(settings) as place, running(place.upkeep(engine)) as upkeep:
        place.store.remember_many(["plays go", "sings"], user_id="bob")
        assert upkeep.wait_until(head(place), seconds=SECONDS)
        assert found(place, upkeep, "bob") == believed(place, "bob")

    with place_at(settings) as place, running(place.upkeep(engine)) as upkeep:
        fact = place.store.remember("draws", user_id="bob")
        assert upkeep.wait_until(head(place), seconds=SECONDS)
        assert found(place, upkeep, "bob") == believed(place, "bob")
        assert place.embedder.asked == ["draws"]
        upkeep.rebuild()
        assert (fact.fact_id, 1) in found(place, upkeep, "bob")
        assert upkeep.reconcile(mend=False) == []
