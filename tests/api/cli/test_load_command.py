"""Loading a file from the command line."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.api.cli.command_line import CommandLine, at_a_terminal, process


GOOD = {"content": "用户写 Python", "user_id": "u-1"}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file whose second line is bad."""
    file = tmp_path / "facts.jsonl"
    file.write_text(f"{json.dumps(GOOD)}\n{{\n", encoding="utf-8")
    return file


def listed(cli: CommandLine) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = cli.ask("list", "--user", "u-1")["items"]
    return found


def test_a_bad_line_is_named_and_nothing_is_loaded(cli: CommandLine, file: Path) -> None:
    outcome = cli.on_store("load", str(file), "--json")

    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.error["error"] == "LoadError"
    assert "line 2: is not JSON" in outcome.error["message"]
    assert listed(cli) == []


def test_or_the_rest_is_loaded_and_the_bad_line_is_named_still(
    cli: CommandLine, file: Path
) -> None:
    outcome = cli.on_store("load", str(file), "--keep-going", "--json")

    answer = json.loads(outcome.out)
    assert outcome.code == 2
    assert outcome.error["error"] == "LoadError"
    assert (answer["lines"], answer["facts"], answer["known"]) == (1, 1, 0)
    assert [each["line"] for each in answer["problems"]] == [2]
    assert [each["content"] for each in listed(cli)] == ["用户写 Python"]


def test_a_good_file_answers_what_was_loaded_and_then_what_was_known(
    cli: CommandLine, file: Path
) -> None:
    file.write_text(json.dumps(GOOD))

    first, again = cli.ask("load", str(file)), cli.ask("load", str(file))

    assert first == {"facts": 1, "known": 0, "lines": 1, "problems": []}
    assert again == {"facts": 0, "known": 1, "lines": 1, "problems": []}


def test_who_loads_and_why_is_kept(cli: CommandLine, file: Path) -> None:
    file.write_text(json.dumps(GOOD))

    cli.ask("load", str(file), "--actor", "importer-1", "--reason", "move")

    (version,) = cli.ask("history", listed(cli)[0]["fact_id"])["versions"]
    assert (version["actor"], version["reason"]) == ("importer-1", "move")
    assert version["trigger"] == "load"


@pytest.mark.parametrize(
    "arguments",
    [["nowhere.jsonl"], ["."], ["FILE", "--idempotency-key", "k"], ["FILE", "--turn", "t"]],
)
def test_what_cannot_be_loaded_is_refused(
    cli: CommandLine, file: Path, arguments: list[str]
) -> None:
    given = [str(file) if each == "FILE" else each for each in arguments]

    assert cli.fails("load", *given) == (2, "UsageError")


@pytest.mark.slow
def test_a_real_pipe_gets_json_and_a_person_a_progress_bar(
    cli: CommandLine, file: Path
) -> None:
    lines = [{**GOOD, "content": f"fact {number}"} for number in range(1_200)]
    file.write_text("".join(f"{json.dumps(each)}\n" for each in lines))

    piped = process("load", str(file), "--store", str(cli.store))
    code, seen = at_a_terminal(["load", str(file), "--store", str(cli.store)])

    assert (piped.err, piped.answer["facts"]) == ("", 1_200)
    assert code == 0
    assert "write" in seen
    assert "100%" in seen
    assert "0 facts loaded from 1,200 lines, 1,200 were loaded before" in seen
