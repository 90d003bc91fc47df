"""
Events as bytes: canonical, versioned, upcast when read.

A stored event has two parts. The *header* stays readable and holds no personal
content: periods, traits, versions. The *content* is what `muniment.ledger.sealing`
encrypts. Both are JSON with sorted keys and without absent fields; numbers are finite.

A topic names the kind of event and its schema, ``fact.asserted.v1``; it never names a
module, so that code can move. To change what an event holds, raise its schema and add
an upcaster; never edit what is stored.
"""

from collections.abc import Callable
from dataclasses import fields
from typing import Any, cast

import msgspec
from eventsourcing.utils import register_topic, resolve_topic

from muniment.domain import access_events, events, receipt, session
from muniment.domain.access_events import Inquiry, KeyHolder, Proposed
from muniment.domain.events import (
    Content,
    Event,
    Evidence,
    RetireCause,
    Traits,
)
from muniment.domain.keeping import Records
from muniment.domain.receipt import Recall, Setting
from muniment.domain.session import Opening, Role, SummaryTrigger, Words
from muniment.domain.time import Period
from muniment.errors import NewerSchemaError, UnknownEventError
from muniment.ledger import stated


Fields = dict[str, Any]

_KINDS: dict[type[Event], str] = {
    events.FactAsserted: "fact.asserted",
    events.FactRevised: "fact.revised",
    events.FactCorroborated: "fact.corroborated",
    events.FactEnded: "fact.ended",
    events.FactRetired: "fact.retired",
    events.FactRestored: "fact.restored",
    events.FactRolledBack: "fact.rolled_back",
    events.FactRedacted: "fact.redacted",
    events.FactThinned: "fact.thinned",
    events.SubjectFrozen: "subject.frozen",
    events.SubjectThawed: "subject.thawed",
    events.HoldPlaced: "subject.hold_placed",
    events.HoldReleased: "subject.hold_released",
    events.RedactionDeferred: "subject.redaction_deferred",
    events.WordsRedactionDeferred: "subject.words_redaction_deferred",
    events.ErasureDeferred: "subject.erasure_deferred",
    events.SubjectDisclosed: "subject.disclosed",
    events.SubjectThinned: "subject.thinned",
    events.RecordsExpired: "subject.records_expired",
    events.SubjectErased: "subject.erased",
    access_events.AccessRecorded: "access.recorded",
    access_events.GlassBroken: "access.glass_broken",
    access_events.GlassReviewed: "access.glass_reviewed",
    access_events.ApiKeyIssued: "api_key.issued",
    access_events.ApiKeyRevoked: "api_key.revoked",
    access_events.ProposalMade: "proposal.made",
    access_events.ProposalApproved: "proposal.approved",
    access_events.ProposalRejected: "proposal.rejected",
    access_events.ProposalCarriedOut: "proposal.carried_out",
    access_events.FactShared: "share.made",
    events.RequestAnswered: "subject.request_answered",
    session.SessionStarted: "session.started",
    session.SessionEnded: "session.ended",
    session.SessionRedacted: "session.redacted",
    session.TurnsExpired: "session.turns_expired",
    session.TurnAdded: "turn.added",
    session.TurnRedacted: "turn.redacted",
    session.SummaryMade: "summary.made",
    session.SummaryWithdrawn: "summary.withdrawn",
    receipt.ReceiptLeft: "receipt.left",
    receipt.ReceiptsLost: "receipt.lost",
    receipt.ConfigurationRecorded: "configuration.recorded",
}
_STATEMENTS: dict[str, Callable[[bytes, bytes | None], Event]] = {
    "fact.asserted": stated.asserted,
    "fact.revised": stated.revised,
}
"""The kinds of which there are most; they are not decoded field by field."""

_FIELDS = {kind: tuple(each.name for each in fields(kind)) for kind in _KINDS}
_SCHEMAS: dict[str, int] = {**dict.fromkeys(_KINDS.values(), 1), "subject.frozen": 2}
_UPCASTERS: dict[tuple[str, int], Callable[[Fields], Fields]] = {
    ("subject.frozen", 1): lambda header: {**header, "hides": False},
}
"""By kind and schema: the header of the next schema from the header of this one."""

SEALED = frozenset(
    {
        "content",
        "evidence",
        "holder",
        "inquiry",
        "matter",
        "note",
        "opening",
        "proposal",
        "recall",
        "setting",
        "summary",
        "words",
    }
)
"""The fields that are encrypted; the others stay readable."""


for _event, _kind in _KINDS.items():
    register_topic(_kind, _event)

_encoder = msgspec.json.Encoder(order="sorted")
_decoder = msgspec.json.Decoder()


class Encoded(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """
    An event as bytes.

    Attributes:
        topic: Its kind and schema.
        header: What stays readable.
        content: What is to be sealed; may be empty.
    """

    topic: str
    header: bytes
    content: bytes


def topic_of(kind: type[Event]) -> str:
    """Return the topic under which events of *kind* are stored today."""
    name = _KINDS[kind]
    return f"{name}.v{_SCHEMAS[name]}"


ASSERTED = topic_of(events.FactAsserted)
"""The topic under which a fact is remembered for the first time."""

ERASED = topic_of(events.SubjectErased)
"""The topic of the event after which a subject has nothing left to project."""


def encode(event: Event) -> Encoded:
    """Return *event* as bytes."""
    header: Fields = {}
    content: Fields = {}
    for field in _FIELDS[type(event)]:
        value = getattr(event, field)
        if value is None:
            continue
        if field in SEALED:
            content = _plain_sealed(field, value)
        else:
            header[field] = _plain(value)
    return Encoded(
        topic=topic_of(type(event)),
        header=_encoder.encode(header),
        content=_encoder.encode(content) if content else b"",
    )


def decode(topic: str, header: bytes, content: bytes | None, *, place: str) -> Event:
    """
    Return the event stored as *header* and *content*.

    Args:
        topic: Its kind and schema.
        header: As stored.
        content: Opened, or ``None`` when its key is gone or not wanted.
        place: Where it stands, for errors.

    Raises:
        UnknownEventError: If there is no such kind of event.
        NewerSchemaError: If a newer version of Muniment wrote it.
    """
    name, schema = kind_of(topic, place=place)
    for step in range(schema, _SCHEMAS[name]):
        header = canonical(_UPCASTERS[name, step](_decoder.decode(header)))
    statement = _STATEMENTS.get(name)
    if statement is not None:
        return statement(header, content)
    stored: Fields = _decoder.decode(header)
    kind: Any = resolve_topic(name)
    sealed = _decoder.decode(content) if content else None
    values = {each: _revived(each, stored, sealed) for each in _FIELDS[kind]}
    return cast("Event", kind(**values))


def kind_of(topic: str, *, place: str) -> tuple[str, int]:
    """
    Return the kind and the schema that *topic* names.

    Raises:
        UnknownEventError: If there is no such kind of event.
        NewerSchemaError: If its schema is newer than this version knows.
    """
    name, _, schema = topic.rpartition(".v")
    if name not in _SCHEMAS or not schema.isdecimal() or int(schema) < 1:
        raise UnknownEventError(topic, place)
    if int(schema) > _SCHEMAS[name]:
        raise NewerSchemaError(f"event {name} at {place}", schema, str(_SCHEMAS[name]))
    return name, int(schema)


def canonical(value: object) -> bytes:
    """Return *value*, made of JSON types alone, as the one spelling we hash and seal."""
    return _encoder.encode(value)


def parsed(stored: bytes) -> Any:
    """Return what `canonical` was given."""
    return _decoder.decode(stored)


def _plain(value: object) -> object:
    match value:
        case Period():
            return [value.start, value.end]
        case Traits():
            return _plain_traits(value)
        case _:
            return value


def _plain_sealed(field: str, value: object) -> Fields:
    match value:
        case Content():
            return {"text": value.text, **_plain_evidence(value.evidence)}
        case Evidence():
            return _plain_evidence(value)
        case Inquiry() | KeyHolder() | Proposed() | Words():
            return _named(value, absent=(None, (), {}))
        case Opening() | Recall():
            # What is empty here is not the same as what was never said.
            return _named(value, absent=(None,))
        case Setting():
            return {"name": value.name, "value": value.value}
        case _:
            return {field: value}


def _named(value: Any, *, absent: tuple[object, ...]) -> Fields:
    """Return the fields of a value by name, but for those that hold nothing."""
    named = ((each, getattr(value, each)) for each in value.__dataclass_fields__)
    return {name: each for name, each in named if each not in absent}


def _plain_traits(traits: Traits) -> Fields:
    plain: Fields = {
        "status": traits.status,
        "confidence": traits.confidence,
        "importance": traits.importance,
        "core": traits.core,
    }
    if traits.category is not None:
        plain["category"] = traits.category
    if traits.attribute is not None:
        plain["attribute"] = traits.attribute
    if traits.expires_at is not None:
        plain["expires_at"] = traits.expires_at
    return plain


def _plain_evidence(evidence: Evidence) -> Fields:
    plain: Fields = {"source": evidence.source}
    if evidence.source_turns:
        plain["source_turns"] = evidence.source_turns
    if evidence.entities:
        plain["entities"] = evidence.entities
    if evidence.metadata:
        plain["metadata"] = evidence.metadata
    if evidence.claimed_at is not None:
        plain["claimed_at"] = evidence.claimed_at
    return plain


def _revived(field: str, stored: Fields, sealed: Fields | None) -> object:
    """Return the value of one field of an event."""
    if field in SEALED:
        return None if sealed is None else _opened(field, sealed)
    match field:
        case "within":
            return Period(*stored[field])
        case "cause":
            return RetireCause(stored[field])
        case "verbs":
            return tuple(stored[field]) if field in stored else None
        case "records":
            return Records(stored[field])
        case "role":
            return Role(stored[field])
        case "trigger":
            return SummaryTrigger(stored[field])
        case "sources" | "fact_ids":
            return tuple(stored[field])
        case "served" | "versions":
            return tuple((one, other) for one, other in stored[field])
        case _:
            return stored.get(field)


def _opened(field: str, sealed: Fields) -> object:
    """Return the value of a field that was encrypted."""
    match field:
        case "evidence":
            return _evidence(sealed)
        case "inquiry":
            return _inquiry(sealed)
        case "proposal":
            return Proposed(reason=sealed.get("reason"), asked=sealed.get("asked", {}))
        case "holder":
            return _holder(sealed)
        case "opening":
            return Opening(agent=sealed.get("agent"), metadata=sealed.get("metadata", {}))
        case "words":
            return _words(sealed)
        case "recall":
            return _recall(sealed)
        case "setting":
            return Setting(name=sealed["name"], value=sealed["value"])
        case _:
            return sealed[field]


def _evidence(sealed: Fields) -> Evidence:
    return Evidence(
        source=sealed["source"],
        source_turns=tuple(sealed.get("source_turns", ())),
        entities=tuple(sealed.get("entities", ())),
        metadata=sealed.get("metadata", {}),
        claimed_at=sealed.get("claimed_at"),
    )


def _words(sealed: Fields) -> Words:
    return Words(
        text=sealed["text"],
        agent=sealed.get("agent"),
        tool=sealed.get("tool"),
        utc_offset_s=sealed.get("utc_offset_s"),
        zone=sealed.get("zone"),
        entities=tuple(sealed.get("entities", ())),
        metadata=sealed.get("metadata", {}),
    )


def _recall(sealed: Fields) -> Recall:
    placed = sealed.get("placed")
    return Recall(
        query=sealed["query"],
        scopes=tuple(sealed["scopes"]),
        session_id=sealed.get("session_id"),
        agent=sealed.get("agent"),
        scores=tuple(float(each) for each in sealed["scores"]),
        placed=None if placed is None else tuple(placed),
        turns=tuple(sealed["turns"]),
        summaries=tuple(
            (session_id, version) for session_id, version in sealed["summaries"]
        ),
        budget=sealed.get("budget"),
        tokens=sealed.get("tokens"),
        template=sealed.get("template"),
        prompt_digest=sealed.get("prompt_digest"),
    )


def _inquiry(sealed: Fields) -> Inquiry:
    shown = sealed.get("returned", ())
    return Inquiry(
        reason=sealed["reason"],
        matter=sealed.get("matter"),
        query=sealed.get("query", {}),
        returned=tuple((fact_id, version) for fact_id, version in shown),
    )


def _holder(sealed: Fields) -> KeyHolder:
    return KeyHolder(
        id=sealed["id"],
        kind=sealed["kind"],
        roles=tuple(sealed.get("roles", ())),
        memberships=tuple(sealed.get("memberships", ())),
        user_id=sealed.get("user_id"),
    )
