"""A subject's memory from an export: the same facts, in the same order, as history says."""

import re
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from muniment.api import inputs
from muniment.api.arriving import Arriving, bad, check_counts, check_order
from muniment.archive.portable import FORMAT, About, Document, Done, Stored, Version
from muniment.domain.events import (
    Event,
    FactAsserted,
    FactEvent,
    SubjectErased,
    SubjectEvent,
    SubjectFrozen,
    SubjectThawed,
)
from muniment.domain.scope import Scope
from muniment.domain.session import (
    TalkEvent,
)
from muniment.errors import (
    Corruption,
    ErasedImportError,
    InvalidValueError,
    LedgerNotEmptyError,
    MunimentError,
    SubjectFrozenError,
)
from muniment.instants import to_instant
from muniment.ledger import codec
from muniment.ledger.ledger import Ledger
from muniment.ledger.records import (
    ACCESS,
    FACT,
    GLASS,
    RECEIPTS,
    SESSION,
    SUBJECT,
    SUMMARIES,
    TURNS,
    Origin,
    StampedEvent,
    TransactionRow,
)
from muniment.ledger.transaction import Request, Transaction


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """
    What an import did.

    Attributes:
        scope: Whose memory it is.
        facts: How many facts the export holds.
        events: How many events were recorded by this.
        known: How many an earlier import had recorded.
    """

    scope: Scope
    facts: int
    events: int
    known: int


class Importer:
    """
    Imports exports.

    Args:
        ledger: Where to.
        content_limit: Most bytes of one content.
    """

    def __init__(self, ledger: Ledger, *, content_limit: int) -> None:
        self._ledger = ledger
        self._content_limit = content_limit

    def run(self, document: Document) -> Imported:
        """Record what *document* holds; every part of it once, however often it is run."""
        check_counts(document)
        scope = Scope.parse(document.scope)
        events = self._events(document)
        self._refuse_others(document, scope, events)
        by_tx = {each.tx_id: each for each in document.transactions}
        recorded = known = 0
        frozen = False
        for tx_id in sorted({each.tx_id for each in events}):
            mine = [each for each in events if each.tx_id == tx_id]
            done = by_tx[tx_id]
            # A freeze that is part of what is imported does not stop the rest of it.
            if self._import(document, scope, done, mine, passes_freeze=frozen):
                recorded += len(mine)
            else:
                known += len(mine)
            frozen = _frozen_after(mine, before=frozen)
        return Imported(
            scope=scope, facts=len(document.facts), events=recorded, known=known
        )

    def _events(self, document: Document) -> list[Arriving]:
        """Return every event in the order it was recorded in."""
        streams: list[tuple[str, Sequence[Version | About]]] = [("", document.about)]
        streams += [
            (FACT + inputs.name("fact_id", fact.fact_id), fact.versions)
            for fact in document.facts
        ]
        for each in document.conversations:
            if not _SESSION_ID.fullmatch(each.session_id):
                raise bad(each.session_id, "the id of a session")
            streams.append((SESSION + each.session_id, each.session))
            streams.append((TURNS + each.session_id, each.turns))
            streams.append((SUMMARIES + each.session_id, each.summaries))
        found = [
            Arriving(
                stream=stream,
                version=each.version,
                tx_id=each.tx_id,
                position=each.position,
                event=self._decoded(each.stored, stream or "the subject"),
            )
            for stream, events in streams
            for each in events
        ]
        found.sort(key=lambda each: each.position)
        check_order(found)
        return found

    def _decoded(self, stored: Stored, place: str) -> Event:
        header, content = codec.canonical(stored.header), None
        if stored.content is not None:
            content = codec.canonical(stored.content)
            if len(content) > 3 * self._content_limit:
                raise bad(place, f"content of at most {self._content_limit:,} bytes")
        try:
            event = codec.decode(stored.topic, header, content or None, place=place)
        except Corruption:
            raise
        except (
            MunimentError,
            msgspec.MsgspecError,
            LookupError,
            TypeError,
            ValueError,
        ) as e:
            raise bad(place, "events as an export writes them") from e
        if isinstance(event, SubjectErased):
            raise bad(place, "no erasure, which leaves nothing to import")
        return event

    def _refuse_others(
        self, document: Document, scope: Scope, events: Sequence[Arriving]
    ) -> None:
        """
        Refuse to mix what is imported with what is there, or to touch another's fact.

        What an earlier import of the same memory brought may be there, as long as it is
        just that: then the rest of it can follow, as if it had come in one go.
        """
        known = self._known(document, events)
        subject = self._ledger.vault.find(scope)
        for row in known.values():
            if self._ledger.vault.subject(row.subject_ref) is None:
                raise ErasedImportError(str(scope))
        if _are_all(known, events):
            return
        ours = {e.tx_id for e in known.values() if subject and e.subject_ref == subject.ref}
        there = list(self._ledger.recorder.read_subject(subject.ref)) if subject else []
        written = [each for each in there if _is_written(each)]
        others = [each for each in written if each.tx_id not in ours]
        if subject is not None and others:
            frozen = any(each.sealed.topic.startswith(_FROZEN) for each in others)
            if frozen and self._ledger.subject_state(subject).frozen:
                raise SubjectFrozenError(str(scope))
            raise LedgerNotEmptyError(str(scope), len(written))
        for stream in dict.fromkeys(each.stream for each in events if each.stream):
            found = self._ledger.recorder.read_stream(stream)
            if any(each.tx_id not in ours for each in found):
                raise LedgerNotEmptyError(stream, len(found))
        if subject is not None and known:
            # What was made unreadable there since is readable here, and would stay so.
            own = SUBJECT + subject.ref
            said = [(e.stream or own, e.event) for e in events if e.tx_id in known]
            imported = [each for each in there if each.tx_id in ours]
            opened = self._ledger.mapper.opened(imported, subject)
            # All that is known comes first, or the order of history would be another.
            is_begun = max(known) < min({e.tx_id for e in events} - known.keys(), default=0)
            if not is_begun or said != [(each.stream, each.event) for each in opened]:
                raise LedgerNotEmptyError(str(scope), len(written))

    def _known(
        self, document: Document, events: Sequence[Arriving]
    ) -> dict[int, TransactionRow]:
        """Return by its number there what an earlier import recorded, and where here."""
        found: dict[int, TransactionRow] = {}
        tx_ids = sorted({each.tx_id for each in events})
        for begin in range(0, len(tx_ids), _AT_A_TIME):
            with self._ledger.recorder.appending() as append:
                for tx_id in tx_ids[begin : begin + _AT_A_TIME]:
                    tag = self._ledger.idempotency_tag(self._key(document, tx_id))
                    row = append.find_request(tag)
                    if row is not None:
                        found[tx_id] = row
        return found

    def _import(
        self,
        document: Document,
        scope: Scope,
        done: Done,
        events: Sequence[Arriving],
        *,
        passes_freeze: bool,
    ) -> bool:
        """Record one transaction; return whether it was not there already."""

        def work(transaction: Transaction) -> None:
            _refuse_moved(transaction, events)
            for each in events:
                _add(transaction, each)

        origin = Origin(
            actor=inputs.name_or_none("actor", done.actor),
            reason=inputs.reason_or_none(done.reason),
            trigger=inputs.name_or_none("trigger", done.trigger),
            session_id=inputs.name_or_none("session_id", done.session_id),
            source_turns=inputs.names("source_turns", done.source_turns),
            idempotency_key=self._key(document, done.tx_id),
            claimed_at=to_instant(done.claimed_at or done.recorded_at),
        )
        committed = self._ledger.transact(
            Request(
                action=inputs.name("action", done.action),
                origin=origin,
                scope=scope,
                fact_id=None,
                body={"imported": [document.origin, done.tx_id]},
                work=work,
                passes_freeze=passes_freeze,
            )
        )
        return not committed.repeated

    def _key(self, document: Document, tx_id: int) -> str:
        return f"import:{document.origin}:{document.subject_ref}:{tx_id}"


def read_document(given: Document | Mapping[str, Any] | Path | str | bytes) -> Document:
    """
    Return the export that a file, its text or its JSON types hold.

    Raises:
        InvalidValueError: If it is no export, or one of a newer version.
    """
    try:
        match given:
            case Document():
                return given
            case Path():
                return read_document(given.read_bytes())
            # What is saved on Windows may begin with a mark that JSON does not know.
            case str():
                found = msgspec.json.decode(given.removeprefix("\ufeff"), type=Document)
            case bytes():
                found = msgspec.json.decode(given.removeprefix(BOM_UTF8), type=Document)
            case _:
                found = msgspec.convert(given, type=Document)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise bad("the file", f"an export ({error})") from error
    if found.format != FORMAT:
        raise InvalidValueError("format", found.format, FORMAT)
    return found


def _are_all(known: Mapping[int, TransactionRow], events: Sequence[Arriving]) -> bool:
    """Whether an earlier import recorded all of *events*, so that nothing is left to do."""
    counts = Counter(each.tx_id for each in events)
    return known.keys() == counts.keys() and all(
        row.last_position - row.first_position + 1 == counts[tx_id]
        for tx_id, row in known.items()
    )


def _is_written(event: StampedEvent) -> bool:
    """Whether it changed the memory; that somebody read or copied it did not."""
    sealed = event.sealed
    is_reading = str(sealed.originator_id).startswith(_OF_READING)
    return not is_reading and not sealed.topic.startswith(_TOPICS_OF_READING)


def _frozen_after(events: Sequence[Arriving], *, before: bool) -> bool:
    frozen = before
    for each in events:
        if isinstance(each.event, SubjectFrozen | SubjectThawed):
            frozen = isinstance(each.event, SubjectFrozen)
    return frozen


def _refuse_moved(transaction: Transaction, events: Sequence[Arriving]) -> None:
    """Refuse to add to a fact that was written meanwhile: versions would shift."""
    first = {each.stream: each for each in reversed(events)}
    for stream, each in first.items():
        if not stream.startswith(FACT) or isinstance(each.event, FactAsserted):
            continue
        held = len(transaction.recorded_times(stream.removeprefix(FACT)))
        if held != each.version - 1:
            raise LedgerNotEmptyError(stream, held)


def _add(transaction: Transaction, given: Arriving) -> None:
    match given.event:
        case FactAsserted():
            transaction.add_new(given.stream.removeprefix(FACT), given.event)
        case event if isinstance(event, FactEvent):
            transaction.add(given.stream.removeprefix(FACT), [event])
        case event if isinstance(event, TalkEvent):
            transaction.add_at_end(given.stream, [event])
        case event:
            assert isinstance(event, SubjectEvent), "there is no fourth kind"
            transaction.add_to_subject([event])


_AT_A_TIME = 500
"""How many are looked for while others wait for the lock."""
_FROZEN = "subject.frozen."
_OF_READING = (RECEIPTS, ACCESS, GLASS)
_SESSION_ID = re.compile(r"[0-9a-z]{26}")
_TOPICS_OF_READING = ("subject.disclosed.", "subject.request_answered.")
