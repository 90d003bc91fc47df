"""From the oracle's words to what the facade gives back."""

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass

from muniment import Fact, FactVersion, Scope
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
    RevisionCause,
)
from muniment.domain.text import Json
from muniment.instants import moment, to_datetime
from tests import oracle
from tests.oracle import Recorded, Seen


def fact(seen: Seen) -> Fact:
    """Return *seen* as a caller gets it."""
    said = seen.statement
    assert said.content is not None
    expires_at = said.traits.expires_at
    return Fact(
        fact_id=seen.said.fact_id,
        scope=Scope.parse(seen.said.subject),
        content=said.content.text,
        version=seen.said.version,
        valid_from=to_datetime(seen.valid.start),
        valid_to=to_datetime(seen.valid.end),
        recorded_at=moment(seen.said.recorded_at),
        position=seen.said.position,
        tx_id=seen.said.tx_id,
        category=said.traits.category,
        attribute=said.traits.attribute,
        source=said.content.evidence.source,
        status="active",
        confidence=said.traits.confidence,
        importance=said.traits.importance,
        core=said.traits.core,
        entities=said.content.evidence.entities,
        metadata=said.content.evidence.metadata,
        source_turns=said.content.evidence.source_turns,
        expires_at=None if expires_at is None else moment(expires_at),
    )


def facts(seen: Sequence[Seen]) -> tuple[Fact, ...]:
    return tuple(fact(each) for each in seen)


def pieces(history: Sequence[Recorded], held: oracle.Held) -> tuple[Fact, ...]:
    """Return all that is *held* of the fact with this history, by valid time."""
    return tuple(
        fact(Seen(valid=valid, said=history[version - 1]))
        for valid, version in sorted(held)
    )


def versions(history: Sequence[Recorded]) -> tuple[FactVersion, ...]:
    return tuple(version(each) for each in history)


def version(recorded: Recorded) -> FactVersion:
    """Return one event of a fact as a caller gets it."""
    (event,) = oracle.happened([recorded])
    valid_from = valid_to = content = restores = confidence = None
    source_turns: tuple[str, ...] = ()
    metadata: dict[str, Json] = {}
    match event:
        case FactAsserted() | FactRevised():
            assert event.content is not None
            valid_from = to_datetime(event.valid.start)
            valid_to = to_datetime(event.valid.end)
            content = event.content.text
            source_turns = event.content.evidence.source_turns
            confidence = event.traits.confidence
            metadata = dict(event.content.evidence.metadata)
        case FactCorroborated():
            confidence = event.confidence
            assert event.evidence is not None
            metadata = dict(event.evidence.metadata)
        case FactEnded():
            valid_to = to_datetime(event.valid_to)
        case FactRestored() | FactRolledBack():
            restores = event.to_version
        case _:
            pass
    return FactVersion(
        fact_id=recorded.fact_id,
        version=recorded.version,
        kind=_kind(event),
        content=content,
        valid_from=valid_from,
        valid_to=valid_to,
        recorded_at=moment(recorded.recorded_at),
        position=recorded.position,
        tx_id=recorded.tx_id,
        action=recorded.action,
        actor=recorded.actor,
        reason=recorded.reason,
        trigger=recorded.trigger,
        source=recorded.source,
        session_id=recorded.session_id,
        source_turns=source_turns,
        confidence=confidence,
        metadata=metadata,
        claimed_at=None,
        restores=restores,
    )


def given(said: object) -> dict[str, object]:
    """Return what is said of a fact as a caller passes it: nothing that is left out."""
    assert is_dataclass(said)
    named = {each.name: getattr(said, each.name) for each in fields(said)}
    return {
        name: moment(value) if name in _TIMES else value
        for name, value in named.items()
        if value is not None
    }


def by_fact(
    streams: Mapping[str, Sequence[Recorded]],
) -> dict[str, tuple[FactVersion, ...]]:
    return {fact_id: versions(history) for fact_id, history in streams.items()}


_TIMES = frozenset({"valid_from", "valid_to", "expires_at", "since", "until"})


_KINDS: Mapping[type[FactEvent], str] = {
    FactAsserted: "asserted",
    FactCorroborated: "corroborated",
    FactEnded: "ended",
    FactRetired: "retired",
    FactRestored: "restored",
    FactRolledBack: "rolled_back",
    FactRedacted: "redacted",
    FactThinned: "thinned",
}


def _kind(event: FactEvent) -> str:
    if isinstance(event, FactRevised):
        return "revised" if event.cause is RevisionCause.CHANGED else "corrected"
    return _KINDS[type(event)]
