"""Whatever happens to facts, the current facts end where the timeline does."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from muniment.domain.time import Instant
from muniment.errors import MunimentError
from muniment.projections.ports import CurrentFacts
from muniment.projections.reconcile import differences
from tests.engines import within
from tests.projecting import Place, place_at, settings_of, shown, subject_of


DAY = 86_400_000_000
YEARS = st.sampled_from(["2001", "2002", "2998", "2999"])
WORDS = st.sampled_from(["tea", "go", "cats"])
FACTS = st.integers(0, 3)
PERIODS = st.tuples(st.none() | YEARS, st.none() | YEARS)

WRITES = st.one_of(
    st.tuples(st.just("remember"), WORDS, PERIODS),
    st.tuples(st.just("update"), FACTS, WORDS, PERIODS),
    st.tuples(st.just("correct"), FACTS, WORDS, PERIODS),
    st.tuples(st.just("end"), FACTS, YEARS),
    st.tuples(st.just("forget"), FACTS),
    st.tuples(st.just("restore"), FACTS),
    st.tuples(st.just("rollback"), FACTS, st.integers(0, 3)),
    st.tuples(st.just("step"), st.integers(1, 3)),
)


@contextmanager
def fresh_place() -> Iterator[Place]:
    with (
        tempfile.TemporaryDirectory() as directory,
        place_at(settings_of("memory", Path(directory))) as place,
    ):
        yield place


def write(place: Place, known: list[str], what: tuple[object, ...]) -> None:
    """Do what was drawn, as far as it can be done."""
    match what:
        case ("remember", str(text), (valid_from, valid_to)):
            fact = place.store.remember(
                text, user_id="ann", valid_from=day(valid_from), valid_to=day(valid_to)
            )
            known.append(fact.fact_id)
        case ("update", int(chosen), str(text), (valid_from, valid_to)):
            place.store.update(
                known[chosen],
                content=text,
                valid_from=day(valid_from),
                valid_to=day(valid_to),
            )
        case ("correct", int(chosen), str(text), (valid_from, valid_to)):
            place.store.correct(
                known[chosen],
                content=text,
                valid_from=day(valid_from),
                valid_to=day(valid_to),
            )
        case ("end", int(chosen), str(year)):
            place.store.end(known[chosen], valid_to=day(year))
        case ("forget", int(chosen)):
            place.store.forget(known[chosen])
        case ("restore", int(chosen)):
            place.store.restore(known[chosen])
        case ("rollback", int(chosen), int(version)):
            place.store.rollback_fact(known[chosen], to_version=version)
        case _:
            raise AssertionError(what)


def day(year: object) -> str | None:
    return None if year is None else f"{year}-01-01T00:00:00Z"


@given(st.lists(WRITES, max_size=12))
@settings(deadline=None)
def test_the_current_facts_end_where_the_timeline_does(
    writes: list[tuple[object, ...]],
) -> None:
    with fresh_place() as place:
        known: list[str] = []
        catch_up = place.catch_up()
        for each in writes:
            if each[0] == "step":
                assert isinstance(each[1], int)
                catch_up.step(each[1])
                continue
            try:
                write(place, known, each)
            except (MunimentError, IndexError):
                continue
        place.store.remember("the last word", user_id="ann")
        while catch_up.step(2):
            pass

        assert differences(place.sources, catch_up) == []
        assert_found_at_every_year(place, catch_up.facts)


def assert_found_at_every_year(place: Place, facts: CurrentFacts) -> None:
    subject, now = subject_of(place, "ann"), place.ledger.present().now
    for year in (1990, 2001, 2001.5, 2002, 2026, 2998, 2998.5, 2999, 3005):
        valid_at = Instant(int((year - 1970) * 365.2425 * DAY))
        found = facts.nearest(
            [1.0] * 8, within(subject.ref, valid_at=valid_at, expired_at=now), limit=99
        )
        rows = [
            row
            for row in place.sources.timeline.rows()
            if now in row.recorded and valid_at in row.valid
        ]
        assert shown(found) == {(row.fact_id, row.version) for row in rows}
