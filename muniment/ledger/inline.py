"""Read models that change in the transaction that appends the events."""

from collections.abc import Sequence
from typing import Protocol

from muniment.ledger.recorder import Append
from muniment.ledger.records import RecordedEvent
from muniment.ledger.transaction import FactChange


class InlineProjection(Protocol):
    """A read model that changes in the transaction that appends the events."""

    def foresee(self, append: Append, said: Sequence[tuple[str, bytes]]) -> None:
        """
        Fill in `Append.repeats`, where to ask once for all is quicker.

        Args:
            append: Nothing was inserted yet.
            said: Subjects, each with the digest of a content.
        """

    def apply(self, append: Append, changes: Sequence[FactChange]) -> None:
        """
        Fold what one transaction did; durable with it, or not at all.

        Raises:
            ProjectionError: If the read model cannot be what the ledger says.
        """


class InlineAccount(Protocol):
    """A read model of what is no fact, that changes in the transaction of the events."""

    def apply(self, append: Append, events: Sequence[RecordedEvent]) -> None:
        """Fold *events* of one transaction; durable with them, or not at all."""
