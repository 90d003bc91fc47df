"""
A process that keeps current facts up until it kills itself: python -m ... PLACE WORK POINT.

POINT names a call and when within it to die: ``upsert:before:2`` is right before the
second upsert.
"""

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from muniment.ledger.sql_recorder import SqlRecorder
from muniment.projections.catch_up import CatchUp
from muniment.projections.current_edge import EdgeCurrent, EdgeEngine
from muniment.projections.generations import SqlGenerations
from muniment.projections.vectors import SqlVersionVectors
from tests.projecting import place_at, settings_of


CALLS: dict[str, tuple[type, str]] = {
    "embedded": (SqlVersionVectors, "put"),
    "forget": (SqlVersionVectors, "forget"),
    "upsert": (EdgeCurrent, "upsert"),
    "delete": (EdgeCurrent, "delete"),
    "flush": (EdgeCurrent, "flush"),
    "checkpoint": (SqlRecorder, "insert_tracking"),
    "begin": (SqlGenerations, "begin"),
    "open": (EdgeEngine, "open"),
    "activate": (SqlGenerations, "activate"),
    "drop": (EdgeEngine, "drop"),
    "step": (CatchUp, "step"),
}
"""By name, what a projector does one after the other."""


def die(*_ignored: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def arm(call: str, when: str, number: int) -> None:
    """Let the *number*-th *call* be the last thing this process does."""
    owner, name = CALLS[call]
    real: Callable[..., Any] = getattr(owner, name)
    calls = 0

    def armed(*arguments: object, **named: object) -> object:
        nonlocal calls
        calls += 1
        if calls == number and when == "before":
            die()
        answer = real(*arguments, **named)
        if calls == number:
            die()
        return answer

    setattr(owner, name, armed)


def main(directory: Path, work: str, point: str) -> None:
    call, when, number = point.split(":")
    engine = EdgeEngine(directory / "current")
    with place_at(settings_of("sqlite", directory), engine) as place:
        if work == "rebuild":
            upkeep = place.upkeep()
            upkeep.tend()
            arm(call, when, int(number))
            upkeep.rebuild()
        else:
            arm(call, when, int(number))
            catch_up = place.catch_up()
            while catch_up.step(limit=6):
                pass
    raise SystemExit(f"{point} was never reached")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3])
