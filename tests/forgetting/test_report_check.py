"""A report of retention is checked without the store, and no byte of it can be altered."""

import base64
import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from muniment import MemoryStore, RetentionRule
from muniment.api.retention_report import RetentionReport
from muniment.api.shapes import document, shaped
from muniment.archive.container import AlteredError
from muniment.archive.report_check import check_report, fields_line
from muniment.archive.verifier import main
from muniment.ledger.attesting import Attestor


RULES = [RetentionRule(importance_below=0.3), RetentionRule(merge_alike=1)]


@pytest.fixture(scope="module")
def store() -> Iterator[MemoryStore]:
    with MemoryStore.open("memory://") as opened:
        opened.remember("无关紧要", user_id="u", importance=0.1)
        opened.remember("likes tea", user_id="u")
        opened.remember("Likes tea.", user_id="u")
        opened.retain(RULES, actor="保管员", reason="policy 4")
        yield opened


@pytest.fixture(scope="module")
def report(store: MemoryStore) -> RetentionReport:
    return store.report_retention(RULES)


@pytest.fixture(scope="module")
def key(store: MemoryStore) -> str:
    return base64.b64encode(store.public_key).decode()


def test_a_report_is_checked_with_the_public_key_alone(
    report: RetentionReport, key: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "report.json"
    file.write_text(document(report), encoding="utf-8")

    ended = main([str(file), "--key", key])

    assert ended == 0
    assert "Each of its 2 acts stands in that ledger" in capsys.readouterr().out
    assert main([str(file)]) == 2
    assert "name --key" in capsys.readouterr().err
    other = base64.b64encode(bytes(32)).decode()
    assert main([str(file), "--key", other]) == 1
    assert capsys.readouterr().out.startswith("REFUSED  the report: ")


def test_whatever_byte_of_a_report_is_altered_it_is_refused(
    report: RetentionReport, key: str
) -> None:
    raw = document(report).encode()
    for place in range(len(raw.rstrip())):
        forged = bytearray(raw)
        forged[place] ^= 1 << place % 8

        with pytest.raises(AlteredError):
            check_report(bytes(forged), key=key)


def test_what_comes_twice_or_is_left_out_is_refused(
    report: RetentionReport, key: str
) -> None:
    raw = document(report)
    twice = raw.replace('"due":', '"due": [], "due":', 1)
    fields = json.loads(raw)
    without = json.dumps({name: fields[name] for name in fields if name != "held"})
    for forged in (twice, without, "[]", "{}", raw.replace("report 2", "report 1", 1)):
        with pytest.raises(AlteredError):
            check_report(forged.encode(), key=key)


@pytest.mark.parametrize("altered", ["proof", "recorded_at", "topic", "fact", "twice"])
def test_an_act_is_what_its_proof_is_of_though_the_ledger_signed_otherwise(
    store: MemoryStore, report: RetentionReport, key: str, altered: str
) -> None:
    first, second = report.acts
    late = first.recorded_at + timedelta(microseconds=1)
    changes: dict[str, Any] = {
        "proof": {"proof": second.proof},
        "recorded_at": {"recorded_at": late},
        # The first event is of a fact that was remembered.
        "topic": {
            "proof": store.prove(1),
            "position": 1,
            "tx_id": 1,
            "recorded_at": store.get_fact_history(first.fact_id or "")
            .versions[0]
            .recorded_at,
        },
        "fact": {"fact_id": second.fact_id},
        "twice": {},
    }

    altered_first = replace(first, **changes[altered])
    last = first if altered == "twice" else second
    forged = replace(report, acts=(altered_first, last))

    problems = r"another event|proven to be fact\.asserted|another fact|there twice"
    with pytest.raises(AlteredError, match=problems):
        check_report(_signed_anew(store, forged), key=key)


def _signed_anew(store: MemoryStore, report: RetentionReport) -> bytes:
    """Return a report as whoever can make the ledger sign has it signed."""
    fields = shaped(report)
    assert isinstance(fields, dict)
    origin, form, _, *lines = report.text.partition("\n\n")[0].split("\n")
    text = "\n".join((origin, form, fields_line(fields), *lines))
    return json.dumps(
        {**fields, "text": Attestor(store._ledger).signed(f"{text}\n")}
    ).encode()
