"""
What was believed when a year began, in files of its own.

An as-of of a time long ago needs the payloads that its beliefs rest on, and these lie in
as many segments as there were months in which something was said. A snapshot has them
side by side: the events, as they stand in their segments, that what was believed at the
turn of the year rests on.
"""

from collections.abc import Iterator

import pyarrow as pa
from msgspec import structs

from muniment.archive.gathering import event_batch, sorted_events
from muniment.archive.segment import File, Snapshot
from muniment.domain.time import Instant
from muniment.ledger.leaves import stored_row
from muniment.ledger.recorder import LedgerRecorder
from muniment.projections.beliefs import Timeline


FOLDER = "snapshots"

_EVENTS_OF_PART, _BYTES_OF_PART = 500_000, 2**28
"""A part ends with the subject that reaches so many: a subject is in one part alone."""


def taken(timeline: Timeline, recorder: LedgerRecorder, at: Instant) -> Iterator[pa.Table]:
    """Yield what was believed at the recorded time *at*, part by part; maybe nothing."""
    batches: list[pa.RecordBatch] = []
    count, byte_count, after = 0, 0, ""
    while events := timeline.resting(at, after=after):
        after = events[-1].sealed.subject_ref
        whole = recorder.whole(events)
        batches.append(event_batch([stored_row(each, b"") for each in whole]))
        count, byte_count = count + len(events), byte_count + batches[-1].nbytes
        if count >= _EVENTS_OF_PART or byte_count >= _BYTES_OF_PART:
            yield sorted_events(batches)
            batches, count, byte_count = [], 0, 0
    if batches:
        yield sorted_events(batches)


def described(file: File, table: pa.Table) -> Snapshot:
    """Return what a manifest says of the *file* that holds *table*."""
    subjects = table.column("subject_ref")
    return Snapshot(
        **structs.asdict(file),
        first_subject=subjects[0].as_py(),
        last_subject=subjects[-1].as_py(),
    )
