"""A memory of which records of every kind were made, long ago."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from muniment import MemoryStore, Principal, Receipt, RetentionRule
from muniment.domain.access import Role
from muniment.domain.keeping import DAY_US, LEAST_DAYS, Records
from tests.stores import SECOND, Backend, SettableClock


USER: Final = "ann"
CANARY: Final = "CANARY 住在杭州"
OFFICER: Final = Principal(id="officer", roles=(Role.COMPLIANCE_OFFICER,))
ON_CALL: Final = Principal(id="engineer", roles=(Role.ON_CALL,))

RULES: Final = [
    RetentionRule(records=kind, older_than_us=LEAST_DAYS.get(kind, 30) * DAY_US)
    for kind in Records
]
"""One for each kind, the shortest there may be."""

AFTER_ALL_US: Final = (LEAST_DAYS[Records.EMERGENCY] + 1) * DAY_US
"""So long after they were made all of them are due."""


@dataclass
class Recorded:
    """A store with a memory, and what was made in it."""

    store: MemoryStore
    clock: SettableClock
    fact_id: str
    session_id: str

    @classmethod
    def of(cls, backend: Backend) -> "Recorded":
        clock = SettableClock()
        store = backend.open(clock=clock, embedder="none", upkeep=False)
        session_id = store.start_session(
            user_id=USER, agent="bot", metadata={"about": CANARY}
        ).session_id
        for number in range(1, 4):
            store.add_turn(session_id, role="user", content=f"{CANARY} {number}")
        fact = store.remember("tea", user_id=USER, source_turns=[f"{session_id}.1"])
        made = cls(store, clock, fact.fact_id, session_id)
        store.summarize_session(session_id, every=2, keep=1, force=True)
        made.recall()
        made.look(OFFICER)
        made.look(ON_CALL)
        return made

    def recall(self) -> None:
        self.clock.now += SECOND
        self.store.search(f"tea {CANARY}", user_id=USER)
        self.store.flush_receipts()

    def look(self, who: Principal) -> None:
        self.clock.now += SECOND
        acting = self.store.acting_as(who)
        acting.get_all(user_id=USER, reason=CANARY, break_glass=who is ON_CALL)

    def retain(self) -> tuple[Receipt, ...]:
        return self.store.retain(RULES, actor="keeper", reason="policy 4")

    def due(self) -> dict[Records | None, int]:
        return {each.records: each.count for each in self.store.plan_retention(RULES)}

    def read(self) -> dict[str, list[object]]:
        """Return all that can be read of what was recorded, kind by kind."""
        store = self.store
        return {
            "receipts": [each.query for each in store.get_receipts(user_id=USER)],
            "looks": [each.reason for each in store.access_log(user_id=USER)],
            "turns": [each.content for each in store.get_turns(self.session_id)],
            "summaries": [e.content for e in store.get_summaries(self.session_id)],
            "session": [dict(store.get_session(self.session_id).metadata)],
        }

    def uses(self) -> tuple[tuple[datetime, ...], list[float]]:
        """Return when the fact was used, and how it ranks."""
        hits = self.store.search("tea", user_id=USER, as_of=self.store_now())
        return self.store.get_uses(self.fact_id), [each.score for each in hits]

    def store_now(self) -> datetime:
        return self.store.get(self.fact_id).recorded_at
