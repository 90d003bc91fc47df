"""Putting evidence together: its files, its manifest, its signature, its verifier."""

import ast
import base64
import csv
import hashlib
import io
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import ModuleType
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from muniment import strict_json
from muniment.archive import (
    container,
    evidence_check,
    heads_check,
    rederiving,
    report_check,
    stamp_check,
    states_check,
    unzstd,
    verifier,
)
from muniment.archive.evidence_check import EVIDENCE, MANIFEST, SIGNATURE
from muniment.archive.sources import Line
from muniment.archive.stamp_check import TIME_STAMP
from muniment.ledger import proof
from muniment.ledger.attesting import Attestor


VERIFIER = "verify.py"
_PARTS: Sequence[ModuleType] = (
    proof,
    unzstd,
    container,
    strict_json,
    rederiving,
    states_check,
    stamp_check,
    heads_check,
    evidence_check,
    report_check,
    verifier,
)


def json_lines(lines: Iterable[Line]) -> bytes:
    """Return *lines* as JSON Lines."""
    return b"".join(
        json.dumps(
            each,
            ensure_ascii=False,
            allow_nan=False,
            sort_keys=True,
            separators=(",", ":"),
        ).encode()
        + b"\n"
        for each in lines
    )


def csv_table(columns: Sequence[str], rows: Iterable[Line]) -> bytes:
    """Return *rows* as CSV for a spreadsheet, in UTF-8 with its mark."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(columns)
    writer.writerows([_cell(row.get(each)) for each in columns] for row in rows)
    return b"\xef\xbb\xbf" + text.getvalue().encode()


def parquet_table(columns: Sequence[str], rows: Iterable[Line]) -> bytes:
    """Return *rows* as Parquet; every column is text, and null where a row has none."""
    schema = pa.schema([pa.field(each, pa.string()) for each in columns])
    held = [{each: _written(row.get(each)) for each in columns} for row in rows]
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist(held, schema), sink, compression="zstd")
    content: bytes = sink.getvalue().to_pybytes()
    return content


def signed_package(
    files: Mapping[str, bytes],
    fields: Mapping[str, Any],
    attestor: Attestor,
    *,
    stamp: Callable[[bytes], bytes] | None = None,
) -> bytes:
    """
    Return the package: *files*, the manifest over them, and the signature over that.

    Args:
        files: By name, all but manifest and signature.
        fields: What the manifest says besides.
        attestor: Signs.
        stamp: Returns a time stamp of the manifest, which is signed with it.
    """
    listed = {
        name: {
            "sha256": hashlib.sha256(content).hexdigest(),
            "bytes": len(content),
            "lines": content.count(b"\n") if name.endswith(".jsonl") else None,
        }
        for name, content in files.items()
    }
    manifest = {**fields, "format": EVIDENCE, "origin": attestor.origin, "files": listed}
    text = json.dumps(manifest, ensure_ascii=False, indent=1, sort_keys=True)
    content = text.encode() + b"\n"
    digest = hashlib.sha256(content).hexdigest()
    text, stamped = f"{attestor.origin}\n{EVIDENCE}\n{digest}\n", dict[str, bytes]()
    if stamp is not None:
        stamped = {TIME_STAMP: stamp(content)}
        text += f"time stamp {hashlib.sha256(stamped[TIME_STAMP]).hexdigest()}\n"
    note = attestor.signed(text)
    signed = {MANIFEST: content, SIGNATURE: note.encode(), **stamped}
    return container.contained({**signed, **files})


def single_file() -> bytes:
    """Return the verifier as one file that imports nothing of Muniment."""
    parts = [verifier.__doc__ or ""]
    text = f'"""{parts[0]}"""\n'
    for module in _PARTS:
        text += f"\n\n# ---- {module.__name__.rpartition('.')[2]} ----\n\n"
        text += _standalone(module)
    return text.encode()


def base64_text(raw: bytes | None) -> str | None:
    """Return bytes as JSON holds them."""
    return None if raw is None else base64.b64encode(raw).decode()


def _standalone(module: ModuleType) -> str:
    """Return the source of *module* without what it imports from Muniment."""
    assert module.__file__ is not None, "it was imported from a file"
    with open(module.__file__, encoding="utf-8") as file:  # noqa: PTH123 - one line
        source = file.read()
    tree, dropped = ast.parse(source), set[int]()
    for at, node in enumerate(tree.body):
        is_ours = isinstance(node, ast.ImportFrom) and (node.module or "").startswith(
            "muniment"
        )
        is_main_of_no_use = at == 0 and module is verifier
        if is_ours or is_main_of_no_use:
            dropped.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    kept = (
        line for number, line in enumerate(source.splitlines(), 1) if number not in dropped
    )
    return "\n".join(kept).strip("\n") + "\n"


def _written(value: object) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def _cell(value: object) -> str:
    """Return a value for a spreadsheet, which must not take content for a formula."""
    text = _written(value) or ""
    return f"'{text}" if text.startswith(_FORMULAS) else text


_FORMULAS: Final = (*"=+-@", *"\uff1d\uff0b\uff0d\uff20", "\t", "\r", "\n")
"""How a formula begins; the same wide, as Chinese and Japanese spreadsheets take them."""
