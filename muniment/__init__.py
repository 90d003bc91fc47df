"""
Muniment: an event-sourced, bitemporal memory store for AI agents, with time travel.

Open a `MemoryStore`, remember, and ask it what was known at any moment since.
"""

from importlib import import_module
from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from muniment.api.access import ActingStore
    from muniment.api.accesses import AccessEntry, AccessLog, EmergencyAccess, EmergencyPage
    from muniment.api.answers import (
        BlameEntry,
        DiffEntry,
        Fact,
        FactHistory,
        FactVersion,
        MemoryDiff,
        MemorySnapshot,
        ModifiedFact,
        Page,
        PlannedConflict,
        Receipt,
        RollbackPlan,
        SkippedFact,
    )
    from muniment.api.certificates import (
        ErasureCertificate,
        ErasurePlan,
        ErasureStatus,
        StoreReport,
    )
    from muniment.api.contexts import Context
    from muniment.api.credentials import ApiKey, Credential, IssuedKey
    from muniment.api.custody import Hold, Verification
    from muniment.api.diagnoses import Check, Diagnosis
    from muniment.api.found import LegRank, SearchHit, SearchHits
    from muniment.api.proposed import Proposal, ProposalPage, ProposalState
    from muniment.api.receipts import RecallReceipt, ServedFact
    from muniment.api.replaying import Badcase
    from muniment.api.retaining import Retirement
    from muniment.api.retention_report import RetentionAct, RetentionReport
    from muniment.api.rollbacks import Cause
    from muniment.api.store import MemoryStore
    from muniment.api.summaries import Summary
    from muniment.api.turns import Session, Turn
    from muniment.domain.access import Principal
    from muniment.domain.keeping import Records
    from muniment.domain.policy import RetentionRule
    from muniment.domain.scope import Scope
    from muniment.errors import MunimentError
    from muniment.projections.ports import Generation
    from muniment.projections.progress import Progress
    from muniment.projections.reconcile import Difference, Fault
    from muniment.settings import Settings
else:
    # A name is imported when it is first used: the command line says its version, or
    # what is typed wrongly, without loading a database library, ten times as fast.
    _ELSEWHERE = {
        "AccessEntry": "muniment.api.accesses",
        "AccessLog": "muniment.api.accesses",
        "ActingStore": "muniment.api.access",
        "ApiKey": "muniment.api.credentials",
        "Badcase": "muniment.api.replaying",
        "Cause": "muniment.api.rollbacks",
        "Check": "muniment.api.diagnoses",
        "Context": "muniment.api.contexts",
        "Credential": "muniment.api.credentials",
        "Diagnosis": "muniment.api.diagnoses",
        "EmergencyAccess": "muniment.api.accesses",
        "EmergencyPage": "muniment.api.accesses",
        "Difference": "muniment.projections.reconcile",
        "ErasureCertificate": "muniment.api.certificates",
        "ErasurePlan": "muniment.api.certificates",
        "ErasureStatus": "muniment.api.certificates",
        "Fault": "muniment.projections.reconcile",
        "Generation": "muniment.projections.ports",
        "Hold": "muniment.api.custody",
        "IssuedKey": "muniment.api.credentials",
        "LegRank": "muniment.api.found",
        "MemoryStore": "muniment.api.store",
        "MunimentError": "muniment.errors",
        "Principal": "muniment.domain.access",
        "Proposal": "muniment.api.proposed",
        "ProposalPage": "muniment.api.proposed",
        "ProposalState": "muniment.api.proposed",
        "Progress": "muniment.projections.progress",
        "RecallReceipt": "muniment.api.receipts",
        "Records": "muniment.domain.keeping",
        "RetentionAct": "muniment.api.retention_report",
        "RetentionReport": "muniment.api.retention_report",
        "RetentionRule": "muniment.domain.policy",
        "Retirement": "muniment.api.retaining",
        "Scope": "muniment.domain.scope",
        "SearchHit": "muniment.api.found",
        "SearchHits": "muniment.api.found",
        "ServedFact": "muniment.api.receipts",
        "Session": "muniment.api.turns",
        "Settings": "muniment.settings",
        "StoreReport": "muniment.api.certificates",
        "Summary": "muniment.api.summarizing",
        "Turn": "muniment.api.turns",
        "Verification": "muniment.api.custody",
    }

    def __getattr__(name: str) -> object:
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        module = import_module(_ELSEWHERE.get(name, "muniment.api.answers"))
        found = globals()[name] = getattr(module, name)
        return found

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})


__all__ = [
    "AccessEntry",
    "AccessLog",
    "ActingStore",
    "ApiKey",
    "Badcase",
    "BlameEntry",
    "Cause",
    "Check",
    "Context",
    "Credential",
    "Diagnosis",
    "DiffEntry",
    "Difference",
    "EmergencyAccess",
    "EmergencyPage",
    "ErasureCertificate",
    "ErasurePlan",
    "ErasureStatus",
    "Fact",
    "FactHistory",
    "FactVersion",
    "Fault",
    "Generation",
    "Hold",
    "IssuedKey",
    "LegRank",
    "MemoryDiff",
    "MemorySnapshot",
    "MemoryStore",
    "ModifiedFact",
    "MunimentError",
    "Page",
    "PlannedConflict",
    "Principal",
    "Progress",
    "Proposal",
    "ProposalPage",
    "ProposalState",
    "RecallReceipt",
    "Receipt",
    "Records",
    "RetentionAct",
    "RetentionReport",
    "RetentionRule",
    "Retirement",
    "RollbackPlan",
    "Scope",
    "SearchHit",
    "SearchHits",
    "ServedFact",
    "Session",
    "Settings",
    "SkippedFact",
    "StoreReport",
    "Summary",
    "Turn",
    "Verification",
]
