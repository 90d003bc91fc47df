"""
What of a ledger lies in its archive, and how a reader gets back what left the database.

The row of an event stays where it is for good: its place, its stream and its leaf answer
which events there are, and lead to the segment that holds the payload.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from muniment.ledger.records import StampedEvent


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


def is_dropped(event: StampedEvent) -> bool:
    """Whether the payload of *event* left the database; every payload has some bytes."""
    return not event.sealed.state and event.sealed.key_id > 0
