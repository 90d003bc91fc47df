"""From recorded events to what the store gives back."""

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from datetime import datetime

from muniment.api.answers import DiffEntry, Fact, FactVersion, MemoryDiff
from muniment.domain.events import (
    Event,
    Evidence,
    FactAsserted,
    FactCorroborated,
    FactEnded,
    FactRedacted,
    FactRestored,
    FactRetired,
    FactRevised,
    FactRolledBack,
    FactThinned,
    RevisionCause,
)
from muniment.domain.fact import Belief, Beliefs, FactState, fold
from muniment.domain.text import copied
from muniment.domain.time import Instant, Period
from muniment.instants import moment, to_datetime
from muniment.ledger.records import Origin, RecordedEvent, TransactionRow, fact_event
from muniment.ledger.vault import Subject


Origins = Mapping[int, tuple[TransactionRow, Origin]]
"""By number, transactions with who did them and why."""


def fact(subject: Subject, said: RecordedEvent, valid: Period) -> Fact:
    """Return the belief that *said* states, for *valid*."""
    event = said.event
    assert isinstance(event, FactAsserted | FactRevised), "a belief names a statement"
    traits, content = event.traits, event.content
    evidence = content.evidence if content else None
    return Fact(
        fact_id=said.fact_id,
        scope=subject.scope,
        content=content.text if content else None,
        version=said.version,
        valid_from=to_datetime(valid.start),
        valid_to=to_datetime(valid.end),
        recorded_at=moment(said.recorded_at),
        position=said.position,
        tx_id=said.tx_id,
        category=traits.category,
        attribute=traits.attribute,
        source=evidence.source if evidence else None,
        status=traits.status.value,
        confidence=traits.confidence,
        importance=traits.importance,
        core=traits.core,
        entities=evidence.entities if evidence else (),
        metadata=copied(evidence.metadata) if evidence else {},
        source_turns=evidence.source_turns if evidence else (),
        expires_at=None if traits.expires_at is None else to_datetime(traits.expires_at),
    )


def beliefs(
    subject: Subject, events: Sequence[RecordedEvent], held: Iterable[Belief]
) -> tuple[Fact, ...]:
    """Return the beliefs *held* of the fact whose events these are."""
    return tuple(fact(subject, events[each.version - 1], each.valid) for each in held)


def version(recorded: RecordedEvent, origins: Origins) -> FactVersion:
    """Return one event of a fact with who caused it and why."""
    row, origin = origins[recorded.tx_id]
    event = recorded.event
    content = event.content if isinstance(event, FactAsserted | FactRevised) else None
    evidence = content.evidence if content else None
    if isinstance(event, FactCorroborated):
        evidence = event.evidence
    valid_from, valid_to = _period(event)
    return FactVersion(
        fact_id=recorded.fact_id,
        version=recorded.version,
        kind=_kind(event),
        content=content.text if content else None,
        valid_from=valid_from,
        valid_to=valid_to,
        recorded_at=moment(recorded.recorded_at),
        position=recorded.position,
        tx_id=recorded.tx_id,
        action=row.action,
        actor=origin.actor,
        reason=origin.reason,
        trigger=origin.trigger,
        source=evidence.source if evidence else None,
        session_id=origin.session_id,
        source_turns=evidence.source_turns if evidence else origin.source_turns,
        confidence=_confidence(event),
        metadata=copied(evidence.metadata) if evidence else {},
        claimed_at=_claimed_at(evidence) or _imported_at(origin),
        restores=event.to_version
        if isinstance(event, FactRestored | FactRolledBack)
        else None,
        survivor=event.survivor if isinstance(event, FactRetired) else None,
        thinned=event.versions if isinstance(event, FactThinned) else (),
        on_behalf_of=origin.on_behalf_of,
    )


def by_fact(events: Iterable[RecordedEvent]) -> dict[str, list[RecordedEvent]]:
    """Return the events of facts among *events*, fact by fact, each oldest first."""
    found: dict[str, list[RecordedEvent]] = {}
    for event in events:
        if event.fact_id:
            found.setdefault(event.fact_id, []).append(event)
    return found


def state(events: Iterable[RecordedEvent]) -> FactState:
    """Return the fact whose events these are."""
    return fold(fact_event(each) for each in events)


def _kind(event: Event) -> str:
    match event:
        case FactAsserted():
            return "asserted"
        case FactRevised():
            return "revised" if event.cause is RevisionCause.CHANGED else "corrected"
        case FactCorroborated():
            return "corroborated"
        case FactEnded():
            return "ended"
        case FactRetired():
            return "retired"
        case FactRestored():
            return "restored"
        case FactRolledBack():
            return "rolled_back"
        case FactRedacted():
            return "redacted"
        case FactThinned():
            return "thinned"
        case _:
            raise AssertionError("the stream of a fact holds events of a fact")


def _claimed_at(evidence: Evidence | None) -> datetime | None:
    if evidence is None or evidence.claimed_at is None:
        return None
    return moment(evidence.claimed_at)


def _imported_at(origin: Origin) -> datetime | None:
    return None if origin.claimed_at is None else moment(origin.claimed_at)


def _confidence(event: Event) -> float | None:
    match event:
        case FactAsserted() | FactRevised():
            return event.traits.confidence
        case FactCorroborated():
            return event.confidence
        case _:
            return None


def _period(event: Event) -> tuple[datetime | None, datetime | None]:
    match event:
        case FactAsserted() | FactRevised():
            return to_datetime(event.valid.start), to_datetime(event.valid.end)
        case FactEnded():
            return None, to_datetime(event.valid_to)
        case _:
            return None, None


def says_nothing(said: RecordedEvent) -> bool:
    """Whether a statement cannot be read, since its key is destroyed."""
    event = said.event
    return isinstance(event, FactAsserted | FactRevised) and event.content is None


def diff_of(
    entries: Sequence[DiffEntry], from_position: int, to_position: int
) -> MemoryDiff:
    """Return *entries* sorted into what was added, removed and changed."""
    return MemoryDiff(
        added=tuple(each for each in entries if each.before is None),
        removed=tuple(each for each in entries if each.after is None),
        changed=tuple(each for each in entries if each.before and each.after),
        from_position=from_position,
        to_position=to_position,
    )


def turning(
    events: Sequence[RecordedEvent], about: AbstractSet[Instant], *, after: int
) -> list[RecordedEvent]:
    """
    Return the events past position *after* that changed what is believed *about* times.

    Where none did, time has passed: then the one that last did.
    """
    left = state(events).left
    turned = [
        event
        for number, event in enumerate(events)
        if any(_held(left[number], at) != _held(left[number + 1], at) for at in about)
    ]
    return [each for each in turned if each.position > after] or turned[-1:]


def _held(beliefs: Beliefs, valid_at: Instant) -> Belief | None:
    return next((each for each in beliefs if valid_at in each.valid), None)


def visible(fact: Fact | None) -> Fact | None:
    """Return what a diff compares: all but where the ledger keeps it and who said it."""
    if fact is None:
        return None
    return replace(
        fact,
        version=0,
        position=0,
        tx_id=0,
        recorded_at=_NOWHEN,
        source=None,
        source_turns=(),
    )


_NOWHEN = moment(Instant(0))


def last_shown(events: Sequence[RecordedEvent], about: Instant) -> RecordedEvent | None:
    """Return the event that last brought back what is visible at *about*, if one did."""
    known = state(events)
    shown = [
        next((each.version for each in left if about in each.valid), None)
        for left in known.left
    ]
    for number in range(known.head, 0, -1):
        if shown[number] != shown[number - 1]:
            event = events[number - 1]
            is_return = isinstance(event.event, FactRestored | FactRolledBack)
            return event if is_return else None
    return None
