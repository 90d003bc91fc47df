"""Payloads back from the archive, for whoever reads an event that left the database."""

import threading
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import PurePosixPath

import pyarrow as pa
import pyarrow.parquet as pq
from msgspec import structs

from muniment.archive import schema, segment
from muniment.archive.segment import Manifest
from muniment.archive.shelf import Shelf, failing, read
from muniment.errors import ArchiveUnavailableError, DamagedArchiveError
from muniment.ledger.cold import Segment, is_dropped
from muniment.ledger.records import StampedEvent


_COLUMNS = ["position", "form", "header", "sealed"]
_MANY = 1_000
"""From so many payloads of one segment on, all of it is read at once."""
_FILES_MAX = 64
_MANIFESTS_MAX = 1_000
_PAYLOADS_MAX = 50_000


@dataclass(frozen=True, slots=True)
class _Opened:
    """A file that is open, with the first and last subject of each group of rows."""

    name: str
    file: pq.ParquetFile
    subjects: tuple[tuple[str, str], ...]

    def groups_of(self, subject_refs: Iterable[str]) -> list[int]:
        wanted = set(subject_refs)
        return [
            number
            for number, (first, last) in enumerate(self.subjects)
            if any(first <= each <= last for each in wanted)
        ]


class ArchiveReader:
    """
    A `muniment.ledger.cold.ColdStore` over the files of an archive.

    Safe to use from many threads. What was read is kept, within bounds: it is sealed.

    Args:
        known: Returns the segments there are.
        shelf: Holds their files.
    """

    def __init__(self, known: Callable[[], Sequence[Segment]], shelf: Shelf) -> None:
        self._known = known
        self._shelf = shelf
        self._lock = threading.Lock()
        self._segments: Sequence[Segment] = ()
        self._starts: Sequence[Segment] | None = None
        self._manifests: OrderedDict[str, Manifest] = OrderedDict()
        self._files: OrderedDict[str, _Opened] = OrderedDict()
        self._payloads: dict[int, bytes] = {}
        self._whole_of: tuple[str, dict[int, bytes]] = ("", {})

    def whole(self, events: Sequence[StampedEvent]) -> Sequence[StampedEvent]:
        with self._lock:
            found = self._found([each for each in events if is_dropped(each)])
        return [
            structs.replace(each, sealed=replace(each.sealed, state=found[each.position]))
            if each.position in found
            else each
            for each in events
        ]

    def _found(self, wanted: Sequence[StampedEvent]) -> dict[int, bytes]:
        """Return the payloads of those of *wanted* that a segment holds, by position."""
        known = self._payloads
        found = {e.position: known[e.position] for e in wanted if e.position in known}
        by_segment = self._by_segment([e for e in wanted if e.position not in found])
        if len(by_segment) > 1 and len({e.sealed.subject_ref for e in wanted}) == 1:
            found.update(self._from_snapshots(list(chain(*by_segment.values()))))
            by_segment = self._by_segment([e for e in wanted if e.position not in found])
        for manifest, events in by_segment.items():
            read_now = self._read(manifest, events)
            for event in events:
                if event.position not in read_now:
                    problem = f"the event at position {event.position} is not in it"
                    raise DamagedArchiveError(manifest, problem)
                found[event.position] = read_now[event.position]
        return found

    def _by_segment(self, events: Iterable[StampedEvent]) -> dict[str, list[StampedEvent]]:
        """Return *events* by the manifest of the segment that holds their payloads."""
        found: dict[str, list[StampedEvent]] = {}
        for event in events:
            manifest = self._manifest_of(event)
            # Otherwise nobody archived it, but somebody emptied it: left as it is found.
            if manifest is not None:
                found.setdefault(manifest, []).append(event)
        return found

    def _from_snapshots(self, wanted: Sequence[StampedEvent]) -> dict[int, bytes]:
        """
        Return what of one subject's payloads lies together, as far as that saves files.

        What was believed at a time past the last of them is likely to have been believed
        when the next year began, or when that year did.
        """
        last = max(each.position for each in wanted)
        starts = self._year_starts()
        after = bisect_right(starts, last, key=_first_position)
        found: dict[int, bytes] = {}
        for year in (*starts[after : after + 1], *starts[max(0, after - 1) : after]):
            left = [
                each
                for each in wanted
                if each.position not in found and each.position < year.first_position
            ]
            if len(self._by_segment(left)) > 1:
                # All of it is in segments, too; what became of it is told by `verify`.
                with suppress(ArchiveUnavailableError, DamagedArchiveError):
                    found.update(self._read_snapshot(year, left))
        return found

    def _read_snapshot(
        self, year: Segment, events: Sequence[StampedEvent]
    ) -> dict[int, bytes]:
        """Return those payloads of *events* that the snapshot of a year holds."""
        subject = events[0].sealed.subject_ref
        found: dict[int, bytes] = {}
        for each in self._manifest(year.manifest).snapshots:
            if each.first_subject <= subject <= each.last_subject:
                found.update(self._few(self._opened(each.name), events))
        return found

    def _year_starts(self) -> Sequence[Segment]:
        """Return the segments that have snapshots, oldest first; none if nobody knows."""
        if self._starts is None:
            ledger = self._segments[0].manifest.split("/")[1]
            try:
                names = self._shelf.names(f"{segment.SNAPSHOTS}/{ledger}")
            except ArchiveUnavailableError:
                # Who may read an archive may not always list it.
                return ()
            spans = {each.rpartition("/")[2].rpartition("-")[0] for each in names}
            # Only what the manifest of such a segment names is read.
            self._starts = [
                e for e in self._segments if PurePosixPath(e.manifest).stem in spans
            ]
        return self._starts

    def _read(self, manifest: str, events: Sequence[StampedEvent]) -> dict[int, bytes]:
        """Return payloads of one segment, those of *events* among them."""
        if self._whole_of[0] == manifest:
            return self._whole_of[1]
        opened = self._opened(self._manifest(manifest).events.name)
        if len(events) < _MANY:
            return self._few(opened, events)
        payloads = _payloads(self._rows(opened, events))
        self._whole_of = manifest, payloads
        return payloads

    def _few(self, opened: _Opened, events: Sequence[StampedEvent]) -> dict[int, bytes]:
        """Return those payloads of *events* that a file holds, and keep them in mind."""
        wanted = {each.position for each in events}
        table = self._rows(opened, events)
        positions = enumerate(_numbers(table["position"]))
        parts = [table.slice(at, 1) for at, position in positions if position in wanted]
        payloads = _payloads(pa.concat_tables([table.slice(0, 0), *parts]))
        if len(self._payloads) + len(payloads) > _PAYLOADS_MAX:
            self._payloads = {}
        self._payloads.update(payloads)
        return payloads

    def _rows(self, opened: _Opened, events: Sequence[StampedEvent]) -> pa.Table:
        """Return the groups of rows in which the subjects of *events* may be."""
        groups = opened.groups_of(each.sealed.subject_ref for each in events)
        try:
            with failing(self._shelf.place):
                return opened.file.read_row_groups(groups, columns=_COLUMNS)
        except pa.ArrowException as error:
            raise DamagedArchiveError(opened.name, str(error)) from error

    def _manifest_of(self, event: StampedEvent) -> str | None:
        """Return the manifest of the segment that holds an event, if one does."""
        for _ in range(2):
            at = bisect_right(self._segments, event.position, key=_first_position) - 1
            if at >= 0 and event.position <= self._segments[at].last_position:
                return self._segments[at].manifest
            # Another process may have archived it since.
            self._segments, self._starts = self._known(), None
        return None

    def _manifest(self, name: str) -> Manifest:
        known = self._manifests.get(name)
        if known is None:
            known = segment.read_manifest(name, read(self._shelf, name))
            self._manifests[name] = known
            if len(self._manifests) > _MANIFESTS_MAX:
                self._manifests.popitem(last=False)
        return known

    def _opened(self, name: str) -> _Opened:
        known = self._files.get(name)
        if known is not None:
            self._files.move_to_end(name)
            return known
        try:
            with failing(self._shelf.place):
                file = segment.opened(name, self._shelf.opened(name), schema.EVENTS)
        except pa.ArrowException as error:
            raise DamagedArchiveError(name, str(error)) from error
        self._files[name] = opened = _Opened(name, file, _subjects(name, file))
        if len(self._files) > _FILES_MAX:
            self._files.popitem(last=False)
        return opened


def _first_position(part: Segment) -> int:
    return part.first_position


def _numbers(column: pa.ChunkedArray) -> Iterator[int]:
    """
    Yield the 64-bit numbers of a column in which none is missing.

    As they lie in memory. To have Arrow compare them costs a tenth of a second, once, to
    load its functions; to have it make objects of them costs milliseconds each time.
    """
    for chunk in column.chunks:
        if len(chunk):
            numbers = memoryview(chunk.buffers()[1]).cast("q")
            yield from numbers[chunk.offset : chunk.offset + len(chunk)]


def _payloads(table: pa.Table) -> dict[int, bytes]:
    return dict(zip(table["position"].to_pylist(), segment.states(table), strict=True))


def _subjects(name: str, file: pq.ParquetFile) -> tuple[tuple[str, str], ...]:
    """Return the first and the last subject of each group of rows."""
    at = file.schema_arrow.get_field_index("subject_ref")
    groups = (file.metadata.row_group(n) for n in range(file.metadata.num_row_groups))
    statistics = [each.column(at).statistics for each in groups]
    if not all(each is not None and each.has_min_max for each in statistics):
        raise DamagedArchiveError(name, "it does not say whose rows are where")
    return tuple((each.min, each.max) for each in statistics)
