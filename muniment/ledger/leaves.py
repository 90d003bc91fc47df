"""From what the ledger stores to the leaves of its tree."""

import hashlib
import struct
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from muniment.domain.time import Instant
from muniment.ledger.proof import Envelope, packed_leaf, transaction_digest
from muniment.ledger.records import EventRow, StampedEvent, TransactionRow, event_row


StoredRow: TypeAlias = tuple[int, int, Instant, str, int, str, str, int, bytes, bytes]
"""
An event as its row holds it: position, transaction, recorded time, stream, version, topic,
subject, key, state and leaf.
"""

_EMPTY = b"an empty tag"


def stored_row(event: StampedEvent, leaf: bytes) -> StoredRow:
    """Return *event* and its leaf as a row."""
    return (*event_row(event), leaf)


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
            _present(transaction.idempotency_tag),
            _present(transaction.request_tag),
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


class LeafHasher:
    """
    Makes leaves one after another, keeping the hashes of what recurs.

    Args:
        ledger: Name of the ledger.
    """

    def __init__(self, ledger: str) -> None:
        self._ledger = _sha256(ledger.encode()).digest()
        self._recurring = _Hashes()

    def leaf(self, event: StampedEvent, transaction: bytes) -> bytes:
        """Return the leaf of *event*, with the digest of its transaction."""
        return self.leaf_of(event_row(event), transaction)

    def leaf_of(self, row: EventRow, transaction: bytes) -> bytes:
        """Return the leaf of the event that *row* holds, as `leaf` does."""
        position, tx_id, recorded_at, stream, version, topic, ref, key_id, state = row
        recurring = self._recurring
        packed = packed_leaf(
            position,
            tx_id,
            recorded_at,
            version,
            key_id,
            self._ledger,
            _sha256(stream.encode()).digest(),
            recurring[topic],
            recurring[ref],
            transaction,
            _sha256(state).digest(),
        )
        return _sha256(packed).digest()

    def first_altered(
        self, rows: Sequence[StoredRow], digests: Mapping[int, bytes]
    ) -> int | None:
        """
        Return where the first of *rows* stands that its leaf does not say, if one does.

        Args:
            rows: As they are stored.
            digests: Of their transactions, by number.
        """
        for row in rows:
            try:
                is_whole = self.leaf_of(row[:-1], digests.get(row[1], b"")) == row[-1]
            except (AttributeError, TypeError, struct.error):
                # A database may hold anything in any column.
                is_whole = False
            if not is_whole:
                return row[0]
        return None


class _Hashes(dict[str, bytes]):
    """The hashes of texts, each made once."""

    def __missing__(self, text: str) -> bytes:
        found = self[text] = _sha256(text.encode()).digest()
        return found


_sha256 = hashlib.sha256


def _present(tag: bytes | None) -> bytes:
    """Return a tag, or nothing where there is none: an empty one is not none."""
    return b"" if tag is None else tag or _EMPTY
