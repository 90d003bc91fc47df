"""What differs between ledger and engine is found, named and mended."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from muniment.projections.catch_up import CatchUp
from muniment.projections.reconcile import Difference, Fault, differences, mend
from tests.projecting import (
    Place,
    applied,
    place_at,
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
