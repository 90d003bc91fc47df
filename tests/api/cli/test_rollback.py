"""Rolling back from the command line: planned, asked, done, undone."""

from typing import Any

import pytest

from tests.api.cli.command_line import CommandLine, at_a_terminal


USER = ("--user", "u-1")


@pytest.fixture
def fact(cli: CommandLine) -> dict[str, Any]:
    """A fact whose second version a bad session wrote."""
    fact: dict[str, Any] = cli.ask("remember", "right", *USER)
    cli.ask("correct", fact["fact_id"], "wrong", "--session", "bad", "--source", "web")
    return fact


def content(cli: CommandLine, fact: dict[str, Any]) -> str:
    found: str = cli.ask("get", fact["fact_id"])["content"]
    return found


def test_a_dry_run_answers_the_plan_and_writes_nothing(
    cli: CommandLine, fact: dict[str, Any]
) -> None:
    plan = cli.ask("rollback", fact["fact_id"], "--to-version", "1", "--dry-run")

    assert plan.keys() == {
        "action",
        "conflicts",
        "diff",
        "origin",
        "position",
        "recorded_at",
        "scope",
        "skipped",
    }
    (entry,) = plan["diff"]["changed"]
    assert (entry["before"]["content"], entry["after"]["content"]) == ("wrong", "right")
    assert (plan["action"], plan["scope"], plan["position"]) == ("rollback", "user:u-1", 2)
    assert content(cli, fact) == "wrong"


def test_a_pipe_is_never_asked(cli: CommandLine, fact: dict[str, Any]) -> None:
    outcome = cli.on_store("rollback", fact["fact_id"], "--to-version", "1")

    assert outcome.code == 2
    assert outcome.out == ""
    assert "--yes" in outcome.err
    assert content(cli, fact) == "wrong"


@pytest.mark.parametrize(
    "cause",
    [
        ["--where-session", "bad"],
        ["--where-source", "web"],
        ["--where-session", "bad", "--where-source", "web"],
    ],
)
def test_a_cause_is_rolled_back(
    cli: CommandLine, fact: dict[str, Any], cause: list[str]
) -> None:
    receipt = cli.ask("rollback", *USER, *cause, "--yes", "--actor", "officer-1")

    assert [each["fact_id"] for each in receipt["diff"]["changed"]] == [fact["fact_id"]]
    assert content(cli, fact) == "right"
    last = cli.ask("history", fact["fact_id"])["versions"][-1]
    assert (last["kind"], last["actor"]) == ("rolled_back", "officer-1")


def test_a_moment_is_brought_back(cli: CommandLine, fact: dict[str, Any]) -> None:
    cli.ask("rollback", *USER, "--to", fact["recorded_at"], "--yes")

    assert content(cli, fact) == "right"


def test_a_version_is_brought_back_undone_and_redone(
    cli: CommandLine, fact: dict[str, Any]
) -> None:
    done = cli.ask("rollback", fact["fact_id"], "--to-version", "1", "--yes")
    first = content(cli, fact)
    undone = cli.ask("undo", str(done["tx_id"]))
    second = content(cli, fact)
    redone = cli.ask("undo", str(undone["tx_id"]))

    assert (first, second, content(cli, fact)) == ("right", "wrong", "right")
    assert redone["diff"]["changed"][0]["after"]["content"] == "right"


def test_what_others_wrote_on_top_is_a_conflict_to_decide(
    cli: CommandLine, fact: dict[str, Any]
) -> None:
    cli.ask("correct", fact["fact_id"], "on top", "--session", "good")
    back = ("rollback", *USER, "--where-session", "bad", "--yes")

    aborted = cli.fails(*back)
    skipped = cli.ask(*back, "--on-conflict", "skip")
    kept = content(cli, fact)
    cli.ask(*back, "--on-conflict", "force")

    assert aborted == (4, "RollbackConflictError")
    assert (skipped["tx_id"], kept) == (None, "on top")
    assert content(cli, fact) == "right"


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["01m8nqhdc08zyb7218v6btq1av"],
        ["--to-version", "1"],
        ["01m8nqhdc08zyb7218v6btq1av", "--to-version", "1", *USER],
        ["--to", "2026-01-01T00:00:00Z"],
        [*USER],
        [*USER, "--to", "2026-01-01T00:00:00Z", "--where-session", "s"],
        [*USER, "--where-session", "s", "--on-conflict", "perhaps"],
    ],
)
def test_a_rollback_is_exactly_one_of_three(cli: CommandLine, arguments: list[str]) -> None:
    assert cli.fails("rollback", *arguments, "--yes") == (2, "UsageError")


def test_times_alone_are_no_cause(cli: CommandLine) -> None:
    since = ("--since", "2026-01-01T00:00:00Z")

    assert cli.fails("rollback", *USER, *since, "--yes") == (2, "InvalidValueError")


@pytest.mark.slow
@pytest.mark.parametrize("named", [(), ("--as", "u-1")])
def test_a_person_sees_the_plan_and_says_yes(
    cli: CommandLine, fact: dict[str, Any], named: tuple[str, ...]
) -> None:
    back = ["rollback", *USER, "--where-session", "bad", "--store", str(cli.store)]

    code, seen = at_a_terminal([*back, *named], typed="y\n")

    assert code == 0
    shown, _, after = seen.partition("Roll back 1 fact? [y/N]")
    assert "wrong" in shown
    assert "right" in shown
    assert "transaction 3" in after
    assert content(cli, fact) == "right"


@pytest.mark.slow
@pytest.mark.parametrize("typed", ["n\n", "\x04"])
def test_a_person_says_no_and_nothing_is_written(
    cli: CommandLine, fact: dict[str, Any], typed: str
) -> None:
    back = ["rollback", *USER, "--where-session", "bad", "--store", str(cli.store)]

    code, seen = at_a_terminal(back, typed=typed)

    assert code == 130
    assert "Roll back 1 fact? [y/N]" in seen
    assert "transaction" not in seen.partition("[y/N]")[2]
    assert content(cli, fact) == "wrong"
