"""
What the ledger stores and gives back: stamped events and transactions.

The records that exist once for each event are structs: made in a tenth of the time that a
frozen dataclass takes, and nothing for the garbage collector to follow, since they hold
values alone. See ADR 0040.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from eventsourcing.persistence import Notification, StoredEvent

from muniment.domain.events import Event, FactEvent
from muniment.domain.time import Instant
from muniment.ledger.vault import Subject


FACT = "fact-"
SUBJECT = "subject-"
SESSION = "session-"
TURNS = "turns-"
SUMMARIES = "summaries-"
RECEIPTS = "receipts-"
"""A stream is named after the fact, the subject or the session whose events it holds."""

NOBODY = "nobody"
"""In the place of a subject's name, where the stream is of receipts that name none."""

CONFIGURATION = "configuration"
ACCOUNT = "account"
"""The streams of the ledger itself: how agents are set up, what it must own up to."""

ACCESS = "access-"
GLASS = "glass-"
API_KEY = "api_key-"
PROPOSAL = "proposal-"
SHARE = "share-"
"""
Streams of one access, of the emergencies of one person, of one key, of one proposal, of
one copy of a fact, which it is named after.
"""


class DraftEvent(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """
    An event on its way into the ledger.

    Attributes:
        originator_id: The stream.
        originator_version: Place in the stream; 1-based, gapless.
        event: What happened.
        subject: Whose memory it is.
        key: The key of the stream, and its id in the vault.
        content_tag: Keyed digest by which a repeat is found, if it says something.
    """

    originator_id: str
    originator_version: int
    event: Event
    subject: Subject
    key: tuple[int, bytes]
    content_tag: bytes | None

    def __repr__(self) -> str:
        return f"<DraftEvent {self.originator_version} of {self.originator_id}>"


@dataclass(frozen=True, init=False)
class SealedEvent(StoredEvent):
    """
    A stored event with what the ledger keeps readable beside it.

    Attributes:
        subject_ref: Whose memory it is; empty for what belongs to nobody.
        key_id: The key of the stream in the vault; 0 for none.
    """

    subject_ref: str
    key_id: int

    def __init__(
        self,
        *,
        originator_id: str,
        originator_version: int,
        topic: str,
        state: bytes,
        subject_ref: str = "",
        key_id: int = 0,
    ) -> None:
        # Past the frozen dataclass, whose own way takes six times as long: every event
        # that is read or written passes here.
        fields = self.__dict__
        fields["originator_id"] = originator_id
        fields["originator_version"] = originator_version
        fields["topic"] = topic
        fields["state"] = state
        fields["subject_ref"] = subject_ref
        fields["key_id"] = key_id


class StampedEvent(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """
    One event of the ledger as it is stored, with the ledger's stamp on it.

    Attributes:
        position: Place in the ledger; 1-based, gapless.
        tx_id: The transaction it was appended in.
        recorded_at: Of that transaction.
        sealed: Stream, version, topic, and the sealed state.
    """

    position: int
    tx_id: int
    recorded_at: Instant
    sealed: SealedEvent


EventRow = Sequence[Any]
"""
A `StampedEvent` as a plain row, for whoever goes through all of a ledger.

Position, transaction, recorded time, stream, version, topic, subject, key, state.
"""


def stamped(row: EventRow) -> StampedEvent:
    """Return the event that *row* holds."""
    position, tx_id, recorded_at, stream, version, topic, subject_ref, key_id, state = row
    return StampedEvent(
        position=position,
        tx_id=tx_id,
        recorded_at=recorded_at,
        sealed=SealedEvent(
            originator_id=stream,
            originator_version=version,
            topic=topic,
            state=bytes(state),
            subject_ref=subject_ref,
            key_id=key_id,
        ),
    )


def event_row(event: StampedEvent) -> tuple[Any, ...]:
    """Return *event* as a row."""
    sealed = event.sealed
    return (
        event.position,
        event.tx_id,
        event.recorded_at,
        sealed.originator_id,
        sealed.originator_version,
        sealed.topic,
        sealed.subject_ref,
        sealed.key_id,
        sealed.state,
    )


class RecordedEvent(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """
    One event of the ledger, opened as far as its keys allow.

    Attributes:
        position: Place in the ledger; 1-based, gapless.
        tx_id: The transaction it was appended in.
        recorded_at: Of that transaction; strictly increasing from one to the next.
        stream: The fact or subject it belongs to.
        version: Place in the stream; 1-based, gapless.
        subject_ref: Whose memory it is.
        content_tag: Keyed digest by which a repeat is found; ``None`` where the event
            says nothing, or nobody asked.
        event: What happened; sealed fields are ``None`` where the key is gone.
    """

    position: int
    tx_id: int
    recorded_at: Instant
    stream: str
    version: int
    subject_ref: str
    content_tag: bytes | None
    event: Event

    @property
    def session_id(self) -> str:
        """The session whose stream, turns or summaries these are; empty for any other."""
        kind, _, name = self.stream.partition("-")
        return name if f"{kind}-" in (SESSION, TURNS, SUMMARIES) else ""

    @property
    def fact_id(self) -> str:
        """The fact whose stream this is; empty for any other stream."""
        return self.stream.removeprefix(FACT) if self.stream.startswith(FACT) else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """
    Who does something, why, and on whose word. Sealed with the subject's key.

    Attributes:
        actor: Who does it.
        reason: Why, in words.
        trigger: What set it off, such as ``user_explicit`` or ``tool_result``.
        session_id: The conversation it happened in.
        source_turns: The turns it rests on, in order.
        idempotency_key: By which a retry finds the first answer.
        claimed_at: When another ledger, which it was imported from, had recorded it.
        on_behalf_of: The user whom the actor does it for; headers without it say nobody.
    """

    actor: str | None = None
    reason: str | None = None
    trigger: str | None = None
    session_id: str | None = None
    source_turns: tuple[str, ...] = ()
    idempotency_key: str | None = None
    claimed_at: Instant | None = None
    on_behalf_of: str | None = None


class TransactionRow(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """
    One transaction as it is stored.

    Attributes:
        tx_id: Place among the ledger's transactions; 1-based, gapless.
        recorded_at: When the ledger learned it; strictly increasing.
        first_position: Of its events.
        last_position: Of its events.
        action: The verb, such as ``remember``.
        subject_ref: Whose memory it is about; empty for nobody's.
        idempotency_tag: Keyed digest of the idempotency key, or ``None``.
        request_tag: Keyed digest of the whole request, or ``None``.
        header: The sealed `Origin`.
    """

    tx_id: int
    recorded_at: Instant
    first_position: int
    last_position: int
    action: str
    subject_ref: str
    idempotency_tag: bytes | None
    request_tag: bytes | None
    header: bytes


@dataclass(frozen=True, slots=True)
class Head:
    """
    Where a ledger stands.

    Attributes:
        tx_id: Of the last transaction; 0 when there is none.
        position: Of the last event; 0 when there is none.
        recorded_at: Of the last transaction; ``BEGINNING`` when there is none.
    """

    tx_id: int
    position: int
    recorded_at: Instant


def fact_event(recorded: RecordedEvent) -> FactEvent:
    """Return what happened to a fact; *recorded* is from the stream of one."""
    event = recorded.event
    assert isinstance(event, FactEvent), "the stream of a fact holds events of a fact"
    return event


def as_sealed(event: StoredEvent) -> SealedEvent:
    """Return an event that the library hands over as the ledger keeps it."""
    if isinstance(event, SealedEvent):
        return event
    return SealedEvent(
        originator_id=str(event.originator_id),
        originator_version=event.originator_version,
        topic=event.topic,
        state=event.state,
    )


def as_stored(event: SealedEvent) -> StoredEvent:
    """Return an event that nobody sealed as the library gave it to us."""
    if event.key_id:
        return event
    return StoredEvent(
        originator_id=event.originator_id,
        originator_version=event.originator_version,
        topic=event.topic,
        state=event.state,
    )


def as_notification(event: StampedEvent) -> Notification:
    """Return an event as the library notifies others of it."""
    return Notification(
        originator_id=event.sealed.originator_id,
        originator_version=event.sealed.originator_version,
        topic=event.sealed.topic,
        state=event.sealed.state,
        id=event.position,
    )
