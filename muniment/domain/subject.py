"""The life of one subject: frozen, held, erased. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import reduce
from typing import assert_never

from muniment.domain.commands import (
    EraseSubject,
    FreezeSubject,
    PlaceHold,
    ReleaseHold,
    SubjectCommand,
    ThawSubject,
)
from muniment.domain.events import (
    HoldPlaced,
    HoldReleased,
    SubjectErased,
    SubjectEvent,
    SubjectFrozen,
    SubjectThawed,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectState:
    """
    What binds a subject now.

    Attributes:
        frozen: Whether writes are refused.
        holds: Holds in force, in the order they were placed.
        erased: Whether its keys were destroyed.
    """

    frozen: bool = False
    holds: tuple[HoldPlaced, ...] = ()
    erased: bool = False

    def holds_on(self, fact_id: str | None) -> tuple[str, ...]:
        """Return the ids of the holds on the subject, or on that fact of it."""
        return tuple(
            hold.hold_id
            for hold in self.holds
            if hold.fact_id is None or fact_id in (None, hold.fact_id)
        )


def decide(command: SubjectCommand, subject: SubjectState) -> tuple[SubjectEvent, ...]:
    """
    Decide what happens when *command* meets *subject*.

    Returns:
        Events to append, in order; empty when the command changes nothing.
    """
    if subject.erased:
        return ()
    match command:
        case FreezeSubject():
            return () if subject.frozen else (SubjectFrozen(),)
        case ThawSubject():
            return (SubjectThawed(),) if subject.frozen else ()
        case PlaceHold():
            placed = HoldPlaced(
                hold_id=command.hold_id, fact_id=command.fact_id, matter=command.matter
            )
            return () if command.hold_id in _ids(subject) else (placed,)
        case ReleaseHold():
            released = HoldReleased(hold_id=command.hold_id)
            return (released,) if command.hold_id in _ids(subject) else ()
        case EraseSubject():
            return (SubjectErased(),)
        case _:
            assert_never(command)


def evolve(subject: SubjectState, event: SubjectEvent) -> SubjectState:
    """Return *subject* after *event*. Total: never raises."""
    match event:
        case SubjectFrozen():
            return replace(subject, frozen=True)
        case SubjectThawed():
            return replace(subject, frozen=False)
        case HoldPlaced():
            return replace(subject, holds=(*subject.holds, event))
        case HoldReleased():
            kept = tuple(each for each in subject.holds if each.hold_id != event.hold_id)
            return replace(subject, holds=kept)
        case SubjectErased():
            return SubjectState(erased=True)
        case _:
            assert_never(event)


def fold(events: Iterable[SubjectEvent]) -> SubjectState:
    """Return the subject that *events*, oldest first, add up to."""
    return reduce(evolve, events, SubjectState())


def _ids(subject: SubjectState) -> tuple[str, ...]:
    return tuple(hold.hold_id for hold in subject.holds)
