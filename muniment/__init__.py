"""
Muniment: an event-sourced, bitemporal memory store for AI agents, with time travel.

Open a `MemoryStore`, remember, and ask it what was known at any moment since.
"""

from importlib import import_module
from typing import TYPE_CHECKING


if TYPE_CHECKING:
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
    from muniment.api.custody import Hold, Verification
    from muniment.api.found import LegRank, SearchHit, SearchHits
    from muniment.api.retaining import Retirement
    from muniment.api.rollbacks import Cause
    from muniment.api.store import MemoryStore
    from muniment.domain.policy import RetentionRule
    from muniment.domain.scope import Scope
    from muniment.errors import MunimentError
    from muniment.settings import Settings
else:
    # A name is imported when it is first used: the command line says its version, or
    # what is typed wrongly, without loading a database library, ten times as fast.
    _ELSEWHERE = {
        "Cause": "muniment.api.rollbacks",
        "ErasureCertificate": "muniment.api.certificates",
        "ErasurePlan": "muniment.api.certificates",
        "ErasureStatus": "muniment.api.certificates",
        "Hold": "muniment.api.custody",
        "LegRank": "muniment.api.found",
        "MemoryStore": "muniment.api.store",
        "MunimentError": "muniment.errors",
        "RetentionRule": "muniment.domain.policy",
        "Retirement": "muniment.api.retaining",
        "Scope": "muniment.domain.scope",
        "SearchHit": "muniment.api.found",
        "SearchHits": "muniment.api.found",
        "Settings": "muniment.settings",
        "StoreReport": "muniment.api.certificates",
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
    "BlameEntry",
    "Cause",
    "DiffEntry",
    "ErasureCertificate",
    "ErasurePlan",
    "ErasureStatus",
    "Fact",
    "FactHistory",
    "FactVersion",
    "Hold",
    "LegRank",
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
    "SearchHit",
    "SearchHits",
    "Settings",
    "SkippedFact",
    "StoreReport",
    "Verification",
]
