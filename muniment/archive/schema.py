"""
The tables of the archive: one pinned schema each, for Parquet.

What is not content has a column of its own, so that any reader of Parquet can ask about
it. Content is sealed, as it stands in the ledger: `header` and `sealed` together are the
stored bytes to the last one. The ledger and the month are in the path, see
`muniment.archive.segment`. A schema that is written once is never changed, only
followed by another.
"""

from typing import Any, Final

import pyarrow as pa


VERSION: Final = 1

_INSTANT = pa.timestamp("us", tz="UTC")


def _columns(required: dict[str, Any], optional: dict[str, Any]) -> pa.Schema:
    fields = [pa.field(name, kind, nullable=False) for name, kind in required.items()]
    fields += [pa.field(name, kind) for name, kind in optional.items()]
    return pa.schema(fields, metadata={"muniment": f"archive {VERSION}"})


EVENTS: Final = _columns(
    {
        "subject_ref": pa.string(),
        "stream": pa.string(),
        "version": pa.int64(),
        "position": pa.int64(),
        "tx_id": pa.int64(),
        "recorded_at": _INSTANT,
        "topic": pa.string(),
        "key_id": pa.int64(),
        "form": pa.int16(),
        "header": pa.binary(),
        "sealed": pa.binary(),
    },
    {
        # From the header; an open start or end is null.
        "valid_from": _INSTANT,
        "valid_to": _INSTANT,
        "category": pa.string(),
        "attribute": pa.string(),
        "status": pa.string(),
        "confidence": pa.float64(),
        "importance": pa.float64(),
        "core": pa.bool_(),
        "expires_at": _INSTANT,
        "cause": pa.string(),
        "to_version": pa.int64(),
    },
)
"""One row for each event, by subject, stream and version: a reader skips others."""

TRANSACTIONS: Final = _columns(
    {
        "tx_id": pa.int64(),
        "recorded_at": _INSTANT,
        "first_position": pa.int64(),
        "last_position": pa.int64(),
        "action": pa.string(),
        "subject_ref": pa.string(),
        "header": pa.binary(),
    },
    {"idempotency_tag": pa.binary(), "request_tag": pa.binary()},
)
"""One row for each transaction, in order; *header* is sealed."""
