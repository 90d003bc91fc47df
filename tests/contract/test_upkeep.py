"""What keeps the current facts up while a store is open, and never stands in its way."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from muniment.errors import (
    ConfigurationError,
    IndexHeldError,
    IndexUnavailableError,
    ProjectionError,
)
from muniment.projections.catch_up import Makers
from muniment.projections.current_edge import EdgeEngine
from muniment.projections.memory_current import MemoryCurrent, MemoryEngine
from muniment.projections.ports import CurrentFacts, Engine, Generation, Point
from muniment.projections.reconcile import Fault
from muniment.projections.upkeep import Upkeep
from tests.contract.test_catching_up import poison, shown, subject_of
from tests.engines import within
from tests.projecting import (
    Place,
    ToyEmbedder,
    ToyLexicon,
    believed,
    place_at,
    settings_of,
)


SECONDS = 20.0
"""Far more than anything here takes."""


class Outage:
    """Whether the engine is down, and who was told."""

    def __init__(self) -> None:
        self.is_on = False

    def check(self) -> None:
        if self.is_on:
            raise IndexUnavailableError("it was switched off")


class FlakyCurrent(MemoryCurrent):
    """Points on an engine that can be switched off."""

    def __init__(self, outage: Outage) -> None:
        super().__init__()
        self._outage = outage

    def upsert(self, points: Sequence[Point], *, until: int) -> None:
        self._outage.check()
        super().upsert(points, until=until)

    def count(self, subject_ref: str | None = None) -> int:
        self._outage.check()
        return super().count(subject_ref)


class FlakyEngine(MemoryEngine):
    """An engine that can be switched off, and that others cannot close."""

    def __init__(self) -> None:
        super().__init__()
        self.outage = Outage()

    def open(self, generation: Generation) -> CurrentFacts:
        self.outage.check()
        made = FlakyCurrent(self.outage)
        return self._generations.setdefault(generation.number, made)


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    with place_at(settings_of("sqlite", tmp_path), FlakyEngine()) as place:
        yield place


@contextmanager
def running(upkeep: Upkeep) -> Iterator[Upkeep]:
    upkeep.start()
    try:
        yield upkeep
    finally:
        upkeep.close()


def head(place: Place) -> int:
    return place.ledger.present().head.position


def found(place: Place, upkeep: Upkeep, user_id: str) -> set[tuple[str, int]]:
    """Return what a search in the current facts finds."""
    current = upkeep.current()
    assert current is not None, "this process has an engine"
    now = place.ledger.present().now
    bounds = within(subject_of(place, user_id).ref, valid_at=now, expired_at=now)
    return shown(current[1].nearest([1.0] * 8, bounds, limit=99))


def until(upkeep: Upkeep, holds: Callable[[], bool]) -> None:
    """Wait until something holds that the thread brings about."""
    with upkeep._moved:
        assert upkeep._moved.wait_for(holds, SECONDS), upkeep.progress()


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


def test_another_model_is_built_beside_the_old_and_then_used(place: Place) -> None:
    fact = place.store.remember("plays go", user_id="bob")
    upkeep = place.upkeep()
    upkeep.tend()
    before = place.ledger.present().head.recorded_at
    other = ToyEmbedder(name="toy-4", dimensions=4)

    generation = upkeep.rebuild(Makers(embedder=other, lexicon=ToyLexicon()))

    assert (generation.number, generation.model) == (2, "toy-4")
    current = upkeep.current()
    assert current is not None
    assert current[0] == generation
    assert current[1].count() == 1
    assert not place.engine.exists(1)
    then = place.generations.at(before)
    assert then is not None
    assert then.model == "toy-8"
    bob = subject_of(place, "bob")
    for model, dimensions in (("toy-8", 8), ("toy-4", 4)):
        kept = place.sources.vectors.of(bob, model, [(fact.fact_id, 1)])
        assert [len(each) for each in kept.values()] == [dimensions]
    place.store.remember("sings", user_id="bob")
    upkeep.tend()
    assert current[1].count() == 2
    upkeep.close()


def test_a_rebuild_holds_the_same_and_embeds_nothing_again(place: Place) -> None:
    place.store.remember_many(["plays go", "sings"], user_id="bob")
    upkeep = place.upkeep()
    upkeep.tend()
    old = upkeep.current()
    assert old is not None
    before = old[1].scroll(after=None, limit=99)

    upkeep.rebuild()

    new = upkeep.current()
    assert new is not None
    assert new[0].number == 2
    assert new[1].scroll(after=None, limit=99) == before
    assert place.embedder.asked == ["plays go", "sings"]
    upkeep.close()


def test_searches_and_writes_go_on_during_a_rebuild(place: Place) -> None:
    place.store.remember("plays go", user_id="bob")
    upkeep = place.upkeep()
    upkeep.tend()
    seen: list[int] = []

    class Curious(ToyEmbedder):
        def passages(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
            seen.append(len(found(place, upkeep, "bob")))
            if len(seen) == 1:
                place.store.remember("sings", user_id="bob")
                tending = threading.Thread(target=upkeep.tend)
                tending.start()
                tending.join(SECONDS)
            return super().passages(texts)

    upkeep.rebuild(Makers(embedder=Curious(name="curious"), lexicon=ToyLexicon()))

    assert seen == [1, 2]
    assert found(place, upkeep, "bob") == believed(place, "bob")
    upkeep.close()


def test_a_rebuild_that_fails_leaves_the_old_in_use(place: Place) -> None:
    place.store.remember("plays go", user_id="bob")
    upkeep = place.upkeep()
    upkeep.tend()

    class Broken(ToyEmbedder):
        def passages(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
            raise ZeroDivisionError(texts)

    with pytest.raises(ZeroDivisionError):
        upkeep.rebuild(Makers(embedder=Broken(name="broken"), lexicon=ToyLexicon()))

    assert [each.number for each in place.generations.every()] == [1]
    assert not place.engine.exists(2)
    assert found(place, upkeep, "bob") == believed(place, "bob")
    upkeep.close()


def test_what_a_killed_rebuild_left_is_cleared_by_the_next(place: Place) -> None:
    place.store.remember("plays go", user_id="bob")
    upkeep = place.upkeep()
    upkeep.tend()
    left = place.generations.begin(model="dead", dimensions=8, lexicon="toy")
    place.engine.open(left)

    assert upkeep.rebuild().number == 2

    assert [each.model for each in place.generations.every()] == ["toy-8", "toy-8"]
    upkeep.close()


def test_what_an_engine_lost_is_built_anew(place: Place) -> None:
    place.store.remember("plays go", user_id="bob")
    first = place.upkeep()
    first.tend()
    first.close()
    place.engine = MemoryEngine()

    upkeep = place.upkeep()
    upkeep.tend()

    assert upkeep.progress().stopped is None
    assert found(place, upkeep, "bob") == believed(place, "bob")
    current = upkeep.current()
    assert current is not None
    assert current[0].number == 2
    upkeep.close()


def test_other_settings_than_the_facts_were_made_with_say_the_way_out(
    place: Place,
) -> None:
    place.store.remember("plays go", user_id="bob")
    first = place.upkeep()
    first.tend()
    first.close()
    place.embedder = ToyEmbedder(name="toy-4", dimensions=4)
    upkeep = place.upkeep()

    upkeep.tend()
    stopped = upkeep.progress().stopped
    assert isinstance(stopped, ConfigurationError)
    assert "muniment reindex" in str(stopped)
    assert upkeep.current() is None

    upkeep.rebuild()
    upkeep.tend()
    assert upkeep.progress().stopped is None
    current = upkeep.current()
    assert current is not None
    assert current[1].count() == 1
    upkeep.close()


def test_another_process_follows_when_a_new_generation_is_used(place: Place) -> None:
    place.store.remember("plays go", user_id="bob")
    one, two = place.upkeep(), place.upkeep()
    one.tend()
    two.tend()

    one.rebuild()
    two.tend()

    current = two.current()
    assert current is not None
    assert current[0].number == 2
    assert found(place, two, "bob") == believed(place, "bob")
    one.close()
    two.close()


def test_only_one_rebuild_goes_on_at_a_time(place: Place) -> None:
    upkeep = place.upkeep()
    place.store.remember("plays go", user_id="bob")
    upkeep.tend()
    refused: list[Exception] = []

    class Impatient(ToyEmbedder):
        def passages(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
            try:
                upkeep.rebuild()
            except IndexUnavailableError as error:
                refused.append(error)
            return super().passages(texts)

    upkeep.rebuild(Makers(embedder=Impatient(name="impatient"), lexicon=ToyLexicon()))

    assert len(refused) == 1
    upkeep.close()


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
