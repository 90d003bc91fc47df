"""What became of something a fact said: the event that lost it, or time alone."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final

from muniment.api import showing
from muniment.api.diagnoses import Stage
from muniment.domain.events import (
    Event,
    FactEnded,
    FactRedacted,
    FactRestored,
    FactRetired,
    FactRolledBack,
    RetireCause,
)
from muniment.domain.fact import Beliefs
from muniment.domain.time import Instant
from muniment.instants import to_datetime, to_text
from muniment.ledger.records import RecordedEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class Became:
    """
    How what a fact said was lost.

    Attributes:
        event: That lost it; ``None`` where only time has passed, or has not yet.
        told: The same in words.
    """

    stage: Stage
    event: RecordedEvent | None
    told: str


def became(
    known: Sequence[RecordedEvent], versions: AbstractSet[int], at: Instant
) -> Became:
    """
    Return how a fact came not to say at a valid time what *versions* of it said.

    Args:
        known: All events of the fact known then, oldest first.
        versions: That said it.
        at: The valid time, at which it says something else or nothing.
    """
    for each in known:
        if isinstance(each.event, FactRedacted):
            # Whatever else became of it, this cannot be taken back.
            return _by(each)
    left = showing.state(known).left
    if (last := _last(left, versions, at)) is not None:
        return _by(known[last])
    spans = [each.valid for each in left[-1] if each.version in versions]
    if later := [each.start for each in spans if each.start > at]:
        told = f"holds only from {to_text(to_datetime(min(later)))} on"
        return Became(stage="not yet", event=None, told=told)
    if spans:
        until = to_text(to_datetime(max(each.end for each in spans)))
        return Became(stage="ended", event=None, told=f"held until {until}")
    # It held at another time only, and not even that is believed any more.
    last = _last(left, versions, None)
    assert last is not None, "what a version said was believed once"
    return _by(known[last])


def _last(
    left: Sequence[Beliefs], versions: AbstractSet[int], at: Instant | None
) -> int | None:
    """Return the place of the event after the last time it was believed, if it was."""
    return max(
        (
            number
            for number, beliefs in enumerate(left[:-1])
            for each in beliefs
            if each.version in versions and (at is None or at in each.valid)
        ),
        default=None,
    )


def _by(lost_by: RecordedEvent) -> Became:
    stage = _stage(lost_by.event)
    told = _TOLD.get(stage, f"was {stage}")
    match lost_by.event:
        case FactRetired(cause=RetireCause.MERGED, survivor=survivor):
            told = f"was merged into fact {survivor}, which says the same"
        case FactRetired(cause=RetireCause.UNUSED | RetireCause.UNIMPORTANT as cause):
            told = f"was retired by rule as {cause.value}"
        case _:
            pass
    return Became(stage=stage, event=lost_by, told=told)


def _stage(event: Event) -> Stage:
    match event:
        case FactEnded():
            return "ended"
        case FactRetired(cause=RetireCause.EXPIRED):
            return "expired"
        case FactRetired():
            return "retired"
        case FactRestored() | FactRolledBack():
            return "rolled back"
        case FactRedacted():
            return "redacted"
        case _:
            return "changed"


_TOLD: Final = {"changed": "said something else by then", "expired": "had expired"}
