"""Retention and the rotation of the key from the command line."""

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from muniment import MemoryStore
from muniment.domain.policy import YEAR_US
from tests.api.cli.command_line import COMMAND, WAIT_S, CommandLine, at_a_terminal
from tests.stores import NEW_YEAR, SECOND, SettableClock


USER = ("--user", "u-1")
LITTLE = ("--importance-below", "0.5")


def remembered(cli: CommandLine, content: str, *said: str, user: str = "u-1") -> str:
    fact_id: str = cli.ask("remember", content, "--user", user, *said)["fact_id"]
    return fact_id


def test_a_plan_says_which_facts_and_why_and_writes_nothing(cli: CommandLine) -> None:
    remembered(cli, "kept")
    gone = remembered(cli, "gone", "--importance", "0.1")

    due = cli.ask("retain", *LITTLE, "--plan")["due"]

    assert due == [
        {
            "cause": "unimportant",
            "count": 1,
            "fact_id": gone,
            "holds": [],
            "records": None,
            "scope": "user:u-1",
            "session_id": None,
            "survivor": None,
            "until": None,
            "versions": [],
        }
    ]
    assert len(cli.ask("list", *USER)["items"]) == 2


def test_what_is_due_is_retired_of_everybody_or_of_one(cli: CommandLine) -> None:
    mine = remembered(cli, "a", "--importance", "0.1")
    yours = remembered(cli, "b", "--importance", "0.1", user="u-2")

    one = cli.ask("retain", *LITTLE, *USER, "--yes")
    rest = cli.ask("retain", *LITTLE, "--yes")
    nothing = cli.ask("retain", *LITTLE, "--yes")

    assert one == {"retired": [mine], "thinned": [], "expired": {}}
    assert rest == {"retired": [yours], "thinned": [], "expired": {}}
    assert nothing == {"retired": [], "thinned": [], "expired": {}}
    last = cli.ask("history", mine)["versions"][-1]
    assert (last["kind"], last["action"], last["trigger"]) == (
        "retired",
        "retain",
        "retention",
    )
    cli.ask("restore", mine)
    assert [each["fact_id"] for each in cli.ask("list", *USER)["items"]] == [mine]


def test_rules_are_read_from_a_file(cli: CommandLine, tmp_path: Path) -> None:
    rules = tmp_path / "rules.toml"
    rules.write_text(
        '[[rule]]\ncategory = "chat"\nimportance_below = 1\n\n'
        '[[rule]]\nolder_than = "52w"\n'
    )
    chat = remembered(cli, "a", "--category", "chat")
    remembered(cli, "b", "--category", "job")

    due = cli.ask("retain", "--rules", str(rules), "--plan")["due"]

    assert [each["fact_id"] for each in due] == [chat]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("[[rule]", "InvalidValueError"),
        ("rule = 1", "InvalidValueError"),
        ("[[rules]]\ncategory = 'a'", "UnknownFieldError"),
        ("[[rule]]\ncategory = 'a'", "InvalidValueError"),
        ("[[rule]]\nolder = '90d'", "UnknownFieldError"),
        ("[[rule]]\nolder_than = 90", "InvalidValueError"),
        ("[[rule]]\nolder_than = '90 days'", "InvalidValueError"),
        ("[[rule]]\nimportance_below = '1'", "InvalidValueError"),
        ("[[rule]]\nimportance_below = 2", "InvalidValueError"),
        ("[[rule]]\ncategory = 1\nolder_than = '1d'", "InvalidValueError"),
    ],
)
def test_a_file_that_is_no_rules_is_refused(
    cli: CommandLine, tmp_path: Path, text: str, error: str
) -> None:
    rules = tmp_path / "rules.toml"
    rules.write_text(text)

    assert cli.fails("retain", "--rules", str(rules), "--yes") == (2, error)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ([*LITTLE], "UsageError"),
        (["--older-than", "soon", "--yes"], "InvalidValueError"),
        (["--older-than", "0d", "--yes"], "InvalidValueError"),
        (["--category", "chat", "--yes"], "InvalidValueError"),
        (["--every", "often", "--yes"], "InvalidValueError"),
    ],
)
def test_retention_that_is_not_clear_is_refused(
    cli: CommandLine, arguments: list[str], error: str
) -> None:
    gone = remembered(cli, "a", "--importance", "0.1")

    assert cli.fails("retain", *arguments) == (2, error)
    assert cli.ask("get", gone)["content"] == "a"


def test_a_hold_keeps_what_rules_would_retire(cli: CommandLine) -> None:
    remembered(cli, "a", "--importance", "0.1")
    cli.ask("hold", *USER, "--matter", "case 1")

    assert cli.ask("retain", *LITTLE, "--yes") == {
        "retired": [],
        "thinned": [],
        "expired": {},
    }


@pytest.mark.slow
def test_a_schedule_runs_again_until_it_is_interrupted(cli: CommandLine) -> None:
    gone = remembered(cli, "a", "--importance", "0.1")
    store = str(cli.store)
    command = [str(COMMAND), "retain", *LITTLE, "--yes", "--every", "1s", "--store", store]

    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        first = [running.stdout.readline() for _ in range(7)]
        second = [running.stdout.readline() for _ in range(5)]
        os.kill(running.pid, signal.SIGINT)
        code = running.wait(timeout=WAIT_S)

    assert json.loads("".join(first)) == {"retired": [gone], "thinned": [], "expired": {}}
    assert json.loads("".join(second)) == {"retired": [], "thinned": [], "expired": {}}
    assert code == 130


@pytest.mark.slow
def test_a_person_sees_what_is_due_and_is_asked(cli: CommandLine) -> None:
    gone = remembered(cli, "a", "--importance", "0.1")
    command = ["retain", *LITTLE, "--store", str(cli.store)]

    refused, seen = at_a_terminal(command, typed="n\n")
    kept = cli.ask("get", gone)["content"]
    done, _ = at_a_terminal(command, typed="y\n")

    assert (refused, kept, done) == (130, "a", 0)
    assert gone in seen
    assert "Retire 1 facts?" in seen
    assert cli.fails("get", gone) == (3, "FactNotCurrentError")


def test_records_are_shown_asked_for_and_reported(cli: CommandLine) -> None:
    clock = SettableClock(NEW_YEAR - YEAR_US)
    with MemoryStore.open(cli.store, clock=clock) as store:
        store.remember("茶 tea", user_id="u-1")
        store.search("tea", user_id="u-1")
        store.flush_receipts()
    rule = ("--records", "receipt", "--older-than", "184d")
    command = ["retain", *rule, "--store", str(cli.store)]

    (due,) = cli.ask("retain", *rule, "--plan")["due"]
    refused, seen = at_a_terminal(command, typed="n\n")
    waiting = cli.ask("retention-report", *rule, *USER)
    done = cli.ask("retain", *rule, "--yes")
    report = cli.ask("retention-report", *rule, "--start", "2026-01-01T00:00:00Z")
    _, told = at_a_terminal(["retention-report", "--store", str(cli.store)], typed="")

    assert (due["records"], due["count"], due["fact_id"]) == ("receipt", 1, None)
    assert refused == 130
    assert "make 1 records unreadable?" in seen
    assert (waiting["due"], waiting["acts"]) == ([due], [])
    assert done == {"retired": [], "thinned": [], "expired": {"receipt": 1}}
    assert [(e["records"], e["remaining"]) for e in report["acts"]] == [("receipt", 0)]
    assert (report["status"], report["due"]) == ("DONE", [])
    assert "muniment retention report 2" in told


@pytest.mark.slow
def test_what_is_thinned_is_shown_asked_for_and_told_by_history(cli: CommandLine) -> None:
    clock = SettableClock(NEW_YEAR - 5 * YEAR_US)
    with MemoryStore.open(cli.store, clock=clock) as store:
        fact_id = store.remember("vor langer Zeit 很久以前", user_id="u-1").fact_id
        clock.now += SECOND
        store.update(fact_id, content="danach")
    rule = ("--thin-older-than", "365d")
    command = ["retain", *rule, "--store", str(cli.store)]

    (due,) = cli.ask("retain", *rule, "--plan")["due"]
    refused, seen = at_a_terminal(command, typed="n\n")
    done = cli.ask("retain", *rule, "--yes")
    history = cli.ask("history", fact_id)["versions"]
    _, told = at_a_terminal(["history", fact_id, "--store", str(cli.store)], typed="")
    at = history[0]["recorded_at"]

    assert (due["cause"], due["versions"]) == ("thinned", [[1, 1]])
    assert refused == 130
    assert "thinned v1" in seen
    assert "Retire 0 facts, and thin 1 for good?" in seen
    assert done == {"retired": [], "thinned": [fact_id], "expired": {}}
    assert [each["content"] for each in history] == [None, "danach", None]
    assert history[-1]["thinned"] == [[1, 1]]
    assert "(unreadable)" in told
    assert "made unreadable: v1" in told
    assert cli.fails("as-of", at, *USER) == (3, "ThinnedError")
    assert cli.fails("retain", "--thin-older-than", "364d") == (2, "InvalidValueError")


def test_the_key_is_replaced_and_everything_can_be_read(cli: CommandLine) -> None:
    fact_id = remembered(cli, "a")
    before = (cli.store / "key").read_text()

    answer = cli.ask("rotate-key")

    after = (cli.store / "key").read_text()
    assert answer == {"keys": 2}
    assert before != after
    assert len(after.split()) == 1
    assert cli.ask("get", fact_id)["content"] == "a"


def test_a_key_of_the_environment_is_named_twice_to_be_replaced(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    fact_id = remembered(cli, "a")
    old, new = (cli.store / "key").read_text().strip(), "ab" * 32

    monkeypatch.setenv("MUNIMENT_KEY", old)
    assert cli.fails("rotate-key") == (2, "ConfigurationError")
    monkeypatch.setenv("MUNIMENT_KEY", f"{old},{new}")
    assert cli.ask("rotate-key") == {"keys": 2}
    monkeypatch.setenv("MUNIMENT_KEY", new)
    assert cli.ask("get", fact_id)["content"] == "a"
    monkeypatch.setenv("MUNIMENT_KEY", old)
    assert cli.fails("get", fact_id) == (1, "VaultMismatchError")
