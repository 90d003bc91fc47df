"""
Writing a ledger's past to its archive: segment after segment, each checked before the next.

A run that fails or is killed leaves files that no row in the ledger names; the next run
removes them and goes on where the last row ends.
"""

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from importlib.metadata import version

import pyarrow as pa

from muniment.archive import schema, segment, snapshots
from muniment.archive.checking import check_segment, row_of
from muniment.archive.gathering import Stretch
from muniment.archive.segment import File, Manifest, Snapshot
from muniment.archive.shelf import Shelf, read
from muniment.archive.told import Archived, ArchivePlan
from muniment.domain.time import BEGINNING, Instant
from muniment.errors import ArchiveAheadError, TamperedError
from muniment.instants import moment, to_instant
from muniment.ledger.attesting import Attestor
from muniment.ledger.cold import Segment
from muniment.ledger.compression import NEWEST
from muniment.ledger.leaves import LeafHasher, StoredRow, digest_of
from muniment.ledger.ledger import Ledger
from muniment.ledger.merkle import Tree
from muniment.ledger.records import TransactionRow
from muniment.projections.beliefs import Timeline


Progress = Callable[[int, int], None]
"""Told how many events of how many are done."""

EVENTS_OF_SEGMENT, BYTES_OF_SEGMENT = 500_000, 2**28
"""A segment ends with what reaches so many events or bytes, or with its month."""

_PAGE, _BYTES_OF_PAGE = 5_000, 2**26
_EVENTS, _TRANSACTIONS, _MANIFESTS = "events", "transactions", "manifests"
_FOLDERS = _EVENTS, _TRANSACTIONS, segment.SNAPSHOTS, _MANIFESTS


class Archiver:
    """
    Writes segments, and lets go of payloads that they hold.

    Args:
        ledger: Whose past.
        shelf: Where to.
        timeline: What was believed when.
        segment_events: See `EVENTS_OF_SEGMENT`.
        segment_bytes: See `BYTES_OF_SEGMENT`; a column holds no more than 2 GiB, which
            what is gathered at once, a page or a transaction, leaves room for.
    """

    def __init__(
        self,
        ledger: Ledger,
        shelf: Shelf,
        timeline: Timeline,
        *,
        segment_events: int = EVENTS_OF_SEGMENT,
        segment_bytes: int = BYTES_OF_SEGMENT,
    ) -> None:
        self._ledger = ledger
        self._timeline = timeline
        self._recorder = ledger.recorder
        self._shelf = shelf
        self._segment_events = segment_events
        self._segment_bytes = segment_bytes
        self._hasher = LeafHasher(ledger.name)

    def plan(self, until: Instant) -> ArchivePlan:
        """Return what a run would write of what was recorded up to *until*."""
        head, last = self._recorder.head_at(until), self._last()
        rows = self._rows(last.last_tx if last else 0, head.tx_id)
        months = {_month(each): None for each in rows}
        archived = last.last_position if last else 0
        return ArchivePlan(
            first_position=archived + 1,
            last_position=max(head.position, archived),
            archived=archived,
            months=tuple(months),
        )

    def run(self, until: Instant, *, progress: Progress) -> Archived:
        """
        Write what was recorded up to *until* and is not archived yet.

        Raises:
            ArchiveUnavailableError: If it cannot be written; run again to go on.
            ArchiveAheadError: If it holds what the ledger does not.
            TamperedError: If an event is not what was recorded: it is not archived.
        """
        with self._recorder.archiving():
            self._clear()
            head, last = self._recorder.head_at(until), self._last()
            begun = last.last_position if last else 0
            if last is not None and head.tx_id <= last.last_tx:
                return Archived(segments=0, events=0, byte_count=0, last_position=begun)
            note = Attestor(self._ledger).tree_head()
            done = byte_count = count = 0
            for stretch in self._stretches(last.last_tx if last else 0, head.tx_id):
                manifest = self._write(stretch, note)
                count, done = count + 1, done + stretch.event_count
                byte_count += sum(each.byte_count for each in manifest.files)
                progress(done, head.position - begun)
        return Archived(
            segments=count, events=done, byte_count=byte_count, last_position=head.position
        )

    def prune(self, *, progress: Progress) -> int:
        """
        Let go of the payloads that are archived and that no belief held now rests on.

        Returns:
            How many payloads left the database.

        Raises:
            DamagedArchiveError: If a segment does not hold what it should; nothing of it
                is let go.
        """
        gone = 0
        with self._recorder.archiving():
            segments = self._recorder.segments()
            total = segments[-1].last_position if segments else 0
            for each in segments:
                checked = False
                for first in range(each.first_position, each.last_position + 1, _PAGE):
                    last = min(first + _PAGE - 1, each.last_position)
                    with self._recorder.appending() as append:
                        found = append.droppable(first=first, last=last)
                        held = self._timeline.needed(
                            append.connection, first=first, last=last
                        )
                        leaving = [at for at in found if at not in held]
                        if leaving and not checked:
                            check_segment(self._shelf, each)
                            checked = True
                        append.drop_payloads(leaving)
                    gone += len(leaving)
                    progress(last, total)
        return gone

    def _last(self) -> Segment | None:
        segments = self._recorder.segments()
        return segments[-1] if segments else None

    def _clear(self) -> None:
        """Take up or remove what a run left that did not come to its end."""
        known: set[str] = set()
        for each in self._recorder.segments():
            found = segment.read_manifest(each.manifest, read(self._shelf, each.manifest))
            known |= {each.manifest, *(file.name for file in found.files)}
        where = f"ledger={self._ledger.name}"
        for name in self._shelf.names(f"{_MANIFESTS}/{where}"):
            if name in known or not name.endswith(".json"):
                continue
            manifest = self._taken_up(name)
            known |= {name, *(file.name for file in manifest.files)}
        for kind in _FOLDERS:
            for name in self._shelf.names(f"{kind}/{where}"):
                if name not in known:
                    self._shelf.remove(name)

    def _taken_up(self, name: str) -> Manifest:
        """
        Remember a segment that was written and not remembered.

        Raises:
            ArchiveAheadError: If it is not of this ledger's past: it may be all that is
                left of what another backup would have held.
        """
        content, last = read(self._shelf, name), self._last()
        manifest = segment.read_manifest(name, content)
        head = self._recorder.present().head
        with self._recorder.tree() as store:
            is_ours = (
                manifest.first_tx == (last.last_tx if last else 0) + 1
                and manifest.last_tx <= head.tx_id
                and manifest.leaf_to <= head.position
                and Tree(store).root(manifest.leaf_to).hex() == manifest.root
            )
        if not is_ours:
            raise ArchiveAheadError(name, self._ledger.name)
        self._remember(row_of(name, segment.sha256(content), manifest))
        return manifest

    def _remember(self, row: Segment) -> None:
        check_segment(self._shelf, row)
        with self._recorder.appending() as append:
            append.add_segment(row)

    def _rows(self, after: int, last: int) -> Iterator[TransactionRow]:
        while page := self._recorder.read_transactions(after=after, limit=_PAGE):
            yield from (each for each in page if each.tx_id <= last)
            after = page[-1].tx_id
            if after >= last:
                return

    def _stretches(self, after: int, last: int) -> Iterator[Stretch]:
        """Yield what becomes one segment each."""
        stretch: Stretch | None = None
        for rows, events in self._pages(after, last):
            if stretch is not None and (
                stretch.event_count >= self._segment_events
                or stretch.byte_count >= self._segment_bytes
                or _month(stretch.first) != _month(rows[0])
            ):
                yield stretch
                stretch = None
            stretch = stretch or Stretch(first=rows[0])
            stretch.add(rows, events)
        if stretch is not None:
            yield stretch

    def _pages(
        self, after: int, last: int
    ) -> Iterator[tuple[list[TransactionRow], Sequence[StoredRow]]]:
        """Yield transactions of one month, not too many, with their events."""
        most = min(_PAGE, self._segment_events)
        page: list[TransactionRow] = []
        month_end = BEGINNING
        for row in self._rows(after, last):
            if page and (
                row.recorded_at >= month_end
                or row.last_position - page[0].first_position >= most
            ):
                yield from self._parts(page)
                page = []
            if row.recorded_at >= month_end:
                month_end = _month_end(row)
            page.append(row)
        if page:
            yield from self._parts(page)

    def _parts(
        self, rows: list[TransactionRow]
    ) -> Iterator[tuple[list[TransactionRow], Sequence[StoredRow]]]:
        """Yield *rows* with their events, in parts where these are large."""
        first, last = rows[0].first_position, rows[-1].last_position
        size = self._recorder.payload_bytes(first=first, last=last)
        if len(rows) == 1 or size <= _BYTES_OF_PAGE:
            yield rows, self._events(rows)
            return
        half = len(rows) // 2
        yield from self._parts(rows[:half])
        yield from self._parts(rows[half:])

    def _events(self, rows: Sequence[TransactionRow]) -> Sequence[StoredRow]:
        """Return the events of *rows*, each found to be what its leaf says."""
        after, last = rows[0].first_position - 1, rows[-1].last_position
        if last <= after:
            return []
        digests = {each.tx_id: digest_of(each) for each in rows}
        found = self._recorder.read_rows(after=after, limit=last - after)
        altered = self._hasher.first_altered(found, digests)
        if altered is not None:
            raise TamperedError(altered, "payload", "it is not what was recorded")
        if [each[0] for each in found] != list(range(after + 1, last + 1)):
            raise TamperedError(after + 1, "missing", "events are gone")
        return found

    def _write(self, stretch: Stretch, note: str) -> Manifest:
        ledger, span = f"ledger={self._ledger.name}", stretch.span
        where = (
            f"{ledger}/{moment(stretch.first.recorded_at):year=%Y/month=%m}/{span}.parquet"
        )
        events, transactions = stretch.tables()
        manifest = self._manifest(
            stretch,
            note,
            events=self._kept(f"{_EVENTS}/{where}", events),
            transactions=self._kept(f"{_TRANSACTIONS}/{where}", transactions),
            believed=self._believed(stretch),
        )
        name, content = f"{_MANIFESTS}/{ledger}/{span}.json", segment.written(manifest)
        self._shelf.put(name, content)
        self._remember(row_of(name, segment.sha256(content), manifest))
        return manifest

    def _kept(self, name: str, table: pa.Table) -> File:
        content = segment.encoded(table)
        self._shelf.put(name, content)
        return File(
            name=name,
            sha256=segment.sha256(content),
            byte_count=len(content),
            rows=len(table),
        )

    def _believed(self, stretch: Stretch) -> tuple[Snapshot, ...]:
        """Keep what was believed before *stretch*, where that begins a year."""
        last = self._last()
        before = None if last is None else self._recorder.transaction(last.last_tx)
        if before is None or _year(before) == _year(stretch.first):
            return ()
        taken = snapshots.taken(self._timeline, self._recorder, before.recorded_at)
        where = (
            f"{segment.SNAPSHOTS}/ledger={self._ledger.name}/year={_year(stretch.first)}"
        )
        return tuple(
            snapshots.described(
                self._kept(f"{where}/{stretch.span}-{part}.parquet", each), each
            )
            for part, each in enumerate(taken)
        )

    def _manifest(
        self,
        stretch: Stretch,
        note: str,
        *,
        events: File,
        transactions: File,
        believed: tuple[Snapshot, ...],
    ) -> Manifest:
        first, last, before = stretch.first, stretch.last, self._last()
        head = Attestor(self._ledger).read(note)
        with self._recorder.tree() as store:
            tree = Tree(store)
            root = tree.root(last.last_position)
            path = tree.consistency(last.last_position, head.size)
        return Manifest(
            format=segment.FORMAT,
            schema_version=schema.VERSION,
            software=f"muniment {version('muniment')}",
            ledger=self._ledger.name,
            origin=self._ledger.origin,
            vault_id=self._ledger.vault.vault_id,
            key_mark=self._ledger.vault.next_key_id() - 1,
            first_tx=first.tx_id,
            last_tx=last.tx_id,
            first_position=first.first_position,
            last_position=last.last_position,
            recorded_from=moment(first.recorded_at),
            recorded_to=moment(last.recorded_at),
            events=events,
            transactions=transactions,
            leaf_from=first.first_position - 1,
            leaf_to=last.last_position,
            root=root.hex(),
            consistency=tuple(each.hex() for each in path),
            tree_head=note,
            horizon_us=self._recorder.present().horizon,
            predecessor=before.manifest_sha256 if before else "",
            dictionaries=(0, NEWEST),
            snapshots=believed,
        )


def _month_end(row: TransactionRow) -> Instant:
    """Return when the month ends that a transaction was recorded in."""
    then = moment(row.recorded_at)
    years, month = divmod(then.month, 12)
    return to_instant(datetime(then.year + years, month + 1, 1, tzinfo=UTC))


def _year(row: TransactionRow) -> int:
    return moment(row.recorded_at).year


def _month(row: TransactionRow) -> str:
    return f"{moment(row.recorded_at):%Y-%m}"
