"""What a ledger restored from a backup is told of those who were erased since."""

from muniment.domain.events import SubjectErased
from muniment.ledger.ledger import Ledger
from muniment.ledger.records import SUBJECT, Origin, TransactionRow


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
                Origin(reason="erased before, said again after a restore"),
            ),
        )
        append.insert(row, [sealed])
    return row.last_position
