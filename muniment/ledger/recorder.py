"""
What every recorder of a ledger promises, and how the library's interface rests on it.

A recorder keeps one ledger. `eventsourcing` sees an ordinary process recorder;
Muniment appends through `LedgerRecorder.appending`, which holds the ledger's lock.
"""

from abc import abstractmethod
from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from threading import Event, Thread
from typing import Any, Protocol

import sqlalchemy as sa
from eventsourcing.persistence import (
    ApplicationRecorder,
    ListenNotifySubscription,
    Notification,
    ProcessRecorder,
    StoredEvent,
    Tracking,
)

from muniment.domain.time import Instant
from muniment.errors import ArchiveUnavailableError
from muniment.ledger.cold import ColdStore, Segment, is_dropped
from muniment.ledger.leaves import StoredRow
from muniment.ledger.merkle import TreeStore
from muniment.ledger.records import (
    Head,
    SealedEvent,
    StampedEvent,
    TransactionRow,
    as_notification,
    as_sealed,
    as_stored,
)


@dataclass(frozen=True, slots=True)
class Present:
    """
    What is true right now.

    Attributes:
        head: The last transaction that is committed.
        now: The clock or the last recorded time, whichever is later.
        horizon: The latest recorded time an answer was promised for.
    """

    head: Head
    now: Instant
    horizon: Instant


class Append(Protocol):
    """
    The ledger while its lock is held. Nothing is durable until the block ends well.

    Attributes:
        head: Moves with each insert.
        now: The clock or the last recorded time, whichever is later.
        connection: The database transaction, for projections that are applied inline;
            ``None`` in memory.
        repeats: By subject and the digest of a content, the facts that are believed to
            say it, where a projection knows; nothing of a subject with a new event.
    """

    repeats: dict[str, dict[bytes, list[str]]]

    @property
    def head(self) -> Head: ...

    @property
    def now(self) -> Instant: ...

    @property
    def connection(self) -> sa.Connection | None: ...

    def connection_about(self, subject_ref: str) -> sa.Connection | None:
        """Return the same, for questions about one subject and nothing else."""

    def next_time(self) -> Instant:
        """Return the recorded time of a transaction inserted now: later than any before."""

    def promise(self, until: Instant) -> None:
        """Let no later transaction be recorded at or before *until*."""

    def mark_key(self, key_id: int) -> None:
        """Record that a key up to *key_id* is in use, so that its vault must know it."""

    def insert(
        self, transaction: TransactionRow, events: Sequence[SealedEvent]
    ) -> tuple[StampedEvent, ...]:
        """
        Append one transaction.

        Raises:
            IntegrityError: Of the library, if a stream already has one of the versions.
        """

    def foresee(self, streams: Sequence[str]) -> None:
        """Read streams that are going to be asked for, in one go where that is quicker."""

    def read_stream(self, stream: str) -> Sequence[StampedEvent]:
        """Return one stream, oldest first, with what this block appended."""

    def read_stream_end(self, stream: str) -> StampedEvent | None:
        """Return the last event of one stream, as above; ``None`` when it has none."""

    def read(self, *, first: int, last: int) -> Sequence[StampedEvent]:
        """Return the events *first* to *last*, with what this block appended."""

    @property
    def tree(self) -> TreeStore:
        """The tree over the events, with what this block appended."""

    def last_tree_head(self) -> tuple[int, str] | None:
        """Return size and signed note of the largest tree head, if there is one."""

    def add_tree_head(self, size: int, note: str) -> None:
        """Keep a signed tree head; there is none of its size."""

    def find_request(self, idempotency_tag: bytes) -> TransactionRow | None:
        """Return the transaction with that idempotency key, if there is one."""

    def subject_moved_at(self, subject_ref: str) -> int:
        """Return the position of the last event of a subject's facts; 0 for none."""

    def add_segment(self, segment: Segment) -> None:
        """Remember a segment of the archive that is written; it continues the last one."""

    def droppable(self, *, first: int, last: int) -> Sequence[int]:
        """Return where facts' events *first* to *last* have their payload here."""

    def drop_payloads(self, positions: Sequence[int]) -> None:
        """Let go of the payloads of events that the archive holds."""


class LedgerRecorder(ProcessRecorder):
    """
    One ledger, durable or in memory.

    Safe to use from many threads; a durable one from many processes. A reader sees a
    prefix of the ledger, never a gap.

    Attributes:
        cold: Where payloads are that left the database; asked without the reader noticing.
    """

    cold: ColdStore | None = None

    @abstractmethod
    def appending(self) -> AbstractContextManager[Append]:
        """
        Hold the ledger's lock; commit when the block ends well, else leave nothing.

        Raises:
            LedgerBusyError: If the lock does not come free in time.
            CommitUncertainError: If the answer to the commit is lost.
        """

    def damages(self) -> Sequence[str]:
        """Return where the database says that it contradicts itself; not each can tell."""
        return ()

    @abstractmethod
    def present(self) -> Present:
        """Return where the ledger stands, and the time."""

    @abstractmethod
    def head_at(self, recorded_at: Instant) -> Head:
        """Return where the ledger stood at *recorded_at*, of what is committed."""

    @abstractmethod
    def settled_at(self, recorded_at: Instant) -> Head | None:
        """
        Return where the ledger stood at *recorded_at*, if that can no longer change.

        It cannot where something was recorded since, or an answer was promised.
        """

    @abstractmethod
    def read(
        self, *, after: int = 0, until: int | None = None, limit: int
    ) -> Sequence[StampedEvent]:
        """Return at most *limit* events past position *after*, up to *until*."""

    @abstractmethod
    def read_at(self, positions: Collection[int]) -> Sequence[StampedEvent]:
        """Return what events there are at *positions*, in order; none from the archive."""

    @abstractmethod
    def has_facts(self, subject_refs: Collection[str], *, after: int, until: int) -> bool:
        """Whether an event past *after*, up to *until*, is of a fact of such a subject."""

    @abstractmethod
    def read_stream(self, stream: str) -> Sequence[StampedEvent]:
        """Return one stream, oldest first; empty when it does not exist."""

    @abstractmethod
    def read_streams(self, streams: Collection[str]) -> Sequence[StampedEvent]:
        """Return several streams, one after the other, each oldest first."""

    @abstractmethod
    def read_subject(
        self, subject_ref: str, *, after: int = 0, until: int | None = None
    ) -> Sequence[StampedEvent]:
        """Return the events of one subject past *after*, up to *until*, oldest first."""

    @abstractmethod
    def read_prefix(
        self, prefix: str, *, before: str | None, subject_ref: str | None, limit: int
    ) -> Sequence[StampedEvent]:
        """
        Return at most *limit* events of the streams that begin with *prefix*.

        Args:
            prefix: Ends in ``-``; streams that rise with time follow it.
            before: Only streams that sort before this one, or ``None``.
            subject_ref: Only of this subject; of all if ``None``.
            limit: At most so many.

        Returns:
            The last stream first; each stream oldest first.
        """

    @abstractmethod
    def transactions(self, numbers: Collection[int]) -> Sequence[TransactionRow]:
        """Return those of the transactions *numbers* that there are, oldest first."""

    @abstractmethod
    def transaction(self, tx_id: int) -> TransactionRow | None:
        """Return one transaction, if there is one."""

    @abstractmethod
    def read_transactions(self, *, after: int, limit: int) -> Sequence[TransactionRow]:
        """Return at most *limit* transactions past number *after*, oldest first."""

    @abstractmethod
    def tree(self) -> AbstractContextManager[TreeStore]:
        """Give the tree over the events for as long as the block lasts."""

    @abstractmethod
    def read_rows(self, *, after: int, limit: int) -> Sequence[StoredRow]:
        """Return at most *limit* rows of events past *after*; nothing from the archive."""

    @abstractmethod
    def payload_bytes(self, *, first: int, last: int) -> int:
        """Return how many bytes of events *first* to *last* are sealed here."""

    @abstractmethod
    def tree_heads(self) -> Sequence[tuple[int, str]]:
        """Return size and signed note of every tree head, smallest first."""

    @abstractmethod
    def stream_lengths(self, streams: Sequence[str], *, until: int) -> Mapping[str, int]:
        """Return how many events each of *streams* has up to position *until*."""

    @abstractmethod
    def segments(self) -> Sequence[Segment]:
        """Return the segments of the archive, oldest first."""

    @abstractmethod
    def archiving(self) -> AbstractContextManager[None]:
        """
        Be the only one that writes to the archive of this ledger.

        Raises:
            ArchiveUnavailableError: If another process does.
        """

    @abstractmethod
    def close(self) -> None:
        """Let go of everything; what was committed stays."""

    def whole(self, events: Sequence[StampedEvent]) -> Sequence[StampedEvent]:
        """Return *events* with the payloads that left the database."""
        if not any(is_dropped(each) for each in events):
            return events
        if self.cold is None:
            raise ArchiveUnavailableError("the archive", "the store was opened without it")
        return self.cold.whole(events)

    def insert_events(
        self, stored_events: Sequence[StoredEvent], **kwargs: Any
    ) -> Sequence[int] | None:
        """
        Append events as the library asks for it.

        Keyword Args:
            tracking: Recorded with the events, all or none.
        """
        if not stored_events and not kwargs:
            return []
        sealed = [as_sealed(each) for each in stored_events]
        with self.appending() as append:
            self._track(append, kwargs.get("tracking"))
            stamped = self._plain(append, sealed)
        return [each.position for each in stamped]

    def select_events(
        self,
        originator_id: Any,
        *,
        gt: int | None = None,
        lte: int | None = None,
        desc: bool = False,
        limit: int | None = None,
    ) -> Sequence[StoredEvent]:
        """Return the events of one stream as the library asks for them."""
        found = [
            as_stored(each.sealed)
            for each in self.read_stream(str(originator_id))
            if (gt is None or each.sealed.originator_version > gt)
            and (lte is None or each.sealed.originator_version <= lte)
        ]
        return (found[::-1] if desc else found)[:limit]

    def select_notifications(
        self,
        start: int | None,
        limit: int,
        stop: int | None = None,
        topics: Sequence[str] = (),
        *,
        inclusive_of_start: bool = True,
    ) -> Sequence[Notification]:
        """Return the events of the ledger in order, as the library asks for them."""
        after = (start or 1) - 1 if inclusive_of_start or start is None else start
        found: list[Notification] = []
        while len(found) < limit:
            events = self.read(after=after, until=stop, limit=limit)
            found.extend(
                as_notification(each)
                for each in events
                if not topics or each.sealed.topic in topics
            )
            if len(events) < limit:
                break
            after = events[-1].position
        return found[:limit]

    def max_notification_id(self) -> int | None:
        """Return the last position; ``None`` when there is none."""
        return self.present().head.position or None

    def subscribe(
        self, gt: int | None = None, topics: Sequence[str] = ()
    ) -> "PollingSubscription":
        """Return an iterator over the ledger's events that waits for more."""
        return PollingSubscription(recorder=self, gt=gt, topics=topics)

    @staticmethod
    def _plain(append: Append, sealed: Sequence[SealedEvent]) -> Sequence[StampedEvent]:
        if not sealed:
            return ()
        return append.insert(plain_transaction(append, len(sealed)), sealed)

    @abstractmethod
    def _track(self, append: Append, tracking: Tracking | None) -> None:
        """Record *tracking*, if given, in the transaction of *append*."""


class PollingSubscription(ListenNotifySubscription[ApplicationRecorder]):
    """Events as they are appended, by whatever process: looked for ten times a second."""

    def __init__(
        self, recorder: LedgerRecorder, gt: int | None = None, topics: Sequence[str] = ()
    ) -> None:
        super().__init__(recorder=recorder, gt=gt, topics=topics)
        self._stopped = Event()
        self._poller = Thread(target=self._poll, daemon=True)
        self._poller.start()

    def stop(self) -> None:
        """End the iteration."""
        super().stop()
        self._stopped.set()

    def _poll(self) -> None:
        while not self._stopped.wait(0.1):
            self._has_been_notified.set()


def plain_transaction(append: Append, count: int) -> TransactionRow:
    """Return the next transaction of *append* for events that say nothing of theirs."""
    return TransactionRow(
        tx_id=append.head.tx_id + 1,
        recorded_at=append.next_time(),
        first_position=append.head.position + 1,
        last_position=append.head.position + count,
        action="append",
        subject_ref="",
        idempotency_tag=None,
        request_tag=None,
        header=b"",
    )
