"""
How long a search takes, the embedding of the question excluded.

    python benchmarks/searches.py [--dir DIR] [--users 1000] [--others 1000 10000 100000]

One store with many users of 100 facts each, one with 100 facts of ten versions each, one
with 1,000 facts, one with as many as are ranked one by one, and one with more, of which the
engine preselects. All of them are points of an engine in this process. Another with
twenty users of 100 facts, and more and more others of ten, who are copies (see `filler`)
and no points. What is timed is the whole verb, from the call to the
facts with their contents; vectors are hashed terms, which cost next to nothing to make.
*First* is a search of a memory that is not in this process yet, *again* one that is.
Beside the time that passed stands the thread's own, which other work on the machine
disturbs less.
"""

import argparse
import json
import random
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Final


if not __package__:  # run as a file, so that only the folder of this file is searched
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.filler import fill
from benchmarks.places import Place
from muniment import MemoryStore, Settings
from muniment.recall.preselection import RANKED_MAX


_FACTS: Final = 100
_VERSIONS: Final = 10
_WIDE: Final = 1_000
_BEYOND: Final = RANKED_MAX + 1_000
_ROUNDS: Final = 300
_ASKED: Final = 20
_AT_ONCE: Final = 1_000
_FEW: Final = 10
_OTHERS: Final = (1_000, 10_000, 100_000)
_SYLLABLES: Final = ("ka", "lo", "mi", "ne", "su", "ta", "ri", "vo")


def main() -> None:
    """Measure, and print milliseconds: p50, p95, and the thread's own time: mean, p95."""
    parser = argparse.ArgumentParser(description="Time searches.")
    parser.add_argument("--dir", type=Path, help="where the store is made")
    parser.add_argument("--users", type=int, default=1_000)
    parser.add_argument("--others", type=int, nargs="*", default=_OTHERS)
    parser.add_argument("--json", type=Path, help="write the figures there, too")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=chosen.dir) as place:
        figures = measured(Path(place), chosen.users) if chosen.users else {}
        figures |= among_others(Path(place), chosen.others)
    for name, figure in figures.items():
        cells = "".join(f"{figure[each]:9.2f}" for each in ("p50", "p95", "own", "own95"))
        sys.stdout.write(f"{name:66}{cells} ms\n")
    if chosen.json is not None:
        chosen.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


def measured(place: Path, users: int) -> dict[str, dict[str, float]]:
    """Return the median and the 95th percentile of each kind of search."""
    seeded = random.Random(1)  # noqa: S311 - nothing is secret
    settings = Settings(
        database_url=f"sqlite:///{place / 'ledger.db'}", embedder="hashing", upkeep=False
    )
    with MemoryStore.open(settings) as store:
        moments = _filled(store, users, seeded)
        progress = store.catch_up()
        assert progress.reached == progress.head, "every version has its vector"
    names = [f"user-{seeded.randrange(users)}" for _ in range(_ROUNDS)]
    words = [_sentence(seeded, words=3) for _ in range(_ROUNDS)]
    figures: dict[str, dict[str, float]] = {}
    # Opened anew, so that nothing of it is in memory.
    with MemoryStore.open(settings) as store:
        store.catch_up()  # so that this process has the engine

        def of(user: str, *, then: bool = False) -> Callable[[int], None]:
            def search(number: int) -> None:
                as_of = moments[number % len(moments)] if then else None
                store.search(words[number], user_id=user, as_of=as_of)

            return search

        kinds = {
            f"one of {users:,} users of {_FACTS} facts": lambda number: store.search(
                words[number], user_id=names[number]
            ),
            f"as of, a user of {_FACTS} facts, {_VERSIONS} versions each": of(
                "old", then=True
            ),
            f"a user of {_WIDE:,} facts": of("wide"),
            f"as of, a user of {_WIDE:,} facts": of("wide", then=True),
            f"a user of {RANKED_MAX:,} facts": of("full"),
            f"a user of {_BEYOND:,} facts, some preselected": of("beyond"),
            f"as of, a user of {_BEYOND:,} facts, all ranked": of("beyond", then=True),
        }
        for name, search in kinds.items():
            figures[f"{name}, first"] = _timed(search)
            figures[f"{name}, again"] = _timed(search)
    return figures


def among_others(place: Path, others: Sequence[int]) -> dict[str, dict[str, float]]:
    """Return the same of one user's search among more and more others, warm."""
    at = Place(backend="sqlite", directory=place, server=None)
    usual = {"embedder": "hashing", "upkeep": False}
    quiet = at.settings("flat").model_copy(update={**usual, "receipts": False})
    receipts = quiet.model_copy(update={"receipts": True})
    seeded = random.Random(2)  # noqa: S311 - nothing is secret
    words = [_sentence(seeded, words=3) for _ in range(_ROUNDS)]
    with MemoryStore.open(quiet) as store:
        for number in range(_ASKED):
            texts = [_sentence(seeded, words=12) for _ in range(_FACTS)]
            store.remember_many(texts, user_id=f"user-{number}")
        store.catch_up()
        first = store.remember_many(
            [_sentence(seeded, words=12) for _ in range(_FEW)], user_id="other"
        )
    assert first.tx_id is not None, "something was written"
    there, figures = 1, dict[str, dict[str, float]]()
    for count in others:
        fill(at, "flat", first_tx=first.tx_id, transactions=count - there)
        there = count
        for name, settings in (("", quiet), (", receipts", receipts)):
            with MemoryStore.open(settings) as store:

                def search(number: int, store: MemoryStore = store) -> None:
                    store.search(words[number], user_id=f"user-{number % _ASKED}")

                _timed(search)
                figures[f"among {count:,} others of {_FEW} facts{name}"] = _timed(search)
    return figures


def _filled(store: MemoryStore, users: int, seeded: random.Random) -> list[datetime]:
    """Fill the store; return a moment after each round of updates of one user."""
    for number in range(users):
        texts = [_sentence(seeded, words=12) for _ in range(_FACTS)]
        store.remember_many(texts, user_id=f"user-{number}")
    for user, facts in {
        "wide": _WIDE,
        "full": RANKED_MAX,
        "beyond": _BEYOND,
    }.items():
        for _ in range(facts // _AT_ONCE):
            texts = [_sentence(seeded, words=12) for _ in range(_AT_ONCE)]
            store.remember_many(texts, user_id=user)
    texts = [_sentence(seeded, words=12) for _ in range(_FACTS)]
    old = store.remember_many(texts, user_id="old")
    moments = [old.recorded_at]
    for _ in range(_VERSIONS - 1):
        for fact_id in old.fact_ids:
            last = store.update(fact_id, content=_sentence(seeded, words=12))
            moments.append(last.recorded_at)
    return moments[::_FACTS]


def _timed(search: Callable[[int], object]) -> dict[str, float]:
    taken, own = [], []
    for number in range(_ROUNDS):
        start, started = time.perf_counter(), time.thread_time()
        search(number)
        taken.append((time.perf_counter() - start) * 1_000)
        own.append((time.thread_time() - started) * 1_000)
    taken.sort()
    own.sort()
    return {
        "p50": round(taken[_ROUNDS // 2], 3),
        "p95": round(taken[_ROUNDS * 95 // 100], 3),
        "own": round(sum(own) / _ROUNDS, 3),
        "own95": round(own[_ROUNDS * 95 // 100], 3),
    }


def _sentence(seeded: random.Random, *, words: int) -> str:
    return " ".join(
        "".join(seeded.choice(_SYLLABLES) for _ in range(seeded.randint(1, 3)))
        for _ in range(words)
    )


if __name__ == "__main__":
    main()
