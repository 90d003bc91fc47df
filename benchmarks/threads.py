"""
Many callers at once, each with one `remember` after the other: group commit.

Processes are kept between rounds; each opens the store and writes when it is told to.
"""

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from itertools import count
from pathlib import Path
from threading import Thread
from typing import IO

from benchmarks.places import Place
from benchmarks.sizes import Sizes
from benchmarks.timing import Work, race
from benchmarks.workload import remember
from muniment import MemoryStore
from muniment.settings import Settings


def measure(place: Place, sizes: Sizes) -> dict[str, object]:
    """Return the facts per second of one thread, of several, and of two processes."""
    numbers = count()
    many = sizes.threads
    with (
        MemoryStore.open(place.settings("threads")) as store,
        _processes(place.settings("threads"), threads=many, count=2) as two,
    ):

        def one_thread(times: int) -> None:
            for _ in range(times):
                remember(store, next(numbers))

        contenders: dict[str, Work] = {
            "one thread": one_thread,
            f"{many} threads": lambda times: _together(store, numbers, many, times // many),
            f"2 processes of {many} threads": lambda times: _all_write(two, times // 2),
        }
        figures = race(
            contenders,
            baseline="one thread",
            rounds=sizes.rounds,
            count=2 * many * sizes.thread_writes,
        )
    return {name: asdict(figure) for name, figure in figures.items()}


def _together(store: MemoryStore, numbers: Iterator[int], threads: int, times: int) -> None:
    """Let *threads* each remember so many facts at once."""

    def work() -> None:
        for _ in range(times):
            # Taking the next of a `count` is one step of the interpreter.
            remember(store, next(numbers))

    running = [Thread(target=work) for _ in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()


@contextmanager
def _processes(
    settings: Settings, *, threads: int, count: int
) -> Iterator[list["subprocess.Popen[str]"]]:
    """Give processes that have the store open and wait to be told to write."""
    assert settings.key_file is not None, "a place says where its key is"
    environment = {
        **os.environ,
        "MUNIMENT_DATABASE_URL": settings.database_url,
        "MUNIMENT_KEY_FILE": str(settings.key_file),
    }
    command = [sys.executable, "-m", "benchmarks.threads", str(threads)]
    started = [
        subprocess.Popen(  # noqa: S603 - this module itself
            [*command, str((number + 1) * 10**6)],
            cwd=Path(__file__).parents[1],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(count)
    ]
    try:
        for process in started:
            _answer(process)
        yield started
    finally:
        for process in started:
            process.communicate()


def _all_write(processes: Sequence["subprocess.Popen[str]"], times: int) -> None:
    """Let each of the *processes* remember so many facts; wait until all have."""
    for process in processes:
        stdin = process.stdin
        assert stdin is not None, "it was opened"
        stdin.write(f"{times}\n")
        stdin.flush()
    for process in processes:
        _answer(process)


def _answer(process: "subprocess.Popen[str]") -> None:
    assert process.stdout is not None, "it was opened"
    if not process.stdout.readline():
        raise RuntimeError("a writing process ended; it says why above")


def _write_as_told(orders: IO[str], answers: IO[str], threads: int, first: int) -> None:
    """Be one of the processes, until there are no more orders."""
    numbers = count(first)
    with MemoryStore.open(Settings()) as store:
        answers.write("ready\n")
        answers.flush()
        for order in orders:
            _together(store, numbers, threads, int(order) // threads)
            answers.write("done\n")
            answers.flush()


if __name__ == "__main__":
    _write_as_told(sys.stdin, sys.stdout, int(sys.argv[1]), int(sys.argv[2]))
