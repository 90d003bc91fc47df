"""Evidence about one subject: gathered, tied to the ledger, signed."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from typing import Any

from muniment.api import readable
from muniment.api.disclosing import Disclosed, disclose
from muniment.api.lookup import Lookup
from muniment.api.points import Point
from muniment.api.publishing import verifier_key
from muniment.api.shapes import shaped
from muniment.api.summary import summary_page
from muniment.api.third_parties import Names, known_others
from muniment.archive import package
from muniment.archive.evidence_check import (
    DICTIONARY,
    EVENTS,
    HEAD,
    HEADS,
    TRANSACTIONS,
)
from muniment.archive.package import base64_text
from muniment.archive.sources import Line, Source
from muniment.archive.states_check import STATES
from muniment.archive.timestamping import time_stamp
from muniment.domain.scope import Scope
from muniment.domain.text import Json
from muniment.domain.time import BEGINNING, FOREVER, Instant
from muniment.errors import IncompleteExportError, InvalidValueError
from muniment.instants import moment, to_text
from muniment.ledger.attesting import Attestor
from muniment.ledger.compression import NEWEST, dictionary_bytes
from muniment.ledger.mapper import Shown
from muniment.ledger.merkle import Tree
from muniment.ledger.proof import TreeHead
from muniment.ledger.records import Origin, StampedEvent, TransactionRow
from muniment.ledger.vault import Subject


_HEADS_MAX = 200
_NOT_ASKED = "recorded outside of the time that was asked for"
_UNREADABLE = "made unreadable for good before this package was made"
_OLD_FORM = "shown, but stored in an older form that cannot be proven alone"
_OTHERS = "shown with tokens for third parties, so that it cannot be proven"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """
    What evidence is asked for.

    Attributes:
        start: Recorded from then on; ``None`` for from the beginning.
        end: Recorded before; ``None`` for up to now.
        as_of: Points at which what was known is worked out; pairs of both axes.
        third_parties: Names that are replaced by tokens.
    """

    scope: Scope
    start: Instant | None
    end: Instant | None
    as_of: tuple[tuple[Instant, Instant | None], ...]
    matter: str
    third_parties: tuple[str, ...]


class EvidenceMaker:
    """Makes one package."""

    def __init__(
        self,
        lookup: Lookup,
        asked: Asked,
        sources: Sequence[Source] = (),
        *,
        timestamp_url: str | None = None,
    ) -> None:
        self._lookup = lookup
        self._ledger = lookup.ledger
        self._asked = asked
        self._sources = sources
        self._stamp = partial(time_stamp, timestamp_url) if timestamp_url else None
        self._names = Names(asked.third_parties)

    def make(self, origin: Origin) -> bytes:
        """Record that it is made, then return the zip file."""
        asked = self._asked
        self._check()
        made = disclose(
            self._ledger, asked.scope, form="evidence", matter=asked.matter, origin=origin
        )
        subject = made.committed.subject
        attestor = Attestor(self._ledger)
        note = attestor.tree_head()
        first, last = self._span(attestor.read(note).size)
        events = self._ledger.recorder.read_subject(subject.ref, until=last)
        kept = self._kept(subject)
        found = known_others(
            self._ledger.vault, asked.scope, self._said(subject, events, kept)
        )
        self._names = Names(asked.third_parties, found)
        states = [self._state(subject, each) for each in self._points(made)]
        told = {each["position"] for line in states for each in line["facts"]}
        lines = self._event_lines(subject, events, told, first, attestor.read(note))
        transactions = self._transaction_lines(subject, events, first)
        files = {
            "README.txt": readable.README.encode(),
            package.VERIFIER: package.single_file(),
            DICTIONARY: dictionary_bytes(NEWEST),
            HEAD: note.encode(),
            HEADS: package.json_lines(self._head_lines(attestor.read(note))),
            EVENTS: package.json_lines(lines),
            TRANSACTIONS: package.json_lines(transactions),
            STATES: package.json_lines(states),
            **self._readable(subject, states, first, last),
        }
        for name, lines_of in kept.items():
            hidden = [_mapping(self._names.hidden(each)) for each in lines_of]
            files |= readable.in_each_form(name, hidden)
        fields = self._fields(made, origin, attestor, (first, last), lines, states)
        files["custody.jsonl"] = package.json_lines([self._custody(made, origin, fields)])
        files["summary.html"] = summary_page(fields, files, states)
        return package.signed_package(files, fields, attestor, stamp=self._stamp)

    def _check(self) -> None:
        """Refuse what cannot be made before anything is written."""
        asked = self._asked
        if asked.start is not None or asked.end is not None:
            self._lookup.span(asked.start or Instant(0), asked.end)
        subject = self._ledger.vault.find(asked.scope)
        for recorded_at, valid_at in (*asked.as_of, *self._edges()):
            point = self._lookup.at(recorded_at, valid_at)
            if subject is not None:
                self._lookup.refuse_thinned(subject, point)
            if asked.end is not None and recorded_at >= asked.end:
                shown = to_text(moment(recorded_at))
                raise InvalidValueError("points", shown, "before the end asked for")

    def _span(self, size: int) -> tuple[int, int]:
        """Return the positions that are asked for: past the first, to the last."""
        asked = self._asked
        first = 0
        if asked.start is not None:
            first = self._ledger.resolve(Instant(asked.start - 1)).position
        if asked.end is None or asked.end > self._ledger.present().now:
            return first, size
        return first, self._ledger.resolve(Instant(asked.end - 1)).position

    def _points(self, made: Disclosed) -> list[Point]:
        """Return the points asked for, with where the time asked for begins and ends."""
        pairs = [*self._asked.as_of, *self._edges()]
        latest = made.committed.recorded_at, None
        return [self._lookup.at(*each) for each in pairs or [latest]]

    def _edges(self) -> list[tuple[Instant, None]]:
        """Return the points right before what is asked for begins, and before it ends."""
        now = self._ledger.present().now
        edges = [each for each in (self._asked.start, self._asked.end) if each]
        return [(Instant(each - 1), None) for each in edges if each <= now]

    def _state(self, subject: Subject, point: Point) -> dict[str, Any]:
        found = self._lookup.facts(subject.scope, point)
        return {
            "recorded_at": to_text(moment(point.asked_at)),
            "recorded_at_us": point.asked_at,
            "valid_at": to_text(moment(point.as_of.valid_at)),
            "valid_at_us": point.as_of.valid_at,
            "position": point.position,
            "facts": [
                {
                    **self._shape(fact),
                    "valid_from_us": row.valid.start,
                    "valid_to_us": row.valid.end,
                }
                for fact, row in found
            ],
        }

    def _event_lines(
        self,
        subject: Subject,
        events: Sequence[StampedEvent],
        told: set[int],
        first: int,
        head: TreeHead,
    ) -> list[dict[str, Any]]:
        every = self._ledger.mapper.shown(events, subject)
        with self._ledger.recorder.tree() as store:
            tree = Tree(store)
            return [
                self._event_line(
                    event,
                    shown,
                    tree.inclusion(event.position - 1, head.size),
                    is_asked=event.position > first or event.position in told,
                )
                for event, shown in zip(events, every, strict=True)
            ]

    def _event_line(
        self,
        event: StampedEvent,
        shown: Shown,
        path: Sequence[bytes],
        *,
        is_asked: bool,
    ) -> dict[str, Any]:
        sealed = event.sealed
        content, key, withheld = None, None, _UNREADABLE
        if shown.content is not None and not is_asked:
            withheld = _NOT_ASKED
        elif shown.content is not None:
            plain = json.loads(shown.content) if shown.content else {}
            content, key, withheld = self._names.hidden(plain), shown.key, ""
            if key is None:
                withheld = _OLD_FORM
            elif content != plain:
                key, withheld = None, _OTHERS
        return {
            "envelope": {
                "position": event.position,
                "tx_id": event.tx_id,
                "recorded_at": event.recorded_at,
                "stream": str(sealed.originator_id),
                "version": sealed.originator_version,
                "topic": sealed.topic,
                "subject_ref": sealed.subject_ref,
                "key_id": sealed.key_id,
                "state": base64_text(sealed.state),
            },
            "recorded_at": to_text(moment(event.recorded_at)),
            "proof": [base64_text(each) for each in path],
            "header": json.loads(shown.header),
            "content": content,
            "key": base64_text(key),
            "withheld": withheld or None,
        }

    def _transaction_lines(
        self, subject: Subject, events: Sequence[StampedEvent], first: int
    ) -> list[dict[str, Any]]:
        """Return the transactions of *events*; who and why of those asked for alone."""
        mapper, recorder = self._ledger.mapper, self._ledger.recorder
        lines: list[dict[str, Any]] = []
        for tx_id in dict.fromkeys(each.tx_id for each in events):
            row = recorder.transaction(tx_id)
            if row is None:
                raise IncompleteExportError("transactions", len(events), len(lines))
            origin = key = None
            if row.last_position > first:
                plain = shaped_origin(mapper.origin(subject, row))
                origin, key = self._names.hidden(plain), mapper.origin_key(subject, row)
                key = key if origin == plain else None
            lines.append({**_row_fields(row), "origin": origin, "key": base64_text(key)})
        return lines

    def _head_lines(self, head: TreeHead) -> list[Line]:
        """Return for tree heads signed before the proof that this one continues them."""
        known = self._ledger.recorder.tree_heads()[-_HEADS_MAX:]
        with self._ledger.recorder.tree() as store:
            tree = Tree(store)
            return [
                {
                    "size": size,
                    "note": note,
                    "consistency": [
                        base64_text(each) for each in tree.consistency(size, head.size)
                    ],
                }
                for size, note in known
                if size <= head.size
            ]

    def _readable(
        self,
        subject: Subject,
        states: Sequence[Line],
        first: int,
        last: int,
    ) -> dict[str, bytes]:
        """Return what is made for reading: history, differences, blame, as tables too."""
        every = self._ledger.subject_events(subject, after=first, until=last)
        asked = [each for each in every if each.fact_id]
        versions = [self._shape(e) for e in self._lookup.versions(subject, asked)]
        if len(versions) != len(asked):
            raise IncompleteExportError("versions", len(asked), len(versions))
        return readable.tables(versions, states)

    def _kept(self, subject: Subject) -> dict[str, list[Json]]:
        """Return what else is kept of the subject and was recorded in the time asked."""
        start, end = self._asked.start or BEGINNING, self._asked.end or FOREVER
        return {
            source.name: [shaped(e) for e in source.lines(subject, start=start, end=end)]
            for source in self._sources
        }

    def _said(
        self,
        subject: Subject,
        events: Sequence[StampedEvent],
        kept: Mapping[str, list[Json]],
    ) -> Iterator[Json]:
        """Yield whatever may name a third party."""
        for shown in self._ledger.mapper.shown(events, subject):
            yield json.loads(shown.content or b"{}")
        for row in self._ledger.recorder.transactions({e.tx_id for e in events}):
            yield shaped_origin(self._ledger.mapper.origin(subject, row))
        yield from kept.values()

    def _fields(
        self,
        made: Disclosed,
        origin: Origin,
        attestor: Attestor,
        span: tuple[int, int],
        lines: Sequence[Line],
        states: Sequence[Line],
    ) -> dict[str, Any]:
        """Return what the manifest says besides its files."""
        asked, withheld = self._asked, dict[str, int]()
        for line in lines:
            if line["withheld"]:
                withheld[line["withheld"]] = withheld.get(line["withheld"], 0) + 1
        return {
            "package_id": made.disclosure_id,
            "made_at": to_text(moment(made.committed.recorded_at)),
            "clock": "recorded time of the ledger",
            "software": f"muniment {version('muniment')}",
            "ledger": self._ledger.name,
            "verifier_key": verifier_key(attestor.origin, attestor.public_key),
            "scope": str(asked.scope),
            "subject_ref": made.committed.subject.ref,
            "matter": asked.matter,
            "reason": origin.reason,
            "made_by": origin.actor,
            "recorded_from": None if asked.start is None else to_text(moment(asked.start)),
            "recorded_to": None if asked.end is None else to_text(moment(asked.end)),
            "positions": {"after": span[0], "until": span[1]},
            "disclosure_position": made.committed.position,
            "counts": {
                "events": len(lines),
                "facts": len({e["envelope"]["stream"] for e in lines}),
                "as_of": len(states),
            },
            "exclusions": [
                {"why": why, "events": count} for why, count in sorted(withheld.items())
            ],
            "third_parties": self._names.count,
        }

    def _custody(
        self, made: Disclosed, origin: Origin, fields: Mapping[str, Any]
    ) -> dict[str, Any]:
        return {
            "step": "made",
            "package_id": made.disclosure_id,
            "at": fields["made_at"],
            "by": origin.actor,
            "reason": origin.reason,
            "matter": self._asked.matter,
            "position": made.committed.position,
            "software": fields["software"],
        }

    def _shape(self, answer: object) -> dict[str, Any]:
        return _mapping(self._names.hidden(shaped(answer)))


def shaped_origin(origin: Origin) -> dict[str, Any]:
    """Return who did something and why as it is sealed: nothing that was not said."""
    named = ((each, getattr(origin, each)) for each in Origin.__dataclass_fields__)
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in named
        if value
    }


def _row_fields(row: TransactionRow) -> dict[str, Any]:
    fields = {name: getattr(row, name) for name in TransactionRow.__struct_fields__}
    return {
        name: value if isinstance(value, int | str) else base64_text(value or b"")
        for name, value in fields.items()
    }


def _mapping(value: object) -> dict[str, Any]:
    assert isinstance(value, dict), "an object has the shape of one"
    return value
