"""A subject's memory from an export: the same facts, in the same order, as history says."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from muniment.api import inputs
from muniment.archive.portable import FORMAT, About, Document, Done, Stored, Version
from muniment.domain.events import (
    Event,
    FactAsserted,
    FactEvent,
    FactRestored,
    FactRolledBack,
    FactThinned,
    SubjectErased,
    SubjectEvent,
)
from muniment.domain.scope import Scope
from muniment.domain.session import (
    SessionEnded,
    SessionEvent,
    SessionRedacted,
    SessionStarted,
    SummaryMade,
    SummaryWithdrawn,
    TalkEvent,
    TurnAdded,
    TurnRedacted,
)
from muniment.errors import (
    Corruption,
    InvalidValueError,
    LedgerNotEmptyError,
    MunimentError,
)
from muniment.instants import to_instant
from muniment.ledger import codec
from muniment.ledger.ledger import Ledger
from muniment.ledger.records import FACT, SESSION, SUMMARIES, TURNS, Origin
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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Event:
    """An event on its way in; *stream* is empty for one of the subject itself."""

    stream: str
    version: int
    tx_id: int
    position: int
    event: Event


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
        _check_counts(document)
        scope = Scope.parse(document.scope)
        events = self._events(document)
        self._refuse_others(document, scope, events)
        by_tx = {each.tx_id: each for each in document.transactions}
        recorded = known = 0
        for tx_id in sorted({each.tx_id for each in events}):
            mine = [each for each in events if each.tx_id == tx_id]
            if self._import(document, scope, by_tx[tx_id], mine):
                recorded += len(mine)
            else:
                known += len(mine)
        return Imported(
            scope=scope, facts=len(document.facts), events=recorded, known=known
        )

    def _events(self, document: Document) -> list[_Event]:
        """Return every event in the order it was recorded in."""
        streams: list[tuple[str, Sequence[Version | About]]] = [("", document.about)]
        streams += [
            (FACT + inputs.name("fact_id", fact.fact_id), fact.versions)
            for fact in document.facts
        ]
        for each in document.conversations:
            if not _SESSION_ID.fullmatch(each.session_id):
                raise _bad(each.session_id, "the id of a session")
            streams.append((SESSION + each.session_id, each.session))
            streams.append((TURNS + each.session_id, each.turns))
            streams.append((SUMMARIES + each.session_id, each.summaries))
        found = [
            _Event(
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
        _check_order(found)
        return found

    def _decoded(self, stored: Stored, place: str) -> Event:
        header, content = codec.canonical(stored.header), None
        if stored.content is not None:
            content = codec.canonical(stored.content)
            if len(content) > 3 * self._content_limit:
                raise _bad(place, f"content of at most {self._content_limit:,} bytes")
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
            raise _bad(place, "events as an export writes them") from e
        if isinstance(event, SubjectErased):
            raise _bad(place, "no erasure, which leaves nothing to import")
        return event

    def _refuse_others(
        self, document: Document, scope: Scope, events: Sequence[_Event]
    ) -> None:
        """Refuse to mix what is imported with what is there, or to touch another's fact."""
        tags = {each.tx_id for each in events}
        first = self._key(document, min(tags)) if tags else ""
        with self._ledger.recorder.appending() as append:
            begun = bool(tags) and bool(
                append.find_request(self._ledger.idempotency_tag(first))
            )
        if begun:
            return
        subject = self._ledger.vault.find(scope)
        if subject is not None:
            held = len(self._ledger.recorder.read_subject(subject.ref))
            if held:
                raise LedgerNotEmptyError(str(scope), held)
        for stream in dict.fromkeys(each.stream for each in events if each.stream):
            held = len(self._ledger.recorder.read_stream(stream))
            if held:
                raise LedgerNotEmptyError(stream, held)

    def _import(
        self, document: Document, scope: Scope, done: Done, events: Sequence[_Event]
    ) -> bool:
        """Record one transaction; return whether it was not there already."""

        def work(transaction: Transaction) -> None:
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
                passes_freeze=True,
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
                found = msgspec.json.decode(given.read_bytes(), type=Document)
            case str() | bytes():
                found = msgspec.json.decode(given, type=Document)
            case _:
                found = msgspec.convert(given, type=Document)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise _bad("the file", f"an export ({error})") from error
    if found.format != FORMAT:
        raise InvalidValueError("format", found.format, FORMAT)
    return found


def _check_counts(document: Document) -> None:
    if document.hidden:
        raise InvalidValueError("hidden", document.hidden, "an export that hides nobody")
    counts = document.counts
    found = {
        "facts": (counts.facts, len(document.facts)),
        "versions": (counts.versions, sum(len(e.versions) for e in document.facts)),
        "transactions": (counts.transactions, len(document.transactions)),
        "about": (counts.about, len(document.about)),
        "conversation": (counts.conversation, document.talk_count),
    }
    for name, (expected, there) in found.items():
        if expected != there:
            raise InvalidValueError(name, there, f"{expected:,}, as the export counts them")


def _check_order(events: Sequence[_Event]) -> None:
    """Refuse what no ledger can have recorded."""
    versions: dict[str, int] = {}
    ended: set[str] = set()
    for each in events:
        place = each.stream or "the subject"
        if each.version != versions.get(each.stream, 0) + 1:
            raise _bad(place, f"version {versions.get(each.stream, 0) + 1} next")
        versions[each.stream] = each.version
        kind, _, name = each.stream.partition("-")
        if not isinstance(each.event, _OF_STREAM[kind]):
            raise _bad(place, "events of its own kind")
        begins = isinstance(each.event, FactAsserted | SessionStarted)
        if kind in (_FACT, _SESSION) and begins != (each.version == 1):
            raise _bad(place, "begun first, and once")
        if kind in (_TURNS, _SUMMARIES) and SESSION + name not in versions:
            raise _bad(place, "in a session that has begun")
        is_unsaid = isinstance(each.event, TurnRedacted | SessionRedacted)
        if kind in (_TURNS, _SESSION) and name in ended and not is_unsaid:
            raise _bad(place, "nothing said in a session that has ended")
        if isinstance(each.event, SessionEnded):
            ended.add(name)
        returns = isinstance(each.event, FactRestored | FactRolledBack)
        if returns and not 0 <= each.event.to_version < each.version:
            raise _bad(place, "a return to a version it had")
        if isinstance(each.event, FactThinned):
            _check_runs(each.event.versions, each.version, place)


def _check_runs(runs: Sequence[Sequence[Any]], version: int, place: str) -> None:
    """Refuse what would thin versions that the fact had not then."""
    for first, last in runs:
        are_numbers = isinstance(first, int) and isinstance(last, int)
        if not are_numbers or not 1 <= first <= last < version:
            raise _bad(place, "versions it had that were thinned")


def _add(transaction: Transaction, given: _Event) -> None:
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


_SESSION_ID = re.compile(r"[0-9a-z]{26}")
_FACT, _SESSION, _TURNS, _SUMMARIES = "fact", "session", "turns", "summaries"
_OF_STREAM: Mapping[str, Any] = {
    "": SubjectEvent,
    _FACT: FactEvent,
    _SESSION: SessionEvent,
    _TURNS: TurnAdded,
    _SUMMARIES: SummaryMade | SummaryWithdrawn,
}
"""What the streams hold, by the beginning of their names."""


def _bad(place: str, expected: str) -> InvalidValueError:
    return InvalidValueError("the export", place, expected)
