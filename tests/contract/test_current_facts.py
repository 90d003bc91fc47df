"""What every engine of current facts promises of its points, run on each."""

import json
from collections.abc import Iterator

import pytest

from muniment.domain.events import Status
from muniment.domain.time import BEGINNING, FOREVER
from muniment.projections.catch_up import ALL_POSITIONS
from muniment.projections.current import payload, point_id
from muniment.projections.ports import CurrentFacts, Held, Terms
from tests.engines import (
    ENGINES,
    FIRST,
    LEDGER,
    engine_of,
    names,
    point,
    quiet_client,
    traits,
    within,
)


EAST, NORTH = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)


@pytest.fixture(scope="module", params=ENGINES)
def shared(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[CurrentFacts]:
    """One generation for all: making a shard takes longer than a test."""
    place = tmp_path_factory.mktemp("shared")
    with quiet_client(), engine_of(request.param, place) as engine:
        opened = engine.open(FIRST)
        yield opened
        opened.close()


@pytest.fixture
def facts(shared: CurrentFacts) -> CurrentFacts:
    """Points of one generation, none yet."""
    held, rest = shared.scroll(after=None, limit=1_000)
    assert rest is None
    shared.delete([each.point_id for each in held], until=ALL_POSITIONS)
    assert shared.count() == 0
    return shared


def test_the_same_period_of_a_fact_always_has_the_same_point_id() -> None:
    assert point_id("main", "f1", BEGINNING) == point_id("main", "f1", BEGINNING)
    assert point_id("main", "f1", BEGINNING) == "e05970cf-f52e-57eb-9495-c8bcb74bab6a"


def test_other_ledgers_facts_and_periods_have_other_point_ids() -> None:
    ids = {
        point_id(ledger, fact, start)  # type: ignore[arg-type]
        for ledger in ("main", "acme")
        for fact in ("f1", "f2")
        for start in (0, 1)
    }

    assert len(ids) == 8


def test_a_payload_holds_no_text() -> None:
    said = payload(point("f1", said=traits(category="work")))

    assert set(said) == {
        "subject_ref",
        "fact_id",
        "version",
        "position",
        "valid_from",
        "valid_to",
        "category",
        "status",
        "confidence",
        "importance",
        "core",
    }
    assert json.dumps(said)


def test_the_nearest_come_first(facts: CurrentFacts) -> None:
    facts.upsert(
        [point("north", vectors=(NORTH, None)), point("east", vectors=(EAST, None))],
        until=1,
    )

    found = facts.nearest((0.9, 0.1, 0.0), within(), limit=5)

    assert names(found) == ["east", "north"]
    assert found[0].score == pytest.approx(0.9939, abs=1e-3)
    assert found[0].version == 1


def test_no_more_than_the_limit_are_found(facts: CurrentFacts) -> None:
    facts.upsert([point(f"f{number}") for number in range(5)], until=1)

    assert len(facts.nearest(EAST, within(), limit=3)) == 3


def test_nobody_finds_what_is_another_subjects(facts: CurrentFacts) -> None:
    terms = Terms(indices=(7,), weights=(1.0,))
    facts.upsert(
        [
            point("mine", vectors=(EAST, terms)),
            point("theirs", subject_ref="bob", vectors=(EAST, terms)),
        ],
        until=1,
    )

    assert names(facts.nearest(EAST, within("ann"), limit=5)) == ["mine"]
    assert names(facts.matching(terms, within("ann"), limit=5)) == ["mine"]
    assert names(facts.nearest(EAST, within("nobody"), limit=5)) == []


def test_several_subjects_are_searched_together(facts: CurrentFacts) -> None:
    facts.upsert([point("mine"), point("teams", subject_ref="eng")], until=1)

    found = facts.nearest(EAST, within("ann", "eng"), limit=5)

    assert {(each.fact_id, each.subject_ref) for each in found} == {
        ("mine", "ann"),
        ("teams", "eng"),
    }


def test_a_search_without_a_subject_cannot_be_asked(facts: CurrentFacts) -> None:
    nobody = within()
    object.__setattr__(nobody, "subject_refs", ())

    with pytest.raises(AssertionError):
        facts.nearest(EAST, nobody, limit=1)


@pytest.mark.parametrize(
    ("valid_at", "expected"), [(9, []), (10, ["f1"]), (19, ["f1"]), (20, [])]
)
def test_a_fact_comes_and_goes_by_its_bounds(
    facts: CurrentFacts, valid_at: int, expected: list[str]
) -> None:
    facts.upsert([point("f1", valid=(10, 20))], until=1)

    assert names(facts.nearest(EAST, within(valid_at=valid_at), limit=5)) == expected


def test_open_bounds_hold_at_any_time(facts: CurrentFacts) -> None:
    facts.upsert([point("f1", valid=(BEGINNING, FOREVER))], until=1)

    for valid_at in (-(2**52), 0, 1_767_225_600_000_000, 253_402_300_799_999_999):
        assert names(facts.nearest(EAST, within(valid_at=valid_at), limit=5)) == ["f1"]


@pytest.mark.parametrize(("expired_at", "expected"), [(9, ["f1"]), (10, []), (11, [])])
def test_a_fact_is_gone_from_when_it_expires(
    facts: CurrentFacts, expired_at: int, expected: list[str]
) -> None:
    facts.upsert([point("f1", said=traits(expires_at=10))], until=1)

    assert names(facts.nearest(EAST, within(expired_at=expired_at), limit=5)) == expected


def test_filters_narrow(facts: CurrentFacts) -> None:
    facts.upsert(
        [
            point("sure", said=traits(category="work", confidence=0.9)),
            point("unsure", said=traits(category="work", confidence=0.2)),
            point("none", said=traits()),
        ],
        until=1,
    )

    def found(**narrowed: object) -> set[str]:
        return set(names(facts.nearest(EAST, within(**narrowed), limit=5)))  # type: ignore[arg-type]

    assert found(categories=("work",)) == {"sure", "unsure"}
    assert found(categories=("home",)) == set()
    assert found(categories=()) == set()
    assert found(min_confidence=0.9) == {"sure", "none"}
    assert found(statuses=(Status.ACTIVE,)) == {"sure", "unsure", "none"}
    assert found(attributes=("city",)) == set()


def test_terms_find_what_shares_one_rarer_ones_first(facts: CurrentFacts) -> None:
    common, rare = 1, 2
    facts.upsert(
        [
            point(
                "both", vectors=(None, Terms(indices=(common, rare), weights=(1.0, 1.0)))
            ),
            point("common", vectors=(None, Terms(indices=(common,), weights=(1.0,)))),
            point("other", vectors=(None, Terms(indices=(9,), weights=(1.0,)))),
        ],
        until=1,
    )

    found = facts.matching(
        Terms(indices=(common, rare), weights=(1.0, 1.0)), within(), limit=5
    )

    assert names(found) == ["both", "common"]
    assert found[0].score == pytest.approx(0.470004 + 0.980829, abs=1e-4)


def test_how_rare_a_term_is_does_not_tell_of_other_people(facts: CurrentFacts) -> None:
    asked = Terms(indices=(1,), weights=(1.0,))
    facts.upsert([point("mine", vectors=(None, asked))], until=1)
    (before,) = facts.matching(asked, within("ann"), limit=1)

    facts.upsert(
        [
            point(f"f{number}", subject_ref="bob", vectors=(None, asked))
            for number in range(20)
        ],
        until=2,
    )

    (after,) = facts.matching(asked, within("ann"), limit=1)
    assert after.score == pytest.approx(before.score)


def test_a_point_without_an_embedding_is_found_by_its_terms(facts: CurrentFacts) -> None:
    terms = Terms(indices=(3,), weights=(1.0,))
    facts.upsert([point("pending", vectors=(None, terms))], until=1)

    assert names(facts.nearest(EAST, within(), limit=5)) == []
    assert names(facts.matching(terms, within(), limit=5)) == ["pending"]


def test_an_embedding_that_comes_later_is_added(facts: CurrentFacts) -> None:
    facts.upsert([point("f1", vectors=(None, None))], until=1)

    facts.upsert([point("f1", vectors=(EAST, None))], until=1)

    assert names(facts.nearest(EAST, within(), limit=5)) == ["f1"]
    assert facts.count() == 1


def test_a_point_without_terms_is_held(facts: CurrentFacts) -> None:
    facts.upsert([point("f1", vectors=(EAST, Terms(indices=(), weights=())))], until=1)

    assert names(facts.nearest(EAST, within(), limit=5)) == ["f1"]


def test_whoever_knew_less_of_the_ledger_never_replaces_a_point(
    facts: CurrentFacts,
) -> None:
    facts.upsert([point("f1", position=7, vectors=(EAST, None))], until=9)

    facts.upsert([point("f1", position=4, vectors=(NORTH, None))], until=6)

    (found,) = facts.nearest(NORTH, within(), limit=5)
    assert found.version == 7
    assert found.score == pytest.approx(0.0, abs=1e-6)


def test_whoever_knew_as_much_or_more_replaces_a_point(facts: CurrentFacts) -> None:
    facts.upsert([point("f1", position=4)], until=5)

    facts.upsert([point("f1", position=4, said=traits(category="a"))], until=5)
    facts.upsert([point("f1", position=7, said=traits(category="b"))], until=9)

    page, rest = facts.scroll(after=None, limit=5)
    assert rest is None
    assert [(each.position, each.traits.category) for each in page] == [(7, "b")]


def test_whoever_knew_less_of_the_ledger_never_deletes_a_point(
    facts: CurrentFacts,
) -> None:
    newer, older = point("newer", position=7), point("older", position=3)
    facts.upsert([newer, older, point("other", position=3)], until=9)

    facts.delete([newer.point_id, older.point_id], until=6)

    assert sorted(names(facts.nearest(EAST, within(), limit=5))) == ["newer", "other"]


def test_deleting_nothing_and_what_is_not_there_is_harmless(facts: CurrentFacts) -> None:
    facts.upsert([point("f1")], until=1)

    facts.delete([], until=9)
    facts.delete([point_id(LEDGER, "gone", BEGINNING)], until=9)

    assert facts.count() == 1


def test_an_erased_subject_leaves_nothing_and_others_stay(facts: CurrentFacts) -> None:
    facts.upsert(
        [point("f1"), point("f2", position=9), point("f3", subject_ref="bob")], until=9
    )

    facts.delete_subject("ann")
    facts.delete_subject("ann")

    assert facts.count("ann") == facts.size("ann") == 0
    assert facts.size("bob") == 1
    assert facts.count("bob") == facts.count() == 1
    assert names(facts.nearest(EAST, within("ann"), limit=5)) == []


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 8])
def test_scrolling_meets_every_point_once(facts: CurrentFacts, limit: int) -> None:
    points = [
        point(f"f{number}", vectors=(EAST if number % 2 else None, None))
        for number in range(7)
    ]
    facts.upsert(points, until=1)

    met: list[Held] = []
    after: str | None = None
    while True:
        page, after = facts.scroll(after=after, limit=limit)
        assert len(page) <= limit
        met.extend(page)
        if after is None:
            break

    assert [each.point_id for each in met] == sorted(each.point_id for each in points)
    assert {each.fact_id: each.has_dense for each in met} == {
        f"f{number}": bool(number % 2) for number in range(7)
    }


def test_what_is_held_is_what_was_given(facts: CurrentFacts) -> None:
    given = point(
        "f1",
        position=5,
        valid=(-5, 7),
        said=traits(category="work", confidence=0.25, expires_at=9),
    )

    facts.upsert([given], until=5)

    ((held,), _) = facts.scroll(after=None, limit=5)
    assert held.valid == given.valid
    assert held.traits == given.traits
    assert (held.version, held.position, held.subject_ref) == (5, 5, "ann")


def test_upserting_nothing_is_harmless(facts: CurrentFacts) -> None:
    facts.upsert([], until=1)

    assert facts.count() == 0
