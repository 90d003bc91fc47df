"""
Checking a ledger from its first event to its last, payloads and all.

A chain of hashes alone proves nothing of the payloads, so every stored payload is read
and hashed again, and every leaf, tile and signed tree head is compared with that.
"""

import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from muniment.domain.time import BEGINNING
from muniment.errors import DamagedDatabaseError, TamperedError
from muniment.errors.categories import Corruption
from muniment.ledger.attesting import Attestor
from muniment.ledger.leaves import LeafHasher, StoredRow, digest_of, stored_row
from muniment.ledger.ledger import Ledger
from muniment.ledger.merkle import WIDTH, Tree, root_of
from muniment.ledger.proof import EMPTY_ROOT, TreeHead, node_hash
from muniment.ledger.recorder import LedgerRecorder
from muniment.ledger.records import TransactionRow, stamped


Progress = Callable[[int, int], None]
"""Told how many events of how many are checked."""

_PAGE = 5_000
_BEFORE_ALL = -(2**63)
FINDINGS_MAX = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """
    One thing that is wrong.

    Attributes:
        position: Where; the first event it concerns. ``None`` for no event.
        kind: ``payload``, ``envelope``, ``order``, ``missing``, ``extra``, ``tree``,
            ``tree head``, ``truncated``, ``projection`` or ``database``.
        problem: What is wrong, in words.
    """

    position: int | None
    kind: str
    problem: str


class LedgerCheck:
    """
    One walk over a ledger.

    Args:
        ledger: What is checked.
        published: Signed tree heads kept elsewhere, compared beside those kept here.
        progress: Told from time to time how far the walk has come.
    """

    def __init__(
        self, ledger: Ledger, *, published: Sequence[str] = (), progress: Progress
    ) -> None:
        self._ledger = ledger
        self._attestor = Attestor(ledger)
        self._published = published
        self._progress = progress
        self._hasher = LeafHasher(ledger.name)
        self._versions: dict[str, int] = {}
        self._rows_of_tiles: list[list[bytes]] = [[]]
        self._last_tx = 0
        self._last_time: int | None = None
        self._last_position = 0
        self._at: int | None = None
        self.events = 0
        self.heads = 0

    def findings(self) -> Iterator[Finding]:
        """Yield what is wrong, first the first; nothing when all is as recorded."""
        try:
            yield from self._walk()
        except (
            AttributeError,
            DamagedDatabaseError,
            OverflowError,
            TypeError,
            struct.error,
        ) as error:
            # SQLite keeps any kind of value in any column: what is no number cannot be
            # compared, what is no text or bytes cannot be hashed.
            problem = f"it is not of the kind that is stored here: {error}"
            yield Finding(position=self._at, kind="envelope", problem=problem)

    def _walk(self) -> Iterator[Finding]:
        heads: dict[int, list[TreeHead]] = {}
        for found in self._heads():
            if isinstance(found, Finding):
                yield found
            else:
                heads.setdefault(found.size, []).append(found)
        size = self._ledger.present().head.position
        yield from self._compared(heads.pop(0, ()))
        for row, events in self._transactions():
            yield from self._checked(row, events)
            yield from self._hashed(events, digest_of(row), heads)
            if self.events % _PAGE < len(events):
                self._progress(self.events, size)
        yield from self._end(heads)
        self._progress(self.events, size)

    def _hashed(
        self,
        events: Sequence[StoredRow],
        transaction: bytes,
        heads: dict[int, list[TreeHead]],
    ) -> Iterator[Finding]:
        """Compare leaves, tiles, and the heads that were signed among *events*."""
        leaf_of, leaves = self._hasher.leaf_of, self._rows_of_tiles[0]
        for row in events:
            self._at = row[0]
            leaf = leaf_of(row[:-1], transaction)
            if leaf != row[-1]:
                yield self._altered(row)
            self.events += 1
            leaves.append(leaf)
            if len(leaves) == WIDTH:
                yield from self._tiles(0)
            if self.events in heads:
                yield from self._compared(heads.pop(self.events))

    def _heads(self) -> Iterator[TreeHead | Finding]:
        kept = self._ledger.recorder.tree_heads()
        for size, note in (*kept, *((None, note) for note in self._published)):
            try:
                head = self._attestor.read(note)
            except TamperedError as error:
                yield Finding(position=None, kind=error.kind, problem=error.problem)
                continue
            if size not in (None, head.size):
                problem = f"the head of {head.size:,} is kept as that of {size:,}"
                yield Finding(position=None, kind="tree head", problem=problem)
            yield head

    def _transactions(self) -> Iterator[tuple[TransactionRow, list[StoredRow]]]:
        """Yield each transaction with the events that carry its number."""
        events = self._events()
        following = next(events, None)
        for row in self._rows():
            self._at = self._last_position + 1
            if following is None:
                # Written since the last page of events was read.
                events = self._events(after=row.first_position - 1)
                following = next(events, None)
            mine = []
            while following is not None and following[0] <= row.last_position:
                mine.append(following)
                following = next(events, None)
            yield row, mine
        rest = []
        while following is not None:
            rest.append(following)
            following = next(events, None)
        if rest:
            yield _NO_TRANSACTION, rest

    def _events(self, after: int = _BEFORE_ALL) -> Iterator[StoredRow]:
        """Yield the events past *after*, each with its leaf at the end."""
        limit = _PAGE
        while True:
            try:
                page = with_payloads(self._ledger.recorder, after=after, limit=limit)
            except (DamagedDatabaseError, TypeError):
                if limit == 1:
                    self._at = max(after, 0) + 1
                    raise
                # One of these rows: up to it they are read one by one.
                limit = 1
                continue
            if not page:
                return
            yield from page
            after = page[-1][0]

    def _rows(self) -> Iterator[TransactionRow]:
        after = _BEFORE_ALL
        while page := self._ledger.recorder.read_transactions(after=after, limit=_PAGE):
            yield from page
            after = page[-1].tx_id

    def _checked(
        self, row: TransactionRow, events: Sequence[StoredRow]
    ) -> Iterator[Finding]:
        """Yield what is wrong with a transaction and the places of its events."""
        at = self._last_position + 1
        if row is _NO_TRANSACTION:
            at = events[0][0]
            yield Finding(position=at, kind="extra", problem="no transaction has it")
            return
        if row.tx_id <= 0:
            problem = f"transaction {row.tx_id} stands before the first"
            yield Finding(position=at, kind="extra", problem=problem)
        elif row.tx_id != self._last_tx + 1:
            problem = f"transaction {self._last_tx + 1} is gone"
            yield Finding(position=at, kind="missing", problem=problem)
        if self._last_time is not None and row.recorded_at <= self._last_time:
            problem = f"transaction {row.tx_id} is recorded before the one before it"
            yield Finding(position=at, kind="order", problem=problem)
        if row.first_position != at and row.tx_id == self._last_tx + 1:
            problem = f"transaction {row.tx_id} begins at {row.first_position}"
            yield Finding(position=at, kind="order", problem=problem)
        self._last_tx, self._last_time = max(row.tx_id, 0), row.recorded_at
        self._last_position = row.last_position
        yield from self._places(row, events)

    def _places(
        self, row: TransactionRow, events: Sequence[StoredRow]
    ) -> Iterator[Finding]:
        expected, versions = row.first_position, self._versions
        for position, tx_id, recorded_at, stream, version, *_ in events:
            if position > expected:
                problem = f"{position - expected} events are gone"
                yield Finding(position=expected, kind="missing", problem=problem)
            elif position < expected:
                problem = f"an event stands before transaction {row.tx_id}"
                yield Finding(position=position, kind="extra", problem=problem)
            expected = position + 1
            if (tx_id, recorded_at) != (row.tx_id, row.recorded_at):
                problem = f"it is not of transaction {row.tx_id}, where it stands"
                yield Finding(position=position, kind="envelope", problem=problem)
            before = versions.get(stream, 0)
            if version != before + 1:
                problem = f"version {version} follows {before}"
                yield Finding(position=position, kind="order", problem=problem)
            versions[stream] = version
        if expected <= row.last_position:
            problem = f"{row.last_position - expected + 1} events are gone"
            yield Finding(position=expected, kind="missing", problem=problem)

    def _tiles(self, level: int) -> Iterator[Finding]:
        """Compare the tile of *level* whose hashes are complete, and those it completes."""
        row = self._rows_of_tiles[level]
        root, span = root_of(row), WIDTH ** (level + 1)
        number = self.events // span - 1
        with self._ledger.recorder.tree() as store:
            tile = store.tile(level, number)
        if tile is None or (list(tile.hashes), tile.root) != (row, root):
            problem = f"tile {number} of level {level} is not the tree over its events"
            yield Finding(position=number * span + 1, kind="tree", problem=problem)
        row.clear()
        if level + 1 == len(self._rows_of_tiles):
            self._rows_of_tiles.append([])
        above = self._rows_of_tiles[level + 1]
        above.append(root)
        if len(above) == WIDTH:
            yield from self._tiles(level + 1)

    def _root(self) -> bytes:
        """Return the root over all leaves so far: of full subtrees, the largest first."""
        roots: list[bytes] = []
        for row in reversed(self._rows_of_tiles):
            start, span = 0, WIDTH // 2
            while span:
                if len(row) & span:
                    roots.append(root_of(row[start : start + span]))
                    start += span
                span //= 2
        root = roots.pop() if roots else EMPTY_ROOT
        while roots:
            root = node_hash(roots.pop(), root)
        return root

    def _altered(self, row: StoredRow) -> Finding:
        """Return what was altered: the payload, or the columns beside it."""
        event = stamped(row[:-1])
        subject = self._ledger.vault.subject(event.sealed.subject_ref)
        try:
            (opened,) = self._ledger.mapper.opened([event], subject)
        except Corruption:
            kind, problem = "payload", _UNREADABLE
        else:
            kind = "envelope"
            problem = f"the columns beside {opened.stream} version {opened.version} differ"
        return Finding(position=event.position, kind=kind, problem=problem)

    def _compared(self, heads: Sequence[TreeHead]) -> Iterator[Finding]:
        for head in heads:
            self.heads += 1
            if head.root != self._root():
                problem = f"the first {head.size:,} events are not what was signed"
                yield Finding(position=head.size or None, kind="tree head", problem=problem)

    def _end(self, heads: dict[int, list[TreeHead]]) -> Iterator[Finding]:
        for size in sorted(heads):
            problem = f"{size:,} events were signed, {self.events:,} are left"
            yield Finding(position=self.events + 1, kind="truncated", problem=problem)
        with self._ledger.recorder.tree() as store:
            root = Tree(store).root(self.events)
        if root != self._root():
            problem = "the tiles are not the tree over the events"
            yield Finding(position=None, kind="tree", problem=problem)


def with_payloads(
    recorder: LedgerRecorder, *, after: int, limit: int
) -> Sequence[StoredRow]:
    """Return at most *limit* rows of events past *after*, payloads wherever they are."""
    rows = recorder.read_rows(after=after, limit=limit)
    if all(row[-2] for row in rows):
        return rows
    whole = recorder.whole([stamped(row[:-1]) for row in rows])
    return [stored_row(each, row[-1]) for each, row in zip(whole, rows, strict=True)]


def unreadable(ledger: Ledger) -> Iterator[Finding]:
    """Yield the events whose key is there and does not open them."""
    after = 0
    while page := ledger.recorder.read(after=after, limit=_PAGE):
        for event in page:
            try:
                ledger.mapper.opened(
                    [event], ledger.vault.subject(event.sealed.subject_ref)
                )
            except Corruption:
                yield Finding(position=event.position, kind="payload", problem=_UNREADABLE)
        after = page[-1].position


_UNREADABLE = "it does not open under its key"
_NO_TRANSACTION = TransactionRow(
    tx_id=0,
    recorded_at=BEGINNING,
    first_position=0,
    last_position=0,
    action="",
    subject_ref="",
    idempotency_tag=None,
    request_tag=None,
    header=b"",
)
