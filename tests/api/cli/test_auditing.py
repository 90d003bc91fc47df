"""Looking as somebody, and seeing who looked, on the command cli."""

import signal
import subprocess
from pathlib import Path
from typing import Any

import httpx
import pytest

from muniment import MemoryStore
from muniment.api.cli import exits
from tests.access.matrix import IDENTITIES, REASON
from tests.api.cli.command_line import COMMAND, CommandLine, at_a_terminal


OFFICER = ("--as", "officer-1", "--reason", REASON)


@pytest.fixture
def remembered(cli: CommandLine) -> dict[str, Any]:
    fact: dict[str, Any] = cli.ask("remember", "住在杭州", "--user", "u-1")
    for options in (("--team", "eng"), ("--org",)):
        cli.ask("remember", "likes tea", *options)
    return fact


def test_an_officer_looks_back_and_the_record_says_so(
    cli: CommandLine, remembered: dict[str, Any]
) -> None:
    then, fact_id = remembered["recorded_at"], remembered["fact_id"]

    snapshot = cli.ask("audit", "as-of", then, "--user", "u-1", *OFFICER)
    history = cli.ask("audit", "history", fact_id, *OFFICER, "--matter", "案件 7")
    difference = cli.ask("audit", "diff", then, then, "--user", "u-1", *OFFICER)
    seen = cli.ask(
        *("audit", "log", "--user", "u-1", "--as", "a-1", "--role", "auditor"),
        *("--reason", "quarterly review"),
    )

    assert [each["content"] for each in snapshot["facts"]] == ["住在杭州"]
    assert history["current_content"] == "住在杭州"
    assert difference["added"] == []
    assert [each["verb"] for each in seen["items"]] == [
        *("diff_memory", "get_fact_history", "get_memory_as_of"),
    ]
    assert {each["actor"] for each in seen["items"]} == {"officer-1"}
    assert [each["matter"] for each in seen["items"]] == [None, "案件 7", None]


def test_without_a_name_or_a_reason_nothing_is_shown(
    cli: CommandLine, remembered: dict[str, Any]
) -> None:
    then = remembered["recorded_at"]
    asked = ("audit", "as-of", then, "--user", "u-1")

    assert cli.fails(*asked) == (exits.BAD_INPUT, "UsageError")
    assert cli.fails(*asked, "--as", "officer-1") == (2, "ReasonRequiredError")
    assert cli.fails(*asked, *OFFICER[:2], "--reason", "audit") == (
        2,
        "ReasonRequiredError",
    )
    assert cli.ask("audit", "log", *OFFICER)["items"] == []


def test_keys_are_issued_listed_rolled_and_ended(cli: CommandLine) -> None:
    cli.ask("remember", "likes tea", "--user", "u-1")
    agent = ("--kind", "agent", "--user", "u-1", "--verb", "get_all", "--verb", "search")
    first = cli.ask("keys", "issue", "a-1", *agent, "--actor", "root", "--reason", "new")
    second = cli.ask("keys", "roll", first["key_id"])
    shown = cli.ask("whoami", "--api-key", second["secret"])
    cli.ask("keys", "revoke", second["key_id"])

    assert (shown["id"], shown["kind"], shown["user_id"]) == ("a-1", "agent", "u-1")
    refused = cli.fails("whoami", "--api-key", second["secret"])
    assert refused == (5, "NotAuthenticatedError")
    (new, old) = cli.ask("keys", "list")["keys"]
    assert (old["issued_by"], old["revoked"], new["revoked"]) == ("root", True, True)
    assert old["verbs"] == ["get_all", "search"]
    assert cli.ask("whoami", "--as", "o-1")["roles"] == ["compliance_officer"]


def test_a_key_is_shown_in_one_piece_at_a_narrow_terminal(cli: CommandLine) -> None:
    issue = ["keys", "issue", "u-1", "--store", str(cli.store)]

    code, seen = at_a_terminal(issue, columns=40)

    assert code == 0
    head, secret = seen.splitlines()
    assert head == "shown this once, and kept nowhere:"
    assert cli.ask("whoami", "--api-key", secret)["id"] == "u-1"


def test_an_emergency_is_listed_and_reviewed(cli: CommandLine) -> None:
    cli.ask("remember", "likes tea", "--user", "u-1")
    with MemoryStore.open(cli.store) as store:
        engineer = store.acting_as(IDENTITIES["on_call"])
        engineer.get_all(user_id="u-1", reason=REASON, break_glass=True)

    (waiting,) = cli.ask("audit", "emergencies", *OFFICER)["items"]
    cli.ask("audit", "review", waiting["glass_id"], *OFFICER)

    assert waiting["actor"] == "o-4"
    assert cli.ask("audit", "emergencies", *OFFICER)["items"] == []


@pytest.mark.slow
def test_an_answer_that_was_given_is_on_record_though_the_service_is_killed_then(
    cli: CommandLine, remembered: dict[str, Any]
) -> None:
    key = cli.ask("keys", "issue", "o-1", "--role", "compliance_officer")["secret"]
    environment = {"MUNIMENT_EMBEDDER": "none", "MUNIMENT_UPKEEP": "false", "PATH": ""}
    command: list[str | Path] = [COMMAND, "serve", "--store", str(cli.store), "--port", "0"]
    headers = {"Authorization": f"Bearer {key}", "Muniment-Reason": "complaint 2026-17"}

    with subprocess.Popen(
        command, stderr=subprocess.PIPE, env=environment, text=True
    ) as service:
        assert service.stderr is not None
        url = service.stderr.readline().split()[-1]
        history = f"{url}/v1/facts/{remembered['fact_id']}/history"
        answer = httpx.get(history, headers=headers, timeout=30)
        service.kill()
    killed = service.returncode

    assert killed == -signal.SIGKILL
    assert answer.json()["current_content"] == "住在杭州"
    (entry,) = cli.ask("audit", "log", *OFFICER)["items"]
    assert entry["reason"] == "complaint 2026-17"
    assert entry["returned"] == [[remembered["fact_id"], 1]]


@pytest.mark.slow
def test_a_service_that_is_told_to_end_finishes_and_says_where_it_listens(
    cli: CommandLine,
) -> None:
    command: list[str | Path] = [COMMAND, "serve", "--store", str(cli.store), "--port", "0"]
    environment = {"MUNIMENT_EMBEDDER": "none", "MUNIMENT_UPKEEP": "false", "PATH": ""}

    with subprocess.Popen(
        command, stderr=subprocess.PIPE, env=environment, text=True
    ) as service:
        assert service.stderr is not None
        first = service.stderr.readline()
        alive = httpx.get(f"{first.split()[-1]}/healthz", timeout=30)
        service.send_signal(signal.SIGTERM)
        rest = service.stderr.read()

    assert first.startswith(f"serving {cli.store} at http://127.0.0.1:")
    assert alive.status_code == 200
    assert '"route": "/healthz"' in rest
    assert service.returncode in (0, -signal.SIGTERM)
