"""
Every verb as the service offers it: method, path, fields, answer. One table.

The server makes its routes and its OpenAPI document of it, the client its requests.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from muniment.api.accesses import AccessLog, EmergencyPage
from muniment.api.answers import (
    BlameEntry,
    Fact,
    FactHistory,
    FactVersion,
    MemoryDiff,
    MemorySnapshot,
    ModifiedFact,
    Page,
    RollbackPlan,
)
from muniment.api.certificates import ErasureCertificate, ErasurePlan
from muniment.api.contexts import Context
from muniment.api.credentials import ApiKey, IssuedKey
from muniment.api.custody import Hold
from muniment.api.diagnoses import Diagnosis
from muniment.api.entrusting import HandedOver, SharedFact
from muniment.api.found import SearchHits
from muniment.api.keeping_operations import KEEPING
from muniment.api.operation import (
    DEED,
    FACT,
    OF,
    SESSION,
    WHY,
    ask,
    keep,
    read,
    write,
)
from muniment.api.proposed import Proposal, ProposalPage
from muniment.api.receipts import RecallReceipt
from muniment.api.replaying import Badcase
from muniment.api.request_fields import (
    CONTEXT,
    NARROWING,
    ONE_OF_THREE,
    PAGE,
    REVISION,
    SEVERAL,
    STATED,
    SUMMARIES,
    THEN,
    TURN,
    Count,
    OnConflict,
    PrincipalBody,
    Text,
    Time,
    Version,
    Whose,
)
from muniment.api.summaries import Summary
from muniment.api.turns import Session, Turn
from muniment.api.unsaying import DrawnFacts
from muniment.domain.access import Principal


OPERATIONS: Final = (
    read("whoami", "/whoami", Principal),
    read(
        "get_all",
        "/facts",
        Page,
        needed=OF,
        taken={"scopes": list[Whose], "category": Text, **THEN, **PAGE},
    ),
    read("get", FACT, Fact, taken=THEN),
    read("get_fact_history", f"{FACT}/history", FactHistory, taken=THEN),
    read(
        "get_memory_as_of",
        "/memory",
        MemorySnapshot,
        needed={**OF, "as_of": Time},
        taken={"valid_at": Time},
        renamed={"as_of": "timestamp"},
    ),
    read(
        "diff_memory",
        "/memory/diff",
        MemoryDiff,
        needed={**OF, "time_a": Time, "time_b": Time},
        taken={"valid_at": Time},
    ),
    read(
        "list_modified_facts",
        "/memory/modified",
        tuple[ModifiedFact, ...],
        needed={**OF, "start": Time},
        taken={"end": Time},
    ),
    read(
        "blame",
        "/memory/blame",
        tuple[BlameEntry, ...],
        needed=OF,
        taken=THEN,
    ),
    # What is looked for is no part of a URL: those are written down on the way.
    ask("search", "/search", SearchHits, needed={"query": Text}, taken=NARROWING),
    write(
        "remember",
        "/facts",
        Fact,
        needed={**OF, "content": Text},
        taken=STATED,
        status=201,
    ),
    write(
        "remember_many",
        "/facts/batch",
        needed={**OF, "items": list[Text | dict[str, Any]]},
        status=201,
    ),
    write("update", f"{FACT}/update", Fact, taken=REVISION, if_match=True),
    write("correct", f"{FACT}/correct", Fact, taken=REVISION, if_match=True),
    write("end", f"{FACT}/end", taken={"valid_to": Time}, if_match=True),
    write(
        "forget",
        f"{FACT}/forget",
        taken={"mode": Literal["retire", "redact"]},
        if_match=True,
    ),
    write("restore", f"{FACT}/restore", if_match=True),
    write("merge", f"{FACT}/merge", needed={"into": Text}),
    write(
        "start_session",
        "/sessions",
        Session,
        needed=OF,
        taken={"agent": Text, "metadata": dict[str, Any]},
        status=201,
        by=DEED,
    ),
    read("list_sessions", "/sessions", tuple[Session, ...], needed=OF, taken=THEN),
    read("get_session", SESSION, Session, taken=THEN),
    write(
        "add_turn",
        f"{SESSION}/turns",
        Turn,
        needed={"role": Text, "content": Text},
        taken=TURN,
        status=201,
        by=DEED,
    ),
    write(
        "add_turns",
        f"{SESSION}/turns/batch",
        tuple[Turn, ...],
        needed={"turns": list[dict[str, Any]]},
        status=201,
        by=DEED,
    ),
    read(
        "get_turns",
        f"{SESSION}/turns",
        tuple[Turn, ...],
        taken={"limit": Count, "before": Text, **THEN},
    ),
    write("end_session", f"{SESSION}/end", by=DEED),
    read(
        "get_summaries",
        f"{SESSION}/summaries",
        tuple[Summary, ...],
        taken=THEN,
    ),
    write(
        "summarize_session",
        f"{SESSION}/summaries",
        tuple[Summary, ...],
        taken=SUMMARIES,
        status=201,
        by=DEED,
        repeated="Turns that are summarised are not summarised again.",
    ),
    write(
        "withdraw_summary",
        f"{SESSION}/summaries/{{version}}/withdraw",
        type(None),
        numbers=("version",),
        by=DEED,
    ),
    read(
        "get_turns_before",
        "/turns",
        tuple[Turn, ...],
        needed={**OF, "timestamp": Time},
        taken={"as_of": Time, "limit": Count},
    ),
    read("get_turn", "/turns/{turn_id}", Turn, taken=THEN),
    write(
        "redact_turn",
        "/turns/{turn_id}/redact",
        taken={"facts": DrawnFacts},
        by=DEED,
    ),
    write(
        "redact_session",
        f"{SESSION}/redact",
        taken={"facts": DrawnFacts},
        by=DEED,
    ),
    read(
        "get_facts_of_turn",
        "/turns/{turn_id}/facts",
        tuple[FactVersion, ...],
        taken=THEN,
    ),
    read("get_source_turns", f"{FACT}/turns", tuple[Turn, ...], taken=THEN),
    read("get_uses", f"{FACT}/uses", tuple[datetime, ...], taken=THEN),
    read(
        "get_receipts",
        "/receipts",
        tuple[RecallReceipt, ...],
        needed=OF,
        taken={"start": Time, "end": Time, "limit": Count},
    ),
    read(
        "get_stray_receipts",
        "/receipts/stray",
        tuple[RecallReceipt, ...],
        taken={"start": Time, "end": Time, "limit": Count},
    ),
    ask("build_context", "/contexts", Context, needed={"query": Text}, taken=CONTEXT),
    ask(
        "why",
        "/diagnoses",
        Diagnosis,
        needed={"expect": Text},
        taken={**SEVERAL, "query": Text, "at": Time},
    ),
    read(
        "reproduce_badcase",
        "/badcases",
        Badcase,
        needed={**OF, "timestamp": Time},
        taken={"turns": Count, "receipts": Count},
    ),
    read(
        "get_config_as_of",
        "/configuration",
        Mapping[str, Any],
        needed={"timestamp": Time},
    ),
    write(
        "record_config",
        "/configuration",
        needed={"name": Text, "value": Any},
        by=DEED,
    ),
    read("count_lost_receipts", "/receipts/lost", int, taken=THEN),
    keep(
        "flush_receipts",
        "/receipts/flush",
        type(None),
        repeated="What is durable stays so.",
    ),
    ask("plan_rollback", "/rollbacks/plan", RollbackPlan, taken=ONE_OF_THREE),
    write(
        "apply",
        "/rollbacks",
        needed={"position": Annotated[int, Field(ge=0, le=2**62)]},
        taken={**ONE_OF_THREE, "on_conflict": OnConflict},
    ),
    write("rollback_fact", f"{FACT}/rollback", needed={"to_version": Version}),
    write(
        "rollback_to_timestamp",
        "/rollbacks/to-time",
        needed={**OF, "rollback_to": Time},
    ),
    write(
        "rollback_where",
        "/rollbacks/by-cause",
        needed=OF,
        taken={
            "session_id": Text,
            "source": Text,
            "actor": Text,
            "trigger": Text,
            "since": Time,
            "until": Time,
            "on_conflict": OnConflict,
        },
        by=WHY,
    ),
    write(
        "undo",
        "/transactions/{tx_id}/undo",
        numbers=("tx_id",),
        taken={"on_conflict": OnConflict},
    ),
    read("plan_erasure", "/erasures/plan", ErasurePlan, needed=OF),
    write("erase", "/erasures", ErasureCertificate, needed={**OF, "reason": Text}),
    read("erasure_certificate", "/erasures/{subject_ref}", ErasureCertificate | None),
    read("list_holds", "/holds", tuple[Hold, ...], needed=OF, taken=THEN),
    write(
        "place_hold",
        "/holds",
        needed={**OF, "matter": Text},
        taken={"fact_id": Text, "hold_id": Text},
    ),
    write("release_hold", "/holds/release", needed={**OF, "hold_id": Text}),
    write("freeze", "/freezes", needed=OF, taken={"hide": bool}),
    write("thaw", "/thaws", needed=OF),
    read(
        "access_log",
        "/accesses",
        AccessLog,
        taken={**OF, **PAGE, **THEN},
    ),
    read("list_proposals", "/proposals", ProposalPage, needed=OF, taken={**PAGE, **THEN}),
    write(
        "propose_share",
        f"{FACT}/share",
        Proposal,
        needed={"to_scope": Whose},
        taken={"review_at": Time},
        renamed={"to_scope": "to"},
        status=201,
    ),
    read(
        "list_shared",
        "/shared",
        tuple[SharedFact, ...],
        needed=OF,
        taken={"owner": Text, "overdue": bool, **THEN},
    ),
    write(
        "entrust",
        f"{FACT}/entrust",
        Fact,
        taken={"owner": Text, "review_at": Time},
        by=DEED,
        repeated="What is so already is left as it is.",
    ),
    write(
        "hand_over",
        "/shared/hand-over",
        HandedOver,
        needed={**OF, "owner": Text},
        taken={"policy": Literal["keep", "archive", "delete"], "to": Text},
        by=DEED,
        repeated="What was dealt with is no longer theirs, or no longer used.",
    ),
    write("approve", "/proposals/{proposal_id}/approve", Proposal),
    write("reject", "/proposals/{proposal_id}/reject", Proposal),
    read("list_broken_glass", "/emergencies", EmergencyPage, taken={**PAGE, **THEN}),
    write("review_broken_glass", "/emergencies/{glass_id}/review"),
    read("list_api_keys", "/api-keys", tuple[ApiKey, ...], taken=THEN),
    write(
        "issue_api_key",
        "/api-keys",
        IssuedKey,
        needed={"principal": PrincipalBody},
        taken={"verbs": list[Text], "ends_at": Time},
        status=201,
    ),
    write(
        "roll_api_key",
        "/api-keys/{key_id}/roll",
        IssuedKey,
        taken={"old_ends_at": Time},
        status=201,
    ),
    write("revoke_api_key", "/api-keys/{key_id}/revoke"),
    *KEEPING,
)
"""Every verb of the table of rights has its operation; a test holds it."""
