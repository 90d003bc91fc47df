"""What of evidence is made for reading: history, states, differences, blame, as tables."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from muniment.archive import package
from muniment.archive.sources import Line


_SAID = ("fact_id", "version", "content", "valid_from", "valid_to", "recorded_at")
_COLUMNS = (
    *_SAID,
    *("kind", "position", "tx_id", "action", "actor", "reason", "trigger", "source"),
    *("session_id", "source_turns", "claimed_at"),
)
_STATE_COLUMNS = (
    *("as_of", "valid_at", *_SAID, "position", "category", "attribute", "source"),
    *("confidence", "metadata"),
)

README = f"""\
Evidence from a Muniment ledger

summary.html          to read and to print
history.*             every version of every fact that was recorded in the time asked for
as_of.*               what was known at the points asked for
differences.*         what differs from one of those points to the next
blame.*               who said what was believed, and why
turns.*               what was said in conversations in the time asked for
receipts.*            what was recalled then
events.jsonl          what the ledger stores: envelope, inclusion proof, clear text, key
transactions.jsonl    who did it, when and why
tree_head.txt         what the ledger signed when this was made
tree_heads.jsonl      what it had signed before, and that it continues it
custody.jsonl         by whom this was made, when and what for
manifest.json         the SHA-256 of every file, and what was left out and why
signature.txt         the ledger's signature over the manifest

To check it, with Python 3.11 or newer and the package cryptography, and nothing else:

    python {package.VERIFIER} THIS-FILE.zip --key KEY --tree-head HEADS

KEY is the ledger's public key and HEADS holds tree heads that it published earlier. Get
both by another way than this package: what comes with it cannot vouch for itself.
"""
"""What is said in README.txt."""


def tables(versions: Sequence[Line], states: Sequence[Line]) -> dict[str, bytes]:
    """Return the files by name, from every version and from the states at each point."""
    held = [
        {**fact, "as_of": line["recorded_at"], "valid_at": line["valid_at"]}
        for line in states
        for fact in line["facts"]
    ]
    return {
        **in_each_form("history", versions, columns=_COLUMNS),
        "as_of.csv": package.csv_table(_STATE_COLUMNS, held),
        "as_of.parquet": package.parquet_table(_STATE_COLUMNS, held),
        **in_each_form("differences", _differences(states)),
        **in_each_form("blame", _blame(states, versions)),
    }


def in_each_form(
    name: str, lines: Sequence[Line], *, columns: Sequence[str] = ()
) -> dict[str, bytes]:
    """
    Return *lines* as JSON Lines, and as tables where there are any.

    Args:
        name: Of the files, without their endings.
        lines: To be written.
        columns: Of the tables; those of the first line if left out. What is no text is JSON
            in its cell.
    """
    files = {f"{name}.jsonl": package.json_lines(lines)}
    named = columns or list(lines[0] if lines else ())
    if named:
        files[f"{name}.csv"] = package.csv_table(named, lines)
        files[f"{name}.parquet"] = package.parquet_table(named, lines)
    return files


def _differences(states: Sequence[Line]) -> list[dict[str, Any]]:
    """Return what differs between each point and the one before it in time."""
    ordered = sorted(states, key=lambda each: (each["position"], each["recorded_at_us"]))
    lines: list[dict[str, Any]] = []
    for before, after in pairwise(ordered):
        old = {each["fact_id"]: each for each in before["facts"]}
        new = {each["fact_id"]: each for each in after["facts"]}
        lines.extend(
            {
                "from": before["recorded_at"],
                "to": after["recorded_at"],
                "fact_id": fact_id,
                "before": old.get(fact_id),
                "after": new.get(fact_id),
            }
            for fact_id in sorted(old.keys() | new.keys())
            if old.get(fact_id) != new.get(fact_id)
        )
    return lines


def _blame(states: Sequence[Line], versions: Sequence[Line]) -> list[dict[str, Any]]:
    """Return for each belief shown who said it and why, where that was asked for."""
    said = {(each["fact_id"], each["version"]): each for each in versions}
    return [
        {
            "as_of": line["recorded_at"],
            "fact_id": fact["fact_id"],
            "version": fact["version"],
            "said_by": said.get((fact["fact_id"], fact["version"])),
        }
        for line in states
        for fact in line["facts"]
    ]
