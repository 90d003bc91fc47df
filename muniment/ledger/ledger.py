"""
The ledger: transactions in, opened events out.

Everything that is decided on what the ledger holds is decided under its lock, so a
decision and its events are one. What is read outside of the lock is a prefix.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from muniment.domain.events import RequestAnswered
from muniment.domain.rollback import Stamp
from muniment.domain.scope import Scope
from muniment.domain.subject import SubjectState
from muniment.domain.time import Instant
from muniment.errors import (
    ForgottenRequestError,
    FutureAsOfError,
    IdempotencyConflictError,
    MunimentError,
    SubjectErasedError,
    Unavailable,
    UnknownFactError,
    UnknownSessionError,
)
from muniment.ledger import codec, sealing
from muniment.ledger.application import LedgerApplication
from muniment.ledger.cold import archivable
from muniment.ledger.foreseeing import foresee
from muniment.ledger.group_commit import GroupCommit, Ticket
from muniment.ledger.inline import InlineAccount, InlineProjection
from muniment.ledger.mapper import SealingMapper
from muniment.ledger.recorder import Append, LedgerRecorder, Present
from muniment.ledger.records import (
    FACT,
    SESSION,
    SUBJECT,
    Head,
    Origin,
    RecordedEvent,
    TransactionRow,
)
from muniment.ledger.stamping import recorded, stamp_of
from muniment.ledger.transaction import (
    Request,
    Transaction,
    refuse_if_bound,
    state_of,
)
from muniment.ledger.vault import Subject, Vault


_ABOUT = FACT, SUBJECT


@dataclass(frozen=True, slots=True, kw_only=True)
class Committed:
    """
    A transaction that is durable.

    Attributes:
        tx_id: Its number; ``None`` when there was nothing to do.
        recorded_at: When the ledger learned it, or, with nothing to do, stood.
        position: Of its last event.
        subject: Whose memory it is about.
        events: What was appended.
        repeated: Whether an earlier request with the same key had done it already.
    """

    tx_id: int | None
    recorded_at: Instant
    position: int
    subject: Subject
    events: tuple[RecordedEvent, ...]
    repeated: bool = False


class Ledger:
    """
    One tenant's ledger.

    Safe to use from many threads; a durable one from many processes.

    Attributes:
        name: Of the tenant.
        origin: Names the ledger to the outside, in whatever is signed or planned.
        recorder: Keeps the events.
        vault: Keeps the keys.
        before_commit: Called with what is appended, and the number of the first
            transaction of it; what it raises lets nothing be written.
        on_append: Called by the thread that committed, once something is durable.
    """

    def __init__(
        self,
        recorder: LedgerRecorder,
        vault: Vault,
        projection: InlineProjection,
        name: str,
        conversation: InlineAccount,
    ) -> None:
        self.name = name
        self.origin = f"muniment/{vault.vault_id}/{name}"
        self.recorder = recorder
        self.vault = vault
        self.mapper = SealingMapper(vault, ledger=name)
        self.application = LedgerApplication(recorder, self.mapper)
        self.before_commit: Callable[[Append, int], None] = lambda _append, _first: None
        self.on_append: Callable[[], None] = lambda: None
        self._projection = projection
        self._conversation = conversation
        self._key_mark = 0
        self._request_key = sealing.derived(vault.ledger_key, "request")
        self._commits: GroupCommit[Request, Committed] = GroupCommit(self._carry_out)

    def transact(self, request: Request) -> Committed:
        """
        Carry out *request* in one transaction; durable once this returns.

        Raises:
            MunimentError: What the request's work raised, or why it could not be
                written; nothing of it was, unless it is `CommitUncertainError`.
        """
        return self._commits.submit(request)

    def transact_all(self, requests: Sequence[Request]) -> list[BaseException | None]:
        """Carry out *requests*, each in one transaction; return each one's error."""
        return [each.error for each in self._commits.submit_all(requests)]

    def present(self) -> Present:
        """Return where the ledger stands, and the time."""
        return self.recorder.present()

    def resolve(self, recorded_at: Instant) -> Head:
        """
        Return where the ledger stood at *recorded_at*, for good.

        A time after the last transaction is promised under the append lock: whatever is
        being written, or written later by a clock that stepped back, is recorded after.

        Raises:
            FutureAsOfError: If that time has not come.
        """
        settled = self.recorder.settled_at(recorded_at)
        if settled is not None:
            return settled
        with self.recorder.appending() as append:
            if recorded_at > append.now:
                raise FutureAsOfError(recorded_at, append.now)
            if recorded_at >= append.head.recorded_at:
                append.promise(recorded_at)
                return append.head
        # While this waited for the lock, others were recorded after that time.
        return self.recorder.head_at(recorded_at)

    def fact(self, fact_id: str) -> tuple[Subject, tuple[RecordedEvent, ...]]:
        """
        Return whose fact it is and all its events, opened as far as its keys allow.

        Raises:
            UnknownFactError: If it was never recorded, or its subject was erased.
        """
        stamped = self.recorder.read_stream(FACT + fact_id)
        subject = self.vault.subject(stamped[0].sealed.subject_ref) if stamped else None
        events = self.mapper.opened(stamped, subject)
        if subject is None or self.was_erased(subject):
            raise UnknownFactError(fact_id)
        return subject, events

    def subject_events(
        self, subject: Subject, *, after: int = 0, until: int | None = None
    ) -> tuple[RecordedEvent, ...]:
        """
        Return what happened to *subject* and its facts past *after*, oldest first.

        Not what was said to it: conversations are long, and no belief follows from them.
        Nothing of a subject that was erased while they were read: the keys go first, and
        what is left without them would tell that there was somebody.
        """
        stamped = self.recorder.read_subject(subject.ref, after=after, until=until)
        about = [e for e in stamped if str(e.sealed.originator_id).startswith(_ABOUT)]
        events = self.mapper.opened(about, subject)
        return () if self.was_erased(subject) else events

    def was_erased(self, subject: Subject) -> bool:
        """Whether the keys of a subject have been destroyed, by whatever process."""
        return self.vault.subject(subject.ref) is None

    def subject_state(self, subject: Subject, position: int | None = None) -> SubjectState:
        """Return what binds a subject, or did at a position."""
        stamped = self.recorder.read_stream(SUBJECT + subject.ref)
        known = [e for e in stamped if position is None or e.position <= position]
        return state_of(self.mapper.opened(known, subject))

    def origins(
        self, subject: Subject, events: Sequence[RecordedEvent]
    ) -> dict[int, tuple[TransactionRow, Origin]]:
        """Return by number the transactions of *events*, with who did them and why."""
        if not events:
            return {}
        rows = self.recorder.transactions({each.tx_id for each in events})
        return {row.tx_id: (row, self.mapper.origin(subject, row)) for row in rows}

    def stamps(self, subject: Subject, events: Sequence[RecordedEvent]) -> list[Stamp]:
        """Return the stamp of each of *events*."""
        origins = self.origins(subject, events)
        return [stamp_of(event, origins[event.tx_id][1]) for event in events]

    def close(self) -> None:
        """Let go of everything; what was committed stays."""
        self.application.close()
        self.recorder.close()
        self.vault.close()

    def _carry_out(self, batch: Sequence[Ticket[Request, Committed]]) -> None:
        try:
            self._carry_out_together(batch)
        except Unavailable:
            raise
        except Exception:
            if len(batch) == 1:
                raise
            # One of them broke the transaction of all: each gets one of its own, and
            # so its own answer or its own error.
            for ticket in batch:
                ticket.answer = ticket.error = None
                self._carry_out_alone(ticket)

    def _carry_out_alone(self, ticket: Ticket[Request, Committed]) -> None:
        try:
            self._carry_out_together([ticket])
        except Exception as error:  # noqa: BLE001 - it is raised to the one who asked
            ticket.answer, ticket.error = None, error

    def _carry_out_together(self, batch: Sequence[Ticket[Request, Committed]]) -> None:
        with self.recorder.appending() as append:
            first_tx = append.head.tx_id + 1
            requests = [each.request for each in batch]
            foresee(append, requests, vault=self.vault, projection=self._projection)
            answers = [self._carry_out_one(append, ticket) for ticket in batch]
            self.before_commit(append, first_tx)
        # Only now is anything durable.
        for ticket, answer in zip(batch, answers, strict=True):
            ticket.answer = answer
        self.on_append()

    def _carry_out_one(
        self, append: Append, ticket: Ticket[Request, Committed]
    ) -> Committed | None:
        request = ticket.request
        try:
            earlier = self._earlier(append, request)
            if earlier is not None:
                return earlier
            subject = self._subject_of(append, request)
            transaction = Transaction(append, self.vault, self.mapper, subject=subject)
            if not request.passes_freeze:
                refuse_if_bound(transaction)
            request.work(transaction)
        except MunimentError as error:
            # Nothing was inserted yet, so the others in the batch are not touched.
            ticket.error = error
            return None
        return self._insert(append, request, transaction)

    def _insert(
        self, append: Append, request: Request, transaction: Transaction
    ) -> Committed:
        if request.origin.idempotency_key is not None and transaction.is_empty:
            # The key is kept, so that a retry does nothing, too; and in a leaf, as all.
            transaction.add_to_subject([RequestAnswered()])
        subject, drafts = transaction.subject, transaction.drafts()
        head = append.head
        if not drafts:
            return Committed(
                tx_id=None,
                recorded_at=head.recorded_at if head.tx_id else append.now,
                position=head.position,
                subject=subject,
                events=(),
            )
        row = self._row(head, request, transaction, len(drafts))
        append.insert(row, archivable([self.mapper.to_stored_event(e) for e in drafts]))
        events = tuple(
            recorded(draft, row, position)
            for position, draft in enumerate(drafts, row.first_position)
        )
        highest = max(draft.key[0] for draft in drafts)
        if highest > self._key_mark:
            self._key_mark = self.vault.next_key_id() - 1
            append.mark_key(self._key_mark)
        self._projection.apply(append, transaction.changes(events))
        if any(not each.fact_id for each in events):
            self._conversation.apply(append, events)
        return Committed(
            tx_id=row.tx_id,
            recorded_at=row.recorded_at,
            position=row.last_position,
            subject=subject,
            events=events,
        )

    def _subject_of(self, append: Append, request: Request) -> Subject:
        match request:
            case Request(scope=Scope() as scope):
                recalled = self.vault.recalled(scope)
                return recalled[0] if recalled else self.vault.find_or_make(scope)
            case Request(subject_ref=str() as ref):
                unknown: MunimentError = SubjectErasedError(ref)
                subject = self.vault.subject(ref)
            case Request(session_id=str() as session_id):
                unknown = UnknownSessionError(session_id)
                subject = self._owner(append, SESSION + session_id)
            case Request(fact_id=str() as fact_id):
                unknown = UnknownFactError(fact_id)
                subject = self._owner(append, FACT + fact_id)
            case _:
                return self.mapper.nobody
        if subject is None:
            raise unknown
        return subject

    def _owner(self, append: Append, stream: str) -> Subject | None:
        last = append.read_stream_end(stream)
        return self.vault.subject(last.sealed.subject_ref) if last else None

    def _earlier(self, append: Append, request: Request) -> Committed | None:
        """Return what an earlier request with the same idempotency key did."""
        key = request.origin.idempotency_key
        row = append.find_request(self.idempotency_tag(key)) if key else None
        if key is None or row is None:
            return None
        is_ours = row.subject_ref == self.mapper.nobody.ref
        subject = self.mapper.nobody if is_ours else self.vault.subject(row.subject_ref)
        if subject is None:
            raise ForgottenRequestError(key, row.tx_id)
        if row.request_tag not in self._request_tags(request, subject):
            raise IdempotencyConflictError(key, row.tx_id)
        # Read where it was found: it may stand in the very batch that is written now.
        stamped = append.read(first=row.first_position, last=row.last_position)
        return Committed(
            tx_id=row.tx_id,
            recorded_at=row.recorded_at,
            position=row.last_position,
            subject=subject,
            events=self.mapper.opened(stamped, subject),
            repeated=True,
        )

    def _row(
        self, head: Head, request: Request, transaction: Transaction, count: int
    ) -> TransactionRow:
        key, tx_id = request.origin.idempotency_key, head.tx_id + 1
        return TransactionRow(
            tx_id=tx_id,
            recorded_at=transaction.recorded_at,
            first_position=head.position + 1,
            last_position=head.position + count,
            action=request.action,
            subject_ref=transaction.subject.ref,
            idempotency_tag=self.idempotency_tag(key) if key else None,
            request_tag=self._request_tags(request, transaction.subject)[0]
            if key
            else None,
            header=self.mapper.sealed_header(
                None if transaction.erases or request.outlasts else transaction.subject,
                tx_id,
                request.origin,
            ),
        )

    def idempotency_tag(self, key: str) -> bytes:
        """Return the digest by which the transaction with a key is found."""
        return sealing.tag(self._request_key, codec.canonical(["key", key]))

    def _request_tags(self, request: Request, subject: Subject) -> tuple[bytes, bytes]:
        """
        Return the digest of all of a request, and what it was in older stores.

        Only who has the subject's key can test a guess against it, and it is destroyed
        with the subject. The older one was made with the ledger's key.
        """
        whose = str(request.scope or request.session_id or request.fact_id)
        body = codec.canonical([request.action, whose, request.body])
        keys = subject.request_key, self._request_key
        return sealing.tag(keys[0], body), sealing.tag(keys[1], body)
