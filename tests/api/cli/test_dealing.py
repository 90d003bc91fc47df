"""What teams share, what is said, what agents are given: the commands of it."""

from pathlib import Path
from typing import Any

import pytest

from muniment.api.cli import exits
from tests.access.matrix import REASON
from tests.api.cli.command_line import CommandLine


USER, TEAM = ("--user", "u-1"), ("--team", "eng")
LEAD = ("--as", "u-4", "--as-lead-of", "eng")
WHY = ("--reason", REASON)
LONG_AGO, FAR = "2026-01-02T09:30:00+08:00", "2999-01-01T00:00:00Z"


def test_what_a_person_shares_is_approved_entrusted_and_handed_over(
    cli: CommandLine,
) -> None:
    fact = cli.ask("remember", "周五不部署", *USER, "--as", "u-1")
    share = ("propose-share", fact["fact_id"], "--to", "team:eng", "--as", "u-1")
    first = cli.ask(*share, "--reason", "team rule")
    second = cli.ask(*share, "--review-at", FAR)
    unnamed = cli.fails("approve", first["proposal_id"], *WHY)
    refused = cli.fails("approve", first["proposal_id"], "--as", "u-1", *WHY)
    page = cli.ask("proposals", *TEAM, *LEAD, "--limit", "1")
    rest = cli.ask("proposals", *TEAM, *LEAD, "--cursor", page["next_cursor"])
    cli.ask("reject", first["proposal_id"], *LEAD, "--reason", "said better below")
    done = cli.ask("approve", second["proposal_id"], *LEAD, *WHY)
    (copy,) = cli.ask("shared", *TEAM, *LEAD)["shared"]
    copy_id = copy["fact"]["fact_id"]
    cli.ask("entrust", copy_id, "--owner", "u-9", "--review-at", LONG_AGO, *LEAD)
    overdue = cli.ask("shared", *TEAM, "--owner", "u-9", "--overdue", *LEAD)["shared"]
    over = cli.ask("hand-over", "u-9", *TEAM, "--policy", "archive", *LEAD)

    assert unnamed == (exits.BAD_INPUT, "UsageError")
    assert refused == (3, "UnknownProposalError")
    assert [each["proposal_id"] for each in (*page["items"], *rest["items"])] == [
        second["proposal_id"],
        first["proposal_id"],
    ]
    assert (done["state"], done["approved_by"]) == ("done", ["u-4"])
    assert (copy["owner"], copy["fact"]["content"]) == ("u-1", "周五不部署")
    assert [each["fact"]["fact_id"] for each in overdue] == [copy_id]
    assert over["fact_ids"] == [copy_id]
    assert cli.ask("shared", *TEAM)["shared"] == []


def test_to_delete_what_was_shared_asks_first(cli: CommandLine) -> None:
    fact = cli.ask("remember", "deploys on Monday", *TEAM)
    cli.ask("entrust", fact["fact_id"], "--owner", "u-9")
    delete = ("hand-over", "u-9", *TEAM, "--policy", "delete")

    assert cli.fails(*delete) == (exits.BAD_INPUT, "UsageError")
    assert cli.ask(*delete, "--yes")["fact_ids"] == [fact["fact_id"]]
    assert cli.fails("get", fact["fact_id"])[0] == 3


def test_a_conversation_is_kept_found_summarised_and_ended(cli: CommandLine) -> None:
    session = cli.ask(
        *("sessions", "start", *USER, "--agent", "tea-bot", "--metadata", '{"k": 1}')
    )["session_id"]
    turn = cli.ask(
        *("turns", "add", session, "我下周去杭州 12 天", "--uttered-at", LONG_AGO),
        *("--entity", "杭州", "--actor", "bot-1", "--idempotency-key", "t-1"),
    )
    # JSON allows the line break of Unicode in text: it ends no line of JSON Lines.
    said = [f'{{"role": "assistant", "content": "noted\u2028{each}"}}' for each in range(3)]
    Path("said.jsonl").write_text("\n\n".join(said), encoding="utf-8")
    added = cli.ask("turns", "load", session, "said.jsonl")["turns"]
    drawn = cli.ask("remember", "去杭州", *USER, "--turn", turn["turn_id"])
    listed = cli.ask("turns", "list", session, "--limit", "2")["turns"]
    early = cli.ask("turns", "list", session, "--as-of", turn["recorded_at"])["turns"]
    before = cli.ask("turns", "before", LONG_AGO, *USER, "--as-of", added[0]["recorded_at"])
    made = cli.ask("summaries", "make", session, "--force", "--keep", "1")["summaries"]
    version = str(made[0]["version"])

    assert (turn["utc_offset"], turn["entities"]) == ("+08:00", ["杭州"])
    assert [each["number"] for each in added] == [2, 3, 4]
    assert [each["content"] for each in listed] == ["noted\u20281", "noted\u20282"]
    assert [each["turn_id"] for each in early] == [turn["turn_id"]]
    assert [each["turn_id"] for each in before["turns"]] == [turn["turn_id"]]
    assert cli.ask("turns", "get", turn["turn_id"]) == turn
    assert cli.ask("turns", "of", drawn["fact_id"])["turns"] == [turn]
    (version_drawn,) = cli.ask("turns", "facts", turn["turn_id"])["versions"]
    assert version_drawn["content"] == "去杭州"
    assert cli.ask("summaries", "list", session)["summaries"] == made
    assert cli.ask("summaries", "withdraw", session, version)["version"] == int(version)
    assert cli.ask("summaries", "list", session)["summaries"] == []
    cli.ask("sessions", "end", session)
    assert cli.fails("turns", "add", session, "late")[1] == "SessionEndedError"
    (ended,) = cli.ask("sessions", "list", *USER)["sessions"]
    assert ended == cli.ask("sessions", "get", session)
    assert (ended["agent"], ended["ended_at"] is None) == ("tea-bot", False)


def test_one_bad_line_of_a_conversation_means_that_nothing_is_kept(
    cli: CommandLine,
) -> None:
    session = cli.ask("sessions", "start", *USER)["session_id"]
    good = '{"role": "user", "content": "喝茶"}'
    bad = {
        b"{": "line 3 must be a JSON object in UTF-8, not '{'",
        b'["x"]': "it is not a JSON object",
        b'{"role": "a", "content": "b"}': "it is in turn 2 of 2",
        b'{"role": "user", "content": "b", "content": "c"}': "it names a field twice",
        b"\xff\xfe": "it is not UTF-8 at byte 0",
    }

    for line, says in bad.items():
        Path("said.jsonl").write_bytes(b"%b\n\n%b\n" % (good.encode(), line))
        outcome = cli.on_store("turns", "load", session, "said.jsonl")
        assert (outcome.code, outcome.out) == (2, "")
        assert says in outcome.err

    assert cli.ask("turns", "list", session)["turns"] == []


def test_what_an_agent_is_given_leaves_a_receipt_and_a_look_none(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MUNIMENT_EMBEDDER", "none")
    fact = cli.ask("remember", "用户写 Rust", *USER, "--core")
    cli.ask("config", "record", "prompt", "你是助手。", "--text", "--actor", "ops-1")
    set_ = cli.ask("config", "record", "weights", '{"words": 0.7}')
    asked = ("context", "写什么语言?", *USER, "--language", "zh", "--agent", "bot-1")
    looked = cli.ask(*asked, "--no-receipt")
    cli.ask("search", "Rust", *USER, "--no-receipt")
    none = cli.ask("receipts", "list", *USER)["receipts"]
    served = cli.ask(*asked, "--budget-tokens", "300")
    cli.ask("context", "tea", "--scope", "user:u-2")
    (receipt,) = cli.ask("receipts", "list", *USER, "--limit", "5")["receipts"]
    (use,) = cli.ask("receipts", "uses", fact["fact_id"])["uses"]

    assert "用户写 Rust" in looked["text"]
    assert none == []
    assert receipt["tokens"] == served["tokens"] <= receipt["budget"] == 300
    assert (receipt["agent"], receipt["query"]) == ("bot-1", "写什么语言?")
    assert use == receipt["asked_at"]
    assert len(cli.ask("receipts", "stray")["receipts"]) == 1
    assert cli.ask("receipts", "lost") == {"lost": 0}
    then = cli.ask("config", "as-of", set_["recorded_at"])["configuration"]
    assert then == {"prompt": "你是助手。", "weights": {"words": 0.7}}
    assert cli.fails("config", "record", "weights", "{")[0] == exits.BAD_INPUT


def test_what_is_about_many_facts_is_done_once_others_agree(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MUNIMENT_APPROVE_ABOVE", "0")
    later = cli.ask("remember", "去杭州", *USER)
    cli.ask("correct", later["fact_id"], "去上海", "--actor", "m-1", "--reason", "misheard")
    officer = ("--as", "o-1", "--as-role", "compliance_officer", *WHY)
    other = ("--as", "o-2", "--as-role", "compliance_officer", *WHY)
    back = ("rollback", *USER, "--yes")
    undone = approved(cli, (*back, "--where-actor", "m-1"), officer, other)
    redone = approved(cli, ("undo", str(undone["tx_id"])), officer, other)
    then = approved(cli, (*back, "--to", later["recorded_at"]), officer, other)
    gone = approved(cli, ("erase", *USER, "--yes"), officer, other)

    says = [each["diff"]["changed"][0]["after"]["content"] for each in (undone, redone)]
    assert says == ["去杭州", "去上海"]
    assert then["diff"]["changed"][0]["after"]["content"] == "去杭州"
    assert gone["status"] == "DONE"


def approved(
    cli: CommandLine, words: tuple[str, ...], who: tuple[str, ...], other: tuple[str, ...]
) -> Any:  # noqa: ANN401 - JSON
    """Return what is done by *who* once *other* agrees, and not before, nor again."""
    error = cli.on_store(*words, *who, "--json").error
    assert error["error"] == "ApprovalRequiredError"
    (waiting,) = [
        each
        for each in cli.ask("proposals", "--user", "u-1", *who)["items"]
        if each["state"] == "open"
    ]
    assert waiting["proposal_id"] in error["message"]
    approval = ("--approval", waiting["proposal_id"])
    assert cli.fails(*words, *who, *approval)[1] == "ProposalStateError"
    assert cli.fails("approve", waiting["proposal_id"], *who)[1] == "OwnProposalError"
    cli.ask("approve", waiting["proposal_id"], *other)
    return cli.ask(*words, *who, *approval)


def test_what_is_said_of_who_asks_is_of_somebody(cli: CommandLine) -> None:
    fact = cli.ask("remember", "likes tea", *USER)
    usage = (exits.BAD_INPUT, "UsageError")

    assert cli.fails("list", *USER, *WHY) == usage
    assert cli.fails("list", *USER, "--matter", "case 4711") == usage
    assert cli.fails("list", *USER, "--break-glass") == usage
    assert cli.fails("list", *USER, "--as-role", "auditor") == usage
    assert cli.fails("end", fact["fact_id"], "--as-lead-of", "eng") == usage
    assert cli.fails("undo", str(fact["tx_id"]), "--approval", "p") == usage
    assert cli.fails("rebuild", "--from-archive", "--as", "o-1") == usage
    assert cli.fails("archive", "--as", "o-1", "query", "SELECT 1") == usage
    # As by a script whose variable is empty.
    assert cli.fails("list", *USER, "--as", "") == (exits.BAD_INPUT, "InvalidValueError")
    assert cli.fails("list", *USER, "--api-key", "")[1] == "NotAuthenticatedError"


def test_what_is_done_in_a_name_is_recorded_as_theirs(cli: CommandLine) -> None:
    fact = cli.ask("remember", "likes tea", *USER, "--as", "u-1", "--reason", "said so")
    forged = ("update", fact["fact_id"], "likes coffee", "--as", "u-1", "--actor", "u-2")
    on_call = ("--as", "o-4", "--as-role", "on_call", "--break-glass")
    found = cli.ask("list", *USER, *on_call, *WHY, "--matter", "故障 9")

    assert [each["content"] for each in found["items"]] == ["likes tea"]
    assert cli.fails(*forged) == (5, "ImpersonationError")
    (version,) = cli.ask("history", fact["fact_id"])["versions"]
    assert (version["actor"], version["reason"]) == ("u-1", "said so")
    (seen,) = cli.ask("audit", "log", *USER, "--as", "o-1", *WHY)["items"]
    assert (seen["actor"], seen["glass_broken"], seen["matter"]) == ("o-4", True, "故障 9")
    assert cli.fails("list", *USER, *on_call, *WHY)[1] == "GlassAlreadyBrokenError"


def test_what_a_hold_binds_is_not_said_to_be_gone(shown: CommandLine) -> None:
    shown.on_store("hold", *TEAM, "--matter", "case 4711", "--actor", "counsel-1")
    fact = shown.on_store("remember", "deploys on Monday", *TEAM, "--json").answer
    shown.on_store("entrust", fact["fact_id"], "--owner", "u-9")

    over = shown.on_store("hand-over", "u-9", *TEAM, "--policy", "delete", "--yes")

    assert "0 facts made unreadable for good" in over.out
    assert "1 facts are not used any more, and stay readable" in over.out
    assert fact["fact_id"] in over.out


def test_a_person_reads_all_of_it(shown: CommandLine) -> None:
    fact = shown.on_store("remember", "周五不部署", *TEAM, "--json").answer
    fact_id = fact["fact_id"]
    session = shown.on_store("sessions", "start", *USER, "--json").answer["session_id"]
    shown.on_store("turns", "add", session, "我喜欢喝茶", "--uttered-at", LONG_AGO)
    share = ("propose-share", fact_id, "--to", "org", "--actor", "u-4", *WHY)
    seen = {
        name: shown.on_store(*words).out
        for name, words in {
            "proposed": share,
            "proposals": ("proposals", *TEAM),
            "entrusted": ("entrust", fact_id, "--owner", "u-9"),
            "due": ("entrust", fact_id, "--review-at", LONG_AGO),
            "shared": ("shared", *TEAM),
            "kept": ("hand-over", "u-9", *TEAM, "--policy", "keep", "--to", "u-4"),
            "of nobody": ("propose-share", fact_id, "--to", "org"),
            "sessions": ("sessions", "list", *USER),
            "turns": ("turns", "list", session),
            "nothing drawn": ("turns", "facts", f"{session}.1"),
            "summary": ("summaries", "make", session, "--force", "--keep", "0"),
            "withdrawn": ("summaries", "withdraw", session, "1"),
            "context": ("context", "喝茶", *TEAM),
            "receipts": ("receipts", "list", *TEAM),
            "uses": ("receipts", "uses", fact_id),
            "lost": ("receipts", "lost"),
            "none": ("shared", "--org"),
        }.items()
    }

    for name, words in {
        "proposed": ("open", "share of team:eng with org", REASON),
        "proposals": ("0 of 1 agree", "周五不部署", "by u-4"),
        "of nobody": ("by nobody", "named"),
        "shared": ("u-9", "2026-01-02T01:30:00Z", "overdue"),
        "kept": ("1 facts kept, now with u-4", fact_id),
        "sessions": (session, "goes on", "user:u-1"),
        "turns": (f"{session}.1", "09:30:00+08:00", "我喜欢喝茶"),
        "nothing drawn": ("nothing was drawn from it",),
        "summary": ("level 1", "turns 1 to 1", "extractive, asked"),
        "withdrawn": ("summary 1 is no longer used",),
        "context": ("tokens: 1 facts", "周五不部署"),
        "receipts": (f"1 {fact_id} v", "placed", "喝茶"),
        "uses": ("T",),
        "lost": ("0 receipts lost at most",),
        "none": ("nothing",),
    }.items():
        for each in words:
            assert each in seen[name], (name, seen[name])
