"""The archive, evidence, export and import from the command line."""

import io
import json
import zipfile
from pathlib import Path

import pytest
from rich.console import Console

from muniment import Scope
from muniment.api.cli.answers import Answer, ArchiveRun, FromArchive
from muniment.api.cli.rendering import rendered
from muniment.api.giving import Evidence
from muniment.api.importing import Imported
from muniment.archive.told import ArchivePlan, Rows
from muniment.archive.verifier import main
from tests.api.cli.command_line import COMMAND, CommandLine, process


USER = ("--user", "u-1")


def remembered(cli: CommandLine, content: str) -> str:
    fact_id: str = cli.ask("remember", content, *USER)["fact_id"]
    return fact_id


def test_an_archive_is_planned_written_pruned_and_asked(cli: CommandLine) -> None:
    fact_id = remembered(cli, "用户写 Python")
    cli.ask("correct", fact_id, "用户写 Rust")

    young = cli.ask("archive", "--older-than", "365d", "--plan")
    plan = cli.ask("archive", "--plan")
    written = cli.ask("archive", "--prune")
    again = cli.ask("archive", "--prune")
    asked = cli.ask("archive", "query", "SELECT count(*) AS events FROM events")

    assert (young["last_position"], plan["last_position"]) == (0, 2)
    assert (written["events"], written["segments"], written["pruned"]) == (2, 1, 1)
    assert (again["events"], again["pruned"]) == (0, 0)
    assert asked == {"columns": ["events"], "rows": [[2]]}
    versions = cli.ask("history", fact_id)["versions"]
    assert [each["content"] for each in versions] == ["用户写 Python", "用户写 Rust"]
    assert cli.ask("verify")["findings"] == []


def test_a_ledger_that_is_gone_comes_back_from_its_archive(cli: CommandLine) -> None:
    fact_id = remembered(cli, "用户写 Python")
    cli.ask("archive")
    remembered(cli, "later")
    cli.ask("tree-head", "--json")
    for file in cli.store.glob("ledger.db*"):
        file.unlink()

    made = cli.ask("rebuild", "--from-archive")

    assert made == {"events": 1, "last_position": 1, "signed": 1}
    assert [each["fact_id"] for each in cli.ask("list", *USER)["items"]] == [fact_id]
    assert cli.fails("rebuild", "--from-archive", "--ledger", "other")[1] == (
        "StoreNotFoundError"
    )


def test_evidence_is_written_once_and_checks(cli: CommandLine, tmp_path: Path) -> None:
    remembered(cli, "用户写 Python")
    file = tmp_path / "evidence.zip"
    asked = ("evidence", *USER, "--matter", "case 1", "--out", str(file))

    assert cli.on_store(*asked).code == 2
    made = cli.ask(*asked, "--reason", "ordered", "--actor", "officer-1")

    assert made["file"] == str(file)
    assert main([str(file)]) == 0
    assert cli.fails(*asked, "--reason", "again") == (2, "InvalidValueError")
    with zipfile.ZipFile(file) as package:
        manifest = json.loads(package.read("manifest.json"))
    assert (manifest["reason"], manifest["made_by"]) == ("ordered", "officer-1")
    command = COMMAND.with_name("muniment-verify")
    assert command.exists()


def test_an_export_goes_into_another_store_once(cli: CommandLine, tmp_path: Path) -> None:
    fact_id = remembered(cli, "用户写 Python")
    file, page = tmp_path / "u-1.json", tmp_path / "u-1.html"

    document = cli.ask("export", *USER)
    cli.ask("export", *USER, "--out", str(file), "--html", str(page))
    cli.run("init", "--store", str(tmp_path / "other"))
    there = ("--store", str(tmp_path / "other"))
    first = cli.run("import", str(file), *there).answer
    second = cli.run("import", str(file), *there).answer

    assert document["facts"][0]["fact_id"] == fact_id
    assert "用户写 Python" in page.read_text(encoding="utf-8")
    assert (first["facts"], first["events"], second["events"]) == (1, 3, 0)
    found = cli.run("get", fact_id, *there).answer
    assert found["content"] == "用户写 Python"


def test_a_part_of_everything_is_exported_where_that_is_asked_for(cli: CommandLine) -> None:
    cli.ask("remember", "喝茶", "--user", "u-2")
    fact_id = remembered(cli, "met u-2 today")

    hiding = cli.ask("export", *USER, "--hide-others")
    named = cli.ask("export", *USER, "--third-party", "today")
    provided = cli.ask("export", *USER, "--source", "user_explicit")
    told = cli.ask("export", *USER, "--source", "tool_result")

    assert (hiding["hidden"], hiding["facts"][0]["current"]) == (
        1,
        "met [third party 1] today",
    )
    assert named["hidden"] == 2
    assert "today" not in named["facts"][0]["current"]
    assert [each["fact_id"] for each in provided["facts"]] == [fact_id]
    assert (told["facts"], told["sources"]) == ([], ["tool_result"])


@pytest.mark.parametrize(
    ("answer", "shown"),
    [
        (
            ArchivePlan(first_position=3, last_position=4, archived=2, months=("2026-03",)),
            "2 events, positions 3 to 4, 2026-03 to 2026-03; 2 are archived already",
        ),
        (
            ArchivePlan(first_position=3, last_position=2, archived=2, months=()),
            "nothing to write, 2 events are archived",
        ),
        (
            ArchiveRun(segments=1, events=2, byte_count=900, last_position=4, pruned=1),
            "up to position 4; 1 payloads left the database",
        ),
        (FromArchive(events=2, last_position=2, signed=2), "2 events restored"),
        (FromArchive(events=2, last_position=2, signed=3), "those past 2 are not in it"),
        (Rows(columns=("topic",), rows=(("fact.\x1b[31m",),)), "\\x1b[31m"),
        (Evidence(file="e.zip", byte_count=9, sha256="ab"), "e.zip, 9 bytes, SHA-256 ab"),
        (
            Imported(scope=Scope.user("u-1"), facts=1, events=0, known=3),
            "user:u-1: 1 facts, 0 events, 3 were there",
        ),
    ],
)
def test_a_person_reads_what_was_done(answer: Answer, shown: str) -> None:
    console = Console(file=io.StringIO(), width=200)

    console.print(rendered(answer))

    assert isinstance(console.file, io.StringIO)
    assert shown in console.file.getvalue()


def test_the_help_of_the_archive_names_its_question() -> None:
    shown = process("archive", "--help")

    assert shown.code == 0
    assert "query" in shown.out
