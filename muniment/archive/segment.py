"""
One segment: the events and the transactions of one stretch of a ledger, in two files.

    events/ledger=…/year=…/month=…/FIRST-LAST.parquet
    transactions/ledger=…/year=…/month=…/FIRST-LAST.parquet
    snapshots/ledger=…/year=…/FIRST-LAST-PART.parquet
    manifests/ledger=…/FIRST-LAST.json

The year and the month are those of the recorded time, FIRST and LAST are numbers of
transactions. No name, no id and no subject is in a path.
"""

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import Any, Final

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from muniment.archive import schema
from muniment.domain.time import Instant
from muniment.errors import DamagedArchiveError
from muniment.ledger.records import SealedEvent, StampedEvent, TransactionRow


SNAPSHOTS = "snapshots"

_NUMBERS, _BYTES = "DELTA_BINARY_PACKED", "DELTA_LENGTH_BYTE_ARRAY"
_ROWS_OF_GROUP = 8_192
_SEALED = ("sealed", "header", "idempotency_tag", "request_tag")
"""Of these nobody asks which is the least."""

_WRITTEN: Mapping[str, Mapping[str, Any]] = {
    "events": {
        "row_group_size": _ROWS_OF_GROUP,
        "write_page_index": True,
        "use_dictionary": [
            *("subject_ref", "topic", "category", "attribute", "status", "cause")
        ],
        "column_encoding": {
            **dict.fromkeys(("version", "position", "tx_id", "recorded_at"), _NUMBERS),
            "key_id": _NUMBERS,
            "stream": "DELTA_BYTE_ARRAY",
            "header": "DELTA_BYTE_ARRAY",
            "sealed": _BYTES,
        },
        # Ciphertext: nothing makes it smaller.
        "compression": {each: "zstd" for each in schema.EVENTS.names if each != "sealed"},
    },
    "transactions": {
        "use_dictionary": ["action", "subject_ref"],
        "column_encoding": dict.fromkeys(
            ("tx_id", "recorded_at", "first_position", "last_position"), _NUMBERS
        ),
        "compression": dict.fromkeys(schema.TRANSACTIONS.names, "zstd"),
    },
}
_LEVEL = 3


POOL: Final = pa.system_memory_pool()
"""
For what is as large as a segment.

The pool that Arrow prefers gives large blocks back at once: each is paid for anew, and
again whenever it grows.
"""


class File(msgspec.Struct, frozen=True, kw_only=True):
    """One file as its manifest describes it."""

    name: str
    sha256: str
    byte_count: int
    rows: int


class Snapshot(File, frozen=True, kw_only=True):
    """A file of what was believed at the turn of a year, of subjects from first to last."""

    first_subject: str
    last_subject: str


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
        snapshots: Where the segment is the first of a year, the payloads that what was
            believed when the year began rests on.
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
    snapshots: tuple[Snapshot, ...] = ()

    @property
    def files(self) -> tuple[File, ...]:
        """All of its files."""
        return self.events, self.transactions, *self.snapshots


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


def encoded(table: pa.Table) -> bytes:
    """
    Return *table* as a file of Parquet, read back and found equal.

    Raises:
        DamagedArchiveError: If it does not read back as it was.
    """
    sink = pa.BufferOutputStream(POOL)
    how = _WRITTEN["events" if table.schema.equals(schema.EVENTS) else "transactions"]
    pq.write_table(
        table,
        sink,
        compression_level=dict.fromkeys(how["compression"], _LEVEL),
        write_statistics=[each for each in table.schema.names if each not in _SEALED],
        # Who reads a few rows does not read the whole file, whose SHA-256 is known.
        write_page_checksum=True,
        **how,
    )
    content: bytes = sink.getvalue().to_pybytes()
    if not _reads_back(content, table):
        raise DamagedArchiveError("a new file", "it does not read back as it was written")
    return content


def _reads_back(content: bytes, table: pa.Table) -> bool:
    """Whether a file of Parquet holds *table*, compared a group of rows at a time."""
    at = 0
    with _opened("a new file", content, table.schema) as file:
        for batch in file.iter_batches(_ROWS_OF_GROUP, use_threads=False):
            written = table.slice(at, len(batch))
            if not pa.Table.from_batches([batch]).equals(written, check_metadata=True):
                return False
            at += len(batch)
    return at == len(table)


def decoded(name: str, content: bytes, expected: pa.Schema) -> pa.Table:
    """
    Return what a file of Parquet holds, empty or not.

    Raises:
        DamagedArchiveError: If it does not have the pinned schema.
    """
    with _opened(name, content, expected) as file:
        return file.read(use_threads=False)


def opened(name: str, source: Any, expected: pa.Schema) -> pq.ParquetFile:  # noqa: ANN401 - a file
    """
    Return a file of Parquet, of which each page is checked when it is read.

    Raises:
        DamagedArchiveError: If it does not have the pinned schema.
        pyarrow.ArrowException: If it is no Parquet.
    """
    file = pq.ParquetFile(source, page_checksum_verification=True)
    if not file.schema_arrow.equals(expected, check_metadata=True):
        raise DamagedArchiveError(name, "its columns are not those of the archive")
    return file


@contextmanager
def _opened(name: str, content: bytes, expected: pa.Schema) -> Iterator[pq.ParquetFile]:
    try:
        yield opened(name, pa.BufferReader(content), expected)
    except (pa.ArrowException, OSError) as error:
        raise DamagedArchiveError(name, f"it is no Parquet ({error})") from error


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


def _microseconds(column: pa.ChunkedArray) -> list[int]:
    found: list[int] = column.cast(pa.int64()).to_pylist()
    return found
