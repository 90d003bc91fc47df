"""Answers that are files: made whole and recorded first, then sent part by part."""

import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from fastapi import Response
from fastapi.responses import StreamingResponse

from muniment.api.access import ActingStore
from muniment.api.operation import Operation


_PART: Final = 256 * 1024

Fields = Mapping[str, Any]


def download(operation: Operation, store: ActingStore, fields: Fields) -> Response:
    """Return the file that a verb makes; that it is given out is recorded before."""
    return _MAKERS[operation.verb](operation, store, fields)


def _export(operation: Operation, store: ActingStore, fields: Fields) -> Response:
    found = store.export(**fields)
    return _sent(
        operation,
        found.json().encode(),
        {"Content-Disposition": f'attachment; filename="{found.export_id}.json"'},
    )


def _evidence(operation: Operation, store: ActingStore, fields: Fields) -> Response:
    # Read back and removed before a part of it is sent: whoever hangs up leaves nothing.
    with tempfile.TemporaryDirectory(prefix="muniment-evidence-") as place:
        found = store.export_evidence(Path(place) / "evidence.zip", **fields)
        content = Path(found.file).read_bytes()
    named = {
        "Content-Disposition": 'attachment; filename="evidence.zip"',
        "Muniment-SHA-256": found.sha256,
    }
    return _sent(operation, content, named)


def _sent(operation: Operation, content: bytes, named: Mapping[str, str]) -> Response:
    return StreamingResponse(
        _parts(content),
        status_code=operation.status,
        media_type=operation.download,
        headers={**named, "Content-Length": str(len(content))},
    )


_MAKERS: Final[Mapping[str, Callable[[Operation, ActingStore, Fields], Response]]] = {
    "export": _export,
    "export_evidence": _evidence,
}


def _parts(content: bytes) -> Iterator[bytes]:
    for first in range(0, len(content), _PART):
        yield content[first : first + _PART]
