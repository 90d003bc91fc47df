"""
Segments of events that never were in a database: as many as there would be after years.

Each user of some says something in turn, one event a second. A segment is made once, and
the others hold the same at later positions: to make each event anew would take minutes.
"""

import os
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from muniment.archive import segment
from muniment.archive.gathering import event_batch, sorted_events
from muniment.archive.segment import File, Manifest
from muniment.archive.shelf import Directory
from muniment.domain.time import Instant
from muniment.instants import moment
from muniment.ledger.cold import Segment
from muniment.ledger.leaves import StoredRow, stored_row
from muniment.ledger.records import SealedEvent, StampedEvent
from tests.stores import NEW_YEAR, SECOND


SEGMENT_EVENTS = 500_000
OF_USER = 100
_BATCH = 1_000


def written(
    shelf: Directory, events: int, others: Sequence[Sequence[StoredRow]] = ()
) -> list[Segment]:
    """
    Write an archive of *events*, one transaction each; return its segments.

    Args:
        shelf: Where to.
        events: So many in all.
        others: For each segment the events that stand last in it, instead of made ones.
    """
    users, size = events // OF_USER, min(SEGMENT_EVENTS, events)
    assert events % size == size % users == 0, "every segment has the same users"
    made = [made_up(at, users) for at in range(1, size + 1)]
    batches = [
        event_batch([stored_row(each, b"") for each in made[first : first + _BATCH]])
        for first in range(0, size, _BATCH)
    ]
    table = sorted_events(batches)
    found = []
    for number, after in enumerate(range(0, events, size)):
        part = _later(table, after)
        if others:
            part = _with(part, others[number])
        found.append(_kept(shelf, part, after, size))
    return found


def _with(table: pa.Table, others: Sequence[StoredRow]) -> pa.Table:
    """Return *table* with *others* instead of the events at their positions."""
    first = min(position for position, *_ in others)
    kept = table.filter(pc.less(table["position"], first))
    return sorted_events([*kept.to_batches(), event_batch(others)])


def _later(table: pa.Table, by: int) -> pa.Table:
    """Return *table* with every event *by* positions later, and as many seconds."""
    shifts = {
        "position": pa.scalar(by),
        "tx_id": pa.scalar(by),
        "recorded_at": pa.scalar(by * SECOND, pa.duration("us")),
    }
    for name, shift in shifts.items():
        at = table.schema.get_field_index(name)
        column = pc.add(table.column(at), shift)
        table = table.set_column(at, table.schema.field(at), column)
    return table


def _kept(shelf: Directory, events: pa.Table, after: int, size: int) -> Segment:
    content = segment.encoded(events)
    first, last = after + 1, after + size
    since, until = (moment(Instant(NEW_YEAR + each * SECOND)) for each in (first, last))
    span = f"{first:012}-{last:012}"
    name = f"events/ledger=main/{since:year=%Y/month=%m}/{span}.parquet"
    shelf.put(name, content)
    digest = segment.sha256(content)
    file = File(name=name, sha256=digest, byte_count=len(content), rows=size)
    manifest = Manifest(
        format=segment.FORMAT,
        schema_version=1,
        software="generated",
        ledger="main",
        origin="",
        vault_id="",
        key_mark=0,
        first_tx=first,
        last_tx=last,
        first_position=first,
        last_position=last,
        recorded_from=since,
        recorded_to=until,
        events=file,
        transactions=file,
        leaf_from=first - 1,
        leaf_to=last,
        root="",
        consistency=(),
        tree_head="",
        horizon_us=0,
        predecessor="",
        dictionaries=(),
    )
    manifest_name = f"manifests/ledger=main/{span}.json"
    shelf.put(manifest_name, segment.written(manifest))
    return Segment(
        first_tx=first,
        last_tx=last,
        first_position=first,
        last_position=last,
        manifest=manifest_name,
        manifest_sha256="",
    )


def made_up(position: int, users: int, *, state: bytes | None = None) -> StampedEvent:
    """Return an event of one of *users* in turn, with as many random bytes as one has."""
    if state is None:
        header = (
            b'{"traits":{"category":"schedule","confidence":1.0,"core":false,'
            b'"importance":0.5,"status":"active"},"valid":[%d,9223372036854775807]}'
            % (NEW_YEAR + position * SECOND)
        )
        state = b"\x02" + len(header).to_bytes(2, "big") + header + os.urandom(84)
    return StampedEvent(
        position=position,
        tx_id=position,
        recorded_at=Instant(NEW_YEAR + position * SECOND),
        sealed=SealedEvent(
            originator_id=f"fact-{position:026d}",
            originator_version=1,
            topic="fact.asserted.v1" if position % 3 else "fact.revised.v1",
            state=state,
            subject_ref=f"{(position - 1) % users * 2_654_435_761 % 2**64:020x}",
            key_id=position,
        ),
    )
