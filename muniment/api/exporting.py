"""Everything about one subject, given to whoever may ask for it."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from importlib.metadata import version
from typing import Any

import msgspec
from msgspec import structs

from muniment.api.answers import FactVersion
from muniment.api.disclosing import Disclosed, disclose
from muniment.api.lookup import Lookup
from muniment.api.shapes import shaped
from muniment.api.summary import export_page
from muniment.api.third_parties import Names, known_others
from muniment.archive.portable import (
    FORMAT,
    About,
    Conversation,
    Counts,
    Document,
    Done,
    PortableFact,
    Stored,
    Version,
)
from muniment.archive.sources import Source
from muniment.domain.events import FactAsserted, FactRevised, HoldPlaced
from muniment.domain.scope import Scope
from muniment.domain.time import BEGINNING, FOREVER
from muniment.errors import IncompleteExportError
from muniment.instants import moment, to_text
from muniment.ledger.attesting import Attestor
from muniment.ledger.codec import kind_of
from muniment.ledger.records import (
    ACCESS,
    GLASS,
    SESSION,
    SUBJECT,
    SUMMARIES,
    TURNS,
    Origin,
    RecordedEvent,
    StampedEvent,
)
from muniment.ledger.transaction import state_of
from muniment.ledger.vault import Subject


_NO_POSITION = 2**63


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """
    Which part of everything is given out.

    Attributes:
        sources: Facts first said by these alone, and conversations; all if empty.
        third_parties: Names to be hidden, with whoever else the ledger knows; ``None``
            for a copy in which nobody is.
    """

    sources: tuple[str, ...] = ()
    third_parties: tuple[str, ...] | None = None


EVERYTHING = Part()


@dataclass(frozen=True, slots=True, kw_only=True)
class Export:
    """
    Everything about one subject.

    Attributes:
        export_id: Names the copy; the ledger says that it was made.
        scope: Whose memory it is.
        position: Of the last event that is in it.
        document: All of it, by the published JSON Schema.
    """

    export_id: str
    scope: Scope
    position: int
    document: Document = field(repr=False)

    def json(self) -> str:
        """Return it as JSON."""
        shape = msgspec.to_builtins(self.document)
        return json.dumps(shape, ensure_ascii=False, indent=1, sort_keys=True) + "\n"

    def html(self) -> str:
        """Return it as a page to read and to print."""
        return export_page(self.document).decode()


class Exporter:
    """Makes exports."""

    def __init__(self, lookup: Lookup, sources: Sequence[Source] = ()) -> None:
        self._lookup = lookup
        self._ledger = lookup.ledger
        self._sources = sources

    def export(
        self,
        scope: Scope,
        *,
        matter: str,
        origin: Origin,
        part: Part = EVERYTHING,
    ) -> Export:
        """
        Record that everything is given out, then return it, whole or not at all.

        Args:
            scope: Of whom.
            matter: What for.
            origin: By whom, and why.
            part: Of that, what is given out.
        """
        made = disclose(self._ledger, scope, form="export", matter=matter, origin=origin)
        # Of all that is in the copy, and of that it was made: signed before it is out.
        Attestor(self._ledger).tree_head()
        document = self._document(made)
        if part.sources:
            document = _said_by(document, part.sources)
        if part.third_parties is not None:
            document = self._hiding(document, scope, part.third_parties)
        return Export(
            export_id=made.disclosure_id,
            scope=scope,
            position=document.position,
            document=document,
        )

    def _document(self, made: Disclosed) -> Document:
        """Return everything up to where it was said that a copy is made."""
        subject, last = made.committed.subject, made.committed.position
        stamped = self._ledger.recorder.read_subject(subject.ref, until=last)
        events = self._ledger.mapper.opened(stamped, subject)
        self._reconcile(stamped, last)
        stored = self._stored(stamped, subject)
        facts = self._facts(subject, events, stored)
        done = self._done(subject, events)
        own = [each for each in events if each.stream == SUBJECT + subject.ref]
        about = [_about(each, stored) for each in own]
        said = [each for each in events if each.session_id]
        others = {each.name: self._others(each, subject) for each in self._sources}
        others["looks"] = _looks(events, stored, _first_held(own))
        counts = Counts(
            facts=len(facts),
            versions=sum(len(each.versions) for each in facts),
            transactions=len(done),
            about=len(about),
            others={name: len(lines) for name, lines in others.items()},
            conversation=len(said),
        )
        document = Document(
            format=FORMAT,
            export_id=made.disclosure_id,
            made_at=_text(moment(made.committed.recorded_at)),
            software=f"muniment {version('muniment')}",
            ledger=self._ledger.name,
            origin=self._ledger.origin,
            scope=str(subject.scope),
            subject_ref=subject.ref,
            position=last,
            counts=counts,
            facts=facts,
            transactions=done,
            about=about,
            others=others,
            conversations=_conversations(said, stored),
        )
        counted = counts.versions + counts.about + document.talk_count
        expected = sum(bool(each.fact_id) for each in events) + len(own) + len(said)
        if counted != expected:
            raise IncompleteExportError("events", expected, counted)
        return document

    def _hiding(self, document: Document, scope: Scope, given: Sequence[str]) -> Document:
        """Return *document* with tokens for third parties."""
        shape = msgspec.to_builtins(document)
        names = Names(given, known_others(self._ledger.vault, scope, [shape]))
        hidden = msgspec.convert(names.hidden(shape), type=Document)
        return structs.replace(hidden, scope=document.scope, hidden=names.count)

    def _reconcile(self, stamped: Sequence[StampedEvent], last: int) -> None:
        """Compare what was read by subject with every stream, which is found by name."""
        read: dict[str, int] = {}
        for each in stamped:
            stream = str(each.sealed.originator_id)
            read[stream] = read.get(stream, 0) + 1
            if each.sealed.originator_version != read[stream]:
                raise IncompleteExportError(
                    f"events of {stream}", each.sealed.originator_version, read[stream]
                )
        held = self._ledger.recorder.stream_lengths(list(read), until=last)
        for stream, found in read.items():
            if found != held.get(stream):
                raise IncompleteExportError(
                    f"events of {stream}", held.get(stream, 0), found
                )

    def _stored(
        self, stamped: Sequence[StampedEvent], subject: Subject
    ) -> dict[int, Stored]:
        """Return by position each event as it is stored, opened."""
        every = self._ledger.mapper.shown(stamped, subject)
        return {
            event.position: Stored(
                topic=event.sealed.topic,
                header=json.loads(shown.header),
                content=None
                if shown.content is None
                else json.loads(shown.content or b"{}"),
            )
            for event, shown in zip(stamped, every, strict=True)
        }

    def _facts(
        self,
        subject: Subject,
        events: Sequence[RecordedEvent],
        stored: dict[int, Stored],
    ) -> list[PortableFact]:
        point = self._lookup.now()
        held = self._lookup.facts(subject.scope, point)
        current = {fact.fact_id: fact.content for fact, _ in held}
        asked = [each for each in events if each.fact_id]
        versions: dict[str, list[Version]] = {}
        every = self._lookup.versions(subject, asked)
        for shown, event in zip(every, asked, strict=True):
            made = _version(shown, event, stored[event.position])
            versions.setdefault(event.fact_id, []).append(made)
        return [
            PortableFact(fact_id=each, current=current.get(each), versions=of_fact)
            for each, of_fact in versions.items()
        ]

    def _done(self, subject: Subject, events: Sequence[RecordedEvent]) -> list[Done]:
        origins = self._ledger.origins(subject, events)
        expected = {each.tx_id for each in events}
        if origins.keys() != expected:
            raise IncompleteExportError("transactions", len(expected), len(origins))
        return [
            Done(
                tx_id=tx_id,
                recorded_at=_text(moment(row.recorded_at)),
                action=row.action,
                actor=origin.actor,
                reason=origin.reason,
                trigger=origin.trigger,
                session_id=origin.session_id,
                source_turns=list(origin.source_turns),
                claimed_at=None
                if origin.claimed_at is None
                else _text(moment(origin.claimed_at)),
            )
            for tx_id, (row, origin) in sorted(origins.items())
        ]

    def _others(self, source: Source, subject: Subject) -> list[dict[str, Any]]:
        lines: Iterable[Any] = source.lines(subject, start=BEGINNING, end=FOREVER)
        found: list[Any] = [shaped(each) for each in lines]
        return found


def _version(shown: FactVersion, recorded: RecordedEvent, stored: Stored) -> Version:
    event = recorded.event
    content = event.content if isinstance(event, FactAsserted | FactRevised) else None
    return Version(
        version=shown.version,
        kind=shown.kind,
        content=shown.content,
        valid_from=to_text(shown.valid_from),
        valid_to=to_text(shown.valid_to),
        recorded_at=_text(shown.recorded_at),
        position=shown.position,
        tx_id=shown.tx_id,
        source=shown.source,
        confidence=shown.confidence,
        entities=list(content.evidence.entities) if content else [],
        metadata=dict(shown.metadata),
        claimed_at=to_text(shown.claimed_at),
        stored=stored,
    )


def _about(event: RecordedEvent, stored: dict[int, Stored]) -> About:
    kept = stored[event.position]
    name, _ = kind_of(kept.topic, place=event.stream)
    return About(
        kind=name.partition(".")[2],
        version=event.version,
        recorded_at=_text(moment(event.recorded_at)),
        position=event.position,
        tx_id=event.tx_id,
        stored=kept,
    )


def _looks(
    events: Sequence[RecordedEvent], stored: dict[int, Stored], first_held: int
) -> list[dict[str, Any]]:
    """Return who looked; nothing of it while it could give a hold away."""
    looks = [each for each in events if each.stream.startswith((ACCESS, GLASS))]
    return [
        msgspec.to_builtins(_about(each, stored))
        for each in looks
        if each.position < first_held
    ]


def _said_by(document: Document, sources: Sequence[str]) -> Document:
    """Return of *document* the facts that some sources said first, and conversations."""
    facts = [each for each in document.facts if each.versions[0].source in sources]
    talk = document.conversations
    held = {each.tx_id for fact in facts for each in fact.versions}
    held |= {e.tx_id for t in talk for e in (*t.session, *t.turns, *t.summaries)}
    done = [each for each in document.transactions if each.tx_id in held]
    others = {name: e for name, e in document.others.items() if name == "turns"}
    counts = structs.replace(
        document.counts,
        facts=len(facts),
        versions=sum(len(each.versions) for each in facts),
        transactions=len(done),
        about=0,
        others={name: len(lines) for name, lines in others.items()},
    )
    return structs.replace(
        document,
        sources=list(sources),
        facts=facts,
        transactions=done,
        about=[],
        others=others,
        counts=counts,
    )


def _conversations(
    said: Sequence[RecordedEvent], stored: dict[int, Stored]
) -> list[Conversation]:
    """Return sessions in the order in which they began."""
    by_stream: dict[str, list[About]] = {}
    for each in said:
        by_stream.setdefault(each.stream, []).append(_about(each, stored))
    return [
        Conversation(
            session_id=session_id,
            session=by_stream.get(SESSION + session_id, []),
            turns=by_stream.get(TURNS + session_id, []),
            summaries=by_stream.get(SUMMARIES + session_id, []),
        )
        for session_id in dict.fromkeys(each.session_id for each in said)
    ]


def _first_held(events: Sequence[RecordedEvent]) -> int:
    """Return where the first hold that is in force was placed; no position if none is."""
    held = {each.hold_id for each in state_of(events).holds}
    placed = (
        each.position
        for each in events
        if isinstance(each.event, HoldPlaced) and each.event.hold_id in held
    )
    return min(placed, default=_NO_POSITION)


def _text(at: datetime) -> str:
    text = to_text(at)
    assert text is not None, "a moment has a text"
    return text
