"""Where state machines run: each example at a place of its own, in every kind of store."""

import shutil
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import cast

from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test

from tests.forgetting.conftest import Sharing
from tests.stores import MEMORY, POSTGRESQL, SQLITE, Backend


Fresh = Callable[[], Backend]
"""Gives an empty place each time."""


def in_memory(directory: Path) -> Fresh:
    return lambda: Backend(MEMORY, "memory://", directory)


def in_directory(directory: Path, upgraded: Path) -> Fresh:
    """Give the same directory, as *upgraded*: making its tables costs the most."""

    def fresh() -> Backend:
        shutil.rmtree(directory, ignore_errors=True)
        shutil.copytree(upgraded, directory)
        return Backend(SQLITE, f"sqlite:///{directory / 'ledger.db'}", directory)

    return fresh


def on_postgresql(url: str, directory: Path) -> Fresh:
    """Give one database, with a new ledger: making its tables costs the most."""
    numbers = count()
    return lambda: Sharing(POSTGRESQL, url, directory, f"ledger-{next(numbers)}")


def run(
    machine: Callable[[Backend], RuleBasedStateMachine],
    fresh: Fresh,
    *,
    share: float,
    steps: int,
) -> None:
    """
    Run *machine* as a test.

    Args:
        machine: Begins at a place.
        fresh: Gives the place of each example.
        share: How many of the profile's examples are run; three at least.
        steps: Of an example, at most.
    """
    # Hypothesis says that whatever makes a machine will do; its annotation, that a class.
    run_state_machine_as_test(
        cast("type[RuleBasedStateMachine]", lambda: machine(fresh())),
        settings=settings(
            max_examples=max(3, round(settings().max_examples * share)),
            stateful_step_count=steps,
            deadline=None,
        ),
    )
