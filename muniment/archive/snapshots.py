"""
What was believed when a year began, in files of its own.

An as-of of a time long ago needs the payloads that its beliefs rest on, and these lie in
as many segments as there were months in which something was said. A snapshot has them
side by side: the events, as they stand in their segments, that what was believed at the
turn of the year rests on.
"""

from collections.abc import Iterator, Sequence

import pyarrow as pa
from msgspec import structs

from muniment.archive.gathering import event_batch, sorted_events
from muniment.archive.segment import File, Snapshot
from muniment.domain.time import Instant
from muniment.ledger.leaves import stored_row
from muniment.ledger.recorder import LedgerRecorder
from muniment.ledger.records import StampedEvent
from muniment.projections.beliefs import Timeline


_EVENTS_OF_PART, _BYTES_OF_PART = 500_000, 2**28
"""A part ends between subjects with so many events, or anywhere with so many bytes."""

_EVENTS_OF_BATCH = 1_000


def taken(timeline: Timeline, recorder: LedgerRecorder, at: Instant) -> Iterator[pa.Table]:
    """Yield what was believed at the recorded time *at*, part by part; maybe nothing."""
    batches: list[pa.RecordBatch] = []
    count, byte_count, after = 0, 0, ""
    while events := timeline.resting(at, after=after):
        after = events[-1].sealed.subject_ref
        for whole in _parts(events, recorder):
            batches.append(event_batch([stored_row(each, b"") for each in whole]))
            count, byte_count = count + len(whole), byte_count + batches[-1].nbytes
            if byte_count >= _BYTES_OF_PART:
                yield sorted_events(batches)
                batches, count, byte_count = [], 0, 0
        if count >= _EVENTS_OF_PART:
            yield sorted_events(batches)
            batches, count, byte_count = [], 0, 0
    if batches:
        yield sorted_events(batches)


def _parts(
    events: Sequence[StampedEvent], recorder: LedgerRecorder
) -> Iterator[Sequence[StampedEvent]]:
    """Yield *events* with their payloads, no more at a time than a part may have."""
    for first in range(0, len(events), _EVENTS_OF_BATCH):
        part: list[StampedEvent] = []
        byte_count = 0
        for event in recorder.whole(events[first : first + _EVENTS_OF_BATCH]):
            part.append(event)
            byte_count += len(event.sealed.state)
            if byte_count >= _BYTES_OF_PART:
                yield part
                part, byte_count = [], 0
        if part:
            yield part


def described(file: File, table: pa.Table) -> Snapshot:
    """Return what a manifest says of the *file* that holds *table*."""
    subjects = table.column("subject_ref")
    return Snapshot(
        **structs.asdict(file),
        first_subject=subjects[0].as_py(),
        last_subject=subjects[-1].as_py(),
    )
