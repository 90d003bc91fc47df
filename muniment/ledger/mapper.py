"""From domain events to sealed, stored ones and back: the library's mapper, per stream."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import msgspec
from eventsourcing.persistence import JSONTranscoder, Mapper, StoredEvent

from muniment.domain.events import Event, FactAsserted, FactRevised, Traits
from muniment.domain.scope import Scope
from muniment.errors import BrokenSealError
from muniment.ledger import codec, payload, sealing
from muniment.ledger.prepared import Row
from muniment.ledger.records import (
    DraftEvent,
    Origin,
    RecordedEvent,
    SealedEvent,
    StampedEvent,
    TransactionRow,
)
from muniment.ledger.stated import StoredTraits
from muniment.ledger.vault import Subject, Vault


_OF_SUBJECT, _OF_LEDGER = b"\x03", b"\x04"
"""Whose key a transaction's header is sealed with."""

Keys = Mapping[int, bytes]
"""By number, the keys of streams."""

OwnKeys = Mapping[tuple[str, int], bytes]
"""By stream and version, the keys of payloads that outlived the key of their stream."""

_FIRST_FORMAT = {b"\x01": _OF_SUBJECT, b"\x02": _OF_LEDGER}
"""The same of headers that were not compressed."""


Parts = tuple[bytes, bytes | None]
"""What of an event stays readable, and what was sealed, as far as there is a key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedEvent:
    """A stored event as the library's event store gives it back."""

    originator_id: str
    originator_version: int
    event: Event


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """
    One event taken apart, for somebody outside.

    Attributes:
        header: What stays readable, JSON.
        content: What was sealed, JSON or empty; ``None`` once its key is destroyed.
        key: Opens this event alone; ``None`` where there is none, or where only the key
            of its whole stream does.
    """

    header: bytes
    content: bytes | None
    key: bytes | None = field(repr=False)


class SealingMapper(Mapper[str]):
    """
    Seals each event under its stream's key, bound to the place it stands at.

    An event whose key was destroyed is given back without its sealed fields.

    Attributes:
        nobody: In the place of a subject where an event is about none; its events are
            sealed with the ledger's key, which has the number 0.
    """

    def __init__(self, vault: Vault, *, ledger: str) -> None:
        # The library wants a transcoder; ours is the codec, so this one stays unused.
        super().__init__(transcoder=JSONTranscoder())
        self._vault = vault
        self._ledger = ledger
        self._header_key = key = sealing.derived(vault.ledger_key, "header")
        self.nobody = Subject("", Scope.org(), key, key, key, key)

    def to_stored_event(self, domain_event: Any) -> SealedEvent:
        """Return a `DraftEvent` sealed."""
        draft = cast("DraftEvent", domain_event)
        encoded = codec.encode(draft.event)
        place = self._place(
            draft.originator_id, draft.originator_version, encoded.topic, encoded.header
        )
        key_id, key = draft.key
        return SealedEvent(
            originator_id=draft.originator_id,
            originator_version=draft.originator_version,
            topic=encoded.topic,
            state=payload.packed(
                encoded.header, payload.seal(key, encoded.content, place=place)
            ),
            subject_ref=draft.subject.ref,
            key_id=key_id,
        )

    def to_domain_event(self, stored_event: StoredEvent) -> Any:
        """Return a `SealedEvent` opened, as an `OpenedEvent`."""
        sealed = cast("SealedEvent", stored_event)
        subject = self._vault.subject(sealed.subject_ref)
        keys = self._vault.keys(subject, [sealed.key_id]) if subject else {}
        own = self._own_keys(subject, [sealed], keys)
        return OpenedEvent(
            originator_id=str(sealed.originator_id),
            originator_version=sealed.originator_version,
            event=self._open(sealed, keys.get(sealed.key_id), own),
        )

    def opened(
        self,
        events: Sequence[StampedEvent],
        subject: Subject | None,
        *,
        tagged: bool = True,
    ) -> tuple[RecordedEvent, ...]:
        """
        Return *events* of one subject opened; without content where there is no key.

        Args:
            events: Of that subject.
            subject: Whose they are, or ``None`` to leave the content sealed.
            tagged: Whether the digests of what they say are wanted, too.
        """
        keys: Mapping[int, bytes] = {}
        if subject is not None and events:
            keys = self._vault.keys(subject, [each.sealed.key_id for each in events])
        keys = {0: self._header_key, **keys}
        own = self._own_keys(subject, (each.sealed for each in events), keys)
        tagged_by = subject if tagged else None
        return tuple(
            self._recorded(each, keys.get(each.sealed.key_id), tagged_by, own)
            for each in events
        )

    def subject(self, ref: str) -> Subject | None:
        """Return a subject by its name inside, or ``None`` when it was erased."""
        return self._vault.subject(ref)

    def opened_alone(self, event: StampedEvent) -> tuple[Subject, RecordedEvent] | None:
        """Return whose *event* is, and it opened, untagged; ``None`` when erased."""
        ref, key_id = event.sealed.subject_ref, event.sealed.key_id
        known = self._vault.subject_with_keys(ref, [key_id])
        if known is None:
            return None
        subject, keys = known
        own = self._own_keys(subject, [event.sealed], keys)
        return subject, self._recorded(event, keys.get(key_id), None, own)

    def opened_evenly(
        self, event: StampedEvent | None
    ) -> tuple[Subject, RecordedEvent] | None:
        """Return what `opened_alone` does; as much is asked where there is no event."""
        ref, key_id = (event.sealed.subject_ref, event.sealed.key_id) if event else ("", 0)
        known = self._vault.owner(ref, key_id=key_id)
        if known is None or event is None:
            return None
        return known[0], self._recorded(event, known[1], None, {})

    def opened_of_all(self, events: Iterable[StampedEvent]) -> Iterator[RecordedEvent]:
        """Yield *events* of whatever subjects opened, the keys fetched once for each."""
        events = list(events)
        known = self._vault.subjects_with_keys(
            (each.sealed.subject_ref, each.sealed.key_id) for each in events
        )
        own: dict[tuple[str, int], bytes] = {}
        for ref, theirs in _keyless(events, known).items():
            subject, keys = known[ref] or (None, {})
            own.update(self._own_keys(subject, theirs, keys))
        for each in events:
            subject, keys = known[each.sealed.subject_ref] or (None, {})
            yield self._recorded(each, keys.get(each.sealed.key_id), subject, own)

    def own_keys(
        self, subject: Subject, events: Iterable[StampedEvent]
    ) -> dict[int, bytes] | None:
        """
        Return by version the key that opens each of *events*, of one stream, alone.

        Those that have no other key any more are left out. ``None`` where one was stored
        in the first format, which only the key of the whole stream opens.
        """
        found: dict[int, bytes] = {}
        events = list(events)
        keys = self._vault.keys(subject, {each.sealed.key_id for each in events})
        for each in events:
            key, version = keys.get(each.sealed.key_id), each.sealed.originator_version
            if key is None:
                continue
            own = self._shown(each.sealed, key, {}).key
            if own is None:
                return None
            found[version] = own
        return found

    def unsealed(self, rows: Sequence[Row]) -> Iterator[tuple[Subject | None, Parts]]:
        """
        Yield of each event whose it is, and its parts, which nobody has decoded yet.

        Args:
            rows: As a statement on `muniment.ledger.statements.EVENT_COLUMNS` gives them.
        """
        known = self._vault.subjects_with_keys((row[6], row[7]) for row in rows)
        for _, _, _, stream, version, topic, ref, key_id, state in rows:
            subject, keys = known[ref] or (None, {})
            yield subject, self._parts(stream, version, topic, state, keys.get(key_id))

    def sealed_header(self, subject: Subject | None, tx_id: int, origin: Origin) -> bytes:
        """
        Return who did something and why, sealed for one transaction.

        With the subject's key, or, for what must outlast the subject, the ledger's.
        """
        named = ((each, getattr(origin, each)) for each in Origin.__dataclass_fields__)
        plain = codec.canonical({name: value for name, value in named if value})
        mark, key = _OF_LEDGER, self._header_key
        if subject is not None:
            mark, key = _OF_SUBJECT, subject.header_key
        return mark + payload.seal(key, plain, place=self._header_place(tx_id))

    def unsubjected(
        self, event: Event, *, stream: str, version: int, subject_ref: str
    ) -> SealedEvent:
        """Return an event that says nothing of a subject whose keys are gone already."""
        encoded = codec.encode(event)
        place = self._place(stream, version, encoded.topic, encoded.header)
        sealed = payload.seal(self._header_key, encoded.content, place=place)
        return SealedEvent(
            originator_id=stream,
            originator_version=version,
            topic=encoded.topic,
            state=payload.packed(encoded.header, sealed),
            subject_ref=subject_ref,
        )

    def origin(self, subject: Subject | None, transaction: TransactionRow) -> Origin:
        """Return who did something and why; nothing of it once the subject is erased."""
        mark, sealed = transaction.header[:1], transaction.header[1:]
        key = self._header_key_of(subject, _FIRST_FORMAT.get(mark, mark))
        if key is None:
            return Origin()
        place = self._header_place(transaction.tx_id)
        if mark in _FIRST_FORMAT:
            plain = sealing.unseal(key, sealed, place=place)
        else:
            plain = payload.unseal(key, sealed, place=place, shown=place.decode())
        return msgspec.json.decode(plain, type=Origin)

    def shown(self, events: Sequence[StampedEvent], subject: Subject | None) -> list[Shown]:
        """Return the parts of each of *events*, with the key that opens it and no other."""
        keys: Mapping[int, bytes] = {}
        if subject is not None and events:
            keys = self._vault.keys(subject, [each.sealed.key_id for each in events])
        own = self._own_keys(subject, (each.sealed for each in events), keys)
        return [
            self._shown(each.sealed, keys.get(each.sealed.key_id), own) for each in events
        ]

    def _own_keys(
        self,
        subject: Subject | None,
        events: Iterable[SealedEvent],
        keys: Mapping[int, bytes],
    ) -> OwnKeys:
        """Return the keys of those of *events* that outlived the key of their stream."""
        if subject is None:
            return {}
        without = [
            (str(each.originator_id), each.originator_version, each.key_id)
            for each in events
            if each.key_id not in keys
        ]
        return self._vault.payload_keys(subject, without)

    def _shown(self, sealed: SealedEvent, key: bytes | None, own_keys: OwnKeys) -> Shown:
        stream, version = str(sealed.originator_id), sealed.originator_version
        where = f"{stream} version {version}"
        header, ciphertext, is_first = payload.unpacked(sealed.state, place=where)
        place = self._place(stream, version, sealed.topic, header)
        if key is None:
            own = own_keys.get((stream, version))
            if own is None:
                return Shown(header=header, content=None, key=None)
            plain = payload.unseal_alone(own, ciphertext, place=place, shown=where)
            return Shown(header=header, content=plain, key=own)
        if is_first:
            plain = sealing.unseal(key, ciphertext, place=place, shown=where)
            return Shown(header=header, content=plain, key=None)
        plain = payload.unseal(key, ciphertext, place=place, shown=where)
        own = payload.own_key(key, ciphertext, place=place)
        return Shown(header=header, content=plain, key=own)

    def origin_key(self, subject: Subject | None, row: TransactionRow) -> bytes | None:
        """Return the key that opens the header of *row* alone, where there is one."""
        mark, sealed = row.header[:1], row.header[1:]
        key = self._header_key_of(subject, mark)
        if key is None:
            return None
        return payload.own_key(key, sealed, place=self._header_place(row.tx_id))

    def _header_key_of(self, subject: Subject | None, mark: bytes) -> bytes | None:
        if mark == _OF_LEDGER:
            return self._header_key
        return subject.header_key if mark == _OF_SUBJECT and subject else None

    def _recorded(
        self,
        stamped: StampedEvent,
        key: bytes | None,
        tagged_by: Subject | None,
        own_keys: OwnKeys,
    ) -> RecordedEvent:
        event = self._open(stamped.sealed, key, own_keys)
        return RecordedEvent(
            position=stamped.position,
            tx_id=stamped.tx_id,
            recorded_at=stamped.recorded_at,
            stream=str(stamped.sealed.originator_id),
            version=stamped.sealed.originator_version,
            subject_ref=stamped.sealed.subject_ref,
            content_tag=content_tag(tagged_by, event) if tagged_by else None,
            event=event,
        )

    def _open(self, sealed: SealedEvent, key: bytes | None, own_keys: OwnKeys) -> Event:
        stream, version = str(sealed.originator_id), sealed.originator_version
        header, content = self._parts(stream, version, sealed.topic, sealed.state, key)
        where = f"{stream} version {version}"
        if content is None and (own := own_keys.get((stream, version))):
            ciphertext = payload.unpacked(sealed.state, place=where)[1]
            place = self._place(stream, version, sealed.topic, header)
            content = payload.unseal_alone(own, ciphertext, place=place, shown=where)
        try:
            return codec.decode(sealed.topic, header, content, place=where)
        except (
            msgspec.MsgspecError,
            ArithmeticError,
            KeyError,
            TypeError,
            ValueError,
        ) as error:
            # Once its key is gone, nothing but the tree vouches for the header.
            raise BrokenSealError(where) from error

    def _parts(
        self, stream: str, version: int, topic: str, state: bytes, key: bytes | None
    ) -> Parts:
        """Return the header of a stored event, and its content where there is a key."""
        where = f"{stream} version {version}"
        header, ciphertext, is_first = payload.unpacked(state, place=where)
        if key is None:
            return header, None
        place = self._place(stream, version, topic, header)
        unseal = sealing.unseal if is_first else payload.unseal
        return header, unseal(key, ciphertext, place=place, shown=where)

    def _place(self, stream: str, version: int, topic: str, header: bytes) -> bytes:
        return f"event/{self._ledger}/{stream}/{version}/{topic}/".encode() + header

    def _header_place(self, tx_id: int) -> bytes:
        return f"transaction/{self._ledger}/{tx_id}".encode()


def _keyless(
    events: Sequence[StampedEvent], known: Mapping[str, tuple[Subject, Keys] | None]
) -> Mapping[str, Sequence[SealedEvent]]:
    """Return by subject those of *events* whose stream has no key any more."""
    found: dict[str, list[SealedEvent]] = {}
    for each in events:
        sealed = each.sealed
        theirs = known[sealed.subject_ref]
        if theirs is not None and sealed.key_id not in theirs[1]:
            found.setdefault(sealed.subject_ref, []).append(sealed)
    return found


def content_tag(subject: Subject, event: Event) -> bytes | None:
    """Return the keyed digest by which a repeat of what *event* says is found."""
    if not isinstance(event, FactAsserted | FactRevised) or event.content is None:
        return None
    return tag_of(subject, event.content.text, event.traits)


def tag_of(subject: Subject, text: str, traits: Traits | StoredTraits) -> bytes:
    """Return the keyed digest of *text* as a fact of its category and attribute."""
    said = [text, traits.category, traits.attribute]
    return sealing.tag(subject.tag_key, codec.canonical(said))
