"""What the ledger says by itself: events that no living subject owns."""

from muniment.domain.events import Event
from muniment.ledger.mapper import SealingMapper
from muniment.ledger.recorder import Append
from muniment.ledger.records import SUBJECT, Origin, TransactionRow


def append_unsubjected(
    append: Append,
    mapper: SealingMapper,
    event: Event,
    *,
    stream: str,
    action: str,
    origin: Origin,
) -> TransactionRow:
    """
    Append *event* in a transaction of its own, sealed with the ledger's key.

    Args:
        append: The ledger, its lock held.
        mapper: Of the ledger.
        event: What happened.
        stream: Where; that of a subject whose keys are gone is still that subject's.
        action: The verb.
        origin: Who does it and why; it outlasts every subject.
    """
    last = append.read_stream_end(stream)
    is_subjects = stream.startswith(SUBJECT)
    subject_ref = stream.removeprefix(SUBJECT) if is_subjects else ""
    sealed = mapper.unsubjected(
        event,
        stream=stream,
        version=last.sealed.originator_version + 1 if last else 1,
        subject_ref=subject_ref,
    )
    head = append.head
    row = TransactionRow(
        tx_id=head.tx_id + 1,
        recorded_at=append.next_time(),
        first_position=head.position + 1,
        last_position=head.position + 1,
        action=action,
        subject_ref=subject_ref,
        idempotency_tag=None,
        request_tag=None,
        header=mapper.sealed_header(None, head.tx_id + 1, origin),
    )
    append.insert(row, [sealed])
    return row
