"""Facts with several versions each, written by several threads at once."""

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar


_THREADS = 8

Item = TypeVar("Item")
Result = TypeVar("Result")


def revise(
    change: Callable[..., object], fact_ids: Sequence[str], *, versions: int
) -> None:
    """Let *change*, which is `update` or `correct`, give each fact so many versions."""

    def work(fact_id: str) -> None:
        for version in range(2, versions + 1):
            content = f"told us the {version:02}th time, {fact_id[-8:]}, it is at noon"
            change(fact_id, content=content)

    in_threads(work, fact_ids)


def in_threads(work: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
    """Return what *work* makes of each of *items*, several at a time."""
    with ThreadPoolExecutor(_THREADS) as pool:
        return list(pool.map(work, items))
