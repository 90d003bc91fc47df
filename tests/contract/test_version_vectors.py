"""What every keeper of version vectors and of generations promises, run on each."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy as sa

from muniment.domain.scope import Scope
from muniment.domain.time import BEGINNING, Instant
from muniment.errors import BrokenSealError
from muniment.ledger.sql_recorder import SqlRecorder
from muniment.ledger.vault import Subject
from muniment.projections.ports import Said, Vector, VersionVector, VersionVectors
from muniment.projections.vector_bytes import as_bytes, from_bytes
from muniment.projections.vector_tables import version_vector
from muniment.projections.vectors import is_vector, text_tag
from tests.projecting import Place, erase, place_at, settings_of


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    url = (
        request.getfixturevalue("postgres_database")
        if request.param == "postgresql"
        else None
    )
    with place_at(settings_of(request.param, tmp_path, url)) as place:
        yield place


@pytest.fixture
def vectors(place: Place) -> VersionVectors:
    return place.sources.vectors


def subject_of(place: Place, user_id: str = "ann") -> Subject:
    return place.ledger.vault.find_or_make(Scope.user(user_id))


def version(
    place: Place,
    fact_id: str,
    *,
    number: int = 1,
    user_id: str = "ann",
    text: str = "text",
    vector: Vector | None = (1.0, 2.0),
) -> VersionVector:
    """Return a vector under a stream key of its own."""
    subject = subject_of(place, user_id)
    ((key_id, _),) = place.ledger.vault.take(subject, 1)
    return VersionVector(
        subject=subject,
        fact_id=fact_id,
        version=number,
        position=number,
        key_id=key_id,
        text_tag=text_tag(subject, text),
        vector=vector,
    )


def found(
    place: Place, said: Sequence[Said], *, model: str = "m", user_id: str = "ann"
) -> dict[Said, list[float]]:
    vectors = place.sources.vectors.of(subject_of(place, user_id), model, said)
    return {key: list(vector) for key, vector in vectors.items()}


def test_a_vector_comes_back_as_it_was(place: Place, vectors: VersionVectors) -> None:
    vectors.put("m", [version(place, "f1", vector=(0.5, -0.25))])

    assert found(place, [("f1", 1)]) == {("f1", 1): [0.5, -0.25]}


def test_what_is_not_there_is_left_out(place: Place, vectors: VersionVectors) -> None:
    vectors.put("m", [version(place, "f1")])

    assert found(place, [("f1", 2), ("f2", 1)]) == {}
    assert found(place, []) == {}
    assert found(place, [("f1", 1)], model="other") == {}
    assert found(place, [("f1", 1)], user_id="bob") == {}
    vectors.put("m", [])


def test_many_are_found_at_once(place: Place, vectors: VersionVectors) -> None:
    many = [
        version(place, f"f{number}", vector=(1.0, float(number))) for number in range(700)
    ]
    vectors.put("m", many)

    said = [(each.fact_id, each.version) for each in many if each.fact_id != "f7"]

    assert found(place, said) == {
        (f"f{number}", 1): [1.0, float(number)] for number in range(700) if number != 7
    }


def test_models_are_kept_apart_and_forgotten_apart(
    place: Place, vectors: VersionVectors
) -> None:
    vectors.put("one", [version(place, "f1", vector=(1.0, 0.0))])
    vectors.put("two", [version(place, "f1", vector=(0.0, 1.0, 0.0))])

    assert found(place, [("f1", 1)], model="one") == {("f1", 1): [1.0, 0.0]}
    assert found(place, [("f1", 1)], model="two") == {("f1", 1): [0.0, 1.0, 0.0]}

    vectors.forget_model("one")
    assert found(place, [("f1", 1)], model="one") == {}
    assert len(found(place, [("f1", 1)], model="two")) == 1


def test_putting_again_replaces(place: Place, vectors: VersionVectors) -> None:
    first = version(place, "f1", vector=(1.0, 0.0))
    vectors.put("m", [first])
    vectors.put("m", [first, version(place, "f1", vector=(0.0, 1.0))])

    assert found(place, [("f1", 1)]) == {("f1", 1): [0.0, 1.0]}


def test_failures_are_counted_until_a_vector_comes(
    place: Place, vectors: VersionVectors
) -> None:
    fails = version(place, "f1", vector=None)
    vectors.put("m", [fails, version(place, "f2", vector=None)])
    vectors.put("m", [fails])

    assert vectors.count_pending("m") == 2
    assert [(each.fact_id, each.attempts) for each in vectors.pending("m", limit=9)] == [
        ("f2", 1),
        ("f1", 2),
    ]
    assert [each.fact_id for each in vectors.pending("m", limit=1)] == ["f2"]
    assert vectors.count_pending("other") == 0
    assert found(place, [("f1", 1)]) == {}

    vectors.put("m", [version(place, "f1", vector=(1.0, 0.0))])
    assert vectors.count_pending("m") == 1
    assert found(place, [("f1", 1)]) == {("f1", 1): [1.0, 0.0]}


def test_a_failure_never_replaces_a_vector(place: Place, vectors: VersionVectors) -> None:
    vectors.put("m", [version(place, "f1", vector=(1.0, 0.0))])

    vectors.put("m", [version(place, "f1", vector=None)])

    assert vectors.count_pending("m") == 0
    assert found(place, [("f1", 1)]) == {("f1", 1): [1.0, 0.0]}


def test_a_text_is_found_again_by_its_own_subject_alone(
    place: Place, vectors: VersionVectors
) -> None:
    ann, bob = subject_of(place, "ann"), subject_of(place, "bob")
    vectors.put("m", [version(place, "f1", text="tea", vector=(1.0, 0.0))])
    tag = text_tag(ann, "tea")

    assert text_tag(bob, "tea") != tag
    assert {k: list(v) for k, v in vectors.like("m", {tag: ann}).items()} == {
        tag: [1.0, 0.0]
    }
    assert vectors.like("m", {tag: bob}) == {}
    assert vectors.like("other", {tag: ann}) == {}
    assert vectors.like("m", {text_tag(ann, "coffee"): ann}) == {}
    assert vectors.like("m", {}) == {}


def test_a_pending_text_is_not_found_again(place: Place, vectors: VersionVectors) -> None:
    ann = subject_of(place)
    vectors.put("m", [version(place, "f1", text="tea", vector=None)])

    assert vectors.like("m", {text_tag(ann, "tea"): ann}) == {}


def test_forgetting_spares_the_rest(place: Place, vectors: VersionVectors) -> None:
    vectors.put(
        "m",
        [
            version(place, "f1"),
            version(place, "f1", number=2),
            version(place, "f2"),
            version(place, "f3", user_id="bob"),
        ],
    )
    ann, bob = subject_of(place, "ann").ref, subject_of(place, "bob").ref

    vectors.forget(ann, ["f1", "f3"])
    assert set(found(place, [("f1", 1), ("f1", 2), ("f2", 1)])) == {("f2", 1)}

    vectors.forget(ann)
    assert found(place, [("f2", 1)]) == {}
    assert set(found(place, [("f3", 1)], user_id="bob")) == {("f3", 1)}
    vectors.forget(bob, [])
    assert set(found(place, [("f3", 1)], user_id="bob")) == {("f3", 1)}


def test_a_vector_dies_with_its_key(place: Place, vectors: VersionVectors) -> None:
    kept = version(place, "f1", text="tea")
    vectors.put("m", [kept])

    erase(place, "ann")

    assert vectors.of(kept.subject, "m", [("f1", 1)]) == {}
    assert vectors.like("m", {kept.text_tag: kept.subject}) == {}
    vectors.put("m", [kept])
    assert vectors.of(kept.subject, "m", [("f1", 1)]) == {}


def test_a_vector_is_sealed_and_bound_to_its_place(tmp_path: Path) -> None:
    with place_at(settings_of("sqlite", tmp_path)) as place:
        vectors = place.sources.vectors
        one = version(place, "f1", vector=(0.125,) * 64)
        vectors.put("m", [one, replace(one, fact_id="f2")])
        recorder = place.ledger.recorder
        assert isinstance(recorder, SqlRecorder)
        state = version_vector.c.state
        with recorder.engine.begin() as connection:
            stored = connection.execute(
                sa.select(state).where(version_vector.c.fact_id == "f1")
            ).scalar_one()
            moved = version_vector.c.fact_id == "f2"
            connection.execute(sa.update(version_vector).where(moved).values(state=stored))

        assert as_bytes((0.125,) * 64) not in bytes(stored)
        assert len(found(place, [("f1", 1)])) == 1
        with pytest.raises(BrokenSealError):
            found(place, [("f2", 1)])


def test_bytes_are_little_endian_float32() -> None:
    assert as_bytes([1.0, -2.0]) == bytes.fromhex("0000803f000000c0")
    assert list(from_bytes(bytes.fromhex("0000803f000000c0"))) == [1.0, -2.0]


@pytest.mark.parametrize(
    ("vector", "is_one"),
    [
        ([1.0, 0.0], True),
        ([0.0, 0.0], False),
        ([1.0], False),
        ([1.0, float("nan")], False),
        ([1.0, float("inf")], False),
    ],
)
def test_a_vector_has_its_size_is_finite_and_not_zero(
    vector: Vector,
    is_one: bool,  # noqa: FBT001 - a table of the answers
) -> None:
    assert is_vector(vector, 2) is is_one


def test_the_first_generation_is_in_use_from_the_beginning(place: Place) -> None:
    assert place.generations.active() is None
    assert place.generations.at(Instant(7)) is None

    first = place.generations.begin(model="one", dimensions=2, lexicon="w")

    assert (first.number, first.active_from) == (1, BEGINNING)
    assert place.generations.active() == first
    assert place.generations.at(Instant(-7)) == first


def test_a_generation_that_is_built_is_not_in_use(place: Place) -> None:
    first = place.generations.begin(model="one", dimensions=2, lexicon="w")
    second = place.generations.begin(model="two", dimensions=3, lexicon="w")

    assert (second.number, second.active_from) == (2, None)
    assert place.generations.active() == first
    assert place.generations.every() == [first, second]


def test_a_number_is_never_used_again(place: Place) -> None:
    numbers = [
        place.generations.begin(model="m", dimensions=2, lexicon="w").number
        for _ in range(4)
    ]

    assert numbers == [1, 2, 3, 4]


def test_what_was_in_use_then_is_still_known(place: Place) -> None:
    place.store.remember("tea", user_id="ann")
    before = place.ledger.present().head.recorded_at
    first = place.generations.begin(model="one", dimensions=2, lexicon="w")
    place.generations.begin(model="two", dimensions=3, lexicon="w")

    second = place.generations.activate(2)

    assert second.active_from is not None
    assert second.active_from > before
    assert place.generations.active() == second
    assert place.generations.at(before) == first
    assert place.generations.at(Instant(second.active_from - 1)) == first
    assert place.generations.at(second.active_from) == second
    later = place.store.remember("coffee", user_id="ann")
    assert place.ledger.present().head.recorded_at > second.active_from
    assert later.version == 1


def test_activating_again_changes_nothing(place: Place) -> None:
    place.generations.begin(model="one", dimensions=2, lexicon="w")
    place.generations.begin(model="two", dimensions=3, lexicon="w")
    second = place.generations.activate(2)

    assert place.generations.activate(2) == second
    assert place.generations.activate(1).active_from == BEGINNING
    assert place.generations.active() == second
