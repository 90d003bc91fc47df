"""
The erasure of a user with 1,000 facts of ten versions each, among the events of others.

Most of the others' events are copies (see `filler`). To overwrite what was deleted is
measured beside the whole: PostgreSQL vacuums then, SQLite folds back its log.
"""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial

from benchmarks.filler import fill
from benchmarks.places import Place
from benchmarks.sizes import Sizes
from benchmarks.timing import percentiles_ms, seconds
from benchmarks.versions import revise
from benchmarks.workload import fact_fields
from muniment import MemoryStore
from muniment.ledger import database, destruction
from muniment.projections import timeline


VERSIONS = 10
USERS = 3
_FACTS_A_TRANSACTION = 100


def measure(place: Place, sizes: Sizes) -> dict[str, object]:
    """Return how long an erasure takes, and how much of that is overwriting."""
    users = [f"u-erased-{number}" for number in range(USERS)]
    with MemoryStore.open(place.settings("erasure")) as store:
        for user in users:
            _live(store, user, sizes.erased_facts)
        first_tx = _others(store)
    copied = sizes.erased_among // _FACTS_A_TRANSACTION
    fill(place, "erasure", first_tx=first_tx, transactions=copied)
    whole, overwriting = list[float](), list[float]()
    with MemoryStore.open(place.settings("erasure")) as store:
        for user in users:
            with _overwriting() as taken:
                erase = partial(store.erase, user_id=user, reason="asked to")
                whole.append(seconds(erase))
            overwriting.append(taken["seconds"])
    events = f"{sizes.erased_facts * VERSIONS:,} events among {sizes.erased_among:,}"
    apart = [one - other for one, other in zip(whole, overwriting, strict=True)]
    return {
        f"erasure of {events}, overwriting aside": percentiles_ms(apart),
        f"erasure of {events}": percentiles_ms(whole),
    }


def _others(store: MemoryStore) -> int:
    """Remember what is copied; return the transaction it stands in."""
    items = [fact_fields(number) for number in range(_FACTS_A_TRANSACTION)]
    tx_id = store.remember_many(items, user_id="u-other").tx_id
    assert tx_id is not None, "something was recorded"
    return tx_id


def _live(store: MemoryStore, user: str, facts: int) -> None:
    """Remember *facts* of a user, and give each ten versions."""
    items = [fact_fields(number) for number in range(facts)]
    fact_ids = [fact.fact_id for fact in store.remember_many(items, user_id=user).facts]
    revise(store.update, fact_ids, versions=VERSIONS)


@contextmanager
def _overwriting() -> Iterator[Mapping[str, float]]:
    """Give the seconds that are spent on overwriting what was deleted meanwhile."""
    taken = {"seconds": 0.0}
    whole = database.scrub

    def scrub(*args: object) -> bool:
        started = time.perf_counter()
        try:
            return whole(*args)  # type: ignore[arg-type]
        finally:
            taken["seconds"] += time.perf_counter() - started

    for module in (destruction, timeline):
        setattr(module, "scrub", scrub)  # noqa: B010 - mypy would refuse the plain spelling
    try:
        yield taken
    finally:
        for module in (destruction, timeline):
            setattr(module, "scrub", whole)  # noqa: B010 - likewise
