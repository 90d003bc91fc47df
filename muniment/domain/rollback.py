"""
What a rollback would do, as values: planned from the facts of a subject, pure.

A rollback never removes an event. It adds `FactRolledBack` events that bring back what
was believed before, fact by fact, and is planned in three ways: one fact to a version,
a subject to a time, a subject without what some cause wrote.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Final, assert_never

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
from muniment.domain.fact import (
    Beliefs,
    FactState,
    evolve,
    refuse_thinned,
    thinned_brought_back,
    touched,
)
from muniment.domain.time import ALWAYS, Instant, Period
from muniment.errors import FactRedactedError, InvalidValueError, VersionBeyondHeadError


@dataclass(frozen=True, slots=True, kw_only=True)
class Stamp:
    """
    What the ledger put on one event, and what the event was said to come from.

    A field is ``None`` where nothing was said, or where it can no longer be read.
    """

    position: int
    tx_id: int
    recorded_at: Instant
    actor: str | None
    trigger: str | None
    session_id: str | None
    source: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StampedFact:
    """
    A fact with the stamp of each of its events.

    Attributes:
        state: The fact after all its events.
        stamps: Version k is stamped ``stamps[k - 1]``.
    """

    state: FactState
    stamps: tuple[Stamp, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CausedBy:
    """
    Which events a rollback by cause takes back: those that match every field given.

    Attributes:
        since: Recorded at or after, or ``None``.
        until: Recorded before, or ``None``.

    Raises:
        InvalidValueError: If no field but the times is given, which would name
            everybody's writes; roll back to a time instead.
    """

    session_id: str | None = None
    source: str | None = None
    actor: str | None = None
    trigger: str | None = None
    tx_id: int | None = None
    since: Instant | None = None
    until: Instant | None = None

    def __post_init__(self) -> None:
        if not any((self.session_id, self.source, self.actor, self.trigger, self.tx_id)):
            raise InvalidValueError(
                "where", "nothing", "a session, source, actor, trigger or transaction"
            )

    def wrote(self, stamp: Stamp) -> bool:
        """Whether the event with this stamp was written by this cause."""
        return (
            self.session_id in (None, stamp.session_id)
            and self.source in (None, stamp.source)
            and self.actor in (None, stamp.actor)
            and self.trigger in (None, stamp.trigger)
            and self.tx_id in (None, stamp.tx_id)
            and (self.since is None or self.since <= stamp.recorded_at)
            and (self.until is None or stamp.recorded_at < self.until)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """
    What a rollback does to one fact.

    Attributes:
        events: What would be appended, in order; never empty.
        before: What is believed now.
        after: What would be believed then.
    """

    fact_id: str
    events: tuple[FactRolledBack, ...]
    before: Beliefs
    after: Beliefs


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """A fact a rollback leaves as it is, and why."""

    fact_id: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RollbackConflict:
    """
    A fact on which others wrote on top of what would go.

    Attributes:
        versions: What others wrote since, oldest first.
        forced: What taking it back all the same would do; ``None`` for nothing.
    """

    fact_id: str
    versions: tuple[int, ...]
    forced: Move | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Moves:
    """What a rollback would do to all facts it reaches, in order of fact id."""

    moves: tuple[Move, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    conflicts: tuple[RollbackConflict, ...] = ()

    def refuse_if_redacted(self) -> None:
        """
        Refuse to say that there is nothing to do where nothing can be done.

        Raises:
            FactRedactedError: If all there is to take back is unreadable for good.
        """
        if not (self.moves or self.conflicts):
            for each in self.skipped:
                if each.why == _REDACTED:
                    raise FactRedactedError(each.fact_id)


def to_version(fact_id: str, fact: StampedFact, version: int) -> Moves:
    """
    Plan to bring one fact back to what it was right after *version*.

    Raises:
        VersionBeyondHeadError: If the fact never had that version.
        ThinnedError: If what was believed then was thinned.
    """
    if not 0 <= version <= fact.state.head:
        raise VersionBeyondHeadError(fact_id, version, fact.state.head)
    if fact.state.redacted:
        return Moves(skipped=(_redacted(fact_id),))
    back = FactRolledBack(to_version=version)
    refuse_thinned(fact_id, fact.state, evolve(fact.state, back))
    return _gathered([_move(fact_id, fact.state, [back])])


def to_time(facts: Mapping[str, StampedFact], recorded_at: Instant) -> Moves:
    """
    Plan to bring every fact back to what it was at *recorded_at*.

    A fact created since goes to version 0; a redacted one stays so and is listed.
    """
    plans: list[Move | Skipped | RollbackConflict | None] = []
    for fact_id, fact in sorted(facts.items()):
        version = sum(stamp.recorded_at <= recorded_at for stamp in fact.stamps)
        if fact.state.redacted:
            plans.append(_redacted(fact_id))
        elif version < fact.state.head:
            plans.append(_move(fact_id, fact.state, [FactRolledBack(to_version=version)]))
    return _gathered(plans)


def without(facts: Mapping[str, StampedFact], cause: CausedBy) -> Moves:
    """
    Plan to take back what *cause* wrote, and to keep what others wrote on top.

    Where a later event of others touches the same valid time as one that would go, the
    fact is a conflict: keeping both is not possible.
    """
    plans = [
        _without(fact_id, fact, cause)
        for fact_id, fact in sorted(facts.items())
        if any(cause.wrote(stamp) for stamp in fact.stamps)
    ]
    return _gathered(plans)


def _without(
    fact_id: str, fact: StampedFact, cause: CausedBy
) -> Move | Skipped | RollbackConflict | None:
    if fact.state.redacted:
        return _redacted(fact_id)
    mine = [number for number, stamp in enumerate(fact.stamps, 1) if cause.wrote(stamp)]
    clashing = tuple(
        later
        for later in range(mine[0], fact.state.head + 1)
        if later not in mine and _clashes(fact.state, mine, later)
    )
    if not clashing:
        return _move(
            fact_id, fact.state, _towards(fact.state, _had_it_not(fact.state, mine))
        )
    forced = _move(fact_id, fact.state, _taken_back(fact.state, mine))
    if isinstance(forced, Skipped):
        return forced
    return RollbackConflict(fact_id=fact_id, versions=clashing, forced=forced)


def _had_it_not(fact: FactState, mine: list[int]) -> Beliefs:
    """Return what would be believed now had the versions of *mine* changed nothing."""
    without_mine = FactState()
    for version, event in enumerate(fact.events, 1):
        after = evolve(without_mine, event)
        left = without_mine.beliefs if version in mine else after.beliefs
        without_mine = FactState(after.events, (*without_mine.left, left))
    return without_mine.beliefs


def _towards(fact: FactState, wanted: Beliefs) -> list[FactRolledBack]:
    """Return the events that leave *wanted*, made of what versions of the fact said."""
    for version in range(fact.head, -1, -1):
        if fact.left[version] == wanted:
            return [FactRolledBack(to_version=version)]
    # Right after a statement its whole period says it, and before the first there was
    # nothing: so every piece that is wanted can be brought back from some version.
    gone = [piece for each in fact.beliefs for piece in _gaps(each.valid, wanted)]
    back = [
        FactRolledBack(to_version=each.version, within=each.valid)
        for each in wanted
        if each not in fact.beliefs
    ]
    return [FactRolledBack(to_version=0, within=piece) for piece in gone] + back


def _gaps(period: Period, beliefs: Beliefs) -> tuple[Period, ...]:
    """Return the parts of *period* in which *beliefs* hold nothing."""
    pieces: tuple[Period, ...] = (period,)
    for belief in beliefs:
        pieces = tuple(rest for piece in pieces for rest in piece.minus(belief.valid))
    return pieces


def _taken_back(fact: FactState, mine: list[int]) -> list[FactRolledBack]:
    """Return the events that undo each version of *mine* had effect, last first."""
    return [
        FactRolledBack(to_version=version - 1, within=period)
        for version in reversed(mine)
        if (period := touched(fact.events[version - 1])) is not None
    ]


def _clashes(fact: FactState, mine: list[int], later: int) -> bool:
    """Whether *later* says something where an earlier version of *mine* had effect."""
    event = fact.events[later - 1]
    match event:
        case FactAsserted() | FactRevised() | FactEnded():
            period = touched(event)
        case FactCorroborated():
            period = ALWAYS
        case (
            FactRestored()
            | FactRolledBack()
            | FactRetired()
            | FactRedacted()
            | FactThinned()
        ):
            # These say nothing of their own; what they bring back or take away is
            # judged by who said it.
            period = None
        case _:
            assert_never(event)
    earlier = [touched(fact.events[version - 1]) for version in mine if version < later]
    return period is not None and any(each and each.overlaps(period) for each in earlier)


def _move(
    fact_id: str, fact: FactState, events: Iterable[FactRolledBack]
) -> Move | Skipped | None:
    """
    Return what *events* do to *fact*, or ``None`` when they change nothing.

    It is left as it is where they would bring back what nobody can read any more.
    """
    planned: tuple[FactRolledBack, ...] = tuple(events)
    start: FactState = fact
    after = reduce(_evolved, planned, start)
    if after.beliefs == fact.beliefs:
        return None
    if thinned_brought_back(fact, after) is not None:
        return Skipped(fact_id=fact_id, why="what it said then was thinned")
    return Move(fact_id=fact_id, events=planned, before=fact.beliefs, after=after.beliefs)


def _evolved(fact: FactState, event: FactEvent) -> FactState:
    return evolve(fact, event)


def _redacted(fact_id: str) -> Skipped:
    return Skipped(fact_id=fact_id, why=_REDACTED)


_REDACTED: Final = "redacted for good"


def _gathered(plans: Iterable[Move | Skipped | RollbackConflict | None]) -> Moves:
    found = tuple(plans)
    return Moves(
        moves=tuple(each for each in found if isinstance(each, Move)),
        skipped=tuple(each for each in found if isinstance(each, Skipped)),
        conflicts=tuple(each for each in found if isinstance(each, RollbackConflict)),
    )
