"""What the reading verbs answer, compared with the oracle."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from muniment import DiffEntry, Fact, MemoryDiff, ModifiedFact, Scope
from muniment.domain.time import AsOf, Instant
from muniment.errors import FactNotCurrentError, FutureAsOfError, InvalidPeriodError
from muniment.instants import moment
from tests import oracle
from tests.oracle import Recorded, Seen
from tests.property import shown
from tests.property.bench import Bench, refusal


def check_diff(
    bench: Bench, subject: str, times: tuple[Instant, Instant], about: Instant | None
) -> None:
    """Check what differs between two recorded times, and the causes that are named."""

    def ask() -> MemoryDiff:
        return bench.store.diff_memory(
            scope=Scope.parse(subject),
            time_a=moment(times[0]),
            time_b=moment(times[1]),
            valid_at=None if about is None else moment(about),
        )

    model, latest = bench.model, bench.latest
    if max(times) > latest:
        assert refusal(ask) is FutureAsOfError
        model.asked = max(model.asked, times[0] if times[0] <= latest else model.asked)
        return
    found = ask()
    model.asked = max(model.asked, *times)
    points = [AsOf(recorded_at=at, valid_at=at if about is None else about) for at in times]
    expected = oracle.diff(model.ledger, subject, *points)
    entries = [*found.added, *found.removed, *found.changed]
    assert {each.fact_id: (each.before, each.after) for each in entries} == {
        fact_id: (_fact(each.before), _fact(each.after))
        for fact_id, each in expected.items()
    }
    assert all(each.before is None for each in found.added)
    assert all(each.after is None for each in found.removed)
    assert all(each.before and each.after for each in found.changed)
    assert bool(found) == bool(expected)
    for entry in entries:
        check_causes(entry, model.fact(entry.fact_id), times, about)


def check_causes(
    entry: DiffEntry,
    fact: list[Recorded],
    times: tuple[Instant, Instant],
    about: Instant | None,
) -> None:
    """Check which events are named as the causes of a difference."""
    if about is None:
        # About two valid times, which one event made the difference is a matter of
        # taste; there always is one.
        assert entry.causes
        assert set(entry.causes) <= set(shown.versions(fact))
    else:
        assert entry.causes == shown.versions(oracle.causes(fact, about, *times))


def check_modified(bench: Bench, subject: str, start: Instant, end: Instant) -> None:
    """Check what was recorded in a span of recorded time."""

    def ask() -> tuple[ModifiedFact, ...]:
        return bench.store.list_modified_facts(
            scope=Scope.parse(subject), start=moment(start), end=moment(end)
        )

    if start >= end:
        assert refusal(ask) is InvalidPeriodError
        return
    if start - 1 > bench.latest:
        assert refusal(ask) is FutureAsOfError
        return
    found = ask()
    last = end if end <= bench.model.now else start
    bench.model.asked = max(bench.model.asked, Instant(last - 1))
    expected = oracle.modified(bench.model.ledger, subject, start, end)
    assert [(each.fact_id, each.versions) for each in found] == [
        (fact_id, shown.versions(history)) for fact_id, history in expected.items()
    ]


def check_blame(bench: Bench, subject: str, as_of: AsOf) -> None:
    """Check who is named for each belief at a point."""
    found = bench.store.blame(
        scope=Scope.parse(subject),
        as_of=moment(as_of.recorded_at),
        valid_at=moment(as_of.valid_at),
    )
    bench.model.asked = max(bench.model.asked, as_of.recorded_at)
    expected = oracle.snapshot(bench.model.ledger, subject, as_of)
    assert [(each.fact, each.said_by) for each in found] == [
        (shown.fact(each), shown.version(each.said)) for each in expected
    ]
    for entry, seen in zip(found, expected, strict=True):
        again = oracle.brought_back_by(bench.model.ledger, seen, as_of)
        assert entry.restored_by == (None if again is None else shown.version(again))


def check_search(bench: Bench, subject: str, as_of: AsOf) -> None:
    """Check that a search finds what is believed by its own words, and nothing else."""
    expected = oracle.snapshot(bench.model.ledger, subject, as_of)
    believed = {each.said.fact_id: shown.fact(each) for each in expected}
    contents = sorted({each.content or "" for each in believed.values()})
    for query in (*contents[: 1 + as_of.recorded_at % 2], "nothing of it"):
        found = bench.store.search(
            query,
            scope=Scope.parse(subject),
            as_of=moment(as_of.recorded_at),
            valid_at=moment(as_of.valid_at),
            limit=1_000,
        )
        bench.model.asked = max(bench.model.asked, as_of.recorded_at)
        same = {key for key, fact in believed.items() if fact.content == query}
        assert {hit.fact_id: hit.fact for hit in found} == {
            key: fact for key, fact in believed.items() if key in same
        }


def check_get(bench: Bench, fact_id: str) -> None:
    """Check what is believed of one fact now."""
    expected = bench.seen_now(fact_id)
    if expected is None:
        assert refusal(lambda: bench.store.get(fact_id)) is FactNotCurrentError
    else:
        assert bench.store.get(fact_id) == expected


def check_page(bench: Bench, subject: str, limit: int, as_of: AsOf | None) -> "List":
    """Check the first page of a list; return how it must go on, whatever is written."""
    model = bench.model
    point = as_of or AsOf(recorded_at=model.now, valid_at=model.now)
    asked: dict[str, Any] = {"scope": Scope.parse(subject)}
    if as_of is not None:
        model.asked = max(model.asked, as_of.recorded_at)
        asked |= {"as_of": moment(point.recorded_at), "valid_at": moment(point.valid_at)}
    everything = shown.facts(oracle.snapshot(model.ledger, subject, point))
    page = bench.store.get_all(**asked, limit=limit)
    assert page.items == everything[:limit]
    assert bool(page.next_cursor) == (len(everything) > limit)
    assert page.valid_at == moment(point.valid_at)
    assert as_of is None or page.recorded_at == moment(point.recorded_at)
    return List(asked=asked, rest=everything[limit:], cursor=page.next_cursor)


def check_next_page(bench: Bench, listed: "List", limit: int) -> "List":
    """Check that a list goes on where it stopped, as it was when it began."""
    page = bench.store.get_all(**listed.asked, limit=limit, cursor=listed.cursor)
    assert page.items == listed.rest[:limit]
    assert bool(page.next_cursor) == (len(listed.rest) > limit)
    return List(asked=listed.asked, rest=listed.rest[limit:], cursor=page.next_cursor)


@dataclass(frozen=True, slots=True, kw_only=True)
class List:
    """A list that is being paged through."""

    asked: Mapping[str, Any]
    rest: tuple[Fact, ...]
    cursor: str | None


def _fact(seen: Seen | None) -> Fact | None:
    return None if seen is None else shown.fact(seen)
