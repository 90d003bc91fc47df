"""A ledger in memory: the twin that the durable recorders are tested against."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from threading import RLock

from eventsourcing.persistence import IntegrityError, Tracking
from msgspec import structs

from muniment.clock import Clock
from muniment.domain.time import BEGINNING, Instant
from muniment.ledger import merkle
from muniment.ledger.cold import Segment, is_dropped
from muniment.ledger.leaves import LeafHasher, StoredRow, digest_of, stored_row
from muniment.ledger.merkle import Tile, TreeStore
from muniment.ledger.recorder import Append, LedgerRecorder, Present
from muniment.ledger.records import FACT, Head, SealedEvent, StampedEvent, TransactionRow


class MemoryRecorder(LedgerRecorder):
    """
    A `LedgerRecorder` that forgets everything when its process ends.

    Attributes:
        read_models: What projections keep in the transaction of the events, by name.
    """

    def __init__(self, clock: Clock, *, ledger: str = "main") -> None:
        self.ledger = ledger
        self._clock = clock
        self._lock = RLock()
        self._transactions: list[TransactionRow] = []
        self._events: list[StampedEvent] = []
        self._tracking: dict[str, int] = {}
        self._horizon = BEGINNING
        self._tree = _MemoryTree()
        self._tree_heads: dict[int, str] = {}
        self._segments: list[Segment] = []
        self._archiving = RLock()
        self.read_models: dict[str, object] = {}

    @contextmanager
    def appending(self) -> Iterator["_MemoryAppend"]:
        with self._lock:
            before = len(self._transactions), len(self._events)
            tracking, horizon = dict(self._tracking), self._horizon
            read_models, heads = dict(self.read_models), dict(self._tree_heads)
            try:
                yield _MemoryAppend(self)
            except BaseException:
                del self._transactions[before[0] :], self._events[before[1] :]
                self._tracking, self._horizon = tracking, horizon
                self.read_models, self._tree_heads = read_models, heads
                self._tree.shrink(before[1])
                raise

    def present(self) -> Present:
        with self._lock:
            head = self._head()
            return Present(head, max(self._clock(), head.recorded_at), self._horizon)

    def head_at(self, recorded_at: Instant) -> Head:
        with self._lock:
            known = [each for each in self._transactions if each.recorded_at <= recorded_at]
            return _head_after(known[-1]) if known else _EMPTY

    def settled_at(self, recorded_at: Instant) -> Head | None:
        with self._lock:
            present = self.present()
            if recorded_at > max(present.head.recorded_at, present.horizon):
                return None
            return self.head_at(recorded_at)

    def read(
        self, *, after: int = 0, until: int | None = None, limit: int
    ) -> Sequence[StampedEvent]:
        with self._lock:
            return self.whole(self._events[max(after, 0) : until][:limit])

    def read_at(self, positions: Collection[int]) -> Sequence[StampedEvent]:
        with self._lock:
            known = range(1, len(self._events) + 1)
            return [self._events[e - 1] for e in sorted(set(positions)) if e in known]

    def has_facts(self, subject_refs: Collection[str], *, after: int, until: int) -> bool:
        with self._lock:
            events = self._events[max(after, 0) : until]
        return any(
            each.sealed.subject_ref in subject_refs
            and str(each.sealed.originator_id).startswith(FACT)
            for each in events
        )

    def read_stream(self, stream: str) -> Sequence[StampedEvent]:
        with self._lock:
            found = [each for each in self._events if each.sealed.originator_id == stream]
        return sorted(self.whole(found), key=lambda each: each.sealed.originator_version)

    def read_streams(self, streams: Collection[str]) -> Sequence[StampedEvent]:
        found = (self.read_stream(each) for each in sorted(set(streams)))
        return [event for stream in found for event in stream]

    def read_subject(
        self, subject_ref: str, *, after: int = 0, until: int | None = None
    ) -> Sequence[StampedEvent]:
        with self._lock:
            events = self._events[after:until]
        return self.whole([e for e in events if e.sealed.subject_ref == subject_ref])

    def read_prefix(
        self, prefix: str, *, before: str | None, subject_ref: str | None, limit: int
    ) -> Sequence[StampedEvent]:
        last = f"{prefix}~" if before is None else before
        with self._lock:
            found = [
                each
                for each in self._events
                if prefix < str(each.sealed.originator_id) < last
                and subject_ref in (None, each.sealed.subject_ref)
            ]
        found.sort(key=lambda each: each.sealed.originator_version)
        found.sort(key=lambda each: str(each.sealed.originator_id), reverse=True)
        return self.whole(found[:limit])

    def transactions(self, numbers: Collection[int]) -> Sequence[TransactionRow]:
        found = (self.transaction(each) for each in sorted(set(numbers)))
        return [each for each in found if each is not None]

    def transaction(self, tx_id: int) -> TransactionRow | None:
        with self._lock:
            known = 0 < tx_id <= len(self._transactions)
            return self._transactions[tx_id - 1] if known else None

    def read_transactions(self, *, after: int, limit: int) -> Sequence[TransactionRow]:
        with self._lock:
            first = max(after, 0)
            return self._transactions[first : first + limit]

    @contextmanager
    def tree(self) -> Iterator[TreeStore]:
        with self._lock:
            yield self._tree

    def read_rows(self, *, after: int, limit: int) -> Sequence[StoredRow]:
        with self._lock:
            first = max(after, 0)
            events = self._events[first : first + limit]
            leaves = self._tree.leaves(first, len(events))
            return [stored_row(*each) for each in zip(events, leaves, strict=True)]

    def payload_bytes(self, *, first: int, last: int) -> int:
        with self._lock:
            return sum(len(each.sealed.state) for each in self._events[first - 1 : last])

    def tree_heads(self) -> Sequence[tuple[int, str]]:
        with self._lock:
            return sorted(self._tree_heads.items())

    def insert_tracking(self, tracking: Tracking) -> None:
        with self._lock:
            self._record(tracking)

    def max_tracking_id(self, application_name: str) -> int | None:
        with self._lock:
            return self._tracking.get(application_name)

    def stream_lengths(self, streams: Sequence[str], *, until: int) -> Mapping[str, int]:
        with self._lock:
            found = Counter(str(e.sealed.originator_id) for e in self._events[:until])
        return {each: found[each] for each in streams}

    def segments(self) -> Sequence[Segment]:
        with self._lock:
            return tuple(self._segments)

    @contextmanager
    def archiving(self) -> Iterator[None]:
        with self._archiving:
            yield

    def close(self) -> None:
        """Keep everything: another store in this process may be open on it."""

    def _track(self, append: Append, tracking: Tracking | None) -> None:
        if tracking is not None:
            self._record(tracking)

    def _record(self, tracking: Tracking) -> None:
        if tracking.notification_id <= self._tracking.get(tracking.application_name, -1):
            raise IntegrityError(f"already recorded: {tracking}")
        self._tracking[tracking.application_name] = tracking.notification_id

    def _head(self) -> Head:
        return _head_after(self._transactions[-1]) if self._transactions else _EMPTY


class _MemoryAppend:
    """The ledger while its lock is held."""

    connection = None

    def __init__(self, recorder: MemoryRecorder) -> None:
        self._recorder = recorder
        self.repeats: dict[str, dict[bytes, list[str]]] = {}
        taken: defaultdict[str, set[int]] = defaultdict(set)
        for each in recorder._events:  # noqa: SLF001 - one object in two halves
            taken[str(each.sealed.originator_id)].add(each.sealed.originator_version)
        self._taken = taken

    @property
    def head(self) -> Head:
        return self._recorder._head()  # noqa: SLF001

    @property
    def now(self) -> Instant:
        return self._recorder.present().now

    def connection_about(self, subject_ref: str) -> None:
        return None

    def foresee(self, streams: Sequence[str]) -> None:
        pass

    def next_time(self) -> Instant:
        recorder = self._recorder
        floor = max(self.head.recorded_at, recorder._horizon)  # noqa: SLF001
        return Instant(max(recorder._clock(), floor + 1))  # noqa: SLF001

    def promise(self, until: Instant) -> None:
        recorder = self._recorder
        recorder._horizon = max(recorder._horizon, until)  # noqa: SLF001

    def mark_key(self, key_id: int) -> None:
        """Keep nothing: ledger and vault end together."""

    def insert(
        self, transaction: TransactionRow, events: Sequence[SealedEvent]
    ) -> tuple[StampedEvent, ...]:
        for event in events:
            taken = self._taken[str(event.originator_id)]
            if event.originator_version in taken:
                raise IntegrityError(f"already recorded: {event}")
            taken.add(event.originator_version)
        stamped = tuple(
            StampedEvent(
                position=position,
                tx_id=transaction.tx_id,
                recorded_at=transaction.recorded_at,
                sealed=event,
            )
            for position, event in enumerate(events, transaction.first_position)
        )
        self._recorder._transactions.append(transaction)  # noqa: SLF001
        self._recorder._events.extend(stamped)  # noqa: SLF001
        digest = digest_of(transaction)
        hasher = LeafHasher(self._recorder.ledger)
        self.tree.grow([hasher.leaf(each, digest) for each in stamped])
        return stamped

    def read_stream(self, stream: str) -> Sequence[StampedEvent]:
        return self._recorder.read_stream(stream)

    def read_stream_end(self, stream: str) -> StampedEvent | None:
        found = self._recorder.read_stream(stream)
        return found[-1] if found else None

    def read(self, *, first: int, last: int) -> Sequence[StampedEvent]:
        return self._recorder.read(after=first - 1, until=last, limit=last)

    @property
    def tree(self) -> "_MemoryTree":
        return self._recorder._tree  # noqa: SLF001

    def last_tree_head(self) -> tuple[int, str] | None:
        heads = self._recorder.tree_heads()
        return heads[-1] if heads else None

    def add_tree_head(self, size: int, note: str) -> None:
        self._recorder._tree_heads[size] = note  # noqa: SLF001

    def find_request(self, idempotency_tag: bytes) -> TransactionRow | None:
        rows = self._recorder._transactions  # noqa: SLF001
        return next(
            (each for each in rows if each.idempotency_tag == idempotency_tag), None
        )

    def add_segment(self, segment: Segment) -> None:
        self._recorder._segments.append(segment)  # noqa: SLF001

    def droppable(self, *, first: int, last: int) -> Sequence[int]:
        events = self._recorder._events[first - 1 : last]  # noqa: SLF001
        facts = [e for e in events if str(e.sealed.originator_id).startswith(FACT)]
        return [each.position for each in facts if not is_dropped(each)]

    def drop_payloads(self, positions: Sequence[int]) -> None:
        events = self._recorder._events  # noqa: SLF001
        for position in positions:
            kept = events[position - 1]
            emptied = replace(kept.sealed, state=b"")
            events[position - 1] = structs.replace(kept, sealed=emptied)

    def subject_moved_at(self, subject_ref: str) -> int:
        events = self._recorder.read_subject(subject_ref)
        facts = [e for e in events if str(e.sealed.originator_id).startswith(FACT)]
        return facts[-1].position if facts else 0


class _MemoryTree:
    """Leaves in a list; every tile is made anew when asked for."""

    def __init__(self) -> None:
        self._leaves: list[bytes] = []

    def leaves(self, first: int, count: int) -> Sequence[bytes]:
        return self._leaves[first : first + count]

    def tile(self, level: int, number: int) -> Tile | None:
        roots = self._roots(level, number * merkle.WIDTH, merkle.WIDTH)
        if len(roots) < merkle.WIDTH:
            return None
        return Tile(
            level=level, number=number, hashes=tuple(roots), root=merkle.root_of(roots)
        )

    def tile_roots(self, level: int, first: int, count: int) -> Sequence[bytes]:
        return self._roots(level + 1, first, count)

    def grow(self, leaves: Sequence[bytes]) -> None:
        """Add *leaves* at the end."""
        self._leaves.extend(leaves)

    def shrink(self, size: int) -> None:
        """Drop what is past *size*."""
        del self._leaves[size:]

    def _roots(self, level: int, first: int, count: int) -> list[bytes]:
        """Return the roots of the complete trees of 256**level leaves from *first* on."""
        span = merkle.WIDTH**level
        complete = range(first, min(first + count, len(self._leaves) // span))
        return [
            merkle.root_of(self._leaves[at * span : (at + 1) * span]) for at in complete
        ]


_EMPTY = Head(0, 0, BEGINNING)


def _head_after(transaction: TransactionRow) -> Head:
    return Head(transaction.tx_id, transaction.last_position, transaction.recorded_at)
