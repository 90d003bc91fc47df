"""
How long it takes to record turns, to build a context, and to rebuild a moment.

    python benchmarks/context.py [--dir DIR] [--facts 1000] [--turns 10000] [--json FILE]

One user with so many facts and turns, in a directory; the embedding of questions excluded
(there is no embedder). Beside the time that passed stands the thread's own, which other
work on the machine disturbs less. A search with its receipt and one without take turns, so
that what the receipt adds is seen within one round.
"""

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final


if not __package__:  # run as a file, so that only the folder of this file is searched
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from muniment import MemoryStore, Settings


_BATCH: Final = 1_000
_USER: Final = "ann"

Timed = tuple[float, float]
"""Milliseconds that passed, and of the thread's own."""


def main(arguments: Sequence[str] | None = None) -> dict[str, dict[str, float]]:
    """Measure and print; return the figures."""
    parser = argparse.ArgumentParser(description="Time contexts and replay.")
    parser.add_argument("--dir", type=Path, help="where the store is made")
    parser.add_argument("--facts", type=int, default=1_000)
    parser.add_argument("--turns", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--json", type=Path, help="write the figures there, too")
    chosen = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(dir=chosen.dir) as place:
        settings = Settings(
            database_url=f"sqlite:///{Path(place) / 'ledger.db'}",
            embedder="none",
            upkeep=False,
        )
        with MemoryStore.open(settings) as store:
            figures = measured(store, chosen.facts, chosen.turns, chosen.rounds)
    for name, figure in figures.items():
        cells = "  ".join(f"{unit} {value:,.2f}" for unit, value in figure.items())
        sys.stdout.write(f"{name:28}{cells}\n")
    if chosen.json is not None:
        chosen.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    return figures


def measured(
    store: MemoryStore, facts: int, turns: int, rounds: int
) -> dict[str, dict[str, float]]:
    """Return what was measured, by what was done."""
    _remember(store, facts)
    session_id = store.start_session(user_id=_USER).session_id
    recorded = _turns_recorded(store, session_id, turns)
    plain, with_receipt = _in_turn(
        rounds,
        lambda n: store.search(f"topic {n % 37}", user_id=_USER, receipt=False),
        lambda n: store.search(f"topic {n % 37}", user_id=_USER),
    )
    store.flush_receipts()
    (context,) = _in_turn(
        rounds,
        lambda n: store.build_context(
            f"topic {n % 37}", user_id=_USER, session_id=session_id
        ),
    )
    at = store.get_receipts(user_id=_USER, limit=1)[0].asked_at
    (replay,) = _in_turn(
        max(5, rounds // 10),
        lambda _: store.reproduce_badcase(user_id=_USER, timestamp=at),
    )
    added = [one[0] / other[0] - 1 for one, other in zip(with_receipt, plain, strict=True)]
    return {
        "turns recorded": recorded,
        "search": _figures(plain),
        "search with receipt": {
            **_figures(with_receipt),
            "added_percent": 100 * statistics.median(added),
        },
        "build_context": _figures(context),
        "reproduce_badcase": _figures(replay),
    }


def _remember(store: MemoryStore, facts: int) -> None:
    items = [
        {
            "content": f"fact {number} about topic {number % 37}, which was said once",
            "core": number < _CORE,
            "attribute": f"field {number}" if number % 10 == 0 else None,
        }
        for number in range(facts)
    ]
    store.remember_many(items, user_id=_USER)


def _turns_recorded(store: MemoryStore, session_id: str, turns: int) -> dict[str, float]:
    started, own = time.perf_counter(), time.process_time()
    for first in range(0, turns, _BATCH):
        some = range(first, min(first + _BATCH, turns))
        said = [
            {"role": "user" if n % 2 else "assistant", "content": f"turn {n} says a thing"}
            for n in some
        ]
        store.add_turns(session_id, turns=said)
    return {
        "per_second": turns / (time.perf_counter() - started),
        "per_second_of_cpu": turns / (time.process_time() - own),
    }


def _in_turn(rounds: int, *works: Callable[[int], object]) -> tuple[list[Timed], ...]:
    """Do each of *works* once a round; rounds that are not counted come first."""
    taken: tuple[list[Timed], ...] = tuple([] for _ in works)
    for number in range(-2, rounds):
        for work, times in zip(works, taken, strict=True):
            started, own = time.perf_counter(), time.thread_time()
            work(number)
            passed = 1e3 * (time.perf_counter() - started)
            if number >= 0:
                times.append((passed, 1e3 * (time.thread_time() - own)))
    return taken


def _figures(times: Sequence[Timed]) -> dict[str, float]:
    passed = sorted(each[0] for each in times)
    own = sorted(each[1] for each in times)
    last = max(0, round(0.95 * len(times)) - 1)
    return {
        "p50_ms": statistics.median(passed),
        "p95_ms": passed[last],
        "own_p50_ms": statistics.median(own),
        "own_p95_ms": own[last],
    }


_CORE: Final = 5


if __name__ == "__main__":
    main()
