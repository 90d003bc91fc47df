"""
Muniment: an event-sourced, bitemporal memory store for AI agents, with time travel.

Open a `MemoryStore`, remember, and ask it what was known at any moment since.
"""

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
from muniment.api.custody import Verification
from muniment.api.retaining import Retirement
from muniment.api.rollbacks import Cause
from muniment.api.store import MemoryStore
from muniment.domain.policy import RetentionRule
from muniment.domain.scope import Scope
from muniment.errors import MunimentError
from muniment.settings import Settings


__all__ = [
    "BlameEntry",
    "Cause",
    "DiffEntry",
    "ErasureCertificate",
    "ErasurePlan",
    "ErasureStatus",
    "Fact",
    "FactHistory",
    "FactVersion",
    "MemoryDiff",
    "MemorySnapshot",
    "MemoryStore",
    "ModifiedFact",
    "MunimentError",
    "Page",
    "PlannedConflict",
    "Receipt",
    "RetentionRule",
    "Retirement",
    "RollbackPlan",
    "Scope",
    "Settings",
    "SkippedFact",
    "StoreReport",
    "Verification",
]
