"""
What of a ledger lies in its archive, and how a reader gets back what left the database.

The row of an event stays where it is for good: its place, its stream and its leaf answer
which events there are, and lead to the segment that holds the payload.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from muniment.errors import TransactionTooLargeError
from muniment.ledger.records import SealedEvent, StampedEvent


TRANSACTION_BYTES_MAX = 2**30
"""A column of a segment holds no more than 2 GiB, and more than one transaction."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """
    One segment of the archive, as the ledger remembers it.

    Attributes:
        first_tx: The first of its transactions.
        last_tx: The last of its transactions.
        first_position: Of its events; one past *last_position* when it has none.
        last_position: Of its events.
        manifest: The name of its manifest within the archive.
        manifest_sha256: Of that file, hexadecimal.
    """

    first_tx: int
    last_tx: int
    first_position: int
    last_position: int
    manifest: str
    manifest_sha256: str


class ColdStore(Protocol):
    """Where payloads are that left the database."""

    def whole(self, events: Sequence[StampedEvent]) -> Sequence[StampedEvent]:
        """
        Return *events* in their order, each with its payload.

        One that lost it and is in no segment is returned as it stands: nothing opens it,
        and `verify` finds it.

        Raises:
            ArchiveUnavailableError: If the archive cannot be reached.
            DamagedArchiveError: If a payload is not where its segment should hold it.
        """


def archivable(events: Sequence[SealedEvent]) -> Sequence[SealedEvent]:
    """
    Return the *events* of one transaction, which a segment will hold whole.

    Raises:
        TransactionTooLargeError: If none could.
    """
    size = sum(len(each.state) for each in events)
    if size > TRANSACTION_BYTES_MAX:
        raise TransactionTooLargeError(size, TRANSACTION_BYTES_MAX)
    return events


def is_dropped(event: StampedEvent) -> bool:
    """Whether the payload of *event* left the database; every payload has some bytes."""
    return not event.sealed.state and event.sealed.key_id > 0
