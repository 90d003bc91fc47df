"""
What was known then, of one fact and of one user, among more and more facts of others.

The user has 100 facts of ten versions each. 10,000 facts of others are remembered, more of
them are copies (see `filler`).
"""

import random
from collections.abc import Callable, Iterator
from datetime import datetime

from benchmarks.filler import fill
from benchmarks.places import Place
from benchmarks.sizes import Sizes
from benchmarks.timing import percentiles_ms, seconds
from benchmarks.versions import revise
from benchmarks.workload import fact_fields
from muniment import MemoryStore
from muniment.clock import system_clock
from muniment.domain.time import Instant
from muniment.instants import moment, to_instant


USER = "u-asked"
FACTS_OF_USER = 100
VERSIONS = 10
FACTS_A_TRANSACTION = 100
_SEED = 7
_FACTS_A_TURN = 30
_USER_A_TURN = 5

Fact = tuple[str, Instant]
Kind = tuple[str, Callable[[], object]]


def measure(place: Place, sizes: Sizes) -> dict[str, object]:
    """Return how long reads take, by how many facts others have."""
    answers: dict[str, object] = {}
    with MemoryStore.open(place.settings("reads")) as store:
        first, last = _the_user(store)
        others, first_tx = _the_others(store, sizes.others[0])
    there = sizes.others[0]
    for number in sizes.others:
        if number > there:
            more = (number - there) // FACTS_A_TRANSACTION
            fill(place, "reads", first_tx=first_tx, transactions=more)
            there = number
        with MemoryStore.open(place.settings("reads")) as store:
            answers |= {
                f"{name}, others' facts {number:,}": figure
                for name, figure in _reads(store, (first, last), others, sizes).items()
            }
    return answers


def _the_user(store: MemoryStore) -> tuple[Instant, Instant]:
    """Return when the first and the last was recorded of the user who is asked about."""
    remembered = store.remember_many(
        [fact_fields(number) for number in range(FACTS_OF_USER)], user_id=USER
    )
    fact_ids = [fact.fact_id for fact in remembered.facts]
    revise(store.update, fact_ids, versions=VERSIONS)
    return to_instant(remembered.recorded_at), system_clock()


def _the_others(store: MemoryStore, number: int) -> tuple[list[Fact], int]:
    """Return the facts that others remembered, and the first of their transactions."""
    receipts = [
        store.remember_many(
            [fact_fields(start + each) for each in range(FACTS_A_TRANSACTION)],
            user_id=f"u-{start}",
        )
        for start in range(0, number, FACTS_A_TRANSACTION)
    ]
    first_tx = receipts[0].tx_id
    assert first_tx is not None, "something was recorded"
    return [
        (fact.fact_id, to_instant(receipt.recorded_at))
        for receipt in receipts
        for fact in receipt.facts
    ], first_tx


def _reads(
    store: MemoryStore, span: tuple[Instant, Instant], others: list[Fact], sizes: Sizes
) -> dict[str, dict[str, float]]:
    """Return how long each kind of read takes; the kinds take turns."""
    chance = random.Random(_SEED)  # noqa: S311 - which is read, not a secret
    last = to_instant(store.get_all(user_id=USER).recorded_at)
    taken: dict[str, list[float]] = {}
    for _ in range(sizes.reads):
        kinds: list[Kind] = []
        for _ in range(_USER_A_TURN):
            a, b = (moment(Instant(chance.randint(*span))) for _ in range(2))
            kinds += _of_user(store, a, b)
        for fact_id, since in chance.choices(others, k=_FACTS_A_TURN):
            then = moment(Instant(chance.randint(since, last)))
            kinds += _of_fact(store, fact_id, then)
        for name, work in kinds:
            taken.setdefault(name, []).append(seconds(work))
    # The first tenth warms up.
    return {
        name: percentiles_ms(every[len(every) // 10 :]) for name, every in taken.items()
    }


def _of_user(store: MemoryStore, a: datetime, b: datetime) -> Iterator[Kind]:
    """Yield what is asked of a user: what was known, and what differs."""
    yield "user as of then", lambda: store.get_memory_as_of(timestamp=a, user_id=USER)
    yield "user's diff", lambda: store.diff_memory(time_a=a, time_b=b, user_id=USER)


def _of_fact(store: MemoryStore, fact_id: str, then: datetime) -> Iterator[Kind]:
    """Yield what is asked of a fact; what it says is opened."""
    yield "fact as of then", lambda: store.get(fact_id, as_of=then).content
    # The time is read within, as a caller would; to answer, the store makes a promise.
    yield (
        "fact as of now",
        lambda: store.get(fact_id, as_of=moment(system_clock())).content,
    )
