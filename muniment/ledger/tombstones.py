"""What a ledger restored from a backup is told of what became unreadable since."""

from collections.abc import Callable

from muniment.domain.events import SubjectErased
from muniment.ledger.ledger import Ledger
from muniment.ledger.records import SUBJECT, Origin, TransactionRow
from muniment.ledger.transaction import Request, Transaction


def append_tombstone(ledger: Ledger, subject_ref: str) -> int:
    """
    Say in *ledger* that a subject was erased, whose keys are gone already.

    Returns:
        The position of the event that says so.
    """
    stream = SUBJECT + subject_ref
    with ledger.recorder.appending() as append:
        version = len(append.read_stream(stream)) + 1
        sealed = ledger.mapper.unsubjected(
            SubjectErased(), stream=stream, version=version, subject_ref=subject_ref
        )
        head = append.head
        row = TransactionRow(
            tx_id=head.tx_id + 1,
            recorded_at=append.next_time(),
            first_position=head.position + 1,
            last_position=head.position + 1,
            action="erase",
            subject_ref=subject_ref,
            idempotency_tag=None,
            request_tag=None,
            header=ledger.mapper.sealed_header(
                None,
                head.tx_id + 1,
                _said_before("erased"),
            ),
        )
        append.insert(row, [sealed])
    return row.last_position


def said_again(
    work: Callable[[Transaction], None],
    *,
    action: str,
    done: str,
    fact_id: str | None = None,
    session_id: str | None = None,
    subject_ref: str | None = None,
) -> Request:
    """
    Return the request that says what was said before, of a subject that has its keys.

    Args:
        work: Collects the events.
        action: By which it was done.
        done: What was done, in the past, such as ``redacted``.
        fact_id: The fact it is about; or one of those that follow.
        session_id: The session.
        subject_ref: The subject.
    """
    return Request(
        action=action,
        origin=_said_before(done),
        scope=None,
        fact_id=fact_id,
        body={},
        work=work,
        passes_freeze=True,
        session_id=session_id,
        subject_ref=subject_ref,
    )


def _said_before(done: str) -> Origin:
    return Origin(reason=f"{done} before, said again after a restore")
