"""What is typed for each call of the table of rights, by the names of `tests.access`."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path

from muniment.domain.scope import ScopeKind
from tests.access.matrix import REASON, Target, empty_export


Words = tuple[str, ...]
Line = Callable[[Target], Words]

FACTS, SAID, EXPORTED = "facts.jsonl", "said.jsonl", "exported.json"


def write_files(target: Target) -> None:
    """Put what commands read where they are run."""
    fact = {"content": "likes tea 茶", "scope": str(target.scope)}
    turn = {"role": "user", "content": "茶"}
    for name, text in (
        (FACTS, json.dumps(fact)),
        (SAID, json.dumps(turn)),
        (EXPORTED, json.dumps(empty_export(target.scope))),
    ):
        Path(name).write_text(text, encoding="utf-8")


def _whose(target: Target) -> Words:
    scope = target.scope
    if scope.kind is ScopeKind.ORG:
        return ("--org",)
    return (f"--{scope.kind.value}", str(scope.name))


def _line(*words: str) -> Line:
    return lambda _: words


def _scope(*words: str) -> Line:
    return lambda target: (*words, *_whose(target))


def _then(*words: str) -> Line:
    """Return a line on a memory with a time before its last word but options."""
    return lambda target: (*words, target.long_ago, *_whose(target))


def _fact(*words: str, then: Words = ()) -> Line:
    return lambda target: (*words, target.fact_id, *then)


def _session(*words: str, then: Words = ()) -> Line:
    return lambda target: (*words, target.session_id, *then)


def _turn(*words: str, then: Words = ()) -> Line:
    return lambda target: (*words, target.turn_id, *then)


def _proposal(*words: str) -> Line:
    return lambda target: (*words, target.proposal_id)


YES, WHY = ("--yes",), ("--reason", REASON)

LINES: Mapping[str, tuple[Line, ...]] = {
    "public_key": (_line("public-key"),),
    "tree_head": (_line("tree-head"),),
    "get": (_fact("get"),),
    "get then": (lambda t: ("get", t.fact_id, "--as-of", t.long_ago),),
    "get_all": (_scope("list", "--limit", "5"),),
    "get_all then": (lambda t: ("list", "--scope", str(t.scope), "--as-of", t.long_ago),),
    "search": (_scope("search", "tea"),),
    "search many": (lambda t: ("search", "tea", "--scope", str(t.scope)),),
    "search past": (_scope("search", "茶", "--past"),),
    "search then": (lambda t: ("search", "茶", "--as-of", t.long_ago, *_whose(t)),),
    "get_memory_as_of": (_then("as-of"), _scope("as-of"), _then("audit", "as-of")),
    "get_fact_history": (_fact("history"), _fact("audit", "history")),
    "diff_memory": (
        lambda t: ("diff", t.long_ago, t.long_ago, *_whose(t)),
        lambda t: ("audit", "diff", t.long_ago, t.long_ago, *_whose(t)),
    ),
    "list_modified_facts": (_then("modified"),),
    "blame": (_scope("blame"),),
    "get_session": (_session("sessions", "get"),),
    "get_turns": (_session("turns", "list", then=("--limit", "1")),),
    "get_turns then": (lambda t: ("turns", "list", t.session_id, "--as-of", t.long_ago),),
    "get_summaries": (_session("summaries", "list"),),
    "get_turn": (_turn("turns", "get"),),
    "get_turn then": (lambda t: ("turns", "get", t.turn_id, "--as-of", t.long_ago),),
    "list_sessions": (_scope("sessions", "list"),),
    "build_context": (_scope("context", "tea"),),
    "build_context of a session": (
        lambda t: ("context", "tea", "--session", t.session_id, *_whose(t)),
    ),
    "get_turns_before": (_then("turns", "before"),),
    "get_source_turns": (_fact("turns", "of"),),
    "get_facts_of_turn": (_turn("turns", "facts"),),
    "get_uses": (_fact("receipts", "uses"),),
    "get_receipts": (_scope("receipts", "list"),),
    "why": (_scope("why", "--expect", "tea"),),
    "reproduce_badcase": (lambda t: ("reproduce", "--at", t.long_ago, *_whose(t)),),
    "plan_rollback": (_fact("rollback", then=("--to-version", "1", "--dry-run")),),
    "plan_rollback of all": (
        lambda t: ("rollback", "--to", t.long_ago, "--dry-run", *_whose(t)),
    ),
    "plan_erasure": (_scope("erase", "--plan"),),
    "list_holds": (_scope("holds"),),
    "access_log": (_scope("audit", "log"),),
    "access_log of all": (_line("audit", "log"),),
    "list_broken_glass": (_line("audit", "emergencies"),),
    "review_broken_glass": (_line("audit", "review", "0" * 32),),
    "get_config_as_of": (lambda t: ("config", "as-of", t.long_ago),),
    "record_config": (_line("config", "record", "prompt", "v1", "--text"),),
    "get_stray_receipts": (_line("receipts", "stray"),),
    "count_lost_receipts": (_line("receipts", "lost"),),
    "plan_archive": (_line("archive", "--plan"),),
    "archive": (_line("archive"),),
    "prune": (_line("archive", "--prune"),),
    "query_archive": (_line("archive", "query", "SELECT count(*) FROM events"),),
    "import_export": (_line("import", EXPORTED),),
    "plan_retention": (_scope("retain", "--plan"),),
    "plan_retention of all": (_line("retain", "--plan"),),
    "retain": (_scope("retain", *YES),),
    "report_retention": (_scope("retention-report"),),
    "report_retention of all": (_line("retention-report"),),
    "propose_share": (_fact("propose-share", then=("--to", "org")),),
    "list_shared": (_scope("shared"),),
    "list_shared then": (lambda t: ("shared", "--as-of", t.long_ago, *_whose(t)),),
    "list_proposals": (_scope("proposals"),),
    "approve": (_proposal("approve"),),
    "reject": (_proposal("reject"),),
    "prove": (_line("prove", "1"),),
    "prove_consistency": (_line("prove-consistency", "1"),),
    "verify": (_line("verify"),),
    "erasure_certificate": (_line("certificate", "0" * 20),),
    "issue_api_key": (_line("keys", "issue", "u-9"),),
    "list_api_keys": (_line("keys", "list"),),
    "roll_api_key": (_line("keys", "roll", "0" * 26),),
    "revoke_api_key": (_line("keys", "revoke", "0" * 26),),
    "catch_up": (_line("catch-up"),),
    "reconcile": (_line("reconcile"),),
    "reindex": (_line("reindex"),),
    "rebuild": (_line("rebuild"),),
    "rotate_key": (_line("rotate-key"),),
    "start_session": (_scope("sessions", "start"),),
    "add_turn": (_session("turns", "add", then=("茶",)),),
    "add_turns": (_session("turns", "load", then=(SAID,)),),
    "summarize_session": (_session("summaries", "make"),),
    "withdraw_summary": (_session("summaries", "withdraw", then=("1",)),),
    "end_session": (_session("sessions", "end"),),
    "export": (_scope("export"),),
    "export_evidence": (
        lambda t: (
            *("evidence", "--out", str(t.evidence), "--matter", "case 4711"),
            *(*_whose(t), *WHY),
        ),
    ),
    "entrust": (_fact("entrust", then=("--owner", "u-9")),),
    "hand_over": (_scope("hand-over", "u-9", "--policy", "keep", "--to", "u-8"),),
    "hand_over for good": (_scope("hand-over", "u-9", "--policy", "delete", *YES),),
    "remember": (_scope("remember", "likes tea 茶"),),
    "remember_many": (_line("load", FACTS),),
    "update": (_fact("update", then=("likes coffee",)),),
    "correct": (_fact("correct", then=("likes green tea",)),),
    "end": (_fact("end"),),
    "forget": (_fact("forget"),),
    "restore": (_fact("restore"),),
    "merge": (lambda t: ("merge", t.fact_id, "--into", t.other_fact_id),),
    "undo": (lambda t: ("undo", str(t.tx_id)),),
    "apply": (lambda t: ("rollback", "--to", t.long_ago, *YES, *_whose(t)),),
    "rollback_fact": (_fact("rollback", then=("--to-version", "1", *YES)),),
    "rollback_where": (_scope("rollback", "--where-session", "chat-7", *YES),),
    "freeze": (_scope("freeze"),),
    "thaw": (_scope("thaw"),),
    "place_hold": (_scope("hold", "--matter", "case 4711", "--hold-id", "h-1"),),
    "release_hold": (_scope("release", "h-1"),),
    "forget for good": (_fact("forget", then=("--redact", *YES)),),
    "redact_turn": (_turn("redact", then=YES),),
    "redact_session": (_session("redact", then=YES),),
    "erase": (_scope("erase", *YES, *WHY),),
}
"""By call: the lines that make it. What destroys comes last, as there."""

NOT_OFFERED = {
    "origin": "public-key says it, with the key",
    "index_progress": "catch-up says it",
    "flush_receipts": "a command ends with them written",
    "rollback_to_timestamp": "rollback plans and applies",
}
"""Calls for which nothing is typed, and why."""

NOBODYS = frozenset({"muniment init", "muniment demo", "muniment serve", "muniment whoami"})
"""Commands of whoever has the files; and one that says who asks."""
