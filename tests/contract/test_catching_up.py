"""What the projector of current facts promises, whatever the ledger lives in."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from eventsourcing.persistence import Tracking

from muniment.domain.scope import Scope
from muniment.errors import Corruption, ProjectionError
from muniment.ledger.memory_recorder import MemoryRecorder
from muniment.ledger.vault import Subject
from muniment.projections.batches import read_batch
from muniment.projections.catch_up import CatchUp
from muniment.projections.memory_current import MemoryEngine
from muniment.projections.ports import Found, Terms, Vector, Within
from muniment.projections.reconcile import Difference, Fault, differences, mend
from tests.projecting import (
    Place,
    ToyEmbedder,
    ToyLexicon,
    believed,
    erase,
    findable,
    place_at,
    redact,
    settings_of,
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


def subject_of(place: Place, user_id: str) -> Subject:
    subject = place.ledger.vault.find(Scope.user(user_id))
    assert subject is not None, "the user has a memory"
    return subject


def applied(catch_up: CatchUp, limit: int = 1_000) -> CatchUp:
    """Apply all there is."""
    while catch_up.step(limit):
        pass
    return catch_up


def shown(found: Sequence[Found]) -> set[tuple[str, int]]:
    return {(each.fact_id, each.version) for each in found}


def by_words(place: Place, catch_up: CatchUp, user_id: str, text: str) -> list[str]:
    now = place.ledger.present().now
    within = Within(
        subject_refs=(subject_of(place, user_id).ref,), valid_at=now, expired_at=now
    )
    return [
        each.fact_id
        for each in catch_up.facts.matching(ToyLexicon().query(text), within, limit=9)
    ]


def a_life(place: Place) -> None:
    """Write what happens to facts: each verb at least once, for two people."""
    store = place.store
    first = store.remember("writes Python", user_id="ann", category="skill")
    store.update(first.fact_id, content="writes Rust")
    second = store.remember("lives in Oslo", user_id="ann")
    store.correct(second.fact_id, content="lives in Bergen")
    third = store.remember("has a cat", user_id="ann")
    store.end(third.fact_id)
    fourth = store.remember("likes tea", user_id="ann")
    store.forget(fourth.fact_id, mode="retire", reason="asked")
    fifth = store.remember("likes coffee", user_id="ann")
    store.forget(fifth.fact_id, mode="retire", reason="asked")
    store.restore(fifth.fact_id)
    sixth = store.remember("is vegan", user_id="ann")
    store.update(sixth.fact_id, content="eats fish")
    store.rollback_fact(sixth.fact_id, to_version=1)
    store.remember("starts in May", user_id="ann", valid_from="2999-05-01T00:00:00Z")
    store.remember("is gone", user_id="ann", valid_to="2001-01-01T00:00:00Z")
    store.remember_many(["plays chess", "plays go", "sings"], user_id="bob")
    store.remember("plays chess", user_id="bob", source="a tool")
    gone = store.remember("a secret", user_id="bob")
    redact(place, gone.fact_id)


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


def poison(place: Place, *, position: int) -> Callable[[], None]:
    """Make one event unreadable; return what makes it readable again."""
    recorder = place.ledger.recorder
    assert isinstance(recorder, MemoryRecorder)
    good = recorder._events[position - 1]
    sealed = {**good.sealed.__dict__, "topic": "fact.enchanted.v1"}
    bad = type(good)(
        position=good.position,
        tx_id=good.tx_id,
        recorded_at=good.recorded_at,
        sealed=type(good.sealed)(**sealed),
    )
    recorder._events[position - 1] = bad

    def mended() -> None:
        recorder._events[position - 1] = good

    return mended


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


def faults(found: Sequence[Difference]) -> list[tuple[Fault, str]]:
    return [(each.fault, each.fact_id) for each in found]


def test_reconcile_finds_and_mends_each_kind_of_fault(place: Place) -> None:
    written = place.store.remember_many(
        ["plays chess", "plays go", "sings", "draws", "runs"], user_id="bob"
    )
    catch_up = applied(place.catch_up())
    ids = written.fact_ids
    before = catch_up.facts.scroll(after=None, limit=99)
    spoil(catch_up, ids)

    found = differences(place.sources, catch_up)

    assert sorted(faults(found)) == sorted(
        [
            (Fault.MISSING, ids[0]),
            (Fault.STALE, ids[1]),
            (Fault.WRONG_SCOPE, ids[2]),
            (Fault.STALE, ids[3]),
            (Fault.ORPHANED, "nobody's"),
        ]
    )
    mend(catch_up, found)
    assert differences(place.sources, catch_up) == []
    assert catch_up.facts.scroll(after=None, limit=99) == before


def spoil(catch_up: CatchUp, ids: Sequence[str]) -> None:
    """Make the current facts wrong in every way there is."""
    points = catch_up.facts._points  # type: ignore[attr-defined]
    by_fact = {each.fact_id: each for each in points.values()}
    first, second, third, fourth = (by_fact[each] for each in ids[:4])
    del points[first.point_id]
    # As of a ledger that was restored from a backup since: it knew more.
    points[second.point_id] = replace(second, version=7, position=99)
    points[third.point_id] = replace(third, subject_ref="somebody else")
    points[fourth.point_id] = replace(fourth, dense=None)
    points["0" * 36] = replace(first, point_id="0" * 36, fact_id="nobody's")


def test_reconcile_looks_at_the_checkpoint_not_beyond(place: Place) -> None:
    place.store.remember("plays go", user_id="bob")
    catch_up = applied(place.catch_up())

    place.store.remember("sings", user_id="bob")

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
