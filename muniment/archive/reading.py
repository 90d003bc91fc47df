"""Payloads back from the archive, for whoever reads an event that left the database."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from msgspec import structs

from muniment.archive import segment
from muniment.archive.shelf import Shelf, failing, read
from muniment.errors import DamagedArchiveError
from muniment.ledger.cold import Segment, is_dropped
from muniment.ledger.records import StampedEvent


_COLUMNS = ["position", "form", "header", "sealed"]
_MANY = 1_000
"""From so many payloads of one segment on, all of it is read at once."""
_FILES_MAX = 64
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
        by_segment: dict[str, list[StampedEvent]] = {}
        for event in wanted:
            if event.position in found:
                continue
            manifest = self._manifest_of(event)
            # Otherwise nobody archived it, but somebody emptied it: left as it is found.
            if manifest is not None:
                by_segment.setdefault(manifest, []).append(event)
        for manifest, events in by_segment.items():
            read_now = self._read(manifest, events)
            for event in events:
                if event.position not in read_now:
                    problem = f"the event at position {event.position} is not in it"
                    raise DamagedArchiveError(manifest, problem)
                found[event.position] = read_now[event.position]
        return found

    def _read(self, manifest: str, events: Sequence[StampedEvent]) -> dict[int, bytes]:
        """Return payloads of one segment, those of *events* among them."""
        if self._whole_of[0] == manifest:
            return self._whole_of[1]
        opened = self._opened(manifest)
        groups = opened.groups_of(each.sealed.subject_ref for each in events)
        try:
            with failing(self._shelf.place):
                table = opened.file.read_row_groups(groups, columns=_COLUMNS)
        except pa.ArrowException as error:
            raise DamagedArchiveError(opened.name, str(error)) from error
        if len(events) >= _MANY:
            payloads = dict(
                zip(table["position"].to_pylist(), segment.states(table), strict=True)
            )
            self._whole_of = manifest, payloads
            return payloads
        positions = pa.array([each.position for each in events], pa.int64())
        table = table.filter(pc.is_in(table["position"], positions))
        payloads = dict(
            zip(table["position"].to_pylist(), segment.states(table), strict=True)
        )
        if len(self._payloads) + len(payloads) > _PAYLOADS_MAX:
            self._payloads = {}
        self._payloads.update(payloads)
        return payloads

    def _manifest_of(self, event: StampedEvent) -> str | None:
        """Return the manifest of the segment that holds an event, if one does."""
        for _ in range(2):
            for each in self._segments:
                if each.first_position <= event.position <= each.last_position:
                    return each.manifest
            # Another process may have archived it since.
            self._segments = self._known()
        return None

    def _opened(self, manifest: str) -> _Opened:
        known = self._files.get(manifest)
        if known is not None:
            self._files.move_to_end(manifest)
            return known
        name = segment.read_manifest(manifest, read(self._shelf, manifest)).events.name
        try:
            with failing(self._shelf.place):
                file = pq.ParquetFile(self._shelf.opened(name))
        except pa.ArrowException as error:
            raise DamagedArchiveError(name, str(error)) from error
        self._files[manifest] = opened = _Opened(name, file, _subjects(file))
        if len(self._files) > _FILES_MAX:
            self._files.popitem(last=False)
        return opened


def _subjects(file: pq.ParquetFile) -> tuple[tuple[str, str], ...]:
    """Return the first and the last subject of each group of rows."""
    at = file.schema_arrow.get_field_index("subject_ref")
    groups = (file.metadata.row_group(n) for n in range(file.metadata.num_row_groups))
    statistics = (each.column(at).statistics for each in groups)
    return tuple((each.min, each.max) for each in statistics)
