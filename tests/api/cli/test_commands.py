"""Each command in a pipe: what it answers, in which shape."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.api.cli.command_line import CommandLine


USER = ("--user", "u-1")
FACT = {
    "attribute",
    "category",
    "confidence",
    "content",
    "core",
    "entities",
    "expires_at",
    "fact_id",
    "importance",
    "metadata",
    "position",
    "recorded_at",
    "scope",
    "source",
    "source_turns",
    "status",
    "tx_id",
    "valid_from",
    "valid_to",
    "version",
}
VERSION = {
    "action",
    "actor",
    "claimed_at",
    "confidence",
    "content",
    "fact_id",
    "kind",
    "metadata",
    "on_behalf_of",
    "position",
    "reason",
    "recorded_at",
    "restores",
    "survivor",
    "thinned",
    "session_id",
    "source",
    "source_turns",
    "trigger",
    "tx_id",
    "valid_from",
    "valid_to",
    "version",
}
RECEIPT = {
    "deferred",
    "diff",
    "fact_ids",
    "facts",
    "hold_id",
    "position",
    "recorded_at",
    "tx_id",
}
DIFF = {"added", "changed", "from_position", "removed", "to_position"}
ENTRY = {"after", "before", "beliefs_after", "beliefs_before", "causes", "fact_id"}


@pytest.fixture
def fact(cli: CommandLine) -> dict[str, Any]:
    """A fact at version 1."""
    fact: dict[str, Any] = cli.ask("remember", "用户写 Python", *USER)
    return fact


def test_init_makes_a_store_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cli = CommandLine(capsys, tmp_path / "store")

    first, again = cli.ask("init"), cli.ask("init")

    assert first == {"created": True, "ledger": "main", "store": str(cli.store)}
    assert again == {**first, "created": False}


def test_remember_answers_the_fact_with_every_field_it_was_given(cli: CommandLine) -> None:
    given = {
        "--category": "profession",
        "--attribute": "language",
        "--valid-from": "2026-01-05T09:00:00+08:00",
        "--valid-to": "2027-01-05T09:00:00+08:00",
        "--source": "chat",
        "--confidence": "0.75",
        "--importance": "0.25",
        "--entity": "Python",
        "--metadata": '{"k": [1, null, "二"]}',
        "--expires-at": "2028-01-01T00:00:00Z",
        "--turn": "t-1",
        "--session": "s-1",
    }
    options = [each for pair in given.items() for each in pair]

    fact = cli.ask("remember", "用户写 Python", *USER, "--core", *options)

    assert fact.keys() == FACT
    assert fact["content"] == "用户写 Python"
    assert (fact["category"], fact["attribute"]) == ("profession", "language")
    assert fact["valid_from"] == "2026-01-05T01:00:00.000000Z"
    assert fact["valid_to"] == "2027-01-05T01:00:00.000000Z"
    assert (fact["source"], fact["confidence"], fact["importance"]) == ("chat", 0.75, 0.25)
    assert (fact["core"], fact["entities"]) == (True, ["Python"])
    assert (fact["metadata"], fact["source_turns"]) == ({"k": [1, None, "二"]}, ["t-1"])
    assert fact["expires_at"] == "2028-01-01T00:00:00.000000Z"


@pytest.mark.parametrize(
    ("options", "scope"),
    [(["--user", "a:b"], "user:a:b"), (["--team", "eng"], "team:eng"), (["--org"], "org")],
)
def test_a_scope_is_named_in_one_of_three_ways(
    cli: CommandLine, options: list[str], scope: str
) -> None:
    assert cli.ask("remember", "x", *options)["scope"] == scope
    assert [each["scope"] for each in cli.ask("list", *options)["items"]] == [scope]


def test_update_keeps_what_held_before(cli: CommandLine, fact: dict[str, Any]) -> None:
    said = cli.ask("update", fact["fact_id"], "用户写 Rust", "--expected-version", "1")

    before = cli.ask("get", fact["fact_id"], "--valid-at", fact["valid_from"])
    assert said.keys() == FACT
    assert (said["content"], said["version"]) == ("用户写 Rust", 2)
    assert (before["content"], before["valid_to"]) == ("用户写 Python", said["valid_from"])


def test_correct_replaces_it_for_the_whole_period(
    cli: CommandLine, fact: dict[str, Any]
) -> None:
    said = cli.ask("correct", fact["fact_id"], "用户写 Go", "--reason", "misheard")

    assert said.keys() == FACT
    assert (said["content"], said["valid_from"]) == ("用户写 Go", fact["valid_from"])


def test_end_forget_and_restore_answer_receipts(
    cli: CommandLine, fact: dict[str, Any]
) -> None:
    ids = fact["fact_id"]

    forgotten = cli.ask("forget", ids)
    gone = cli.ask("list", *USER)["items"]
    restored = cli.ask("restore", ids)
    ended = cli.ask("end", ids)

    assert forgotten.keys() == restored.keys() == ended.keys() == RECEIPT
    assert [each["fact_ids"] for each in (forgotten, restored, ended)] == [[ids]] * 3
    assert gone == []
    assert [each["kind"] for each in cli.ask("history", ids)["versions"]] == [
        "asserted",
        "retired",
        "restored",
        "ended",
    ]


def test_as_of_answers_what_was_known_then(cli: CommandLine, fact: dict[str, Any]) -> None:
    cli.ask("correct", fact["fact_id"], "用户写 Go")

    then = cli.ask("as-of", fact["recorded_at"], *USER)

    assert then.keys() == {"facts", "position", "recorded_at", "valid_at"}
    assert [each["content"] for each in then["facts"]] == ["用户写 Python"]
    assert then["recorded_at"] == then["valid_at"] == fact["recorded_at"]
    assert then["facts"][0].keys() == FACT


def test_as_of_without_a_time_is_about_what_is_known_today(cli: CommandLine) -> None:
    fact = cli.ask("remember", "x", *USER, "--valid-from", "2020-01-01T00:00:00Z")
    cli.ask("correct", fact["fact_id"], "y")

    about_then = cli.ask("as-of", *USER, "--valid-at", "2021-01-01T00:00:00Z")
    before = cli.ask("as-of", *USER, "--valid-at", "2019-01-01T00:00:00Z")

    assert [each["content"] for each in about_then["facts"]] == ["y"]
    assert before["facts"] == []


def test_list_goes_on_where_its_cursor_says(cli: CommandLine) -> None:
    for number in range(3):
        cli.ask("remember", f"fact {number}", *USER)

    first = cli.ask("list", *USER, "--limit", "2")
    rest = cli.ask("list", *USER, "--limit", "2", "--cursor", first["next_cursor"])

    assert first.keys() == {"items", "next_cursor", "position", "recorded_at", "valid_at"}
    contents = [each["content"] for part in (first, rest) for each in part["items"]]
    assert contents == ["fact 0", "fact 1", "fact 2"]
    assert rest["next_cursor"] is None


def test_history_answers_every_version_with_who_and_why(
    cli: CommandLine, fact: dict[str, Any]
) -> None:
    cli.ask("correct", fact["fact_id"], "z", "--actor", "a-1", "--reason", "因为")

    history = cli.ask("history", fact["fact_id"])

    assert history.keys() == {
        "current_content",
        "current_version",
        "fact_id",
        "scope",
        "versions",
    }
    assert [each.keys() for each in history["versions"]] == [VERSION, VERSION]
    last = history["versions"][1]
    assert (last["kind"], last["actor"], last["reason"]) == ("corrected", "a-1", "因为")
    assert (history["current_content"], history["current_version"]) == ("z", 2)


def test_diff_answers_what_changed_and_what_caused_it(
    cli: CommandLine, fact: dict[str, Any]
) -> None:
    later = cli.ask("correct", fact["fact_id"], "z")

    diff = cli.ask("diff", fact["recorded_at"], later["recorded_at"], *USER)
    none = cli.ask("diff", fact["recorded_at"], fact["recorded_at"], *USER)

    assert diff.keys() == DIFF
    (entry,) = diff["changed"]
    assert entry.keys() == ENTRY
    assert (entry["before"]["content"], entry["after"]["content"]) == ("用户写 Python", "z")
    assert [each["kind"] for each in entry["causes"]] == ["corrected"]
    assert none["added"] == none["removed"] == none["changed"] == []


def test_modified_answers_what_was_recorded_in_a_span(
    cli: CommandLine, fact: dict[str, Any]
) -> None:
    later = cli.ask("correct", fact["fact_id"], "z")

    both = cli.ask("modified", fact["recorded_at"], *USER)
    first = cli.ask("modified", fact["recorded_at"], later["recorded_at"], *USER)

    assert both.keys() == {"modified"}
    (found,) = both["modified"]
    assert found.keys() == {"fact_id", "scope", "versions"}
    assert [each["kind"] for each in found["versions"]] == ["asserted", "corrected"]
    assert [each["version"] for each in first["modified"][0]["versions"]] == [1]


def test_blame_answers_who_said_what_is_believed(
    cli: CommandLine, fact: dict[str, Any]
) -> None:
    later = cli.ask("correct", fact["fact_id"], "z", "--actor", "a-1")

    now = cli.ask("blame", *USER)
    then = cli.ask("blame", *USER, "--as-of", fact["recorded_at"])

    (entry,) = now["blame"]
    assert entry.keys() == {"fact", "restored_by", "said_by"}
    assert (entry["said_by"]["tx_id"], entry["said_by"]["actor"]) == (later["tx_id"], "a-1")
    assert then["blame"][0]["said_by"]["version"] == 1


def test_freeze_refuses_writes_until_thaw(cli: CommandLine) -> None:
    frozen = cli.ask("freeze", *USER, "--actor", "officer-1")
    refused = cli.fails("remember", "x", *USER)
    thawed = cli.ask("thaw", *USER)

    assert frozen.keys() == thawed.keys() == RECEIPT
    assert refused == (4, "SubjectFrozenError")
    assert cli.ask("remember", "x", *USER)["content"] == "x"


def test_rebuild_leaves_every_answer_as_it_was(
    cli: CommandLine, fact: dict[str, Any]
) -> None:
    before = cli.ask("as-of", fact["recorded_at"], *USER)

    rebuilt = cli.ask("rebuild")

    assert rebuilt == {"beliefs": 1}
    assert cli.ask("as-of", fact["recorded_at"], *USER) == before


def test_json_is_sorted_and_in_its_own_script(cli: CommandLine) -> None:
    out = cli.on_store("remember", "用户写 Python", *USER).out

    assert "用户写 Python" in out
    plain = json.loads(out)
    assert out == json.dumps(plain, ensure_ascii=False, indent=2, sort_keys=True) + "\n"


def test_an_idempotency_key_writes_once(cli: CommandLine) -> None:
    first = cli.ask("remember", "x", *USER, "--idempotency-key", "k-1")
    again = cli.ask("remember", "x", *USER, "--idempotency-key", "k-1")

    assert again == first
    assert cli.fails("remember", "y", *USER, "--idempotency-key", "k-1") == (
        4,
        "IdempotencyConflictError",
    )


def test_a_field_is_cleared_by_its_name_as_an_option(cli: CommandLine) -> None:
    said = ("--category", "drink", "--expires-at", "2099-01-01T00:00:00Z")
    fact_id = cli.ask("remember", "tea", "--user", "u-1", *said)["fact_id"]

    fact = cli.ask("update", fact_id, "--clear", "category", "--clear", "expires-at")

    assert (fact["content"], fact["category"], fact["expires_at"]) == ("tea", None, None)
    assert cli.fails("correct", fact_id, "--clear", "content")[0] == 2
