"""
The ledger in whole transactions, opened: what a projection that lags behind reads.

A transaction that cannot be read ends a batch before it; where it is the first, it stops
the projection, and the error says at which event.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from muniment.domain.events import (
    FactAsserted,
    FactRedacted,
    FactRevised,
    FactThinned,
    SubjectErased,
)
from muniment.domain.time import Instant
from muniment.errors import Corruption, ProjectionError
from muniment.ledger.ledger import Ledger
from muniment.ledger.records import RecordedEvent, StampedEvent
from muniment.ledger.vault import Subject
from muniment.projections.ports import Said


@dataclass(frozen=True, slots=True, kw_only=True)
class Prefix:
    """The ledger up to the end of a transaction."""

    position: int
    recorded_at: Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """
    What one version of a fact said, in words.

    Attributes:
        key_id: Of the stream, in the vault.
    """

    subject: Subject
    fact_id: str
    version: int
    position: int
    key_id: int
    text: str

    @property
    def said(self) -> Said:
        return self.fact_id, self.version


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """
    Some whole transactions.

    Attributes:
        prefix: The ledger up to their end.
        touched: The last position of each fact they are about.
        statements: What was said in them and can be read.
        redacted: The subject and the fact of each redaction.
        erased: Subjects that were erased.
        has_thinned: Whether something was thinned.
    """

    prefix: Prefix
    touched: Mapping[str, int]
    statements: Sequence[Statement]
    redacted: Sequence[tuple[str, str]]
    erased: Sequence[str]
    has_thinned: bool

    @property
    def is_less(self) -> bool:
        """Whether something was made unreadable."""
        return self.has_thinned or bool(self.erased or self.redacted)


def read_batch(ledger: Ledger, *, after: int, limit: int, projection: str) -> Batch | None:
    """
    Return what was appended past *after*, or ``None`` when there is nothing.

    Args:
        ledger: Whose.
        after: Ends a transaction, or is 0.
        limit: So many events at most, unless one transaction alone has more.
        projection: Whom to name in an error.

    Raises:
        ProjectionError: If the first transaction holds what cannot be read.
    """
    events = _whole_transactions(ledger, after=after, limit=limit)
    if not events:
        return None
    try:
        return _opened(ledger, events)
    except Corruption:
        return _before_poison(ledger, events, projection)


def statement(
    ledger: Ledger, subject: Subject, position: int, key_id: int | None = None
) -> Statement | None:
    """Return what the event at *position* says, if it can be read."""
    (stamped,) = ledger.recorder.read(after=position - 1, limit=1)
    (event,) = ledger.mapper.opened([stamped], subject)
    return _statement(subject, event, key_id or stamped.sealed.key_id)


def _whole_transactions(
    ledger: Ledger, *, after: int, limit: int
) -> Sequence[StampedEvent]:
    events = list(ledger.recorder.read(after=after, limit=limit))
    if len(events) < limit:
        return events
    last = ledger.recorder.transaction(events[-1].tx_id)
    assert last is not None, "an event belongs to a transaction"
    missing = last.last_position - events[-1].position
    if missing:
        events += ledger.recorder.read(after=events[-1].position, limit=missing)
    return events


def _before_poison(
    ledger: Ledger, events: Sequence[StampedEvent], projection: str
) -> Batch:
    """Return what comes before the first transaction that cannot be read."""
    readable: list[StampedEvent] = []
    for _, transaction in groupby(events, key=lambda each: each.tx_id):
        same = list(transaction)
        for event in same:
            try:
                _opened(ledger, [event])
            except Corruption as error:
                if readable:
                    return _opened(ledger, readable)
                raise ProjectionError(projection, event.position, str(error)) from error
        readable += same
    raise AssertionError("together they could not be read, so one of them cannot")


def _opened(ledger: Ledger, events: Sequence[StampedEvent]) -> Batch:
    touched: dict[str, int] = {}
    statements: list[Statement] = []
    redacted: list[tuple[str, str]] = []
    erased: list[str] = []
    kinds: set[type] = set()
    key_ids = {event.position: event.sealed.key_id for event in events}
    for subject, event in _in_order(ledger, events):
        kinds.add(type(event.event))
        if event.fact_id:
            touched[event.fact_id] = event.position
        match event.event:
            case FactRedacted():
                redacted.append((event.subject_ref, event.fact_id))
            case SubjectErased():
                erased.append(event.subject_ref)
            case _:
                said = subject and _statement(subject, event, key_ids[event.position])
                statements += [said] if said else []
    last = events[-1]
    return Batch(
        prefix=Prefix(position=last.position, recorded_at=last.recorded_at),
        touched=touched,
        statements=statements,
        redacted=redacted,
        erased=erased,
        has_thinned=FactThinned in kinds,
    )


def _in_order(
    ledger: Ledger, events: Sequence[StampedEvent]
) -> list[tuple[Subject | None, RecordedEvent]]:
    theirs: defaultdict[str, list[StampedEvent]] = defaultdict(list)
    for event in events:
        theirs[event.sealed.subject_ref].append(event)
    opened: list[tuple[Subject | None, RecordedEvent]] = []
    for ref, same in theirs.items():
        subject = ledger.vault.subject(ref) if ref else None
        opened += [(subject, event) for event in ledger.mapper.opened(same, subject)]
    return sorted(opened, key=lambda each: each[1].position)


def _statement(subject: Subject, event: RecordedEvent, key_id: int) -> Statement | None:
    match event.event:
        case FactAsserted(content=content) | FactRevised(content=content) if content:
            return Statement(
                subject=subject,
                fact_id=event.fact_id,
                version=event.version,
                position=event.position,
                key_id=key_id,
                text=content.text,
            )
        case _:
            return None
