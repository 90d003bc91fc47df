"""A memory in which years have passed, and what of it is thinned."""

from dataclasses import dataclass
from datetime import UTC, datetime

from muniment import MemorySnapshot, MemoryStore, Receipt, RetentionRule
from muniment.domain.policy import YEAR_US
from tests.stores import Backend, SettableClock
from tests.years import us


USER = "ann"
RULES = [RetentionRule(thin_older_than_us=2 * YEAR_US)]


def at(year: int, month: int = 1, day: int = 1) -> datetime:
    return datetime(year, month, day, tzinfo=UTC)


VERSIONS = [
    (at(2018, 3), "CANARY eins 金丝雀"),
    (at(2018, 9), "zwei"),
    (at(2019, 2), "CANARY drei 金丝雀"),
    (at(2019, 5), "CANARY vier"),
    (at(2019, 11), "fünf"),
    (at(2022, 6), "sechs"),
    (at(2023, 7), "sieben"),
]
"""What the fact says from when on; the years began with the second and the fifth."""

NOW = at(2024, 6)
UNTIL = at(2022)
GONE = ((1, 1), (3, 4))
KEPT = [at(2018), at(2019), at(2020), at(2021), UNTIL]
LATER = [at(2022, 3), at(2022, 8), at(2023, 3), at(2024, 2)]
BETWEEN = [at(2018, 4), at(2019, 3), at(2019, 12), at(2021, 7)]


@dataclass
class Lived:
    """A store in which years have passed."""

    store: MemoryStore
    clock: SettableClock
    fact_id: str
    other: str

    def thin(self) -> tuple[Receipt, ...]:
        return self.store.retain(RULES, actor="keeper", reason="policy 9")

    def known(self, when: datetime) -> MemorySnapshot:
        return self.store.get_memory_as_of(user_id=USER, timestamp=when)


def lived(backend: Backend, **changes: object) -> Lived:
    clock = SettableClock(us(VERSIONS[0][0]))
    store = backend.open(clock=clock, **{"embedder": "none", **changes})
    other = store.remember("stays as it is", user_id=USER, category="home").fact_id
    fact = store.remember(VERSIONS[0][1], user_id=USER, category="work")
    for when, content in VERSIONS[1:]:
        clock.now = us(when)
        store.update(fact.fact_id, content=content)
    clock.now = us(NOW)
    return Lived(store, clock, fact.fact_id, other)
