"""What each verb of the store does, and by what a call says to whose memory. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Act(StrEnum):
    """What a verb does, as far as rights go."""

    IDENTIFY = "identify"
    """Say which store this is, and who asks."""

    RECALL = "recall"
    """Use what is known now."""

    LOOK = "look"
    """Look at the past: what was known, what changed, who said so."""

    REPLAY = "replay"
    """Go through all of what an agent had: nothing of it can be left out for anybody."""

    WRITE = "write"
    TAKE_BACK = "take_back"
    ERASE = "erase"
    """Make unreadable for good: redact, erase."""

    HOLD = "hold"
    FREEZE = "freeze"
    AUDIT = "audit"
    """See who looked."""

    ATTEST = "attest"
    """Prove and verify; no content."""

    PROPOSE = "propose"
    """Propose that more may know."""

    DECIDE = "decide"
    """See what is proposed, and agree or not."""

    OPERATE = "operate"
    """Keep the store running: retention, indexes, keys."""


class Named(StrEnum):
    """By what a call says whose memory it is about."""

    SCOPE = "scope"
    SCOPES = "scopes"
    SCOPE_OR_ALL = "scope_or_all"
    FACT = "fact"
    FACT_OR_SCOPE = "fact_or_scope"
    TRANSACTION = "transaction"
    PLAN = "plan"
    PROPOSAL = "proposal"
    DOCUMENT = "document"
    SESSION = "session"
    TURN = "turn"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class Verb:
    """
    What a verb of the store is to the guard.

    Attributes:
        act: What it does.
        named: By what it says whose memory it is about.
        writes: Whether it appends what it does, with actor and reason, to the ledger.
    """

    act: Act
    named: Named
    writes: bool = False


def _write(act: Act, named: Named = Named.FACT) -> Verb:
    return Verb(act, named, writes=True)


VERBS: Final[Mapping[str, Verb]] = {
    "public_key": Verb(Act.IDENTIFY, Named.NOTHING),
    "origin": Verb(Act.IDENTIFY, Named.NOTHING),
    "tree_head": Verb(Act.IDENTIFY, Named.NOTHING),
    "get": Verb(Act.RECALL, Named.FACT),
    "get_all": Verb(Act.RECALL, Named.SCOPES),
    "search": Verb(Act.RECALL, Named.SCOPES),
    "get_memory_as_of": Verb(Act.LOOK, Named.SCOPE),
    "get_fact_history": Verb(Act.LOOK, Named.FACT),
    "diff_memory": Verb(Act.LOOK, Named.SCOPE),
    "list_modified_facts": Verb(Act.LOOK, Named.SCOPE),
    "blame": Verb(Act.LOOK, Named.SCOPE),
    "remember": _write(Act.WRITE, Named.SCOPE),
    "remember_many": _write(Act.WRITE, Named.SCOPE),
    "update": _write(Act.WRITE),
    "correct": _write(Act.WRITE),
    "end": _write(Act.WRITE),
    "forget": _write(Act.WRITE),
    "restore": _write(Act.WRITE),
    "merge": _write(Act.WRITE),
    "start_session": _write(Act.WRITE, Named.SCOPE),
    "add_turn": _write(Act.WRITE, Named.SESSION),
    "add_turns": _write(Act.WRITE, Named.SESSION),
    "end_session": _write(Act.WRITE, Named.SESSION),
    "summarize_session": _write(Act.WRITE, Named.SESSION),
    "withdraw_summary": _write(Act.WRITE, Named.SESSION),
    "redact_turn": _write(Act.ERASE, Named.TURN),
    "redact_session": _write(Act.ERASE, Named.SESSION),
    "list_sessions": Verb(Act.RECALL, Named.SCOPE),
    "get_session": Verb(Act.RECALL, Named.SESSION),
    "get_turns": Verb(Act.RECALL, Named.SESSION),
    "get_summaries": Verb(Act.RECALL, Named.SESSION),
    "get_turn": Verb(Act.RECALL, Named.TURN),
    "build_context": Verb(Act.RECALL, Named.SCOPES),
    "get_turns_before": Verb(Act.LOOK, Named.SCOPE),
    "get_source_turns": Verb(Act.LOOK, Named.FACT),
    "get_facts_of_turn": Verb(Act.LOOK, Named.TURN),
    "get_uses": Verb(Act.LOOK, Named.FACT),
    "get_receipts": Verb(Act.LOOK, Named.SCOPE),
    "reproduce_badcase": Verb(Act.REPLAY, Named.SCOPE),
    "why": Verb(Act.REPLAY, Named.SCOPES),
    # What is given out is recorded by the verb itself, before it is.
    "export": _write(Act.REPLAY, Named.SCOPE),
    "export_evidence": _write(Act.REPLAY, Named.SCOPE),
    "plan_rollback": Verb(Act.TAKE_BACK, Named.FACT_OR_SCOPE),
    "apply": _write(Act.TAKE_BACK, Named.PLAN),
    "rollback_fact": _write(Act.TAKE_BACK),
    "rollback_to_timestamp": _write(Act.TAKE_BACK, Named.SCOPE),
    "rollback_where": _write(Act.TAKE_BACK, Named.SCOPE),
    "undo": _write(Act.TAKE_BACK, Named.TRANSACTION),
    "plan_erasure": Verb(Act.ERASE, Named.SCOPE),
    "erase": _write(Act.ERASE, Named.SCOPE),
    "list_holds": Verb(Act.HOLD, Named.SCOPE),
    "place_hold": _write(Act.HOLD, Named.SCOPE),
    "release_hold": _write(Act.HOLD, Named.SCOPE),
    "freeze": _write(Act.FREEZE, Named.SCOPE),
    "thaw": _write(Act.FREEZE, Named.SCOPE),
    "access_log": Verb(Act.AUDIT, Named.SCOPE_OR_ALL),
    "list_broken_glass": Verb(Act.AUDIT, Named.NOTHING),
    "review_broken_glass": _write(Act.AUDIT, Named.NOTHING),
    "propose_share": _write(Act.PROPOSE),
    "list_shared": Verb(Act.RECALL, Named.SCOPE),
    "entrust": _write(Act.WRITE),
    "hand_over": _write(Act.WRITE, Named.SCOPE),
    "list_proposals": Verb(Act.DECIDE, Named.SCOPE),
    "approve": _write(Act.DECIDE, Named.PROPOSAL),
    "reject": _write(Act.DECIDE, Named.PROPOSAL),
    "prove": Verb(Act.ATTEST, Named.NOTHING),
    "prove_consistency": Verb(Act.ATTEST, Named.NOTHING),
    "verify": Verb(Act.ATTEST, Named.NOTHING),
    "erasure_certificate": Verb(Act.ATTEST, Named.NOTHING),
    "get_config_as_of": Verb(Act.ATTEST, Named.NOTHING),
    "record_config": _write(Act.OPERATE, Named.NOTHING),
    "get_stray_receipts": Verb(Act.OPERATE, Named.NOTHING),
    "count_lost_receipts": Verb(Act.OPERATE, Named.NOTHING),
    "flush_receipts": Verb(Act.OPERATE, Named.NOTHING),
    "plan_archive": Verb(Act.OPERATE, Named.NOTHING),
    "archive": Verb(Act.OPERATE, Named.NOTHING),
    "prune": Verb(Act.OPERATE, Named.NOTHING),
    # The ledger of everybody, sealed: who did what when, and to whose memory.
    "query_archive": Verb(Act.AUDIT, Named.NOTHING),
    "import_export": Verb(Act.OPERATE, Named.DOCUMENT),
    "plan_retention": Verb(Act.OPERATE, Named.SCOPE_OR_ALL),
    "retain": _write(Act.OPERATE, Named.SCOPE_OR_ALL),
    "report_retention": Verb(Act.OPERATE, Named.SCOPE_OR_ALL),
    "issue_api_key": _write(Act.OPERATE, Named.NOTHING),
    "roll_api_key": _write(Act.OPERATE, Named.NOTHING),
    "revoke_api_key": _write(Act.OPERATE, Named.NOTHING),
    "list_api_keys": Verb(Act.OPERATE, Named.NOTHING),
    "rotate_key": Verb(Act.OPERATE, Named.NOTHING),
    "rebuild": Verb(Act.OPERATE, Named.NOTHING),
    "reindex": Verb(Act.OPERATE, Named.NOTHING),
    "catch_up": Verb(Act.OPERATE, Named.NOTHING),
    "reconcile": Verb(Act.OPERATE, Named.NOTHING),
    "index_progress": Verb(Act.OPERATE, Named.NOTHING),
}
"""Every verb a principal can be given, by name; one that is missing here is refused."""
