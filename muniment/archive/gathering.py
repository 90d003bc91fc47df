"""
From rows of the ledger to the columns of a segment, a page of transactions at a time.

No object is made for an event, and what headers have in common is read once a page: this
is where the time of an archive run goes.
"""

from array import array
from collections.abc import Sequence
from itertools import accumulate
from operator import attrgetter, itemgetter
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from muniment.archive import schema
from muniment.archive.segment import POOL
from muniment.domain.time import BEGINNING, FOREVER
from muniment.ledger.leaves import StoredRow
from muniment.ledger.records import TransactionRow
from muniment.ledger.stated import StoredTraits


_HEADER_AT = 3
_VALID, _VALID_END = b'"valid":[', b"]}"
_OF_TRAITS = StoredTraits.__struct_fields__
_ROW = (
    *("position", "tx_id", "recorded_at", "stream", "version", "topic", "subject_ref"),
    *("key_id", "state"),
)
"""What stands where in a `StoredRow`; the leaf after it is left out."""

_KINDS = {each.name: each.type for each in schema.EVENTS}


class Stretch:
    """
    Transactions and their events while they are gathered for one segment.

    Attributes:
        first: The first transaction.
        last: The last one gathered so far.
        event_count: How many events were gathered so far.
        byte_count: How much these take in memory.
    """

    def __init__(self, *, first: TransactionRow) -> None:
        self.first = self.last = first
        self.event_count = self.byte_count = 0
        self._events: list[pa.RecordBatch] = []
        self._transactions: list[pa.RecordBatch] = []

    @property
    def span(self) -> str:
        """The numbers of the first and the last transaction, as files are named."""
        return f"{self.first.tx_id:012}-{self.last.tx_id:012}"

    def add(self, rows: Sequence[TransactionRow], events: Sequence[StoredRow]) -> None:
        """Gather *rows* and the rows of their *events*."""
        self.last = rows[-1]
        self._transactions.append(_transaction_batch(rows))
        if events:
            self._events.append(event_batch(events))
            self.byte_count += self._events[-1].nbytes
        self.event_count += len(events)

    def tables(self) -> tuple[pa.Table, pa.Table]:
        """Return both as they are written."""
        transactions = pa.Table.from_batches(self._transactions, schema.TRANSACTIONS)
        return sorted_events(self._events), transactions


def sorted_events(batches: Sequence[pa.RecordBatch]) -> pa.Table:
    """Return batches of events as one table, by subject, stream and version."""
    table = pa.Table.from_batches(batches, schema.EVENTS)
    events = table.combine_chunks(memory_pool=POOL)
    order = [(each, "ascending") for each in ("subject_ref", "stream", "version")]
    return pc.take(events, pc.sort_indices(events, order), memory_pool=POOL)


class _Header(msgspec.Struct, frozen=True, kw_only=True):
    """What of a readable header has a column of its own, whatever the kind of event."""

    valid: tuple[int, int] | None = None
    traits: StoredTraits | None = None
    cause: str | None = None
    to_version: int | None = None


_headers = msgspec.json.Decoder(_Header)


def event_batch(events: Sequence[StoredRow]) -> pa.RecordBatch:
    """Return *events*, of which there are some, in the columns of the archive."""
    # By zip(*events), an object would be made of each row once more.
    columns = {name: list(map(itemgetter(at), events)) for at, name in enumerate(_ROW)}
    states = columns.pop("state")
    ends = [_HEADER_AT + int.from_bytes(each[1:_HEADER_AT], "big") for each in states]
    headers = [each[_HEADER_AT:end] for each, end in zip(states, ends, strict=True)]
    columns["form"] = [each[0] for each in states]
    found = {
        **{name: pa.array(values, _KINDS[name]) for name, values in columns.items()},
        "header": _binary(headers),
        "sealed": _binary([each[end:] for each, end in zip(states, ends, strict=True)]),
        **_said(headers),
    }
    arrays = [found[name] for name in schema.EVENTS.names]
    return pa.RecordBatch.from_arrays(arrays, schema=schema.EVENTS)


def _binary(values: Sequence[bytes]) -> pa.Array:
    """Return *values* as a column, joined in one go: there is no buffer to grow."""
    offsets = array("i", accumulate(map(len, values), initial=0))
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(b"".join(values))]
    return pa.Array.from_buffers(pa.binary(), len(values), buffers)


def _said(headers: Sequence[bytes]) -> dict[str, pa.Array]:
    """Return what the columns hold that are made from headers, by name."""
    kinds: dict[bytes, int] = {}
    found: list[_Header] = []
    which: list[int] = []
    starts: list[int | None] = []
    ends: list[int | None] = []
    for header in headers:
        kind, start, end = _without_bounds(header)
        number = kinds.get(kind)
        if number is None:
            number = kinds[kind] = len(found)
            found.append(_headers.decode(header))
        which.append(number)
        starts.append(start)
        ends.append(end)
    columns: dict[str, list[Any]] = {
        name: [getattr(each.traits, name, None) for each in found] for name in _OF_TRAITS
    }
    columns["cause"] = [each.cause for each in found]
    columns["to_version"] = [each.to_version for each in found]
    each_of = pa.array(which, pa.int32())
    said = {
        name: pa.array(values, _KINDS[name]).take(each_of)
        for name, values in columns.items()
    }
    return {**said, "valid_from": _bounds(starts), "valid_to": _bounds(ends)}


def _without_bounds(header: bytes) -> tuple[bytes, int | None, int | None]:
    """
    Return what many headers have in common, and the period they are valid for.

    Keys are sorted, so the period stands last: what is before it recurs.
    """
    kind, _, bounds = header.rpartition(_VALID)
    start, _, end = bounds.partition(b",")
    if kind and end.endswith(_VALID_END):
        end = end[: -len(_VALID_END)]
        if end.isdigit() or end.removeprefix(b"-").isdigit():
            return kind, int(start), int(end)
    valid = _headers.decode(header).valid
    return header, *(valid or (None, None))


def _bounds(instants: Sequence[int | None]) -> pa.Array:
    """Return starts or ends of periods as a column, in which an open one is null."""
    column = pa.array(instants, pa.int64())
    is_open = pc.is_in(column, pa.array([BEGINNING, FOREVER], pa.int64()))
    return pc.if_else(is_open, None, column).cast(_KINDS["valid_from"])


def _transaction_batch(rows: Sequence[TransactionRow]) -> pa.RecordBatch:
    arrays = [
        pa.array(list(map(attrgetter(each.name), rows)), each.type)
        for each in schema.TRANSACTIONS
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema.TRANSACTIONS)
