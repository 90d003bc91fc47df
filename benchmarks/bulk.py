"""`remember_many` in batches of 1,000, against as many raw rows a commit."""

from dataclasses import asdict
from itertools import count

from benchmarks import baselines
from benchmarks.places import Place
from benchmarks.sizes import Sizes
from benchmarks.timing import Work, race
from benchmarks.workload import fact_fields, user_id
from muniment import MemoryStore


def measure(place: Place, sizes: Sizes) -> dict[str, object]:
    """Return the facts per second of batches."""
    batches, numbers = count(), count()
    with (
        MemoryStore.open(place.settings("remember_many")) as store,
        baselines.raw_many(place, batch=sizes.batch) as raw,
    ):

        def remember_many(times: int) -> None:
            for _ in range(times // sizes.batch):
                items = [fact_fields(next(numbers)) for _ in range(sizes.batch)]
                store.remember_many(items, user_id=user_id(next(batches)))

        contenders: dict[str, Work] = {
            "raw": raw,
            "remember_many": remember_many,
        }
        count_of_facts = sizes.batch * sizes.batches
        figures = race(
            contenders, baseline="raw", rounds=sizes.rounds, count=count_of_facts
        )
    return {name: asdict(figure) for name, figure in figures.items()}
