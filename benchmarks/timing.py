"""
How time is taken: contenders side by side, in many short rounds.

A machine that others share, or a disk that has its moods, is slow for seconds at a time.
So each round measures every contender once, and a ratio is made within a round; what is
reported is the median over the rounds.
"""

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial


Work = Callable[[int], None]
"""Does its thing that many times."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """
    What one contender did.

    Attributes:
        per_second: Median over the rounds.
        slowest: Of the rounds.
        fastest: Of the rounds.
        ratio: To the baseline of the same round; median over the rounds.
    """

    per_second: float
    slowest: float
    fastest: float
    ratio: float


def race(
    contenders: Mapping[str, Work],
    *,
    baseline: str,
    rounds: int,
    count: int,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, Figure]:
    """
    Let the *contenders* do *count* things each in each of the *rounds*.

    A round that is not counted comes first. Who starts moves on from round to round.
    With `time.process_time` for a *clock*, waiting for a core or the disk does not count,
    nor does what a database server does.
    """
    names = list(contenders)
    for work in contenders.values():
        work(count)
    rates: dict[str, list[float]] = {name: [] for name in names}
    for number in range(rounds):
        turn = number % len(names)
        for name in names[turn:] + names[:turn]:
            taken = seconds(partial(contenders[name], count), clock)
            rates[name].append(count / taken)
    return {name: _figure(rates[name], rates[baseline]) for name in names}


def seconds(
    work: Callable[[], object], clock: Callable[[], float] = time.perf_counter
) -> float:
    """Return how long *work* takes."""
    started = clock()
    work()
    return clock() - started


def percentiles_ms(taken: Sequence[float]) -> dict[str, float]:
    """Return the 50th and 99th percentile of durations in seconds, as milliseconds."""
    ordered = sorted(taken)
    return {
        f"p{share}_ms": round(1_000 * ordered[len(ordered) * share // 100], 4)
        for share in (50, 99)
    }


def _figure(rates: Sequence[float], baseline: Sequence[float]) -> Figure:
    ratios = [mine / other for mine, other in zip(rates, baseline, strict=True)]
    return Figure(
        per_second=round(statistics.median(rates), 1),
        slowest=round(min(rates), 1),
        fastest=round(max(rates), 1),
        ratio=round(statistics.median(ratios), 3),
    )
