"""What a report of retention proves: its signature, all of its fields, each of its acts."""

import base64
import hashlib
import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from muniment.archive.container import AlteredError
from muniment.archive.evidence_check import Report
from muniment.archive.heads_check import raw_key
from muniment.ledger.proof import (
    Envelope,
    RefusedError,
    check_inclusion,
    leaf_hash,
    read_head,
    read_note,
    read_proof,
)
from muniment.strict_json import read_json


RETENTION_REPORT = "muniment retention report 2"
_FIELDS_DIGEST = "fields sha256 "
_THE_REPORT = "the report"
_TOPICS = ("fact.retired.", "fact.thinned.", "subject.records_", "session.turns_")
_ORIGIN_OF_TIME = datetime(1970, 1, 1, tzinfo=UTC)


def fields_line(report: Mapping[str, Any]) -> str:
    """Return the line of the signed text that vouches for all other fields of a report."""
    said = {name: report[name] for name in report if name != "text"}
    plain = json.dumps(said, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return f"{_FIELDS_DIGEST}{hashlib.sha256(plain.encode()).hexdigest()}"


def check_report(raw: bytes, *, key: str) -> Report:
    """
    Check a report of retention.

    Args:
        raw: The JSON document.
        key: The ledger's public key, as ``muniment public-key`` prints it.

    Raises:
        AlteredError: If anything in it is not what it was; says what.
    """
    public_key = raw_key(key)
    try:
        report = read_json(raw.decode())
        text = read_note(report["text"], public_key=public_key)
        origin, form, signed, *_ = text.split("\n")
        is_as_signed = signed == fields_line(report)
    except (AttributeError, TypeError, KeyError, ValueError) as error:
        raise AlteredError(_THE_REPORT, str(error)) from error
    if form != RETENTION_REPORT:
        raise AlteredError(_THE_REPORT, f"it is no {RETENTION_REPORT}, but {form}")
    if not is_as_signed:
        raise AlteredError(_THE_REPORT, "its fields are not those that were signed")
    positions = set[int]()
    for act in report["acts"]:
        _check_act(act, public_key)
        if act["position"] in positions:
            raise AlteredError(f"act {act['position']}", "it is there twice")
        positions.add(act["position"])
    count = len(positions)
    return Report(
        proven=[
            f"The ledger {origin} signed this report, and all of it is as it was signed.",
            f"Each of its {count} acts stands in that ledger, at its place and time.",
        ],
        stated=[
            "That nothing can be read of what went, and what is held and due.",
            "That retention did nothing else: a report leaves out what it leaves out.",
        ],
    )


def _check_act(act: Mapping[str, Any], public_key: bytes) -> None:
    """Refuse an act whose proof does not hold, or is about something else."""
    named = act["proof"]["envelope"]
    envelope = Envelope(
        **{
            **named,
            "transaction": base64.b64decode(named["transaction"], validate=True),
            "state": base64.b64decode(named["state"], validate=True),
        }
    )
    recorded = datetime.fromisoformat(act["recorded_at"])
    recorded_us = (recorded - _ORIGIN_OF_TIME) // timedelta(microseconds=1)
    said = act["position"], act["tx_id"], recorded_us, act["subject_ref"]
    proven = (
        envelope.position,
        envelope.tx_id,
        envelope.recorded_at,
        envelope.subject_ref,
    )
    name = f"act {act['position']}"
    try:
        index, path, note = read_proof(act["proof"]["text"])
        head = read_head(note, public_key=public_key)
        check_inclusion(leaf_hash(envelope.packed()), index, path, head)
    except RefusedError as error:
        raise AlteredError(name, str(error)) from error
    if said != proven or index + 1 != envelope.position:
        raise AlteredError(name, "its proof is of another event")
    if act["fact_id"] is not None and envelope.stream != f"fact-{act['fact_id']}":
        raise AlteredError(name, "its proof is of another fact")
    if not envelope.topic.startswith(_TOPICS):
        raise AlteredError(name, f"it is proven to be {envelope.topic}")
