"""
One segment: the events and the transactions of one stretch of a ledger, in two files.

    events/ledger=…/year=…/month=…/FIRST-LAST.parquet
    transactions/ledger=…/year=…/month=…/FIRST-LAST.parquet
    manifests/ledger=…/FIRST-LAST.json

The year and the month are those of the recorded time, FIRST and LAST are numbers of
transactions. No name, no id and no subject is in a path.
"""

import hashlib
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from muniment.archive import schema
from muniment.domain.time import BEGINNING, FOREVER, Instant
from muniment.errors import DamagedArchiveError
from muniment.ledger.records import SealedEvent, StampedEvent, TransactionRow


_LENGTH_AT, _HEADER_AT = 1, 3
_ROWS_OF_GROUP = 8_192
_DICTIONARY = ["subject_ref", "topic", "category", "attribute", "status", "cause"]
_DELTA = {
    "version": "DELTA_BINARY_PACKED",
    "position": "DELTA_BINARY_PACKED",
    "tx_id": "DELTA_BINARY_PACKED",
    "recorded_at": "DELTA_BINARY_PACKED",
    "key_id": "DELTA_BINARY_PACKED",
    "stream": "DELTA_BYTE_ARRAY",
}


class File(msgspec.Struct, frozen=True, kw_only=True):
    """One file as its manifest describes it."""

    name: str
    sha256: str
    byte_count: int
    rows: int


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """
    What a segment holds, and what ties it to the ledger.

    Attributes:
        leaf_from: The first of its leaves in the ledger's tree, 0 for the first of all.
        leaf_to: One past the last.
        root: Of the tree over the first *leaf_to* events; hexadecimal.
        consistency: Proof that this is the beginning of the tree of *tree_head*.
        tree_head: A signed tree head that was made before the segment was written.
        horizon_us: Up to when answers were promised.
        predecessor: SHA-256 of the manifest before; empty for the first.
        dictionaries: Which dictionaries payloads are compressed with.
    """

    format: str
    schema_version: int
    software: str
    ledger: str
    origin: str
    vault_id: str
    key_mark: int
    first_tx: int
    last_tx: int
    first_position: int
    last_position: int
    recorded_from: datetime
    recorded_to: datetime
    events: File
    transactions: File
    leaf_from: int
    leaf_to: int
    root: str
    consistency: tuple[str, ...]
    tree_head: str
    horizon_us: int
    predecessor: str
    dictionaries: tuple[int, ...]


FORMAT = "muniment archive 1"

_encoder = msgspec.json.Encoder(order="sorted")


def written(manifest: Manifest) -> bytes:
    """Return *manifest* as its file holds it."""
    return msgspec.json.format(_encoder.encode(manifest), indent=1) + b"\n"


def read_manifest(name: str, content: bytes) -> Manifest:
    """
    Return the manifest that *content* is.

    Raises:
        DamagedArchiveError: If it is none that this version can read.
    """
    try:
        manifest = msgspec.json.decode(content, type=Manifest)
    except msgspec.MsgspecError as error:
        raise DamagedArchiveError(name, f"it is no manifest ({error})") from error
    if (manifest.format, manifest.schema_version) != (FORMAT, schema.VERSION):
        raise DamagedArchiveError(name, f"it is of {manifest.format!r}, not {FORMAT!r}")
    return manifest


def sha256(content: bytes) -> str:
    """Return the SHA-256 of *content*, hexadecimal."""
    return hashlib.sha256(content).hexdigest()


class _Header(msgspec.Struct, kw_only=True):
    """What of a readable header has a column of its own."""

    valid: tuple[int, int] | None = None
    traits: "_Traits | None" = None
    cause: str | None = None
    to_version: int | None = None


class _Traits(msgspec.Struct, kw_only=True):
    category: str | None = None
    attribute: str | None = None
    status: str | None = None
    confidence: float | None = None
    importance: float | None = None
    core: bool | None = None
    expires_at: int | None = None


_NO_TRAITS = _Traits()
_headers = msgspec.json.Decoder(_Header)


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

    def add(self, rows: Sequence[TransactionRow], events: Sequence[StampedEvent]) -> None:
        """Gather *rows* and their *events*."""
        self.last = rows[-1]
        self._transactions.append(_transaction_batch(rows))
        self._events.append(_event_batch(events))
        self.event_count += len(events)

    def tables(self) -> tuple[pa.Table, pa.Table]:
        """Return both as they are written."""
        events = pa.Table.from_batches(self._events, schema.EVENTS)
        order = [("subject_ref", "ascending"), ("stream", "ascending")]
        events = events.sort_by([*order, ("version", "ascending")])
        return events, pa.Table.from_batches(self._transactions, schema.TRANSACTIONS)


def encoded(table: pa.Table) -> bytes:
    """
    Return *table* as a file of Parquet, read back and found equal.

    Raises:
        DamagedArchiveError: If it does not read back as it was.
    """
    sink = pa.BufferOutputStream()
    is_events = table.schema.equals(schema.EVENTS)
    pq.write_table(
        table,
        sink,
        compression="zstd",
        compression_level=3,
        row_group_size=_ROWS_OF_GROUP if is_events else None,
        use_dictionary=_DICTIONARY if is_events else ["action", "subject_ref"],
        column_encoding=_DELTA if is_events else None,
        write_page_index=is_events,
    )
    content: bytes = sink.getvalue().to_pybytes()
    if not decoded("a new file", content, table.schema).equals(table):
        raise DamagedArchiveError("a new file", "it does not read back as it was written")
    return content


def decoded(name: str, content: bytes, expected: pa.Schema) -> pa.Table:
    """
    Return what a file of Parquet holds, empty or not.

    Raises:
        DamagedArchiveError: If it does not have the pinned schema.
    """
    try:
        table = pq.read_table(pa.BufferReader(content))
    except (pa.ArrowException, OSError) as error:
        raise DamagedArchiveError(name, f"it is no Parquet ({error})") from error
    if not table.schema.equals(expected, check_metadata=True):
        raise DamagedArchiveError(name, "its columns are not those of the archive")
    return table


def events_of(table: pa.Table) -> list[StampedEvent]:
    """Return the events of a table, by position."""
    columns = [
        table.column(name).to_pylist()
        for name in ("position", "tx_id", "stream", "version", "topic", "subject_ref")
    ]
    columns.append(_microseconds(table.column("recorded_at")))
    columns.append(table.column("key_id").to_pylist())
    columns.append(states(table))
    found = [_event(row) for row in zip(*columns, strict=True)]
    return sorted(found, key=lambda each: each.position)


def transactions_of(table: pa.Table) -> list[TransactionRow]:
    """Return the transactions of a table, in order."""
    names = list(TransactionRow.__struct_fields__)
    columns = [
        _microseconds(table.column(name))
        if name == "recorded_at"
        else table.column(name).to_pylist()
        for name in names
    ]
    return [
        TransactionRow(**dict(zip(names, row, strict=True)))
        for row in zip(*columns, strict=True)
    ]


def states(table: pa.Table) -> Iterator[bytes]:
    """Yield the stored bytes of each row, put together again."""
    parts = (table.column(name).to_pylist() for name in ("form", "header", "sealed"))
    for form, header, sealed in zip(*parts, strict=True):
        yield bytes([form]) + len(header).to_bytes(2, "big") + header + sealed


def _event(row: tuple[Any, ...]) -> StampedEvent:
    position, tx_id, stream, version, topic, subject_ref, recorded_at, key_id, state = row
    return StampedEvent(
        position=position,
        tx_id=tx_id,
        recorded_at=Instant(recorded_at),
        sealed=SealedEvent(
            originator_id=stream,
            originator_version=version,
            topic=topic,
            state=state,
            subject_ref=subject_ref,
            key_id=key_id,
        ),
    )


def _event_batch(events: Sequence[StampedEvent]) -> pa.RecordBatch:
    parts = [_parts(each.sealed.state) for each in events]
    headers = [_headers.decode(header) for _, header, _ in parts]
    traits = [each.traits or _NO_TRAITS for each in headers]
    sealed = [each.sealed for each in events]
    columns: dict[str, list[Any]] = {
        "subject_ref": [each.subject_ref for each in sealed],
        "stream": [str(each.originator_id) for each in sealed],
        "version": [each.originator_version for each in sealed],
        "position": [each.position for each in events],
        "tx_id": [each.tx_id for each in events],
        "recorded_at": [each.recorded_at for each in events],
        "topic": [each.topic for each in sealed],
        "key_id": [each.key_id for each in sealed],
        "form": [form for form, _, _ in parts],
        "header": [header for _, header, _ in parts],
        "sealed": [rest for _, _, rest in parts],
        "valid_from": [_bound(e.valid[0]) if e.valid else None for e in headers],
        "valid_to": [_bound(e.valid[1]) if e.valid else None for e in headers],
        "category": [each.category for each in traits],
        "attribute": [each.attribute for each in traits],
        "status": [each.status for each in traits],
        "confidence": [each.confidence for each in traits],
        "importance": [each.importance for each in traits],
        "core": [each.core for each in traits],
        "expires_at": [each.expires_at for each in traits],
        "cause": [each.cause for each in headers],
        "to_version": [each.to_version for each in headers],
    }
    return _batch(columns, schema.EVENTS)


def _transaction_batch(rows: Sequence[TransactionRow]) -> pa.RecordBatch:
    columns = {
        name: [getattr(each, name) for each in rows] for name in schema.TRANSACTIONS.names
    }
    return _batch(columns, schema.TRANSACTIONS)


def _batch(columns: dict[str, list[Any]], expected: pa.Schema) -> pa.RecordBatch:
    arrays = [pa.array(columns[each.name], each.type) for each in expected]
    return pa.RecordBatch.from_arrays(arrays, schema=expected)


def _parts(state: bytes) -> tuple[int, bytes, bytes]:
    """Return format, header and sealed part of what is stored of an event."""
    end = _HEADER_AT + int.from_bytes(state[_LENGTH_AT:_HEADER_AT], "big")
    return state[0], state[_HEADER_AT:end], state[end:]


def _bound(instant: int) -> int | None:
    return None if instant in (BEGINNING, FOREVER) else instant


def _microseconds(column: pa.ChunkedArray) -> list[int]:
    found: list[int] = column.cast(pa.int64()).to_pylist()
    return found
