"""What becomes of texts that are embedded, cannot be, or must not be any more."""

import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from muniment.errors import StoreClosedError
from muniment.projections.ports import Vector
from muniment.projections.reconcile import differences
from tests.projecting import (
    Place,
    ToyEmbedder,
    applied,
    believed,
    by_words,
    erase,
    findable,
    place_at,
    redact,
    settings_of,
    shown,
    subject_of,
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


def test_every_version_that_said_something_has_its_vector(place: Place) -> None:
    fact = place.store.remember("writes Python", user_id="ann")
    place.store.update(fact.fact_id, content="writes Rust")
    place.store.end(fact.fact_id)

    applied(place.catch_up())

    said = [(fact.fact_id, version) for version in (1, 2, 3)]
    vectors = place.sources.vectors.of(subject_of(place, "ann"), "toy-8", said)
    toy = place.embedder
    assert {key: list(vector) for key, vector in vectors.items()} == {
        said[0]: toy.query("writes Python"),
        said[1]: toy.query("writes Rust"),
    }


def test_a_text_is_embedded_once_for_its_subject(place: Place) -> None:
    fact = place.store.remember("writes Python", user_id="ann")
    place.store.remember("writes Python", user_id="bob")
    applied(place.catch_up())
    place.store.update(fact.fact_id, category="skill")
    place.store.remember("writes Python", user_id="ann", category="other")

    catch_up = applied(place.catch_up())

    assert place.embedder.asked == ["writes Python", "writes Python"]
    assert len(findable(place, catch_up, "ann")) == 2


# M19 (mem0#5245: what is extracted vanishes with a warning).
def test_an_embedder_that_fails_for_one_of_three_loses_nothing(place: Place) -> None:
    place.embedder.fails = lambda text: "go" in text
    written = place.store.remember_many(["plays chess", "plays go", "sings"], user_id="bob")
    facts = written.facts

    catch_up = applied(place.catch_up())

    pending = facts[1].fact_id
    assert shown(findable(place, catch_up, "bob")) == {
        (facts[0].fact_id, 1),
        (facts[2].fact_id, 1),
    }
    assert by_words(place, catch_up, "bob", "go") == [pending]
    assert place.sources.vectors.count_pending("toy-8") == 1
    assert differences(place.sources, catch_up) == []

    assert catch_up.retry(10) == 0
    (waits,) = place.sources.vectors.pending("toy-8", limit=9)
    assert (waits.fact_id, waits.version, waits.attempts) == (pending, 1, 2)

    place.embedder.fails = lambda _text: False
    assert catch_up.retry(10) == 1
    assert shown(findable(place, catch_up, "bob")) == believed(place, "bob")
    assert place.sources.vectors.count_pending("toy-8") == 0


def test_an_embedder_that_is_down_is_not_asked_for_every_text(place: Place) -> None:
    place.embedder.fails = lambda _text: True
    place.store.remember_many([f"fact {n}" for n in range(40)], user_id="ann")

    applied(place.catch_up())

    assert place.sources.vectors.count_pending("toy-8") == 40
    assert len(place.embedder.asked) == 4 + 3


def test_a_step_that_is_ended_on_the_way_has_kept_what_it_made(place: Place) -> None:
    place.store.remember_many([f"fact {n}" for n in range(40)], user_id="ann")
    catch_up = place.catch_up()
    told: list[int] = []

    def closed(position: int) -> None:
        told.append(position)
        raise StoreClosedError

    catch_up.told = closed
    with pytest.raises(StoreClosedError):
        catch_up.step()
    catch_up.told = told.append
    applied(catch_up)

    assert told == [16, 16, 32, 40, 40]
    assert len(place.embedder.asked) == 40, "each text once"
    assert catch_up.reached() == 40


def test_what_is_pending_and_gone_is_not_tried_for_ever(place: Place) -> None:
    place.embedder.fails = lambda _text: True
    fact = place.store.remember("a secret", user_id="ann")
    catch_up = applied(place.catch_up())
    assert place.sources.vectors.count_pending("toy-8") == 1

    redact(place, fact.fact_id)
    applied(catch_up)

    assert place.sources.vectors.count_pending("toy-8") == 0
    assert catch_up.facts.count() == 0


@pytest.mark.parametrize(
    "spoil",
    [
        lambda vectors: vectors[:-1],
        lambda vectors: [*vectors, vectors[0]],
        lambda vectors: [[math.nan] * 8 for _ in vectors],
        lambda vectors: [[math.inf] * 8 for _ in vectors],
        lambda vectors: [[1.0] * 7 for _ in vectors],
        lambda vectors: [[0.0] * 8 for _ in vectors],
        lambda _vectors: [],
    ],
    ids=["half", "more", "nan", "infinite", "dimensions", "zero", "none"],
)
def test_an_embedder_that_answers_nonsense_spoils_nothing(
    place: Place, spoil: Callable[[Sequence[Vector]], Sequence[Vector]]
) -> None:
    class Hostile(ToyEmbedder):
        def passages(self, texts: Sequence[str]) -> Sequence[Vector]:
            return spoil(super().passages(texts))

    place.embedder = Hostile()
    place.store.remember_many(["plays chess", "plays go"], user_id="bob")

    catch_up = applied(place.catch_up())

    assert findable(place, catch_up, "bob") == []
    assert len(by_words(place, catch_up, "bob", "plays")) == 2
    assert place.sources.vectors.count_pending("toy-8") == 2


def test_redacting_forgets_the_vectors(place: Place) -> None:
    fact = place.store.remember("a secret", user_id="ann")
    kept = place.store.remember("no secret", user_id="ann")
    catch_up = applied(place.catch_up())

    redact(place, fact.fact_id)
    applied(catch_up)

    said = [(fact.fact_id, 1), (kept.fact_id, 1)]
    vectors = place.sources.vectors.of(subject_of(place, "ann"), "toy-8", said)
    assert set(vectors) == {said[1]}
    assert shown(findable(place, catch_up, "ann")) == {said[1]}


def test_erasing_leaves_no_point_and_no_vector_and_spares_others(place: Place) -> None:
    place.store.remember_many(["plays chess", "plays go"], user_id="bob")
    place.embedder.fails = lambda text: "go" in text
    catch_up = applied(place.catch_up())
    kept = place.store.remember("sings", user_id="ann")
    place.store.remember("draws", user_id="bob")

    erase(place, "bob")
    applied(catch_up)

    assert catch_up.facts.count() == 1
    assert shown(findable(place, catch_up, "ann")) == {(kept.fact_id, 1)}
    assert place.sources.vectors.count_pending("toy-8") == 0
    assert differences(place.sources, catch_up) == []


def test_what_was_erased_before_it_was_seen_is_never_embedded(place: Place) -> None:
    place.store.remember("plays chess", user_id="bob")
    erase(place, "bob")

    catch_up = applied(place.catch_up())

    assert place.embedder.asked == []
    assert catch_up.facts.count() == 0
    assert catch_up.reached() == 2
