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
from muniment.ledger.records import (
    DraftEvent,
    Origin,
    RecordedEvent,
    SealedEvent,
    StampedEvent,
    TransactionRow,
)
from muniment.ledger.vault import Subject, Vault


_OF_SUBJECT, _OF_LEDGER = b"\x03", b"\x04"
"""Whose key a transaction's header is sealed with."""

_FIRST_FORMAT = {b"\x01": _OF_SUBJECT, b"\x02": _OF_LEDGER}
"""The same of headers that were not compressed."""


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
        keys = self._vault.openers(subject, [sealed.key_id]) if subject else {}
        return OpenedEvent(
            originator_id=str(sealed.originator_id),
            originator_version=sealed.originator_version,
            event=self._open(sealed, keys.get(sealed.key_id)),
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
        keys: Mapping[int, payload.Key] = {}
        if subject is not None and events:
            keys = self._vault.openers(subject, [each.sealed.key_id for each in events])
        keys = {0: self._header_key, **keys}
        return tuple(
            self._recorded(each, keys.get(each.sealed.key_id), subject if tagged else None)
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
        return subject, self._recorded(event, keys.get(key_id), None)

    def opened_of_all(self, events: Iterable[StampedEvent]) -> Iterator[RecordedEvent]:
        """Yield *events* of whatever subjects opened, the keys fetched once for each."""
        events = list(events)
        key_ids: dict[str, set[int]] = {}
        for each in events:
            key_ids.setdefault(each.sealed.subject_ref, set()).add(each.sealed.key_id)
        known = {
            ref: self._vault.subject_with_keys(ref, some) for ref, some in key_ids.items()
        }
        for each in events:
            subject, keys = known[each.sealed.subject_ref] or (None, {})
            yield self._recorded(each, keys.get(each.sealed.key_id), subject)

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
            opened = payload.unseal(key, sealed, place=place, shown=place.decode())
            assert opened is not None, "the key of headers is whole"
            plain = opened
        return msgspec.json.decode(plain, type=Origin)

    def shown(self, events: Sequence[StampedEvent], subject: Subject | None) -> list[Shown]:
        """Return the parts of each of *events*, with the key that opens it and no other."""
        keys: Mapping[int, payload.Key] = {}
        if subject is not None and events:
            keys = self._vault.openers(subject, [each.sealed.key_id for each in events])
        return [self._shown(each.sealed, keys.get(each.sealed.key_id)) for each in events]

    def _shown(self, sealed: SealedEvent, key: payload.Key | None) -> Shown:
        stream, version = str(sealed.originator_id), sealed.originator_version
        where = f"{stream} version {version}"
        header, ciphertext, is_first = payload.unpacked(sealed.state, place=where)
        if key is None:
            return Shown(header=header, content=None, key=None)
        place = self._place(stream, version, sealed.topic, header)
        if is_first:
            assert isinstance(key, bytes), "nothing is left of a key but what is newer"
            plain = sealing.unseal(key, ciphertext, place=place, shown=where)
            return Shown(header=header, content=plain, key=None)
        return Shown(
            header=header,
            content=payload.unseal(key, ciphertext, place=place, shown=where),
            key=payload.own_key(key, ciphertext, place=place),
        )

    def own_keys(
        self, events: Sequence[StampedEvent], subject: Subject
    ) -> Mapping[bytes, bytes]:
        """
        Return the own keys of those of *events* that can be read, each by its nonce.

        Raises:
            BrokenSealError: If one of them has none: it is of the first format.
        """
        found = {}
        for event, shown in zip(events, self.shown(events, subject), strict=True):
            stream, version = event.sealed.originator_id, event.sealed.originator_version
            place = f"{stream} version {version}"
            _, ciphertext, is_first = payload.unpacked(event.sealed.state, place=place)
            if is_first:
                raise BrokenSealError(place)
            if shown.key is not None:
                found[payload.nonce_of(ciphertext)] = shown.key
        return found

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
        self, stamped: StampedEvent, key: payload.Key | None, tagged_by: Subject | None
    ) -> RecordedEvent:
        event = self._open(stamped.sealed, key)
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

    def _open(self, sealed: SealedEvent, key: payload.Key | None) -> Event:
        stream, version = str(sealed.originator_id), sealed.originator_version
        where = f"{stream} version {version}"
        header, ciphertext, is_first = payload.unpacked(sealed.state, place=where)
        content = None
        if key is not None:
            place = self._place(stream, version, sealed.topic, header)
            if is_first and isinstance(key, bytes):
                content = sealing.unseal(key, ciphertext, place=place, shown=where)
            elif not is_first:
                content = payload.unseal(key, ciphertext, place=place, shown=where)
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

    def _place(self, stream: str, version: int, topic: str, header: bytes) -> bytes:
        return f"event/{self._ledger}/{stream}/{version}/{topic}/".encode() + header

    def _header_place(self, tx_id: int) -> bytes:
        return f"transaction/{self._ledger}/{tx_id}".encode()


def content_tag(subject: Subject, event: Event) -> bytes | None:
    """Return the keyed digest by which a repeat of what *event* says is found."""
    if not isinstance(event, FactAsserted | FactRevised) or event.content is None:
        return None
    return tag_of(subject, event.content.text, event.traits)


def tag_of(subject: Subject, text: str, traits: Traits) -> bytes:
    """Return the keyed digest of *text* as a fact of its category and attribute."""
    said = [text, traits.category, traits.attribute]
    return sealing.tag(subject.tag_key, codec.canonical(said))
