"""
Every verb as the service offers it: method, path, fields, answer. One table.

The server makes its routes and its OpenAPI document of it, the client its requests.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from muniment.api.accesses import AccessLog, EmergencyAccess
from muniment.api.answers import (
    BlameEntry,
    Fact,
    FactHistory,
    FactVersion,
    MemoryDiff,
    MemorySnapshot,
    ModifiedFact,
    Page,
    Receipt,
    RollbackPlan,
)
from muniment.api.approvals import WATCHED
from muniment.api.certificates import ErasureCertificate, ErasurePlan
from muniment.api.contexts import Context
from muniment.api.credentials import ApiKey, IssuedKey
from muniment.api.custody import Hold, Verification
from muniment.api.explaining import Diagnosis
from muniment.api.found import SearchHits
from muniment.api.proposals import Proposal
from muniment.api.receipts import RecallReceipt
from muniment.api.request_fields import (
    BY,
    CONTEXT,
    NARROWING,
    ONE_OF_THREE,
    REVISION,
    STATED,
    TURN,
    Count,
    Fields,
    OnConflict,
    PrincipalBody,
    RuleBody,
    Text,
    Time,
    Version,
    Whose,
)
from muniment.api.retaining import Retirement
from muniment.api.summaries import Summary
from muniment.api.turns import Session, Turn
from muniment.api.unsaying import DrawnFacts
from muniment.domain.access import Principal
from muniment.ledger.attesting import InclusionProof
from muniment.projections.progress import Progress
from muniment.projections.reconcile import Difference


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """
    One verb over HTTP.

    Attributes:
        verb: Of the store, and the operation's id in the OpenAPI document.
        method: ``GET`` for what reads and has no content of its own to send.
        path: Below ``/v1``; in braces the arguments it holds.
        answer: What the verb gives back.
        needed: Fields that have to be there, of the query for ``GET``, else of the body.
        taken: Fields that may be.
        numbers: Which arguments in the path are whole numbers.
        renamed: By field, the argument of the verb, where they differ.
        if_match: Whether ``If-Match`` names the version that the caller decided on.
        keyed: Whether it takes an ``Idempotency-Key``.
        status: Of success.
    """

    verb: str
    method: str
    path: str
    answer: Any
    needed: Fields = field(default_factory=dict)
    taken: Fields = field(default_factory=dict)
    numbers: tuple[str, ...] = ()
    renamed: Mapping[str, str] = field(default_factory=dict)
    if_match: bool = False
    keyed: bool = False
    status: int = 200

    @property
    def reads(self) -> bool:
        """Whether it takes a reason as a header."""
        return not self.keyed and "reason" not in {**self.needed, **self.taken}


def _read(verb: str, path: str, answer: Any, **fields: Any) -> Operation:  # noqa: ANN401
    return Operation(verb=verb, method="GET", path=path, answer=answer, **fields)


def _ask(verb: str, path: str, answer: Any, **fields: Any) -> Operation:  # noqa: ANN401
    return Operation(verb=verb, method="POST", path=path, answer=answer, **fields)


def _write(
    verb: str,
    path: str,
    answer: Any = Receipt,  # noqa: ANN401 - a type, or an alias of one
    **fields: Any,  # noqa: ANN401 - those of `Operation`
) -> Operation:
    fields["taken"] = {**fields.get("taken", {}), **fields.pop("by", BY)}
    if verb in WATCHED:
        fields["taken"]["approval"] = Text
    for name in fields.get("needed", {}):
        fields["taken"].pop(name, None)
    keyed = fields.pop("keyed", True)
    return Operation(
        verb=verb, method="POST", path=path, answer=answer, keyed=keyed, **fields
    )


_OF: Final[Fields] = {"scope": Whose}
_FACT: Final = "/facts/{fact_id}"
_SESSION: Final = "/sessions/{session_id}"
_WHY: Final[Fields] = {"reason": Text}
_WITHIN: Final[Fields] = {"start": Time, "end": Time, "limit": Count}
_RECEIPTS: Final = tuple[RecallReceipt, ...]

OPERATIONS: Final = (
    _read("whoami", "/whoami", Principal),
    _read(
        "get_all",
        "/facts",
        Page,
        needed=_OF,
        taken={"category": Text, "limit": Count, "cursor": Text},
    ),
    _read("get", _FACT, Fact, taken={"as_of": Time, "valid_at": Time}),
    _read("get_fact_history", f"{_FACT}/history", FactHistory),
    _read(
        "get_memory_as_of",
        "/memory",
        MemorySnapshot,
        needed={**_OF, "as_of": Time},
        taken={"valid_at": Time},
        renamed={"as_of": "timestamp"},
    ),
    _read(
        "diff_memory",
        "/memory/diff",
        MemoryDiff,
        needed={**_OF, "time_a": Time, "time_b": Time},
        taken={"valid_at": Time},
    ),
    _read(
        "list_modified_facts",
        "/memory/modified",
        tuple[ModifiedFact, ...],
        needed={**_OF, "start": Time},
        taken={"end": Time},
    ),
    _read(
        "blame",
        "/memory/blame",
        tuple[BlameEntry, ...],
        needed=_OF,
        taken={"as_of": Time, "valid_at": Time},
    ),
    # What is looked for is no part of a URL: those are written down on the way.
    _ask("search", "/search", SearchHits, needed={"query": Text}, taken=NARROWING),
    _write(
        "remember",
        "/facts",
        Fact,
        needed={**_OF, "content": Text},
        taken=STATED,
        status=201,
    ),
    _write(
        "remember_many",
        "/facts/batch",
        needed={**_OF, "items": list[Text | dict[str, Any]]},
        status=201,
    ),
    _write("update", f"{_FACT}/update", Fact, taken=REVISION, if_match=True),
    _write("correct", f"{_FACT}/correct", Fact, taken=REVISION, if_match=True),
    _write("end", f"{_FACT}/end", taken={"valid_to": Time}, if_match=True),
    _write(
        "forget",
        f"{_FACT}/forget",
        taken={"mode": Literal["retire", "redact"]},
        if_match=True,
    ),
    _write("restore", f"{_FACT}/restore", if_match=True),
    _write("merge", f"{_FACT}/merge", needed={"into": Text}),
    _write(
        "start_session",
        "/sessions",
        Session,
        needed=_OF,
        taken={"agent": Text, "metadata": dict[str, Any]},
        status=201,
        by=_WHY,
    ),
    _read("list_sessions", "/sessions", tuple[Session, ...], needed=_OF),
    _read("get_session", _SESSION, Session),
    _write(
        "add_turn",
        f"{_SESSION}/turns",
        Turn,
        needed={"role": Text, "content": Text},
        taken=TURN,
        status=201,
        by={**_WHY, "trigger": Text},
    ),
    _write(
        "add_turns",
        f"{_SESSION}/turns/batch",
        tuple[Turn, ...],
        needed={"turns": list[dict[str, Any]]},
        status=201,
        by=_WHY,
    ),
    _read(
        "get_turns",
        f"{_SESSION}/turns",
        tuple[Turn, ...],
        taken={"limit": Count, "before": Text, "as_of": Time},
    ),
    _write("end_session", f"{_SESSION}/end", by=_WHY),
    _write("redact_session", f"{_SESSION}/redact", taken={"facts": DrawnFacts}),
    _write("redact_turn", "/turns/{turn_id}/redact", taken={"facts": DrawnFacts}),
    _read(
        "get_summaries",
        f"{_SESSION}/summaries",
        tuple[Summary, ...],
        taken={"as_of": Time},
    ),
    _read(
        "get_turns_before",
        "/turns",
        tuple[Turn, ...],
        needed={**_OF, "timestamp": Time},
        taken={"as_of": Time, "limit": Count},
    ),
    _read("get_turn", "/turns/{turn_id}", Turn),
    _read("get_facts_of_turn", "/turns/{turn_id}/facts", tuple[FactVersion, ...]),
    _read("get_source_turns", f"{_FACT}/turns", tuple[Turn, ...]),
    _read("get_uses", f"{_FACT}/uses", tuple[datetime, ...], taken={"as_of": Time}),
    _read("get_receipts", "/receipts", _RECEIPTS, needed=_OF, taken=_WITHIN),
    _read("get_stray_receipts", "/receipts/stray", _RECEIPTS, taken=_WITHIN),
    _ask("build_context", "/contexts", Context, needed={"query": Text}, taken=CONTEXT),
    _ask(
        "why",
        "/diagnoses",
        Diagnosis,
        needed={**_OF, "expect": Text},
        taken={"query": Text, "at": Time},
    ),
    _read(
        "get_config_as_of",
        "/configuration",
        Mapping[str, Any],
        needed={"timestamp": Time},
    ),
    _write(
        "record_config",
        "/configuration",
        needed={"name": Text, "value": Any},
        by={"reason": Text},
        keyed=False,
    ),
    _read("count_lost_receipts", "/receipts/lost", int),
    _ask("flush_receipts", "/receipts/flush", type(None)),
    _ask("plan_rollback", "/rollbacks/plan", RollbackPlan, taken=ONE_OF_THREE),
    _write(
        "apply",
        "/rollbacks",
        needed={"position": Annotated[int, Field(ge=0, le=2**62)]},
        taken={**ONE_OF_THREE, "on_conflict": OnConflict},
    ),
    _write("rollback_fact", f"{_FACT}/rollback", needed={"to_version": Version}),
    _write(
        "rollback_to_timestamp",
        "/rollbacks/to-time",
        needed={**_OF, "rollback_to": Time},
    ),
    _write(
        "rollback_where",
        "/rollbacks/by-cause",
        needed=_OF,
        taken={
            "session_id": Text,
            "source": Text,
            "actor": Text,
            "trigger": Text,
            "since": Time,
            "until": Time,
            "on_conflict": OnConflict,
        },
    ),
    _write(
        "undo",
        "/transactions/{tx_id}/undo",
        numbers=("tx_id",),
        taken={"on_conflict": OnConflict},
    ),
    _read("plan_erasure", "/erasures/plan", ErasurePlan, needed=_OF),
    _write("erase", "/erasures", ErasureCertificate, needed={**_OF, "reason": Text}),
    _read("erasure_certificate", "/erasures/{subject_ref}", ErasureCertificate | None),
    _read("list_holds", "/holds", tuple[Hold, ...], needed=_OF),
    _write(
        "place_hold",
        "/holds",
        needed={**_OF, "matter": Text},
        taken={"fact_id": Text, "hold_id": Text},
    ),
    _write("release_hold", "/holds/release", needed={**_OF, "hold_id": Text}),
    _write("freeze", "/freezes", needed=_OF),
    _write("thaw", "/thaws", needed=_OF),
    _read(
        "access_log",
        "/accesses",
        AccessLog,
        taken={**_OF, "limit": Count, "cursor": Text},
    ),
    _read("list_proposals", "/proposals", tuple[Proposal, ...], needed=_OF),
    _write(
        "propose_share",
        f"{_FACT}/share",
        Proposal,
        needed={"to_scope": Whose},
        taken={"review_at": Time},
        renamed={"to_scope": "to"},
        status=201,
    ),
    _write("approve", "/proposals/{proposal_id}/approve", Proposal),
    _write("reject", "/proposals/{proposal_id}/reject", Proposal),
    _read("list_broken_glass", "/emergencies", tuple[EmergencyAccess, ...]),
    _write("review_broken_glass", "/emergencies/{glass_id}/review"),
    _read("list_api_keys", "/api-keys", tuple[ApiKey, ...]),
    _write(
        "issue_api_key",
        "/api-keys",
        IssuedKey,
        needed={"principal": PrincipalBody},
        taken={"verbs": list[Text], "ends_at": Time},
        status=201,
    ),
    _write(
        "roll_api_key",
        "/api-keys/{key_id}/roll",
        IssuedKey,
        taken={"old_ends_at": Time},
        status=201,
    ),
    _write("revoke_api_key", "/api-keys/{key_id}/revoke"),
    _ask(
        "plan_retention",
        "/retention/plan",
        tuple[Retirement, ...],
        needed={"rules": list[RuleBody]},
        taken=_OF,
    ),
    _write(
        "retain",
        "/retention",
        tuple[Receipt, ...],
        needed={"rules": list[RuleBody]},
        taken=_OF,
    ),
    _read("public_key", "/proofs/public-key", bytes),
    _read("origin", "/proofs/origin", str),
    _read("tree_head", "/proofs/tree-head", str),
    _read("prove", "/proofs/inclusion/{position}", InclusionProof, numbers=("position",)),
    _read("prove_consistency", "/proofs/consistency/{size}", str, numbers=("size",)),
    _ask("verify", "/verification", Verification, taken={"published": list[Text]}),
    _read("index_progress", "/index", Progress),
    _ask("catch_up", "/index/catch-up", Progress),
    _ask("reconcile", "/index/reconcile", tuple[Difference, ...], taken={"mend": bool}),
    _ask(
        "reindex",
        "/index/reindex",
        Progress,
        taken={"embedder": Literal["local", "openai", "hashing", "none"]},
    ),
    _ask("rebuild", "/maintenance/rebuild", int),
    _ask("rotate_key", "/maintenance/rotate-key", int),
)
"""Every verb of the table of rights has its operation; a test holds it."""
