"""Evidence holds what was recorded, proves it to a stranger, and cannot be altered."""

import csv
import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from muniment.api.publishing import verifier_key
from muniment.archive import package
from muniment.archive.container import AlteredError, contained, contents
from muniment.archive.evidence_check import EVENTS, TRANSACTIONS, check
from muniment.archive.states_check import STATES
from muniment.domain.time import Instant
from muniment.errors import FutureAsOfError, InvalidInput, InvalidValueError
from muniment.ledger.vault import Subject
from tests.archive.packages import Made, report, signed_again
from tests.archive.told import instant, told
from tests.stores import SQLITE, backend_at


@pytest.mark.parametrize("begin", "=+-@\uff1d\uff0b\uff0d\uff20\t\r\n")
def test_no_content_is_a_formula_to_a_spreadsheet(begin: str) -> None:
    """The wide ones are formulas where a spreadsheet is set to Chinese or Japanese."""
    content = f'{begin}HYPERLINK("http://elsewhere.example")'

    table = package.csv_table(
        ["content"], [{"content": content}, {"content": f"1 {begin} 1"}]
    )

    rows = list(csv.reader(io.StringIO(table.decode("utf-8-sig"), newline="")))
    assert rows == [["content"], [f"'{content}"], [f"1 {begin} 1"]]


def test_it_holds_what_was_known_and_when(made: Made) -> None:
    store, story = made.story.store, made.story

    for state, at in zip(made.lines(STATES), (4, 9, 12), strict=False):
        then = store.get_memory_as_of(user_id="ann", timestamp=instant(story.times[at]))
        assert [each["content"] for each in state["facts"]] == [e.content for e in then]
        assert state["position"] == then.position
    history = made.lines("history.jsonl")
    assert len(history) == 10
    assert {each["reason"] for each in history} >= {"CANARY said by ann", "asked"}
    table = list(csv.DictReader(io.StringIO(made.files["history.csv"].decode("utf-8-sig"))))
    frame = pl.read_parquet(io.BytesIO(made.files["history.parquet"]))
    assert [each["content"] for each in table] == [e["content"] or "" for e in history]
    assert frame["content"].to_list() == [each["content"] for each in history]
    assert b"case 4711" in made.files["summary.html"]


def test_it_holds_nothing_of_anybody_else(made: Made) -> None:
    assert b"CANARY bob" not in made.raw
    assert made.raw.count(b"CANARY ann") > 10
    # What was redacted is a token: that it was, and not what it said.
    assert "CANARY ann 喜欢 3".encode() not in made.raw
    withheld = [each["withheld"] for each in made.lines(EVENTS) if each["withheld"]]
    assert len(withheld) == 2
    assert len(set(withheld)) == 1


def test_that_it_was_made_is_in_the_ledger(made: Made) -> None:
    (custody,) = made.lines("custody.jsonl")
    events = made.story.store.export(user_id="ann").document
    copies = [each for each in events.about if each.kind == "disclosed"]
    done = {each.tx_id: each for each in events.transactions}[copies[0].tx_id]

    assert copies[0].stored.header["disclosure_id"] == custody["package_id"]
    assert copies[0].position == custody["position"]
    assert (done.actor, done.reason) == ("officer-1", "ordered by the court")
    assert copies[0].stored.content == {"matter": "case 4711"}


def test_a_stranger_is_told_what_is_proven_and_what_is_not(made: Made) -> None:
    found = report(made.raw, made)
    without = check(made.raw)

    assert len(found.proven) == 6
    assert "continues 1 tree heads" in found.proven[-1]
    assert len(without.proven) == 5
    assert any("--key" in each for each in without.stated)
    assert any("--tree-head" in each for each in without.stated)
    assert any("everything" in each for each in found.stated)


def test_a_file_that_is_missing_or_more_is_named(made: Made) -> None:
    for name in made.files:
        left = {other: each for other, each in made.files.items() if other != name}
        with pytest.raises(AlteredError) as refused:
            report(contained(left), made)
        assert refused.value.file == name
    with pytest.raises(AlteredError) as refused:
        report(contained({**made.files, "more.txt": b"x"}), made)
    assert refused.value.file == "more.txt"


def changed(
    made: Made, name: str, change: Callable[[list[dict[str, Any]]], object]
) -> dict[str, bytes]:
    lines = made.lines(name)
    change(lines)
    return {name: package.json_lines(lines)}


def says_else(lines: list[dict[str, Any]]) -> None:
    lines[0]["content"]["text"] = "something else"


def without_a_line(lines: list[dict[str, Any]]) -> None:
    del lines[next(n for n, e in enumerate(lines) if e["envelope"]["version"] == 1)]


def other_time(lines: list[dict[str, Any]]) -> None:
    lines[1]["envelope"]["recorded_at"] += 1


def swapped(lines: list[dict[str, Any]]) -> None:
    lines[0], lines[1] = lines[1], lines[0]


def other_header(lines: list[dict[str, Any]]) -> None:
    lines[0]["header"]["traits"]["confidence"] = 0.5


def other_actor(lines: list[dict[str, Any]]) -> None:
    lines[0]["origin"]["actor"] = "somebody else"


def other_action(lines: list[dict[str, Any]]) -> None:
    lines[0]["action"] = "import"


def missing_transaction(lines: list[dict[str, Any]]) -> None:
    del lines[0]


def forgotten_fact(lines: list[dict[str, Any]]) -> None:
    del lines[0]["facts"][0]


def other_belief(lines: list[dict[str, Any]]) -> None:
    lines[0]["facts"][0]["content"] = "something else"


def other_position(lines: list[dict[str, Any]]) -> None:
    lines[0]["position"] -= 1


def said_without_proof(lines: list[dict[str, Any]]) -> None:
    lines[-1] |= {"key": None, "content": {"matter": "another case"}}


def written_time(lines: list[dict[str, Any]]) -> None:
    lines[0]["recorded_at"] = lines[1]["recorded_at"]


def a_transaction_twice(lines: list[dict[str, Any]]) -> None:
    lines.insert(0, {**lines[0], "key": None, "origin": {"actor": "somebody else"}})


def a_transaction_of_no_event(lines: list[dict[str, Any]]) -> None:
    lines.append({**lines[-1], "tx_id": lines[-1]["tx_id"] + 1, "key": None})


def written_point(lines: list[dict[str, Any]]) -> None:
    lines[0]["valid_at"] = "2020-01-01T00:00:00.000000Z"


def written_period(lines: list[dict[str, Any]]) -> None:
    lines[0]["facts"][0]["valid_to"] = "2020-01-01T00:00:00.000000Z"


def surer(lines: list[dict[str, Any]]) -> None:
    lines[0]["facts"][0]["confidence"] = 0.25


def other_transaction(lines: list[dict[str, Any]]) -> None:
    lines[0]["facts"][0]["tx_id"] += 1


@pytest.mark.parametrize(
    ("name", "change"),
    [
        *((EVENTS, e) for e in (says_else, without_a_line, other_time, swapped)),
        *((EVENTS, e) for e in (other_header, said_without_proof, written_time)),
        *((TRANSACTIONS, e) for e in (other_actor, other_action, missing_transaction)),
        *((TRANSACTIONS, e) for e in (a_transaction_twice, a_transaction_of_no_event)),
        *((STATES, e) for e in (forgotten_fact, other_belief, other_position)),
        *((STATES, e) for e in (written_point, written_period, surer, other_transaction)),
    ],
)
def test_not_even_who_made_it_can_alter_it(
    made: Made, name: str, change: Callable[[list[dict[str, Any]]], object]
) -> None:
    forged = signed_again(made, changed(made, name, change))

    with pytest.raises(AlteredError) as refused:
        report(forged, made)

    assert refused.value.file in (EVENTS, TRANSACTIONS, STATES)
    report(signed_again(made, {}), made)


def test_the_key_and_the_heads_of_another_ledger_are_refused(
    made: Made, tmp_path: Path
) -> None:
    other = told(backend_at(SQLITE, directory=tmp_path / "o", postgres_url=None))
    key = verifier_key(other.store.origin, other.store.public_key)
    head = other.store.tree_head()
    other.store.close()

    with pytest.raises(AlteredError):
        check(made.raw, key=key)
    with pytest.raises(AlteredError):
        check(made.raw, key=made.key, heads=[head])


def test_a_range_shows_nothing_that_is_outside_of_it(made: Made, tmp_path: Path) -> None:
    story, file = made.story, tmp_path / "range.zip"
    start, end = instant(story.times[10]), instant(story.times[12])

    story.store.export_evidence(
        file, user_id="ann", matter="m", reason="r", start=start, end=end
    )

    raw = file.read_bytes()
    report(raw, made)
    lines = [json.loads(each) for each in contents(raw)[EVENTS].splitlines()]
    last = max(each["envelope"]["recorded_at"] for each in lines)
    assert last < story.times[12]
    # Not believed at either end, nor recorded in between.
    assert "喜欢 0".encode() not in raw
    assert b"moved far" not in raw
    # Known at the beginning, so it is shown.
    assert "喜欢 1".encode() in raw


def test_third_parties_are_tokens_in_every_file(made: Made, tmp_path: Path) -> None:
    file = tmp_path / "tokens.zip"

    made.story.store.export_evidence(
        file, user_id="ann", matter="m", reason="r", third_parties=["喜欢 1", "AGENT"]
    )

    raw = file.read_bytes()
    report(raw, made)
    assert "喜欢 1".encode() not in raw
    lines = contents(raw)[TRANSACTIONS] + contents(raw)["history.jsonl"]
    assert b'"agent"' not in lines
    assert b"[third party 1]" in raw
    assert b"[third party 2]" in raw


def test_c19_evidence_of_nothing_is_a_signed_package(made: Made, tmp_path: Path) -> None:
    file = tmp_path / "empty.zip"

    made.story.store.export_evidence(file, user_id="nobody", matter="m", reason="r")

    found = report(file.read_bytes(), made)
    assert found.proven
    lines = contents(file.read_bytes())[STATES].splitlines()
    assert [json.loads(each)["facts"] for each in lines] == [[]]


def test_what_cannot_be_made_is_refused_before_anything_is_written(
    made: Made, tmp_path: Path
) -> None:
    store = made.story.store
    before = store.plan_archive().last_position
    taken = tmp_path / "taken.zip"
    taken.write_bytes(b"mine")
    asked: dict[str, Any] = {"user_id": "ann", "matter": "m"}

    with pytest.raises(InvalidValueError):
        store.export_evidence(taken, reason="r", **asked)
    with pytest.raises(InvalidValueError):
        store.export_evidence(tmp_path / "a.zip", reason=" ", **asked)
    for points in (None, 7, "2026-01-01T00:00:00Z", [()], [(1, 2, 3)], [None]):
        broken: Any = {**asked, "points": points}
        with pytest.raises(InvalidInput):
            store.export_evidence(tmp_path / "p.zip", reason="r", **broken)
    with pytest.raises(FutureAsOfError):
        store.export_evidence(
            tmp_path / "b.zip", reason="r", points=["2999-01-01T00:00:00Z"], **asked
        )

    then = instant(made.story.times[3])
    with pytest.raises(InvalidValueError, match="before the end"):
        store.export_evidence(
            tmp_path / "c.zip", reason="r", end=then, points=[then], **asked
        )

    assert taken.read_bytes() == b"mine"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["taken.zip"]
    assert store.plan_archive().last_position == before


class Turns:
    """Turns of conversation, as another part of a store would keep them."""

    name = "turns"

    def lines(
        self, subject: Subject, *, start: Instant, end: Instant
    ) -> Iterator[dict[str, object]]:
        assert start < end
        yield {"turn_id": "t-1", "whose": str(subject.scope), "content": "你好"}


def test_what_else_is_kept_of_somebody_is_given_out_with_it(
    made: Made, tmp_path: Path
) -> None:
    store, file = made.story.store, tmp_path / "turns.zip"
    kept, store.sources = store.sources, (Turns(),)
    try:
        store.export_evidence(file, user_id="ann", matter="m", reason="r")
        exported = store.export(user_id="ann").document
    finally:
        store.sources = kept

    report(file.read_bytes(), made)
    files = contents(file.read_bytes())
    assert json.loads(files["turns.jsonl"])["content"] == "你好"
    (row,) = csv.DictReader(io.StringIO(files["turns.csv"].decode("utf-8-sig")))
    assert row == {"turn_id": "t-1", "whose": "user:ann", "content": "你好"}
    assert pl.read_parquet(io.BytesIO(files["turns.parquet"])).rows(named=True) == [row]
    blamed = pl.read_parquet(io.BytesIO(files["blame.parquet"]))
    assert len(blamed) == len(files["blame.jsonl"].splitlines()) > 0
    assert exported.counts.others == {"looks": 0, "turns": 1}
    assert exported.others["turns"][0]["whose"] == "user:ann"
