"""Proving from the command line: checked here, and by somebody who has no access."""

import base64
import json
import sqlite3
import subprocess
from pathlib import Path
from typing import Any

import pytest

from muniment.ledger import proof
from muniment.ledger.proof import Envelope
from tests.api.cli.command_line import CommandLine, at_a_terminal


USER = ("--user", "u-1")


def public_key(cli: CommandLine) -> bytes:
    return base64.b64decode(cli.ask("public-key", "--json")["public_key"])


def envelope(fields: dict[str, Any]) -> Envelope:
    raw = {name: base64.b64decode(fields[name]) for name in ("transaction", "state")}
    return Envelope(**{**fields, **raw})


def altered(cli: CommandLine, statement: str) -> None:
    """Alter a store as somebody can who has its file, whatever triggers stand in it."""
    database = sqlite3.connect(cli.store / "ledger.db")
    with database:
        query = "SELECT name FROM sqlite_master WHERE type = 'trigger'"
        for (name,) in database.execute(query).fetchall():
            database.execute(f"DROP TRIGGER {name}")
        database.execute(statement)
    database.close()


def test_a_store_as_it_was_recorded_is_verified(cli: CommandLine) -> None:
    cli.ask("remember", "用户写 Python", *USER)
    cli.ask("tree-head", "--json")

    assert cli.ask("verify") == {"events": 1, "findings": [], "heads": 1}


def test_an_altered_payload_is_found_named_and_ends_with_one(cli: CommandLine) -> None:
    cli.ask("remember", "a", *USER)
    cli.ask("remember", "b", *USER)
    altered(
        cli,
        "UPDATE ledger_event SET state = CAST(state || x'00' AS BLOB) WHERE position = 2",
    )

    outcome = cli.on_store("verify", "--json")

    found = json.loads(outcome.out)["findings"][0]
    assert (found["position"], found["kind"]) == (2, "payload")
    assert outcome.code == 1
    assert outcome.error["error"] == "TamperedError"
    assert "payload at position 2" in outcome.error["message"]


@pytest.mark.slow
def test_a_person_sees_what_is_wrong_in_a_table(cli: CommandLine) -> None:
    cli.ask("remember", "a", *USER)
    altered(cli, "UPDATE belief SET importance = 0.9")

    code, seen = at_a_terminal(["verify", "--store", str(cli.store)])

    assert code == 1
    assert "what is wrong" in seen
    assert "projection" in seen
    assert "Traceback" not in seen


def test_a_head_kept_elsewhere_shows_that_the_end_was_cut_off(
    cli: CommandLine, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "heads.txt"
    cli.ask("remember", "a", *USER)
    cli.ask("remember", "b", *USER)
    assert cli.on_store("tree-head", "--publish-to", str(elsewhere)).code == 0
    for statement in (
        "DELETE FROM ledger_event WHERE position = 2",
        "DELETE FROM ledger_transaction WHERE tx_id = 2",
        "DELETE FROM belief WHERE position = 2",
        "DELETE FROM tree_head",
    ):
        altered(cli, statement)

    assert cli.ask("verify")["findings"] == [], "nobody inside can know"
    outcome = cli.on_store("verify", "--published", str(elsewhere))

    assert outcome.code == 1
    found = json.loads(outcome.out)["findings"][0]
    assert (found["position"], found["kind"]) == (2, "truncated")


def test_a_proof_is_text_that_checks_without_the_store(cli: CommandLine) -> None:
    cli.ask("remember", "用户写 Python", *USER)
    cli.ask("remember", "用户写 Rust", *USER)

    printed = cli.on_store("prove", "2").out
    answer = cli.ask("prove", "2", "--envelope")

    assert printed == answer["proof"]
    index, path, note = proof.read_proof(printed)
    head = proof.read_head(note, public_key=public_key(cli))
    leaf = proof.leaf_hash(envelope(answer["envelope"]).packed())
    proof.check_inclusion(leaf, index, path, head)


def test_an_envelope_of_another_event_is_refused(cli: CommandLine) -> None:
    cli.ask("remember", "a", *USER)
    cli.ask("remember", "b", *USER)
    other = cli.ask("prove", "1", "--envelope")["envelope"]

    index, path, note = proof.read_proof(cli.on_store("prove", "2").out)

    head = proof.read_head(note, public_key=public_key(cli))
    with pytest.raises(proof.RefusedError, match="does not lead to the root"):
        proof.check_inclusion(proof.leaf_hash(envelope(other).packed()), index, path, head)


def test_a_later_head_is_proven_to_continue_an_earlier_one(cli: CommandLine) -> None:
    cli.ask("remember", "a", *USER)
    earlier = cli.on_store("tree-head").out
    cli.ask("remember", "b", *USER)

    size, path, note = proof.read_consistency(cli.on_store("prove-consistency", "1").out)

    key = public_key(cli)
    first = proof.read_head(earlier, public_key=key)
    second = proof.read_head(note, public_key=key)
    assert (size, first.size, second.size) == (1, 1, 2)
    proof.check_consistency(first, second, path)


def test_the_public_key_is_as_signed_notes_name_it(cli: CommandLine) -> None:
    answer = cli.ask("public-key", "--json")
    printed = cli.on_store("public-key").out

    origin, name, key = printed.strip().split("+", 2)
    raw = base64.b64decode(answer["public_key"])
    assert origin == answer["origin"]
    assert base64.b64decode(key) == b"\x01" + raw
    assert bytes.fromhex(name) == proof.key_id(origin, raw)


def test_a_head_is_the_same_until_something_is_written(
    cli: CommandLine, tmp_path: Path
) -> None:
    cli.ask("remember", "a", *USER)
    files = [tmp_path / "one.txt", tmp_path / "two.txt"]

    first = cli.on_store("tree-head").out
    answer = cli.ask("tree-head", "--json", *(f"--publish-to={each}" for each in files))

    assert answer == {"note": first, "published_to": [str(each) for each in files]}
    assert [each.read_text() for each in files] == [f"{first}\n"] * 2


def test_a_head_is_committed_to_a_checkout_of_git(
    cli: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for person in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{person}_NAME", "witness")
        monkeypatch.setenv(f"GIT_{person}_EMAIL", "witness@example.org")
    checkout = tmp_path / "witness"
    git = ["git", "-C", str(checkout)]
    checkout.mkdir()
    subprocess.run([*git, "init", "--quiet"], check=True)
    cli.ask("remember", "a", *USER)

    outcome = cli.on_store("tree-head", "--publish-to", str(checkout))

    log = subprocess.run(
        [*git, "log", "--format=%s"], check=True, capture_output=True, text=True
    )
    assert (outcome.code, log.stdout) == (0, "Tree head of 1\n")


def test_a_witness_that_cannot_be_reached_is_named(
    cli: CommandLine, tmp_path: Path
) -> None:
    cli.ask("remember", "a", *USER)
    missing = str(tmp_path / "not" / "there.txt")

    assert cli.fails("tree-head", "--publish-to", missing) == (4, "WitnessUnavailableError")
    assert cli.fails("tree-head", "--publish-to", str(tmp_path)) == (2, "InvalidValueError")


@pytest.mark.parametrize(
    "arguments",
    [
        ["prove", "0"],
        ["prove", "2"],
        ["prove-consistency", "9"],
    ],
)
def test_what_is_not_there_cannot_be_proven(cli: CommandLine, arguments: list[str]) -> None:
    cli.ask("remember", "a", *USER)

    assert cli.fails(*arguments) == (2, "InvalidValueError")
