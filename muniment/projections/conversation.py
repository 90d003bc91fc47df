"""
What was said, and what was recalled: the rows of their projections, as values.

Nothing that was said is in them. A turn's words are read from its event and opened with
the key of its session's turns, so there is one copy of them, and erasure reaches it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Protocol

from muniment.domain.receipt import ReceiptLeft
from muniment.domain.session import Role, SessionEnded, SessionStarted, TurnAdded, said_at
from muniment.domain.time import FOREVER, Instant, Period
from muniment.ledger import codec
from muniment.ledger.inline import InlineAccount
from muniment.ledger.payload import unpacked
from muniment.ledger.records import RecordedEvent, StampedEvent
from muniment.projections.beliefs import DerivedStore, unmatched


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRow:
    """
    One session.

    Attributes:
        position: Of the event that began it.
        started_at: When that was recorded.
        ended_at: When its end was; ``None`` while it goes on.
    """

    session_id: str
    subject_ref: str
    position: int
    started_at: Instant
    ended_at: Instant | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnRow:
    """
    One turn.

    Attributes:
        number: Place in its session, 1 for the first that was recorded.
        said_at: When it counts as said; turns are ordered by it, then by position.
    """

    session_id: str
    subject_ref: str
    number: int
    position: int
    recorded_at: Instant
    said_at: Instant
    role: Role


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceiptRow:
    """One receipt, by whose memory was asked first, and by when it was asked."""

    subject_ref: str
    position: int
    asked_at: Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class UseRow:
    """
    A version of a fact was given to an agent.

    Attributes:
        subject_ref: Whose receipt says so; the fact may be another's.
        position: Of that receipt.
        used_at: When the recall was asked for.
    """

    fact_id: str
    subject_ref: str
    version: int
    position: int
    used_at: Instant


AccountRow = SessionRow | TurnRow | ReceiptRow | UseRow


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnQuery:
    """
    Which turns to return; they are ordered by when they were said, then by position.

    Attributes:
        subject_ref: Whose.
        session_id: Of this session alone, or ``None`` for all of the subject's.
        known_at: Only those recorded at or before this time.
        said: Only those said in this period.
        before: Only before this time and position, or ``None``.
        limit: At most so many; ``None`` for all.
        newest: Take the newest, where there are more; they are in order all the same.
    """

    subject_ref: str
    session_id: str | None
    known_at: Instant
    said: Period
    before: tuple[Instant, int] | None = None
    limit: int | None = None
    newest: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SaidTurn:
    """A turn found by a query, with its sealed event."""

    row: TurnRow
    event: StampedEvent


class Conversation(InlineAccount, DerivedStore, Protocol):
    """The read model of sessions, turns, receipts, and of how often facts were used."""

    def session(self, session_id: str) -> SessionRow | None:
        """Return one session, if there is one."""

    def sessions(self, subject_ref: str) -> Sequence[SessionRow]:
        """Return the sessions of a subject, the first begun first."""

    def turn(self, session_id: str, number: int) -> SaidTurn | None:
        """Return one turn, if there is one."""

    def turns(self, query: TurnQuery) -> Sequence[SaidTurn]:
        """Return what *query* asks for."""

    def receipts(
        self, subject_ref: str, asked: Period, *, limit: int | None
    ) -> Sequence[StampedEvent]:
        """Return the receipts asked for in a period, oldest first; of many the newest."""

    def uses(
        self, fact_ids: Sequence[str], until: Instant, *, position: int
    ) -> Mapping[str, Sequence[Instant]]:
        """
        Return when each of some facts was given to an agent up to then, in order.

        As far as the receipts up to *position* say so.
        """

    def use_counts(self, fact_ids: Sequence[str], *, position: int) -> Mapping[str, int]:
        """
        Return by fact how many receipts up to *position* say it was given.

        No more than `USES_MAX` are counted of one; facts that never were may be left out.
        """

    def last_used(self, fact_ids: Sequence[str]) -> Mapping[str, Instant]:
        """Return by fact when it was last given to an agent; not those that never were."""

    def rows(self) -> Iterable[AccountRow]:
        """Yield every row, by position, then fact; the sessions last."""

    def fresh_rows(self) -> Iterable[AccountRow]:
        """Yield in that order the rows the ledger adds up to."""

    def rebuild(self) -> int:
        """Replace every row by a fresh fold of the ledger; return their number."""


def rows_of(event: RecordedEvent) -> list[AccountRow]:
    """Return the rows that *event* begins."""
    match event.event:
        case SessionStarted():
            return [
                SessionRow(
                    session_id=event.session_id,
                    subject_ref=event.subject_ref,
                    position=event.position,
                    started_at=event.recorded_at,
                    ended_at=None,
                )
            ]
        case TurnAdded() as turn:
            return [
                TurnRow(
                    session_id=event.session_id,
                    subject_ref=event.subject_ref,
                    number=event.version,
                    position=event.position,
                    recorded_at=event.recorded_at,
                    said_at=said_at(turn.uttered_at, event.recorded_at),
                    role=turn.role,
                )
            ]
        case ReceiptLeft() as left:
            return [_receipt(event, left), *_uses(event, left)]
        case _:
            return []


def fresh_rows(
    events: Iterable[StampedEvent], erased: frozenset[str]
) -> Iterator[AccountRow]:
    """
    Yield the rows that *events* add up to, by position, then fact; the sessions last.

    Nothing is opened: whatever has no key any more gives the same rows.
    """
    sessions: dict[str, SessionRow] = {}
    for stamped in events:
        sealed = stamped.sealed
        if sealed.topic not in TOPICS or sealed.subject_ref in erased:
            continue
        event = _unopened(stamped)
        if isinstance(event.event, SessionEnded):
            begun = sessions[event.session_id]
            sessions[event.session_id] = replace(begun, ended_at=event.recorded_at)
        for row in rows_of(event):
            if isinstance(row, SessionRow):
                sessions[row.session_id] = row
            else:
                yield row
    yield from sessions.values()


def differences(
    fresh: Iterable[AccountRow], stored: Iterable[AccountRow]
) -> Iterator[tuple[int, str]]:
    """Yield where stored rows are not what the ledger adds up to, as of beliefs."""
    missing, strange = unmatched(fresh, stored)
    for row in sorted(missing | strange, key=lambda row: (row.position, repr(row))):
        problem = "is missing" if row in missing else "does not follow from the ledger"
        yield row.position, f"a row of the conversation, {_named(row)}, {problem}"


def order(row: TurnRow | ReceiptRow | UseRow) -> tuple[int, bool, str]:
    """Return what rows other than sessions are ordered by."""
    return row.position, isinstance(row, UseRow), getattr(row, "fact_id", "")


NO_END = Period(Instant(-(2**63)), FOREVER)

USES_MAX: Final = 100
"""What is used more often than that ranks no higher, and would take long to count."""

TOPICS: Final = frozenset(
    codec.topic_of(kind) for kind in (SessionStarted, SessionEnded, TurnAdded, ReceiptLeft)
)
"""The topics of the events that rows come from."""


def _receipt(event: RecordedEvent, left: ReceiptLeft) -> ReceiptRow:
    return ReceiptRow(
        subject_ref=event.subject_ref, position=event.position, asked_at=left.asked_at
    )


def _uses(event: RecordedEvent, left: ReceiptLeft) -> list[UseRow]:
    # By fact: of two beliefs of one fact that were served, the first is enough.
    served = dict(reversed(left.served))
    return [
        UseRow(
            fact_id=fact_id,
            subject_ref=event.subject_ref,
            version=served[fact_id],
            position=event.position,
            used_at=left.asked_at,
        )
        for fact_id in sorted(served)
    ]


def _unopened(stamped: StampedEvent) -> RecordedEvent:
    sealed = stamped.sealed
    stream = str(sealed.originator_id)
    place = f"{stream} version {sealed.originator_version}"
    header, _, _ = unpacked(sealed.state, place=place)
    return RecordedEvent(
        position=stamped.position,
        tx_id=stamped.tx_id,
        recorded_at=stamped.recorded_at,
        stream=stream,
        version=sealed.originator_version,
        subject_ref=sealed.subject_ref,
        content_tag=None,
        event=codec.decode(sealed.topic, header, None, place=place),
    )


def _named(row: AccountRow) -> str:
    match row:
        case SessionRow():
            return f"session {row.session_id}"
        case TurnRow():
            return f"turn {row.session_id}.{row.number}"
        case ReceiptRow():
            return "a receipt"
        case UseRow():
            return f"a use of fact {row.fact_id}"
