"""
The life of one fact: what each version left believed.

`evolve` folds events into state; `decision` turns a command and state into events.
Both are pure and total. Everything else in Muniment is plumbing.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from typing import assert_never

from muniment.domain.events import (
    FactAsserted,
    FactCorroborated,
    FactEnded,
    FactEvent,
    FactRedacted,
    FactRestored,
    FactRetired,
    FactRevised,
    FactRolledBack,
    FactThinned,
)
from muniment.domain.time import ALWAYS, FOREVER, Instant, Period
from muniment.domain.values import quickly_made
from muniment.errors import ThinnedError


Statement = FactAsserted | FactRevised
"""An event that says what a fact holds; the others only keep, end or bring back."""


@quickly_made
@dataclass(frozen=True, slots=True, order=True)
class Belief:
    """What *version* said, held for one period of valid time."""

    valid: Period
    version: int


Beliefs = tuple[Belief, ...]
"""Disjoint, in order of valid time."""


@quickly_made
@dataclass(frozen=True, slots=True)
class FactState:
    """
    A fact after all its events.

    Attributes:
        events: Version k is ``events[k - 1]``.
        left: What version k left believed is ``left[k]``; ``left[0]`` is nothing.
        redacted: Whether its content is unreadable for good.
        thinned: Versions whose content is, though that of others is not.
    """

    events: tuple[FactEvent, ...] = ()
    left: tuple[Beliefs, ...] = ((),)
    redacted: bool = False
    thinned: frozenset[int] = frozenset()

    @property
    def head(self) -> int:
        return len(self.events)

    @property
    def beliefs(self) -> Beliefs:
        return self.left[-1]

    def at(self, valid_at: Instant) -> Belief | None:
        """Return what is believed about *valid_at*, if anything."""
        return next((each for each in self.beliefs if valid_at in each.valid), None)

    def said(self, version: int) -> Statement:
        """Return what the version of a belief says."""
        event = self.events[version - 1]
        assert isinstance(event, FactAsserted | FactRevised), "a belief names a statement"
        return event


def evolve(fact: FactState, event: FactEvent) -> FactState:
    """Return *fact* after *event*. Total: never raises."""
    redacted = fact.redacted or isinstance(event, FactRedacted)
    left = () if redacted else _after(fact, event)
    gone = fact.thinned
    if isinstance(event, FactThinned):
        gone = gone.union(*(range(first, last + 1) for first, last in event.versions))
    return FactState((*fact.events, event), (*fact.left, left), redacted, gone)


def fold(events: Iterable[FactEvent]) -> FactState:
    """Return the fact that *events*, oldest first, add up to."""
    return reduce(evolve, events, FactState())


def thinned_brought_back(before: FactState, after: FactState) -> int | None:
    """Return a version that is believed anew although what it said was thinned, if any."""
    for each in after.beliefs if after.thinned else ():
        known = (b.valid for b in before.beliefs if b.version == each.version)
        if each.version in after.thinned and not any(b.covers(each.valid) for b in known):
            return each.version
    return None


def refuse_thinned(fact_id: str, before: FactState, after: FactState) -> None:
    """
    Refuse to bring back what nobody can read any more.

    Raises:
        ThinnedError: If what a version said that would be believed anew was thinned.
    """
    version = thinned_brought_back(before, after)
    if version is not None:
        raise ThinnedError(f"fact {fact_id}", version=version)


def touched(event: FactEvent) -> Period | None:
    """Return the valid period in which *event* may change what is believed."""
    match event:
        case FactAsserted() | FactRevised():
            return event.valid
        case FactEnded():
            return Period(event.valid_to) if event.valid_to < FOREVER else None
        case FactRolledBack():
            return event.within
        case FactRetired() | FactRestored() | FactRedacted():
            return ALWAYS
        case FactCorroborated() | FactThinned():
            return None
        case _:
            assert_never(event)


def outside(beliefs: Beliefs, period: Period) -> Beliefs:
    """Return what *beliefs* hold outside *period*."""
    if not beliefs:
        return ()
    first, last = _overlapping(beliefs, period)
    pieces = beliefs[first:last]
    rests = tuple(Belief(rest, b.version) for b in pieces for rest in b.valid.minus(period))
    return beliefs[:first] + rests + beliefs[last:]


def inside(beliefs: Beliefs, period: Period) -> Beliefs:
    """Return what *beliefs* hold within *period*."""
    first, last = _overlapping(beliefs, period)
    pieces = beliefs[first:last]
    return tuple(Belief(part, b.version) for b in pieces for part in b.valid.common(period))


def _overlapping(beliefs: Beliefs, period: Period) -> tuple[int, int]:
    """Return where the beliefs that overlap *period* begin and end."""
    first = bisect_right(beliefs, period.start, key=lambda belief: belief.valid.end)
    last = bisect_left(beliefs, period.end, key=lambda belief: belief.valid.start)
    return first, max(first, last)


def _after(fact: FactState, event: FactEvent) -> Beliefs:
    """Return what *event* leaves believed of a fact that is not redacted."""
    match event:
        case FactAsserted() | FactRevised():
            mine = Belief(event.valid, fact.head + 1)
            return tuple(sorted((*outside(fact.beliefs, event.valid), mine)))
        case FactCorroborated() | FactThinned():
            return fact.beliefs
        case FactEnded():
            ended = touched(event)
            return outside(fact.beliefs, ended) if ended else fact.beliefs
        case FactRestored():
            return _right_after(fact, event.to_version)
        case FactRolledBack():
            kept = outside(fact.beliefs, event.within)
            back = inside(_right_after(fact, event.to_version), event.within)
            return _joined(sorted((*kept, *back)))
        case FactRetired() | FactRedacted():
            return ()
        case _:
            assert_never(event)


def _right_after(fact: FactState, version: int) -> Beliefs:
    return fact.left[max(0, min(version, fact.head))]


def _joined(beliefs: Iterable[Belief]) -> Beliefs:
    """Join touching pieces of one version, which a rollback puts side by side again."""
    joined: list[Belief] = []
    for belief in beliefs:
        last = joined[-1] if joined else None
        if last and last.version == belief.version and last.valid.end == belief.valid.start:
            joined[-1] = Belief(Period(last.valid.start, belief.valid.end), belief.version)
        else:
            joined.append(belief)
    return tuple(joined)
