"""One transaction while it is being decided: what it may read, and what it collects."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import msgspec
import sqlalchemy as sa

from muniment.domain import session as sessions
from muniment.domain import subject as subjects
from muniment.domain.events import (
    Event,
    FactAsserted,
    FactEvent,
    FactRevised,
    RecordsExpired,
    SubjectErased,
    SubjectEvent,
    Traits,
)
from muniment.domain.fact import FactState, fold
from muniment.domain.keeping import Records
from muniment.domain.scope import Scope
from muniment.domain.session import SessionEvent, SessionState, TurnRedacted, TurnsExpired
from muniment.domain.subject import SubjectState
from muniment.domain.time import Instant
from muniment.errors import (
    SubjectErasedError,
    SubjectFrozenError,
    UnknownFactError,
    UnknownSessionError,
)
from muniment.ledger.mapper import SealingMapper, tag_of
from muniment.ledger.recorder import Append
from muniment.ledger.records import (
    CONFIGURATION,
    FACT,
    RECEIPTS,
    SESSION,
    SUBJECT,
    SUMMARIES,
    TURNS,
    DraftEvent,
    Origin,
    RecordedEvent,
    StampedEvent,
)
from muniment.ledger.vault import Subject, Vault


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """
    What a caller wants done in one transaction.

    Attributes:
        action: The verb, such as ``remember``.
        origin: Who asks, why, and on whose word.
        scope: Whose memory it is about; or else *fact_id* or *session_id* says so.
        fact_id: The fact it is about, where the caller names no scope; with none of all
            these, it is about no memory.
        body: All of the request, made of JSON types: a repeated idempotency key is
            answered only for an equal body.
        work: Reads and collects; what it raises is the caller's error, and nothing
            was written.
        passes_freeze: Whether it is done on a frozen subject all the same.
        outlasts: Whether who did it stays readable once the subject is erased.
        session_id: The session it is about, where the caller names neither.
        subject_ref: The subject as it was found before; it is not made anew.
        says: A content of which it is asked whether a fact says it already.
    """

    action: str
    origin: Origin
    scope: Scope | None
    fact_id: str | None
    body: Mapping[str, object]
    work: Callable[["Transaction"], None]
    passes_freeze: bool = False
    outlasts: bool = False
    session_id: str | None = None
    subject_ref: str | None = None
    says: tuple[str, Traits] | None = None


class FactChange(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """
    What one transaction did to one fact, for projections.

    Attributes:
        subject_ref: Whose memory it is.
        history: The events of the fact before, oldest first.
        added: The events of the transaction, in order.
    """

    fact_id: str
    subject_ref: str
    history: tuple[RecordedEvent, ...]
    added: tuple[RecordedEvent, ...]


@dataclass(slots=True)
class _Stream:
    """
    A stream as the transaction knows it: what was there, and what it adds.

    Attributes:
        unread: How many events came before *history*, which nobody has to know.
    """

    history: tuple[RecordedEvent, ...]
    key: tuple[int, bytes] | None
    unread: int = 0
    added: list[Event] = field(default_factory=list)

    def add(self, event: Event) -> int:
        """Add *event*; return its version."""
        self.added.append(event)
        return self.unread + len(self.history) + len(self.added)


class Transaction:
    """
    Given to `Request.work` under the ledger's lock.

    Attributes:
        subject: Whose memory it is about.
        state: What binds the subject.
        recorded_at: When the ledger will have learned what is collected here.
        connection: The database transaction, for what a projection is asked about the
            subject; ``None`` in memory.
    """

    def __init__(
        self, append: Append, vault: Vault, mapper: SealingMapper, *, subject: Subject
    ) -> None:
        self._append = append
        self._vault = vault
        self._mapper = mapper
        self.subject = subject
        self.recorded_at = append.next_time()
        self._streams: dict[str, _Stream] = {}
        self._added: list[tuple[str, int, Event]] = []
        self._tags: dict[tuple[str, str | None, str | None], bytes] = {}

    @cached_property
    def state(self) -> SubjectState:
        return state_of(self._stream(SUBJECT + self.subject.ref).history)

    @property
    def repeats(self) -> Mapping[bytes, Sequence[str]]:
        """By digest the facts that say a content, of those asked for beforehand."""
        return self._append.repeats.get(self.subject.ref, {})

    @property
    def connection(self) -> sa.Connection | None:
        return self._append.connection_about(self.subject.ref)

    @property
    def is_empty(self) -> bool:
        """Whether nothing was collected."""
        return not self._added

    @property
    def erases(self) -> bool:
        """Whether what was collected erases the subject."""
        return any(isinstance(event, SubjectErased) for _, _, event in self._added)

    @property
    def next_position(self) -> int:
        """Where the next event that is collected will stand."""
        return self._append.head.position + len(self._added) + 1

    def tag_of(self, text: str, traits: Traits) -> bytes:
        """Return the keyed digest of *text* as a fact of its category and attribute."""
        said = text, traits.category, traits.attribute
        if said not in self._tags:
            self._tags[said] = tag_of(self.subject, text, traits)
        return self._tags[said]

    def key_id(self, fact_id: str) -> int:
        """Return the key of a fact that has been written before."""
        key = self._stream(FACT + fact_id).key
        assert key is not None, "a fact that can be read has its key"
        return key[0]

    def recorded_times(self, fact_id: str) -> tuple[Instant, ...]:
        """Return when each event of a fact was recorded that was there before."""
        return tuple(each.recorded_at for each in self._stream(FACT + fact_id).history)

    def own_keys(self, fact_id: str) -> dict[int, bytes] | None:
        """Return by version the key of each payload of a fact, see `SealingMapper`."""
        stamped = self._append.read_stream(FACT + fact_id)
        return self._mapper.own_keys(self.subject, stamped)

    def add_under_new_key(self, fact_id: str, event: FactEvent) -> None:
        """Collect an event of a fact; it and what follows have another key from now on."""
        self._stream(FACT + fact_id).key = None
        self.add(fact_id, [event])

    def moved_at(self) -> int:
        """Return the position of the last event of the subject's facts; 0 for none."""
        return self._append.subject_moved_at(self.subject.ref)

    def fact(self, fact_id: str) -> FactState:
        """
        Return a fact of the subject after all its events, with its content.

        Raises:
            UnknownFactError: If it does not exist, or is another subject's.
        """
        stream = self._stream(FACT + fact_id)
        if not stream.history and not stream.added:
            raise UnknownFactError(fact_id)
        events = (*(each.event for each in stream.history), *stream.added)
        return fold(each for each in events if isinstance(each, FactEvent))

    def add_new(self, fact_id: str, event: FactEvent) -> None:
        """Collect the first event of a fact that nobody can have named before."""
        self.open_stream(FACT + fact_id, event)

    def open_stream(self, stream: str, event: Event) -> None:
        """Collect the first event of a stream that nobody can have named before."""
        self._streams[stream] = _Stream((), None)
        self.add_to(stream, [event])

    def add(self, fact_id: str, events: Sequence[FactEvent]) -> None:
        """Collect events of a fact."""
        self.add_to(FACT + fact_id, events)

    def add_to_subject(self, events: Sequence[SubjectEvent]) -> None:
        """Collect events of the subject itself."""
        self.add_to(SUBJECT + self.subject.ref, events)

    def session(self, session_id: str) -> SessionState:
        """
        Return a session of the subject after all its events.

        Raises:
            UnknownSessionError: If it does not exist, or is another subject's.
        """
        name = SESSION + session_id
        try:
            stream = self._stream(name)
        except UnknownFactError:
            raise UnknownSessionError(session_id) from None
        if not stream.history and not stream.added:
            raise UnknownSessionError(session_id)
        events = (*(each.event for each in stream.history), *stream.added)
        return sessions.fold(each for each in events if isinstance(each, SessionEvent))

    def add_at_end(self, stream: str, events: Sequence[Event]) -> None:
        """Collect events of a long stream, of which no more than the end is read."""
        if stream not in self._streams:
            last = self._append.read_stream_end(stream)
            if last is not None and last.sealed.subject_ref != self.subject.ref:
                raise AssertionError("only a stream's own subject adds to it")
            unread = last.sealed.originator_version if last else 0
            key = self._key_of([last]) if last and not self._is_parted(last) else None
            self._streams[stream] = _Stream((), key, unread)
        self.add_to(stream, events)

    def _is_parted(self, last: StampedEvent) -> bool:
        """Whether the key *last* was sealed with is being destroyed for something else."""
        kind, _, name = str(last.sealed.originator_id).partition("-")
        if f"{kind}-" in (TURNS, SUMMARIES):
            history = self._stream(SESSION + name).history
        elif f"{kind}-" == RECEIPTS:
            # Which of them go with words that are redacted, if any, is known only to who
            # destroys those.
            if self._vault.is_parting(self.subject.ref):
                return True
            history = self._stream(SUBJECT + self.subject.ref).history
        else:
            return False
        since = (each.event for each in history if each.position > last.position)
        return any(map(_parts, since))

    def configuration(self, position: int) -> int:
        """Return the version of the configuration at a position; 0 where there is none."""
        last = self._append.read_stream_end(CONFIGURATION)
        if last is not None and last.position > position:
            known = self._append.read_stream(CONFIGURATION)
            last = next((e for e in reversed(known) if e.position <= position), None)
        return last.sealed.originator_version if last else 0

    def add_to(self, stream: str, events: Sequence[Event]) -> None:
        """Collect events of a stream, as it is named in the ledger."""
        known = self._stream(stream)
        self._added.extend((stream, known.add(event), event) for event in events)

    def stream(self, stream: str) -> tuple[Event, ...]:
        """Return the events of such a stream of the subject, oldest first."""
        found = self._stream(stream)
        return (*(each.event for each in found.history), *found.added)

    def headers(self, stream: str) -> tuple[RecordedEvent, ...]:
        """Return the events of a stream, whosever it is, without what is sealed."""
        return self._mapper.opened(self._append.read_stream(stream), None)

    def drafts(self) -> list[DraftEvent]:
        """Return what was collected, in that order, each stream with its key."""
        written = [each for each in self._streams.values() if each.added]
        keyless = [each for each in written if each.key is None]
        keys = self._new_keys(len(keyless)) if keyless else []
        for stream, key in zip(keyless, keys, strict=True):
            stream.key = key
        return [self._draft(*each) for each in self._added]

    def changes(self, recorded: Sequence[RecordedEvent]) -> list[FactChange]:
        """Return what the *recorded* events of this transaction did, fact by fact."""
        added: dict[str, list[RecordedEvent]] = {}
        for event in recorded:
            if event.stream.startswith(FACT):
                added.setdefault(event.stream, []).append(event)
        return [
            FactChange(
                fact_id=name.removeprefix(FACT),
                subject_ref=self.subject.ref,
                history=self._streams[name].history,
                added=tuple(events),
            )
            for name, events in added.items()
        ]

    def _new_keys(self, count: int) -> Sequence[tuple[int, bytes]]:
        if self.subject is self._mapper.nobody:
            return [(0, self.subject.key)] * count
        return self._vault.take(self.subject, count)

    def _draft(self, name: str, version: int, event: Event) -> DraftEvent:
        key = self._streams[name].key
        assert key is not None, "every stream that is written has its key"
        return DraftEvent(
            originator_id=name,
            originator_version=version,
            event=event,
            subject=self.subject,
            key=key,
            content_tag=self._content_tag(event),
        )

    def _content_tag(self, event: Event) -> bytes | None:
        if isinstance(event, FactAsserted | FactRevised) and event.content is not None:
            return self.tag_of(event.content.text, event.traits)
        return None

    def _stream(self, name: str) -> _Stream:
        known = self._streams.get(name)
        if known is not None:
            return known
        stamped = self._append.read_stream(name)
        if any(each.sealed.subject_ref != self.subject.ref for each in stamped):
            raise UnknownFactError(name.removeprefix(FACT))
        history = self._mapper.opened(stamped, self.subject)
        self._streams[name] = _Stream(history, self._key_of(stamped))
        return self._streams[name]

    def _key_of(self, stamped: Sequence[StampedEvent]) -> tuple[int, bytes] | None:
        if not stamped:
            return None
        # A stream that was thinned goes on under another key.
        key_id = stamped[-1].sealed.key_id
        if key_id == 0:
            return 0, self._mapper.nobody.key
        key = self._vault.keys(self.subject, [key_id]).get(key_id)
        return None if key is None else (key_id, key)


def _parts(event: Event) -> bool:
    """Whether *event* says that what is sealed with one key becomes unreadable in part."""
    match event:
        case TurnRedacted() | TurnsExpired():
            return True
        case RecordsExpired(records=records):
            return records is Records.RECEIPT
        case _:
            return False


def state_of(history: Sequence[RecordedEvent]) -> SubjectState:
    """Return what binds the subject whose stream this is."""
    return subjects.fold(
        each.event for each in history if isinstance(each.event, SubjectEvent)
    )


def refuse_if_bound(transaction: Transaction) -> None:
    """
    Refuse a write to a subject that is frozen, or is being erased.

    Raises:
        SubjectErasedError: If it was erased, and its keys are about to go.
        SubjectFrozenError: If it is frozen.
    """
    if transaction.state.erased:
        raise SubjectErasedError(str(transaction.subject.scope))
    if transaction.state.frozen:
        raise SubjectFrozenError(str(transaction.subject.scope))
