"""What a person sees: tables, colour, help."""

from pathlib import Path

import pytest
import typer.main

from muniment.api.cli import app
from muniment.api.cli.terminal import visible
from tests.api.cli.command_line import CommandLine, at_a_terminal, process


USER = ("--user", "u-1")
ESCAPE = "\x1b["


@pytest.mark.slow
def test_a_person_gets_tables_in_colour_with_all_that_was_said(cli: CommandLine) -> None:
    fact = cli.ask("remember", "用户写 Python", *USER, "--category", "job")
    later = cli.ask("correct", fact["fact_id"], "用户写 [red]Rust", "--actor", "a-1")
    store = ("--store", str(cli.store))

    code, seen = at_a_terminal(["as-of", later["recorded_at"], *USER, *store])

    assert code == 0
    assert ESCAPE in seen
    assert "1 belief known at" in seen
    assert fact["fact_id"] in seen
    assert "用户写 [red]Rust" in seen
    assert "{" not in seen


@pytest.mark.slow
def test_json_is_json_at_a_terminal_too(cli: CommandLine) -> None:
    code, seen = at_a_terminal(["list", *USER, "--store", str(cli.store), "--json"])

    assert code == 0
    assert seen.startswith("{\r\n")
    assert ESCAPE not in seen


def test_each_answer_has_a_table(shown: CommandLine) -> None:
    shown.on_store("remember", "says this", *USER, "--core")
    fact = shown.on_store("list", *USER, "--json").answer["items"][0]
    fact_id, began = fact["fact_id"], fact["recorded_at"]
    shown.on_store("correct", fact_id, "says that", "--actor", "a-1", "--reason", "因为")

    def seen(*arguments: str) -> str:
        outcome = shown.on_store(*arguments)
        assert outcome.code == 0, outcome.err
        return " ".join(outcome.out.split())

    assert "believed now: says that" in seen("history", fact_id)
    assert "by a-1, trigger user_explicit, source user_explicit, because 因为" in seen(
        "history", fact_id
    )
    assert "- says this" in seen("diff", began, *_now(shown), *USER)
    assert "no difference" in seen("diff", began, began, *USER)
    assert "v2 corrected" in seen("modified", began, *USER)
    assert "nothing was recorded" in seen("modified", "2020-01-01T00:00:00Z", began, *USER)
    assert "says that" in seen("blame", *USER)
    assert "nothing is believed there" in seen("blame", "--user", "u-2")
    assert "says that" in seen("get", fact_id)
    assert "nothing" in seen("list", "--user", "u-2")
    assert "planned at position 2" in seen(
        "rollback", fact_id, "--to-version", "1", "--dry-run"
    )
    assert "transaction 3" in seen("rollback", fact_id, "--to-version", "1", "--yes")
    assert "brought back" in seen("blame", *USER)
    assert "as after v1" in seen("history", fact_id)
    assert "+ says that" in seen("undo", "3")
    assert "nothing to do" in seen("rollback", fact_id, "--to-version", "4", "--yes")
    assert "until" in seen("end", fact_id) + seen("history", fact_id)
    assert "nothing is believed now" in seen("history", fact_id)
    assert "folded anew" in seen("rebuild")
    assert "is there already" in seen("init")


def test_a_conflict_shows_who_wrote_on_top(shown: CommandLine) -> None:
    shown.on_store("remember", "first", *USER, "--session", "s-1")
    fact_id = shown.on_store("list", *USER, "--json").answer["items"][0]["fact_id"]
    shown.on_store("correct", fact_id, "second", "--session", "s-2", "--actor", "a-2")

    outcome = shown.on_store("rollback", *USER, "--where-session", "s-1", "--dry-run")

    assert f"conflict: {fact_id}, others wrote on top" in outcome.out
    assert "by a-2" in " ".join(outcome.out.split())


def _now(cli: CommandLine) -> tuple[str]:
    return (cli.on_store("as-of", *USER, "--json").answer["recorded_at"],)


def test_content_cannot_move_the_cursor_or_turn_text_around(shown: CommandLine) -> None:
    shown.on_store("remember", "a\x1b[2Jb\u202ec 👩‍💻 d\u3000e\nf", *USER)

    seen = shown.on_store("list", *USER).out

    assert "a\\x1b[2Jb\\u202ec 👩‍💻 d\u3000e" in seen
    assert "\x1b" not in seen


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("用户写 Python", "用户写 Python"),
        ("é\u0301 🇨🇳 \u200d", "é\u0301 🇨🇳 \u200d"),
        ("\x9b31m\u2028\x00\x7f\r", "\\x9b31m\\u2028\\x00\\x7f\\r"),
        ("\ud800", "\\ud800"),
    ],
)
def test_what_a_terminal_would_obey_is_spelled_out(text: str, seen: str) -> None:
    assert visible(text) == seen


def commands() -> list[str]:
    return [str(each.name) for each in app.registered_commands]


@pytest.mark.parametrize("command", commands())
def test_the_help_of_each_command_has_an_example(cli: CommandLine, command: str) -> None:
    outcome = cli.run(command, "--help")

    assert outcome.code == 0
    assert f"$ muniment {command}" in outcome.out
    assert "--store" in outcome.out
    assert "--json" in outcome.out


def test_the_help_of_as_of_explains_the_two_clocks(cli: CommandLine) -> None:
    text = " ".join(cli.run("as-of", "--help").out.split())

    assert "Recorded time is when the store learned something" in text
    assert "Valid time is when something holds in the world" in text


def test_without_a_command_there_is_help_and_an_error(cli: CommandLine) -> None:
    outcome = cli.run()

    assert outcome.code == 2
    assert "as-of" in outcome.out + outcome.err


def test_a_mistyped_command_is_told_where_to_look(cli: CommandLine) -> None:
    outcome = cli.run("histroy")

    assert outcome.code == 2
    assert "history" in outcome.err
    assert outcome.err.count("\n") == 1


def test_every_option_says_what_it_is_for() -> None:
    group = typer.main.get_command(app)
    context = group.make_context("muniment", ["list", "--org"], resilient_parsing=True)

    silent = [
        f"{name} {parameter.name}"
        for name in commands()
        for parameter in group.get_command(context, name).params  # type: ignore[attr-defined]
        if not getattr(parameter, "help", None)
    ]

    assert silent == []


@pytest.mark.slow
def test_the_version_is_said_without_loading_a_database_library(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import atexit, sys\n"
        "heavy = {'sqlalchemy', 'pydantic', 'psycopg', 'rich', 'eventsourcing'}\n"
        "atexit.register(lambda: sys.stderr.write(' '.join(heavy & set(sys.modules))))\n"
    )

    outcome = process("--version", env={"PYTHONPATH": str(tmp_path)})

    assert (outcome.code, outcome.out, outcome.err) == (0, "muniment 0.1.0\n", "")
