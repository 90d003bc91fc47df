"""Forgetting for good from the command line, and the holds that stand against it."""

import json
from pathlib import Path

import pytest

from muniment import MemoryStore, Scope
from tests.access.matrix import IDENTITIES
from tests.api.cli.command_line import CommandLine, at_a_terminal


SUBJECT, LEAD = IDENTITIES["subject"], IDENTITIES["lead"]
USER = ("--user", "u-1")
CANARY = "金丝雀 canary"
ERASE = ("erase", *USER, "--reason", "request 17")


def raw_bytes(store: Path) -> bytes:
    return b"".join(each.read_bytes() for each in store.iterdir() if each.is_file())


def held(cli: CommandLine, *more: str) -> str:
    receipt = cli.ask("hold", *USER, "--matter", "case 1", "--issued-by", "c-1", *more)
    hold_id: str = receipt["hold_id"]
    return hold_id


def test_a_redacted_fact_is_unreadable_at_every_moment(cli: CommandLine) -> None:
    fact = cli.ask("remember", CANARY, *USER, "--actor", "a-1")

    receipt = cli.ask("forget", fact["fact_id"], "--redact", "--yes")

    assert receipt["deferred"] is False
    versions = cli.ask("history", fact["fact_id"])["versions"]
    assert [(each["kind"], each["content"]) for each in versions] == [
        ("asserted", None),
        ("redacted", None),
    ]
    assert versions[0]["actor"] == "a-1"
    (then,) = cli.ask("as-of", fact["recorded_at"], *USER)["facts"]
    assert then["content"] is None
    assert cli.fails("restore", fact["fact_id"]) == (3, "FactRedactedError")


def test_a_redacted_turn_is_a_token_at_every_moment(cli: CommandLine) -> None:
    with MemoryStore.open(cli.store) as store:
        session_id = store.start_session(user_id="u-1").session_id
        turn = store.add_turn(session_id, role="user", content=CANARY)
        fact = store.remember(CANARY, user_id="u-1", source_turns=[turn.turn_id])

    assert cli.fails("redact", turn.turn_id) == (2, "UsageError")
    assert cli.fails("redact", turn.turn_id, "--yes", "--session", "s") == (2, "UsageError")
    cli.ask("redact", turn.turn_id, "--yes", "--keep-facts", "--actor", "dpo")
    assert cli.ask("get", fact.fact_id)["content"] == CANARY
    receipt = cli.ask("redact", session_id, "--yes")

    assert receipt["fact_ids"] == [fact.fact_id]
    at = turn.recorded_at.isoformat()
    case = cli.ask("reproduce", *USER, "--at", at)
    assert [each["content"] for each in case["case"]["convo"]] == ["[redacted]"]
    assert cli.fails("redact", "nothing", "--yes") == (3, "UnknownSessionError")


def test_a_redaction_is_asked_for_or_said_yes_to(cli: CommandLine) -> None:
    fact_id = cli.ask("remember", CANARY, *USER)["fact_id"]

    assert cli.fails("forget", fact_id, "--redact") == (2, "UsageError")
    stale = ("--yes", "--expected-version", "1")
    assert cli.fails("forget", fact_id, "--redact", *stale) == (2, "UsageError")
    assert cli.ask("get", fact_id)["content"] == CANARY


def test_a_plan_counts_and_destroys_nothing(cli: CommandLine) -> None:
    fact = cli.ask("remember", CANARY, *USER)
    cli.ask("correct", fact["fact_id"], "another")

    plan = cli.ask("erase", *USER, "--plan")

    assert (plan["facts"], plan["events"], plan["holds"]) == (1, 2, [])
    assert plan["rows"].keys() == {"timeline", "conversation", "recall", "vault"}
    assert cli.ask("get", fact["fact_id"])["content"] == "another"


def test_an_erased_memory_is_gone_with_a_certificate(cli: CommandLine) -> None:
    fact = cli.ask("remember", CANARY, *USER, "--category", "job")

    done = cli.ask(*ERASE, "--yes", "--actor", "officer-1")

    assert done["status"] == "DONE"
    assert [
        (each["store"], each["remaining"], each["verified"]) for each in done["stores"]
    ] == [(store, 0, True) for store in ("vault", "timeline", "conversation", "recall")]
    assert "reason request 17\n" in done["text"]
    assert cli.fails("history", fact["fact_id"]) == (3, "UnknownFactError")
    assert cli.ask("as-of", fact["recorded_at"], *USER)["facts"] == []
    assert CANARY.encode() not in raw_bytes(cli.store)
    assert cli.ask("certificate", done["subject_ref"])["certificate"] == done
    assert cli.ask("verify")["findings"] == []


def test_an_erasure_that_leaves_a_shared_copy_says_when_that_goes(cli: CommandLine) -> None:
    team = Scope.team("eng")
    with MemoryStore.open(cli.store) as store:
        fact = store.remember(CANARY, user_id="u-1")
        proposal = store.acting_as(SUBJECT).propose_share(fact.fact_id, to=team)
        store.acting_as(LEAD).approve(proposal.proposal_id, reason="useful for all")
        store.freeze(scope=team)

    partial = cli.on_store(*ERASE, "--yes")
    cli.ask("thaw", "--team", "eng")

    assert partial.code == 4
    answer = json.loads(partial.out)
    assert answer["status"] == "PARTIAL"
    assert "what was shared is left (1): it goes once" in partial.err
    found = cli.ask("certificate", answer["subject_ref"])
    assert found["certificate"]["status"] == "DONE"


def test_an_erasure_that_the_index_has_not_heard_of_says_what_to_run(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MUNIMENT_EMBEDDER", "none")
    monkeypatch.setenv("MUNIMENT_UPKEEP", "false")
    cli.ask("remember", CANARY, *USER)
    cli.ask("catch-up")

    partial = cli.on_store(*ERASE, "--yes")
    subject_ref = json.loads(partial.out)["subject_ref"]
    cli.ask("catch-up")

    assert partial.code == 4
    assert "run muniment catch-up" in partial.err
    assert f"muniment certificate {subject_ref}" in partial.err
    assert cli.ask("certificate", subject_ref)["certificate"]["status"] == "DONE"


def test_erasing_again_changes_nothing_and_a_returning_user_starts_afresh(
    cli: CommandLine,
) -> None:
    cli.ask("remember", CANARY, *USER)
    cli.ask(*ERASE, "--yes")

    again = cli.ask(*ERASE, "--yes")
    cli.ask("remember", "new life", *USER)

    assert (again["status"], again["subject_ref"]) == ("DONE", None)
    assert [each["content"] for each in cli.ask("list", *USER)["items"]] == ["new life"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["erase", *USER, "--yes"],
        [*ERASE],
        ["erase", "--reason", "x", "--yes"],
        ["hold", *USER],
        ["merge", "01m8nqhdc08zyb7218v6btq1av"],
    ],
)
def test_what_was_left_unsaid_is_asked_for(cli: CommandLine, arguments: list[str]) -> None:
    cli.ask("remember", CANARY, *USER)

    assert cli.fails(*arguments) == (2, "UsageError")
    assert len(cli.ask("list", *USER)["items"]) == 1


def test_a_hold_defers_an_erasure_until_the_last_one_is_released(cli: CommandLine) -> None:
    cli.ask("remember", CANARY, *USER)
    first, second = held(cli), held(cli, "--hold-id", "h-2")

    asked = cli.ask(*ERASE, "--yes")
    restricted = cli.ask("list", *USER)["items"]
    cli.ask("release", first, *USER)
    waiting = cli.ask("holds", *USER)["holds"]
    cli.ask("release", second, *USER)

    assert asked["status"] == "DEFERRED"
    assert restricted == []
    assert waiting == [
        {"fact_id": None, "hold_id": "h-2", "matter": "case 1", "scope": "user:u-1"}
    ]
    done = cli.ask("certificate", asked["subject_ref"])["certificate"]
    assert done["status"] == "DONE"
    assert cli.ask("holds", *USER) == {"holds": []}


def test_a_fact_that_waits_to_be_redacted_is_not_used(cli: CommandLine) -> None:
    kept, gone, last = (cli.ask("remember", each, *USER)["fact_id"] for each in "abc")
    hold_id = held(cli, "--fact", gone)

    receipt = cli.ask("forget", gone, "--redact", "--yes")

    assert receipt["deferred"] is True
    assert cli.fails("get", gone) == (3, "FactNotCurrentError")
    page = cli.ask("list", *USER, "--limit", "1")
    rest = cli.ask("list", *USER, "--limit", "1", "--cursor", page["next_cursor"])
    listed = [each["fact_id"] for each in (*page["items"], *rest["items"])]
    assert (listed, rest["next_cursor"]) == ([kept, last], None)
    cli.ask("release", hold_id, *USER)
    assert cli.ask("history", gone)["versions"][0]["content"] is None


def test_an_unknown_hold_and_an_unknown_erasure_are_not_found(cli: CommandLine) -> None:
    cli.ask("remember", CANARY, *USER)

    assert cli.fails("release", "h-9", *USER) == (3, "UnknownHoldError")
    assert cli.ask("certificate", "0123456789abcdef0123") == {"certificate": None}


def test_a_merged_fact_is_retired_and_comes_back(cli: CommandLine) -> None:
    gone = cli.ask("remember", "writes Python", *USER)["fact_id"]
    kept = cli.ask("remember", "writes Python code", *USER)["fact_id"]

    receipt = cli.ask("merge", gone, "--into", kept)
    merged = [each["fact_id"] for each in cli.ask("list", *USER)["items"]]
    cli.ask("undo", str(receipt["tx_id"]))

    assert merged == [kept]
    assert len(cli.ask("list", *USER)["items"]) == 2


@pytest.mark.slow
@pytest.mark.parametrize(("typed", "code", "left"), [("n\n", 130, 1), ("y\n", 0, 0)])
def test_a_person_sees_the_plan_and_is_asked(
    cli: CommandLine, typed: str, code: int, left: int
) -> None:
    cli.ask("remember", CANARY, *USER)

    ended, seen = at_a_terminal([*ERASE, "--store", str(cli.store)], typed=typed)

    assert ended == code
    assert "events that become unreadable" in seen
    assert "Erase for good 1 facts of user:u-1?" in seen
    assert ("muniment erasure certificate 2" in seen) is (code == 0)
    assert len(cli.ask("list", *USER)["items"]) == left


@pytest.mark.slow
def test_nobody_is_asked_whether_to_redact_what_is_not_there(cli: CommandLine) -> None:
    for words in ("nosuch", "nosuch.1"):
        code, seen = at_a_terminal(["redact", words, "--store", str(cli.store)])

        assert (code, seen.count("\n")) == (3, 1)
        assert seen.startswith("muniment: no such ")
        assert "for good?" not in seen


@pytest.mark.slow
def test_a_person_is_asked_before_a_redaction(cli: CommandLine) -> None:
    fact_id = cli.ask("remember", CANARY, *USER)["fact_id"]
    command = ["forget", fact_id, "--redact", "--store", str(cli.store)]

    refused, _ = at_a_terminal(command, typed="n\n")
    kept = cli.ask("get", fact_id)["content"]
    done, seen = at_a_terminal(command, typed="y\n")

    assert (refused, kept, done) == (130, CANARY, 0)
    assert "for good?" in seen
