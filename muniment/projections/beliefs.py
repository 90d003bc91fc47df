"""
What was believed, about when, and since when: the rows of the timeline, as values.

One row is one rectangle, ``valid x recorded``, in which one version of a fact was
believed. Rectangles of one fact never overlap. One still believed has an open recorded
end. A piece that a later event split off or carried on keeps the position of the event
that said it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import reduce
from itertools import groupby, zip_longest
from typing import Final, Protocol, TypeVar

import msgspec
import sqlalchemy as sa
from msgspec.structs import replace

from muniment.domain.events import FactRedacted, FactThinned, Traits
from muniment.domain.fact import Belief, FactState, evolve, fold
from muniment.domain.thinning import Runs
from muniment.domain.time import FOREVER, AsOf, Instant, Period
from muniment.ledger.inline import InlineProjection
from muniment.ledger.records import RecordedEvent, StampedEvent, fact_event
from muniment.ledger.transaction import FactChange


R = TypeVar("R")

LOST: Final = b""
"""In the place of the digest of what cannot be read although no event says why."""


class BeliefRow(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """
    One rectangle.

    Attributes:
        version: Of the event that said it.
        position: Of the event that said it.
        recorded: From when to when it was believed.
        valid: For when it was believed.
        content_tag: Keyed digest by which a repeat is found; ``None`` of what was redacted
            or thinned, of which not even a digest stays. In what is made anew from the
            ledger, `LOST` where it cannot be known and no event says why.
    """

    fact_id: str
    subject_ref: str
    version: int
    position: int
    recorded: Period
    valid: Period
    traits: Traits
    content_tag: bytes | None


class Closing(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A rectangle still believed that ends at *recorded_to*."""

    fact_id: str
    valid_from: Instant
    recorded_to: Instant


class Believed(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A belief found by a query, with the sealed event that said it."""

    row: BeliefRow
    said: StampedEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class BeliefQuery:
    """
    Which beliefs of one subject to return.

    Attributes:
        subject_ref: Whose.
        as_of: What was known when, about when.
        category: Only of this category, or ``None``.
        after: Only past this valid start and fact id, or ``None``.
        limit: At most so many; ``None`` for all.
        expired_at: Leave out what expires at or before this recorded time.
    """

    subject_ref: str
    as_of: AsOf
    category: str | None
    after: tuple[Instant, str] | None
    limit: int | None
    expired_at: Instant


class DerivedStore(Protocol):
    """
    A store of what is derived from a subject's events, as an erasure sees it.

    Attributes:
        name: By which an erasure certificate names it.
    """

    @property
    def name(self) -> str: ...

    def purge(self, subject_ref: str) -> int:
        """Remove everything of an erased subject; return how much, as far as known."""

    def remaining(self, subject_ref: str) -> int:
        """Return how much is left of a subject."""

    def scrub(self) -> bool:
        """Overwrite what was purged; whether no trace of it is left in our files."""


class LastUse(Protocol):
    """Who knows when facts were used otherwise than by writing, such as recalled."""

    def last_used(self, fact_ids: Sequence[str]) -> Mapping[str, Instant]:
        """Return by fact when it was last used; facts that never were may be left out."""


class Timeline(InlineProjection, DerivedStore, Protocol):
    """The read model that answers as-of questions."""

    def of_subject(self, query: BeliefQuery) -> Sequence[Believed]:
        """Return what *query* asks for, ordered by valid start, then fact id."""

    def of_fact(self, fact_id: str, as_of: AsOf) -> Believed | None:
        """Return what was believed of one fact at one point, expired or not."""

    def moved(self, subject_ref: str, *, after: Instant, limit: int) -> Sequence[BeliefRow]:
        """Return at most *limit* of the rectangles that began or ended past *after*."""

    def of_facts(self, fact_ids: Sequence[str]) -> Sequence[BeliefRow]:
        """Return every rectangle of some facts, in no order; for what follows from it."""

    def repeats(
        self,
        connection: sa.Connection | None,
        subject_ref: str,
        content_tags: Sequence[bytes],
    ) -> Mapping[bytes, Sequence[str]]:
        """Return by tag the facts of a subject of which that content is believed now."""

    def needed(
        self, connection: sa.Connection | None, *, first: int, last: int
    ) -> AbstractSet[int]:
        """Return which of the positions *first* to *last* a belief held now rests on."""

    def resting(self, at: Instant, *, after: str) -> Sequence[StampedEvent]:
        """
        Return the events that what was believed at *at* rests on, of some subjects.

        As they are stored: with no payload where it left the database.

        Args:
            at: A recorded time.
            after: Of the subjects that come next to this one.

        Returns:
            Subject by subject, all of each; empty after the last subject.
        """

    def rows(self) -> Iterable[BeliefRow]:
        """Yield every rectangle, by fact, recorded start and valid start."""

    def fresh_rows(self) -> Iterable[list[BeliefRow]]:
        """Yield, fact by fact in order, the rectangles the ledger adds up to."""

    def is_level(self) -> bool:
        """
        Whether every rectangle is as the ledger adds up to, so that none has to be named.

        Where it says no, a rectangle differs, or the order of facts alone, which is the
        database's; what does is asked of `differences`.

        Raises:
            Corruption: If an event does not open.
        """

    def rebuild(self) -> int:
        """Replace every rectangle by a fresh fold of the ledger; return their number."""


def rows_after(change: FactChange) -> tuple[list[Closing], list[BeliefRow]]:
    """Return the rectangles that *change* ends, and those it begins."""
    before = fold(fact_event(each) for each in change.history)
    closed, opened, _ = _step(before, (*change.history, *change.added), change.added)
    return closed, opened


def rows_of(events: Sequence[RecordedEvent]) -> list[BeliefRow]:
    """Return every rectangle of one fact, from all of its events."""
    fact = FactState()
    ended: list[BeliefRow] = []
    begun: dict[Instant, BeliefRow] = {}
    for _, group in groupby(events, key=lambda each: each.tx_id):
        added = tuple(group)
        closed, opened, fact = _step(fact, events, added)
        for each in closed:
            row = begun.pop(each.valid_from)
            recorded = Period(row.recorded.start, each.recorded_to)
            ended.append(replace(row, recorded=recorded))
        begun.update((row.valid.start, row) for row in opened)
    return [_untagged(row, fact) for row in (*ended, *begun.values())]


def _step(
    before: FactState, events: Sequence[RecordedEvent], added: Sequence[RecordedEvent]
) -> tuple[list[Closing], list[BeliefRow], FactState]:
    """Return what one transaction ends and begins, and the fact after it."""
    after = reduce(evolve, (fact_event(each) for each in added), before)
    now = added[0].recorded_at
    # Beliefs of one fact are disjoint, so where one begins names it.
    held = {belief.valid.start: belief for belief in before.beliefs}
    holds = {belief.valid.start: belief for belief in after.beliefs}
    fact_id = added[0].fact_id
    closed = [
        Closing(fact_id=fact_id, valid_from=start, recorded_to=now)
        for start, belief in held.items()
        if not _is(holds.get(start), belief)
    ]
    opened = [
        _row(belief, after, events, now)
        for start, belief in holds.items()
        if not _is(held.get(start), belief)
    ]
    return closed, opened, after


def _is(one: Belief | None, other: Belief) -> bool:
    # Most are carried on as they are, and to compare two takes longer than that.
    return one is other or one == other


def without_digest(change: FactChange) -> Runs:
    """Return the versions of which not even a digest may stay, once *change* is made."""
    gone: list[tuple[int, int]] = []
    for each in change.added:
        match each.event:
            case FactRedacted():
                return ((1, each.version),)
            case FactThinned(versions=versions):
                gone += versions
            case _:
                pass
    return tuple(gone)


def differences(
    fresh: Iterable[list[BeliefRow]], stored: Iterable[BeliefRow]
) -> Iterator[tuple[int, str]]:
    """
    Yield where stored rectangles are not what the ledger adds up to.

    Args:
        fresh: Of each fact, in order of fact.
        stored: In the same order.

    Yields:
        The position of the event a rectangle rests on, and what is wrong with it.
    """
    lost: list[BeliefRow] = []

    def expected() -> Iterator[BeliefRow]:
        for rows in fresh:
            lost.extend(row for row in rows if row.content_tag == LOST)
            yield from in_order(rows)

    missing, strange = unmatched(expected(), stored)
    for row in sorted(lost, key=lambda row: row.position):
        said = f"fact {row.fact_id}, version {row.version},"
        yield row.position, f"the key of {said} is gone, and no event says why"
    for row in sorted(missing | strange, key=lambda row: (row.position, *_key(row))):
        problem = "is missing" if row in missing else "does not follow from the ledger"
        yield row.position, f"a row of fact {row.fact_id}, version {row.version}, {problem}"


def in_order(rows: Iterable[BeliefRow]) -> list[BeliefRow]:
    """Return rectangles in the order of a timeline."""
    return sorted(rows, key=_key)


def unmatched(expected: Iterable[R], stored: Iterable[R]) -> tuple[set[R], set[R]]:
    """Return the rows that are *expected* alone, and those that are *stored* alone."""
    missing: set[R] = set()
    strange: set[R] = set()
    for one, other in zip_longest(expected, stored):
        if one == other:
            continue
        # Rows shift against each other from the first difference on: what is on both
        # sides in the end was only shifted.
        for row, mine, others in ((one, missing, strange), (other, strange, missing)):
            if row in others:
                others.discard(row)
            elif row is not None:
                mine.add(row)
    return missing, strange


def _untagged(row: BeliefRow, fact: FactState) -> BeliefRow:
    """Return *row* of a fact without what must not stay of content that went."""
    if fact.redacted or row.version in fact.thinned:
        return replace(row, content_tag=None)
    return row if row.content_tag is not None else replace(row, content_tag=LOST)


def _key(row: BeliefRow) -> tuple[str, Instant, Instant]:
    return row.fact_id, row.recorded.start, row.valid.start


def _row(
    belief: Belief, fact: FactState, events: Sequence[RecordedEvent], now: Instant
) -> BeliefRow:
    said = events[belief.version - 1]
    return BeliefRow(
        fact_id=said.fact_id,
        subject_ref=said.subject_ref,
        version=belief.version,
        position=said.position,
        recorded=Period(now, FOREVER),
        valid=belief.valid,
        traits=fact.said(belief.version).traits,
        content_tag=None if fact.redacted else said.content_tag,
    )
