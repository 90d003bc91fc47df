"""From what the ledger stores to the leaves of its tree."""

from muniment.ledger.proof import Envelope, leaf_hash, transaction_digest
from muniment.ledger.records import StampedEvent, TransactionRow


def digest_of(transaction: TransactionRow) -> bytes:
    """Return the digest of all that is stored of a transaction."""
    return transaction_digest(
        [
            str(transaction.tx_id).encode(),
            str(transaction.recorded_at).encode(),
            str(transaction.first_position).encode(),
            str(transaction.last_position).encode(),
            transaction.action.encode(),
            transaction.subject_ref.encode(),
            transaction.idempotency_tag or b"",
            transaction.request_tag or b"",
            transaction.header,
        ]
    )


def envelope_of(ledger: str, event: StampedEvent, transaction: bytes) -> Envelope:
    """Return the envelope of *event*, with the digest of its transaction."""
    sealed = event.sealed
    return Envelope(
        ledger=ledger,
        position=event.position,
        tx_id=event.tx_id,
        recorded_at=event.recorded_at,
        stream=str(sealed.originator_id),
        version=sealed.originator_version,
        topic=sealed.topic,
        subject_ref=sealed.subject_ref,
        key_id=sealed.key_id,
        transaction=transaction,
        state=sealed.state,
    )


def leaf_of(ledger: str, event: StampedEvent, transaction: bytes) -> bytes:
    """Return the leaf of *event*, with the digest of its transaction."""
    return leaf_hash(envelope_of(ledger, event, transaction).packed())
