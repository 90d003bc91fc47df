"""A wrong answer looked into from the command line."""

import json
from pathlib import Path

from tests.api.cli.command_line import CommandLine, at_a_terminal


def test_the_command_line_hands_on_a_case(cli: CommandLine, tmp_path: Path) -> None:
    fact = cli.ask("remember", "用户写 Rust", "--user", "u-1", "--source", "chat")
    at = ("--user", "u-1", "--at", fact["recorded_at"])

    found = cli.ask("reproduce", *at, "--out", str(tmp_path / "case"))

    names = [Path(each).name for each in found["files"]]
    assert names == ["case.json", "reproduce.py", "test_badcase.py"]
    assert [each["content"] for each in found["case"]["memory"]["facts"]] == ["用户写 Rust"]
    kept = json.loads((tmp_path / "case" / "case.json").read_text(encoding="utf-8"))
    assert kept == found["case"]
    assert cli.fails("reproduce", *at, "--agent", "nowhere:nobody")[0] == 2
    assert cli.fails("reproduce", *at, "--out", str(tmp_path / "case"))[0] == 2
    why = cli.ask("why", "--user", "u-1", "--expect", "用户写 Rust")
    assert why["stage"] == "not recalled"
    shown = at_a_terminal(
        ["why", "--user", "u-1", "--expect", "用户写 Rust", "--store", str(cli.store)]
    )
    assert shown[0] == 0
    assert "was it written" in shown[1]
