"""
Who may do what: the whole table once more, as the tests expect it, cell by cell.

Spelled out again on purpose. A verb or an act that is missing here fails a test.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from muniment import MemoryStore, Principal, Scope
from muniment.archive.portable import FORMAT
from muniment.domain.access import Kind, Role


SCOPES = {"user": Scope.user("u-1"), "team": Scope.team("eng"), "org": Scope.org()}
LEDGER = "ledger"
REASON = "核查投诉 2026-17 号"

IDENTITIES = {
    "subject": Principal(id="u-1"),
    "other": Principal(id="u-2"),
    # Names that only a prefix, another case or another normal form would match.
    "almost": Principal(
        id="u-1\u200b", memberships=("member_of:ENG", "lead_of:engine", "lead_of:e")
    ),
    "namesake": Principal(id="u-1", kind=Kind.SERVICE),
    "agent": Principal(id="a-1", kind=Kind.AGENT, user_id="u-1"),
    "other_agent": Principal(id="a-2", kind=Kind.AGENT, user_id="u-2"),
    "member": Principal(id="u-3", memberships=("member_of:eng",)),
    "lead": Principal(id="u-4", memberships=("lead_of:eng",)),
    "officer": Principal(id="o-1", roles=(Role.COMPLIANCE_OFFICER,)),
    "auditor": Principal(id="o-2", roles=(Role.AUDITOR,)),
    "administrator": Principal(id="o-3", roles=(Role.ADMINISTRATOR,)),
    "on_call": Principal(id="o-4", roles=(Role.ON_CALL,)),
}

OK, REASONED, DENIED, HIDDEN = "+", "r", "-", "."

_ACTS = (
    *("recall", "look", "replay", "write", "take_back", "erase"),
    *("hold", "freeze", "audit", "operate", "propose", "decide"),
)
_EXPECTED = """
    subject       user ++++++--+-++  team ............  org +-----------
    other         user ............  team ............  org +-----------
    almost        user ............  team ............  org +-----------
    namesake      user ............  team ............  org +-----------
    agent         user +r-+r-------  team ............  org +-----------
    other_agent   user ............  team ............  org +-----------
    member        user ............  team +-----------  org +-----------
    lead          user ............  team +rr++r--r-++  org +-----------
    officer       user rrr-rrrrrr-r  team rrr-rrrrrr-r  org +rr+rrrrrr-r
    auditor       user rrr-----r---  team rrr-----r---  org +rr-----r---
    administrator user .......r.r..  team .......r.r..  org +--+r--r-r-+
    on_call       user .......r....  team .......r....  org +------r----
"""
_ACTS_OF_LEDGER = ["identify", "audit", "attest", "operate"]
_EXPECTED_OF_LEDGER = """
    subject +---   other +---   almost +---   namesake +---   agent +---   other_agent +---
    member +---    lead +---    officer +r+r  auditor +r+-    administrator +-++
    on_call +-+-
"""


def expected() -> Mapping[tuple[str, str, str], str]:
    """Return by identity, place and act what is to happen."""
    cells = {}
    for line in _EXPECTED.strip().splitlines():
        identity, *places = line.split()
        for place, row in zip(places[::2], places[1::2], strict=True):
            for act, cell in zip(_ACTS, row, strict=True):
                cells[identity, place, act] = cell
    words = _EXPECTED_OF_LEDGER.split()
    for identity, row in zip(words[::2], words[1::2], strict=True):
        for act, cell in zip(_ACTS_OF_LEDGER, row, strict=True):
            cells[identity, LEDGER, act] = cell
    return cells


@dataclass(frozen=True)
class Target:
    """What a call is made on: a memory with a fact, and what else it may name."""

    scope: Scope
    fact_id: str
    other_fact_id: str
    tx_id: int
    proposal_id: str
    session_id: str
    turn_id: str
    evidence: Path
    long_ago: str
    store: MemoryStore

    @property
    def whose(self) -> dict[str, Any]:
        return {"scope": self.scope}


Call = Callable[[Target], tuple[tuple[Any, ...], dict[str, Any]]]


def empty_export(scope: Scope) -> dict[str, Any]:
    """Return an export of nothing, which can be imported anywhere."""
    counts = dict.fromkeys(("facts", "versions", "transactions", "about"), 0)
    named = ("export_id", "made_at", "software", "ledger", "origin", "subject_ref")
    return {
        **dict.fromkeys(named, "none"),
        "format": FORMAT,
        "scope": str(scope),
        "position": 0,
        "counts": {**counts, "others": {}},
        "facts": [],
        "transactions": [],
        "about": [],
        "others": {},
    }


def _of_scope(**fields: object) -> Call:
    return lambda target: ((), {**target.whose, **fields})


def _of_fact(**fields: object) -> Call:
    return lambda target: ((target.fact_id,), fields)


def _of_session(**fields: object) -> Call:
    return lambda target: ((target.session_id,), fields)


def _of_turn() -> Call:
    return lambda target: ((target.turn_id,), {})


def _of_ledger(*args: object, **fields: object) -> Call:
    return lambda _: (args, fields)


# In this order: what destroys comes last.
CALLS: Mapping[str, tuple[str, Call]] = {
    "public_key": ("identify", _of_ledger()),
    "origin": ("identify", _of_ledger()),
    "tree_head": ("identify", _of_ledger()),
    "get": ("recall", _of_fact()),
    "get then": ("look", lambda t: ((t.fact_id,), {"as_of": t.long_ago})),
    "get_all": ("recall", _of_scope(limit=5)),
    "get_all then": (
        "look",
        lambda t: ((), {"scopes": [str(t.scope)], "as_of": t.long_ago}),
    ),
    "search": ("recall", lambda t: (("tea",), t.whose)),
    "search many": ("recall", lambda t: (("tea",), {"scopes": [str(t.scope)]})),
    "search past": ("look", lambda t: (("茶",), {**t.whose, "past": True})),
    "search then": ("look", lambda t: (("茶",), {**t.whose, "as_of": t.long_ago})),
    "get_memory_as_of": ("look", lambda t: ((), {**t.whose, "timestamp": t.long_ago})),
    "get_fact_history": ("look", _of_fact()),
    "diff_memory": (
        "look",
        lambda t: ((), {**t.whose, "time_a": t.long_ago, "time_b": t.long_ago}),
    ),
    "list_modified_facts": ("look", lambda t: ((), {**t.whose, "start": t.long_ago})),
    "blame": ("look", _of_scope()),
    "get_session": ("recall", _of_session()),
    "get_turns": ("recall", _of_session(limit=1)),
    "get_turns then": ("look", lambda t: ((t.session_id,), {"as_of": t.long_ago})),
    "get_summaries": ("recall", _of_session()),
    "get_turn": ("recall", _of_turn()),
    "get_turn then": ("look", lambda t: ((t.turn_id,), {"as_of": t.long_ago})),
    "list_sessions": ("recall", _of_scope()),
    "build_context": ("recall", lambda t: (("tea",), t.whose)),
    "build_context of a session": (
        "recall",
        lambda t: (("tea",), {**t.whose, "session_id": t.session_id}),
    ),
    "get_turns_before": ("look", lambda t: ((), {**t.whose, "timestamp": t.long_ago})),
    "get_source_turns": ("look", _of_fact()),
    "get_facts_of_turn": ("look", _of_turn()),
    "get_uses": ("look", _of_fact()),
    "get_receipts": ("look", _of_scope()),
    "why": ("replay", lambda t: (("tea",), t.whose)),
    "reproduce_badcase": (
        "replay",
        lambda t: ((), {**t.whose, "timestamp": t.long_ago, "agent": lambda **_: None}),
    ),
    "plan_rollback": (
        "take_back",
        lambda t: ((), {"fact_id": t.fact_id, "to_version": 1}),
    ),
    "plan_rollback of all": ("take_back", lambda t: ((), {**t.whose, "to": t.long_ago})),
    "plan_erasure": ("erase", _of_scope()),
    "list_holds": ("hold", _of_scope()),
    "access_log": ("audit", _of_scope()),
    "access_log of all": ("audit", _of_ledger()),
    "list_broken_glass": ("audit", _of_ledger()),
    "review_broken_glass": ("audit", _of_ledger("0" * 32)),
    "get_config_as_of": ("attest", lambda t: ((t.long_ago,), {})),
    "record_config": ("operate", _of_ledger("prompt", "v1")),
    "get_stray_receipts": ("operate", _of_ledger()),
    "count_lost_receipts": ("operate", _of_ledger()),
    "flush_receipts": ("operate", _of_ledger()),
    "plan_archive": ("operate", _of_ledger()),
    "archive": ("operate", _of_ledger()),
    "prune": ("operate", _of_ledger()),
    "query_archive": ("audit", _of_ledger("SELECT count(*) FROM events")),
    "import_export": ("operate", lambda t: ((empty_export(t.scope),), {})),
    "plan_retention": ("operate", lambda t: (([],), t.whose)),
    "plan_retention of all": ("operate", _of_ledger([])),
    "retain": ("operate", lambda t: (([],), t.whose)),
    "report_retention": ("operate", lambda t: (([],), t.whose)),
    "report_retention of all": ("operate", _of_ledger([])),
    "propose_share": ("propose", lambda t: ((t.fact_id,), {"to": Scope.org()})),
    "list_shared": ("recall", _of_scope()),
    "list_shared then": ("look", lambda t: ((), {**t.whose, "as_of": t.long_ago})),
    "list_proposals": ("decide", _of_scope()),
    "approve": ("decide", lambda t: ((t.proposal_id,), {})),
    "reject": ("decide", lambda t: ((t.proposal_id,), {})),
    "prove": ("attest", _of_ledger(1)),
    "prove_consistency": ("attest", _of_ledger(1)),
    "verify": ("attest", _of_ledger()),
    "erasure_certificate": ("attest", _of_ledger("0" * 20)),
    "issue_api_key": ("operate", _of_ledger(Principal(id="u-9"))),
    "list_api_keys": ("operate", _of_ledger()),
    "roll_api_key": ("operate", _of_ledger("0" * 26)),
    "revoke_api_key": ("operate", _of_ledger("0" * 26)),
    "index_progress": ("operate", _of_ledger()),
    "catch_up": ("operate", _of_ledger()),
    "reconcile": ("operate", _of_ledger()),
    "reindex": ("operate", _of_ledger()),
    "rebuild": ("operate", _of_ledger()),
    "rotate_key": ("operate", _of_ledger()),
    "start_session": ("write", _of_scope()),
    "add_turn": ("write", _of_session(role="user", content="茶")),
    "add_turns": ("write", _of_session(turns=[{"role": "user", "content": "茶"}])),
    "summarize_session": ("write", _of_session()),
    "withdraw_summary": ("write", _of_session(version=1)),
    "end_session": ("write", _of_session()),
    "export": ("replay", _of_scope()),
    "export_evidence": (
        "replay",
        lambda t: ((t.evidence,), {**t.whose, "matter": "case 4711"}),
    ),
    "entrust": ("write", _of_fact(owner="u-9")),
    "hand_over": ("write", _of_scope(owner="u-9", policy="keep", to="u-8")),
    "hand_over for good": ("erase", _of_scope(owner="u-9", policy="delete")),
    "remember": ("write", lambda t: (("likes tea 茶",), t.whose)),
    "remember_many": ("write", lambda t: ((["likes jazz", "写 Rust"],), t.whose)),
    "update": ("write", _of_fact(content="likes coffee")),
    "correct": ("write", _of_fact(content="likes green tea")),
    "end": ("write", _of_fact()),
    "forget": ("write", _of_fact()),
    "restore": ("write", _of_fact()),
    "merge": ("write", lambda t: ((t.fact_id,), {"into": t.other_fact_id})),
    "rollback_fact": ("take_back", _of_fact(to_version=1)),
    "undo": ("take_back", lambda t: ((t.tx_id,), {})),
    "apply": (
        "take_back",
        lambda t: ((t.store.plan_rollback(scope=t.scope, to=t.long_ago),), {}),
    ),
    "rollback_to_timestamp": (
        "take_back",
        lambda t: ((), {**t.whose, "rollback_to": t.long_ago}),
    ),
    "rollback_where": ("take_back", _of_scope(session_id="chat-7")),
    "freeze": ("freeze", _of_scope()),
    "thaw": ("freeze", _of_scope()),
    "place_hold": ("hold", _of_scope(matter="case 4711", hold_id="h-1")),
    "release_hold": ("hold", lambda t: (("h-1",), t.whose)),
    "forget for good": ("erase", _of_fact(mode="redact")),
    "redact_turn": ("erase", _of_turn()),
    "redact_session": ("erase", _of_session()),
    "erase": ("erase", _of_scope()),
}
"""By call: the act it is, and its arguments. The first word is the verb."""


def is_of_ledger(name: str) -> bool:
    """Whether a call is about no memory in particular."""
    act = CALLS[name][0]
    return act in ("identify", "attest") or name in (
        "access_log of all",
        "list_broken_glass",
        "review_broken_glass",
        "plan_retention of all",
        "report_retention of all",
        "plan_archive",
        "query_archive",
        "archive",
        "prune",
        "record_config",
        "get_stray_receipts",
        "count_lost_receipts",
        "flush_receipts",
        "issue_api_key",
        "list_api_keys",
        "roll_api_key",
        "revoke_api_key",
        "index_progress",
        "catch_up",
        "reconcile",
        "reindex",
        "rebuild",
        "rotate_key",
    )


def cells(place: str) -> Iterator[tuple[str, Call, str]]:
    """Yield name, call and act of every call that can be made at *place*."""
    for name, (act, call) in CALLS.items():
        if is_of_ledger(name) == (place == LEDGER):
            yield name, call, act
