"""Current facts are built anew beside the old, and nobody notices."""

import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from eventsourcing.persistence import Tracking

from muniment.errors import (
    ConfigurationError,
    IndexUnavailableError,
)
from muniment.projections.catch_up import Makers
from muniment.projections.memory_current import MemoryEngine
from tests.projecting import (
    Place,
    ToyEmbedder,
    ToyLexicon,
    believed,
    place_at,
    settings_of,
    subject_of,
)
from tests.upkeeping import SECONDS, FlakyEngine, found, head


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    with place_at(settings_of("sqlite", tmp_path), FlakyEngine()) as place:
        yield place


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

    assert [each.active_from is None for each in place.generations.every()] == [False, True]
    assert not place.engine.exists(2)
    assert found(place, upkeep, "bob") == believed(place, "bob")
    upkeep.close()


def test_what_a_killed_rebuild_left_is_cleared_by_the_next(place: Place) -> None:
    place.store.remember("plays go", user_id="bob")
    upkeep = place.upkeep()
    upkeep.tend()
    left = place.generations.begin(model="dead", dimensions=8, lexicon="toy")
    place.engine.open(left)
    place.ledger.recorder.insert_tracking(Tracking("current/2", head(place)))

    assert upkeep.rebuild().number == 3

    assert not place.engine.exists(2)
    assert found(place, upkeep, "bob") == believed(place, "bob")
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
