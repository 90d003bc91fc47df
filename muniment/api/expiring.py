"""
Records that were kept as long as a rule says, made unreadable: receipts, looks, turns.

Which those are the ledger tells: all of a kind that were recorded before a cut. An event
says so, with the rule's time to live; then their keys are destroyed, step by step, as of
a redaction. What was recorded, when, and what it counts for stays.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, assert_never

from muniment.api.parting import KeyParter, in_summaries, withdraw_summaries
from muniment.domain import session as sessions
from muniment.domain import subject as subjects
from muniment.domain.access_events import AccessRecorded
from muniment.domain.commands import ExpireRecords
from muniment.domain.events import RecordsExpired
from muniment.domain.keeping import Records
from muniment.domain.session import ExpireTurns, TurnsExpired
from muniment.domain.time import BEGINNING, Instant
from muniment.ledger.destruction import Destruction, Step
from muniment.ledger.ledger import Ledger
from muniment.ledger.records import (
    ACCESS,
    RECEIPTS,
    SESSION,
    SUBJECT,
    SUMMARIES,
    TURNS,
    RecordedEvent,
    StampedEvent,
)
from muniment.ledger.tombstones import said_again
from muniment.ledger.transaction import Transaction


_EXPIRED: Final = "expired"
_PAGE: Final = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Expired:
    """
    Records of one kind that go; turns are of one session.

    Attributes:
        until: Those recorded before then.
        older_than_us: The time to live by which they do.
        session_id: Of turns alone; or else empty.
        last_turn: Likewise; or else 0.
        whole: Likewise: whether what was said of the session itself goes, too.
    """

    records: Records
    until: Instant
    older_than_us: int
    session_id: str = ""
    last_turn: int = 0
    whole: bool = False

    @property
    def family(self) -> str:
        """How the names of all begin of which a later one covers an earlier one."""
        return f"{_EXPIRED}.{self.records}.{self.session_id}."

    @property
    def stream(self) -> str:
        """What the vault calls it."""
        numbers = self.last_turn, int(self.whole), self.until, self.older_than_us
        return self.family + ".".join(map(str, numbers))

    def said_in(self, subject_ref: str) -> str:
        """Return the stream of the event that says so."""
        return SESSION + self.session_id if self.session_id else SUBJECT + subject_ref

    def is_said_by(self, recorded: RecordedEvent) -> bool:
        """Whether an event of that stream says that all of it is unreadable."""
        match recorded.event:
            case RecordsExpired(records=records, until=until):
                return records is self.records and until >= self.until
            case TurnsExpired(until=until):
                return until >= self.until
            case _:
                return False


def expired_of(destruction: Destruction) -> Expired | None:
    """Return the records that *destruction* is about, if it is about such."""
    if not destruction.stream.startswith(f"{_EXPIRED}."):
        return None
    _, records, session_id, last_turn, whole, until, age = destruction.stream.split(".")
    return Expired(
        records=Records(records),
        until=Instant(int(until)),
        older_than_us=int(age),
        session_id=session_id,
        last_turn=int(last_turn),
        whole=whole == "1",
    )


class RecordExpirer:
    """Announces, says and carries out that records cannot be read any more."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._destructions = ledger.vault.destructions
        self._parter = KeyParter(ledger)

    def expire(self, transaction: Transaction, due: Sequence[tuple[Expired, int]]) -> None:
        """
        Collect that records are unreadable, unless they are, or a hold binds them.

        Args:
            transaction: Of their subject.
            due: Which, and how many of them can be read so far.
        """
        if transaction.state.keeps_records:
            return
        said = [(each, _say(transaction, each, count)) for each, count in due]
        announced = [
            Destruction(
                subject_ref=transaction.subject.ref,
                stream=expired.stream,
                key_id=0,
                position=position,
                step=Step.ANNOUNCED,
            )
            for expired, position in said
            if position is not None
        ]
        if announced:
            self._destructions.announce(*announced)

    def says(self, stamped: StampedEvent, destruction: Destruction) -> bool:
        """Whether an event says so, that stands where it was announced."""
        expired = _expired(destruction)
        if stamped.sealed.originator_id != expired.said_in(destruction.subject_ref):
            return False
        (opened,) = self._ledger.mapper.opened([stamped], None)
        return expired.is_said_by(opened)

    def say_again(self, destruction: Destruction) -> int | None:
        """Say it in a restored ledger; return where, or ``None`` if nothing was said."""
        expired = _expired(destruction)
        gone = self._gone(destruction)
        if self._ledger.vault.subject(destruction.subject_ref) is None or not gone:
            return None
        count = sum(not _is_of(each, SUMMARIES, SESSION) for each in gone)
        if expired.records is Records.TURN:
            # The backup may be older than some of them: later ones take their numbers.
            expired = replace(expired, last_turn=count)

        def work(transaction: Transaction) -> None:
            # Whatever binds it: its keys are gone already.
            _say(transaction, expired, count)

        self._ledger.transact(
            said_again(
                work,
                action="retain",
                done="expired",
                subject_ref=destruction.subject_ref,
            )
        )
        said = self._ledger.recorder.read_stream(expired.said_in(destruction.subject_ref))
        opened = self._ledger.mapper.opened(said, None)
        return next((e.position for e in opened if expired.is_said_by(e)), None)

    def destroy(self, destruction: Destruction, *, also: Collection[int] = ()) -> None:
        """Destroy the keys; of those that open later records, too, keep what is left."""
        gone = self._gone(destruction)
        among = self.sealed_alike(destruction.subject_ref, _expired(destruction))
        self._parter.destroy(destruction, gone, among, also=also)

    def remaining(self, destruction: Destruction) -> int:
        """Return how much of it can be read all the same, looked up once more."""
        return self._parter.remaining(destruction, self._gone(destruction))

    def sealed_alike(self, subject_ref: str, expired: Expired) -> Sequence[StampedEvent]:
        """Return all that may be sealed with the keys of what goes, that included."""
        recorder = self._ledger.recorder
        match expired.records:
            case Records.RECEIPT:
                return recorder.read_stream(RECEIPTS + subject_ref)
            case Records.TURN:
                streams = [TURNS + expired.session_id, SUMMARIES + expired.session_id]
                if expired.whole:
                    streams.append(SESSION + expired.session_id)
                return recorder.read_streams(streams)
            case Records.LOOK | Records.EMERGENCY:
                return list(self.looks(subject_ref, expired.records, until=expired.until))
            case _:
                assert_never(expired.records)

    def going(
        self, among: Sequence[StampedEvent], expired: Expired, *, position: int
    ) -> Sequence[StampedEvent]:
        """
        Return what goes.

        Args:
            among: See `sealed_alike`.
            expired: Which records.
            position: Where the event stands that says so; what is made afterwards of
                turns is made without them.
        """
        old = [each for each in among if each.recorded_at < expired.until]
        if expired.records is not Records.TURN:
            return old
        made = [e for e in among if _is_of(e, SUMMARIES) and e.position < position]
        numbers = range(1, expired.last_turn + 1)
        return [
            *(
                e
                for e in old
                if _is_of(e, TURNS) and e.sealed.originator_version in numbers
            ),
            *in_summaries(self._ledger, made, numbers),
            *(e for e in among if _is_of(e, SESSION) and e.position < position),
        ]

    def looks(
        self,
        subject_ref: str,
        records: Records,
        *,
        until: Instant,
        since: Instant = BEGINNING,
    ) -> Iterator[StampedEvent]:
        """Yield the looks at a memory within a time, of one kind, the last first."""
        before = f"{ACCESS}{max(0, until):016x}"
        is_emergency = records is Records.EMERGENCY
        while page := self._ledger.recorder.read_prefix(
            ACCESS, before=before, subject_ref=subject_ref, limit=_PAGE
        ):
            opened = self._ledger.mapper.opened(page, None)
            for stamped, each in zip(page, opened, strict=True):
                if stamped.recorded_at < since:
                    return
                event = each.event
                assert isinstance(event, AccessRecorded), "its stream holds this alone"
                if event.glass_broken is is_emergency:
                    yield stamped
            before = str(page[-1].sealed.originator_id)

    def _gone(self, destruction: Destruction) -> Sequence[StampedEvent]:
        expired = _expired(destruction)
        among = self.sealed_alike(destruction.subject_ref, expired)
        return self.going(among, expired, position=destruction.position)


def _say(transaction: Transaction, expired: Expired, count: int) -> int | None:
    """Collect it, unless it was said; return where it will stand, or ``None``."""
    if expired.records is not Records.TURN:
        event = RecordsExpired(
            records=expired.records,
            until=expired.until,
            older_than_us=expired.older_than_us,
            count=count,
        )
        command = ExpireRecords(expired=event)
        events = subjects.decide(command, transaction.state)
        position = transaction.next_position
        transaction.add_to_subject(events)
        return position if events else None
    session = transaction.session(expired.session_id)
    turns = TurnsExpired(
        last_turn=expired.last_turn,
        whole=expired.whole,
        until=expired.until,
        older_than_us=expired.older_than_us,
        count=count,
    )
    said = sessions.decide(ExpireTurns(expired=turns), expired.session_id, session)
    if not said:
        return None
    numbers = range(1, expired.last_turn + 1)
    withdraw_summaries(transaction, expired.session_id, numbers)
    position = transaction.next_position
    transaction.add_to(SESSION + expired.session_id, said)
    return position


def _expired(destruction: Destruction) -> Expired:
    expired = expired_of(destruction)
    assert expired is not None, "it is about records"
    return expired


def _is_of(event: StampedEvent, *kinds: str) -> bool:
    return str(event.sealed.originator_id).startswith(kinds)
