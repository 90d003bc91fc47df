"""
From rows of the ledger to the columns of a segment, a page of transactions at a time.

No object is made for an event, and what headers have in common is read once a page: this
is where the time of an archive run goes.
"""

from collections.abc import Sequence
from typing import Any

import msgspec
import pyarrow as pa

from muniment.archive import schema
from muniment.domain.time import BEGINNING, FOREVER
from muniment.ledger.leaves import StoredRow
from muniment.ledger.records import TransactionRow
from muniment.ledger.stated import StoredTraits


_HEADER_AT = 3
_VALID, _VALID_END = b'"valid":[', b"]}"
_OF_TRAITS = StoredTraits.__struct_fields__


class Stretch:
    """
    Transactions and their events while they are gathered for one segment.

    Attributes:
        first: The first transaction.
        last: The last one gathered so far.
        event_count: How many events were gathered so far.
    """

    def __init__(self, *, first: TransactionRow) -> None:
        self.first = self.last = first
        self.event_count = 0
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
        self.event_count += len(events)

    def tables(self) -> tuple[pa.Table, pa.Table]:
        """Return both as they are written."""
        transactions = pa.Table.from_batches(self._transactions, schema.TRANSACTIONS)
        return sorted_events(self._events), transactions


def sorted_events(batches: Sequence[pa.RecordBatch]) -> pa.Table:
    """Return batches of events as one table, by subject, stream and version."""
    events = pa.Table.from_batches(batches, schema.EVENTS).combine_chunks()
    order = [("subject_ref", "ascending"), ("stream", "ascending")]
    return events.sort_by([*order, ("version", "ascending")])


class _Header(msgspec.Struct, frozen=True, kw_only=True):
    """What of a readable header has a column of its own, whatever the kind of event."""

    valid: tuple[int, int] | None = None
    traits: StoredTraits | None = None
    cause: str | None = None
    to_version: int | None = None


_headers = msgspec.json.Decoder(_Header)


def event_batch(events: Sequence[StoredRow]) -> pa.RecordBatch:
    """Return *events*, of which there are some, in the columns of the archive."""
    positions, tx_ids, recorded, streams, versions, topics, refs, keys, states, _ = zip(
        *events, strict=True
    )
    ends = [_HEADER_AT + int.from_bytes(each[1:_HEADER_AT], "big") for each in states]
    headers = [each[_HEADER_AT:end] for each, end in zip(states, ends, strict=True)]
    columns = {
        "subject_ref": refs,
        "stream": streams,
        "version": versions,
        "position": positions,
        "tx_id": tx_ids,
        "recorded_at": recorded,
        "topic": topics,
        "key_id": keys,
        "form": [each[0] for each in states],
        "header": headers,
        "sealed": [each[end:] for each, end in zip(states, ends, strict=True)],
    }
    said = _said(headers)
    arrays = [
        said[each.name] if each.name in said else pa.array(columns[each.name], each.type)
        for each in schema.EVENTS
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema.EVENTS)


def _said(headers: Sequence[bytes]) -> dict[str, pa.Array]:
    """Return what the columns hold that are made from headers, by name."""
    kinds: list[_Header] = []
    known: dict[bytes, int] = {}
    which: list[int] = []
    starts: list[int | None] = []
    ends: list[int | None] = []
    for header in headers:
        kind, start, end = _without_bounds(header)
        number = known.get(kind)
        if number is None:
            number = known[kind] = len(kinds)
            kinds.append(_headers.decode(header))
        which.append(number)
        starts.append(None if start in (BEGINNING, FOREVER) else start)
        ends.append(None if end in (BEGINNING, FOREVER) else end)
    each_of = pa.array(which, pa.int32())
    columns: dict[str, list[Any]] = {
        name: [getattr(each.traits, name, None) for each in kinds] for name in _OF_TRAITS
    }
    columns["cause"] = [each.cause for each in kinds]
    columns["to_version"] = [each.to_version for each in kinds]
    kind_of = {each.name: each.type for each in schema.EVENTS}
    return {
        "valid_from": pa.array(starts, kind_of["valid_from"]),
        "valid_to": pa.array(ends, kind_of["valid_to"]),
        **{
            name: pa.array(values, kind_of[name]).take(each_of)
            for name, values in columns.items()
        },
    }


def _without_bounds(header: bytes) -> tuple[bytes, int | None, int | None]:
    """
    Return what many headers have in common, and the period they are valid for.

    Keys are sorted, so the period stands last: what is before it recurs.
    """
    kind, _, bounds = header.rpartition(_VALID)
    if kind and bounds.endswith(_VALID_END):
        start, comma, end = bounds[: -len(_VALID_END)].partition(b",")
        if comma and end.lstrip(b"-").isdigit():
            return kind, int(start), int(end)
    valid = _headers.decode(header).valid
    return header, *(valid or (None, None))


def _transaction_batch(rows: Sequence[TransactionRow]) -> pa.RecordBatch:
    arrays = [
        pa.array([getattr(row, each.name) for row in rows], each.type)
        for each in schema.TRANSACTIONS
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema.TRANSACTIONS)
