"""One durable `remember` after the other, against a raw insert and commit."""

from dataclasses import asdict
from functools import partial
from itertools import count

from benchmarks import baselines
from benchmarks.places import Place
from benchmarks.sizes import Sizes
from benchmarks.timing import Work, percentiles_ms, race, seconds
from benchmarks.workload import remember
from muniment import MemoryStore


def measure(place: Place, sizes: Sizes) -> dict[str, object]:
    """Return the rates of one caller, and how long a single `remember` takes."""
    numbers, taken = count(), list[float]()
    most = (sizes.rounds + 1) * sizes.writes
    with (
        MemoryStore.open(place.settings("remember")) as store,
        baselines.raw(place) as raw,
        baselines.same_rows(place, most=most) as same_rows,
        baselines.library(place) as library,
    ):

        def remember_each(times: int) -> None:
            for _ in range(times):
                taken.append(seconds(partial(remember, store, next(numbers))))

        contenders: dict[str, Work] = {
            "raw": raw,
            "remember": remember_each,
            "same rows": same_rows,
            "library": library,
        }
        figures = race(contenders, baseline="raw", rounds=sizes.rounds, count=sizes.writes)
    return {
        **{name: asdict(figure) for name, figure in figures.items()},
        # The first round warms up.
        "latency of remember": percentiles_ms(taken[sizes.writes :]),
    }
