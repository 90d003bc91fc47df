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
from muniment.api.found import LegRank, SearchHit, SearchHits
from muniment.api.rollbacks import Cause
from muniment.api.store import MemoryStore
from muniment.domain.scope import Scope
from muniment.errors import MunimentError
from muniment.settings import Settings


__all__ = [
    "BlameEntry",
    "Cause",
    "DiffEntry",
    "Fact",
    "FactHistory",
    "FactVersion",
    "LegRank",
    "MemoryDiff",
    "MemorySnapshot",
    "MemoryStore",
    "ModifiedFact",
    "MunimentError",
    "Page",
    "PlannedConflict",
    "Receipt",
    "RollbackPlan",
    "Scope",
    "SearchHit",
    "SearchHits",
    "Settings",
    "SkippedFact",
]
