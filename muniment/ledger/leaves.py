"""From what the ledger stores to the leaves of its tree."""

import hashlib
import struct
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from muniment.domain.time import Instant
from muniment.ledger.proof import Envelope, leaf_hash, packed_envelope, transaction_digest
from muniment.ledger.records import StampedEvent, TransactionRow


StoredRow: TypeAlias = tuple[int, int, Instant, str, int, str, str, int, bytes, bytes]
"""
An event as its row holds it: position, transaction, recorded time, stream, version, topic,
subject, key, state and leaf.
"""

_EMPTY = b"an empty tag"


def stored_row(event: StampedEvent, leaf: bytes) -> StoredRow:
    """Return *event* and its leaf as a row."""
    sealed = event.sealed
    return (
        event.position,
        event.tx_id,
        event.recorded_at,
        str(sealed.originator_id),
        sealed.originator_version,
        sealed.topic,
        sealed.subject_ref,
        sealed.key_id,
        sealed.state,
        leaf,
    )


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
        self._ledger = hashlib.sha256(ledger.encode()).digest()
        self._recurring: dict[str, bytes] = {}

    def leaf(self, event: StampedEvent, transaction: bytes) -> bytes:
        """Return the leaf of *event*, with the digest of its transaction."""
        sealed = event.sealed
        return leaf_hash(
            packed_envelope(
                (
                    event.position,
                    event.tx_id,
                    event.recorded_at,
                    sealed.originator_version,
                    sealed.key_id,
                ),
                (
                    self._ledger,
                    hashlib.sha256(str(sealed.originator_id).encode()).digest(),
                    self._hash_of(sealed.topic),
                    self._hash_of(sealed.subject_ref),
                    transaction,
                    hashlib.sha256(sealed.state).digest(),
                ),
            )
        )

    def first_altered(
        self, rows: Sequence[StoredRow], digests: Mapping[int, bytes]
    ) -> int | None:
        """
        Return where the first of *rows* stands that its leaf does not say, if one does.

        As `leaf` and a comparison for each, in a third of the time.

        Args:
            rows: As they are stored.
            digests: Of their transactions, by number.
        """
        ledger, recurring, sha256 = self._ledger, self._hash_of, hashlib.sha256
        for row in rows:
            position, tx_id, recorded_at, stream, version, topic, ref, key_id, *_ = row
            try:
                numbers = position, tx_id, recorded_at, version, key_id
                hashes = (
                    ledger,
                    sha256(stream.encode()).digest(),
                    recurring(topic),
                    recurring(ref),
                    digests.get(tx_id, b""),
                    sha256(row[-2]).digest(),
                )
                is_whole = leaf_hash(packed_envelope(numbers, hashes)) == row[-1]
            except (AttributeError, TypeError, struct.error):
                # A database may hold anything in any column.
                is_whole = False
            if not is_whole:
                return position
        return None

    def _hash_of(self, text: str) -> bytes:
        known = self._recurring.get(text)
        if known is None:
            known = self._recurring[text] = hashlib.sha256(text.encode()).digest()
        return known


def _present(tag: bytes | None) -> bytes:
    """Return a tag, or nothing where there is none: an empty one is not none."""
    return b"" if tag is None else tag or _EMPTY
