"""Which records of a memory rules make unreadable now; nothing is opened to say so."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from muniment.api.expiring import Expired, RecordExpirer
from muniment.api.parting import can_be_parted
from muniment.api.talking import session_state
from muniment.domain.keeping import Records
from muniment.domain.policy import Expiry, RetentionRule, expiry
from muniment.domain.session import SessionState
from muniment.domain.subject import SubjectState
from muniment.domain.time import Instant
from muniment.ledger.ledger import Ledger
from muniment.ledger.records import TURNS, StampedEvent
from muniment.projections.conversation import Conversation, SessionRow


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """
    Records of one kind that are due.

    Attributes:
        first: Number of the first of the turns; 0 where it is about others.
        count: How many of them can be read so far.
    """

    expired: Expired
    first: int
    count: int


class DueRecords:
    """Finds the records that rules make unreadable."""

    def __init__(
        self, ledger: Ledger, conversation: Conversation, rules: Sequence[RetentionRule]
    ) -> None:
        self._ledger = ledger
        self._conversation = conversation
        self._expirer = RecordExpirer(ledger)
        self._rules = rules

    def of(self, subject_ref: str, state: SubjectState, now: Instant) -> Iterator[Due]:
        """Yield what is due of one subject, whatever holds bind it."""
        for records in Records:
            due = expiry(records, self._rules, now=now)
            if due is None:
                continue
            if records is Records.TURN:
                yield from self._turns(subject_ref, due)
            elif due.until > state.expired_until(records):
                since = state.expired_until(records)
                yield from self._records(subject_ref, records, due, since)

    def _records(
        self, subject_ref: str, records: Records, due: Expiry, since: Instant
    ) -> Iterator[Due]:
        expired = Expired(records=records, until=due.until, older_than_us=due.older_than_us)
        if records is Records.RECEIPT:
            found = self._parted(subject_ref, expired)
        else:
            found = [
                *self._expirer.looks(subject_ref, records, until=due.until, since=since)
            ]
        count = sum(each.recorded_at >= since for each in found)
        if count:
            yield Due(expired=expired, first=0, count=count)

    def _turns(self, subject_ref: str, due: Expiry) -> Iterator[Due]:
        for row in self._conversation.sessions(subject_ref):
            session = session_state(self._ledger, row.session_id)
            if not session.redacted and not self._is_all_gone(row, session):
                yield from self._of_session(row, session, due)

    def _is_all_gone(self, row: SessionRow, session: SessionState) -> bool:
        """Whether nothing was said in a session since all of it went."""
        following = session.last_expired + 1
        return (
            session.opening_expired
            and self._conversation.turn(row.session_id, following) is None
        )

    def _of_session(
        self, row: SessionRow, session: SessionState, due: Expiry
    ) -> Iterator[Due]:
        turns = self._ledger.recorder.read_stream(TURNS + row.session_id)
        last = sum(each.recorded_at < due.until for each in turns)
        whole = row.started_at < due.until and last == len(turns)
        new = range(session.last_expired + 1, last + 1)
        if not new and (session.opening_expired or not whole):
            return
        expired = Expired(
            records=Records.TURN,
            until=due.until,
            older_than_us=due.older_than_us,
            session_id=row.session_id,
            last_turn=max(last, session.last_expired),
            whole=whole or session.opening_expired,
        )
        count = sum(number not in session.redacted_turns for number in new)
        if self._parted(row.subject_ref, expired):
            yield Due(expired=expired, first=session.last_expired + 1, count=count)

    def _parted(self, subject_ref: str, expired: Expired) -> Sequence[StampedEvent]:
        """Return what goes; nothing where what stays has no keys of its own."""
        among = self._expirer.sealed_alike(subject_ref, expired)
        position = self._ledger.present().head.position + 1
        gone = self._expirer.going(among, expired, position=position)
        return gone if can_be_parted(gone, among) else ()
