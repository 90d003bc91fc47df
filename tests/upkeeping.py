"""Upkeeps to test, an engine that can be switched off, and how to wait for a thread."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from muniment.errors import (
    IndexUnavailableError,
)
from muniment.projections.memory_current import MemoryCurrent, MemoryEngine
from muniment.projections.ports import CurrentFacts, Generation, Point
from muniment.projections.upkeep import Upkeep
from tests.engines import within
from tests.projecting import (
    Place,
    shown,
    subject_of,
)


SECONDS = 20.0
"""Far more than anything here takes."""


class Outage:
    """Whether the engine is down, and who was told."""

    def __init__(self) -> None:
        self.is_on = False

    def check(self) -> None:
        if self.is_on:
            raise IndexUnavailableError("it was switched off")


class FlakyCurrent(MemoryCurrent):
    """Points on an engine that can be switched off."""

    def __init__(self, outage: Outage) -> None:
        super().__init__()
        self._outage = outage

    def upsert(self, points: Sequence[Point], *, until: int) -> None:
        self._outage.check()
        super().upsert(points, until=until)

    def count(self, subject_ref: str | None = None) -> int:
        self._outage.check()
        return super().count(subject_ref)


class FlakyEngine(MemoryEngine):
    """An engine that can be switched off, and that others cannot close."""

    def __init__(self) -> None:
        super().__init__()
        self.outage = Outage()

    def open(self, generation: Generation) -> CurrentFacts:
        self.outage.check()
        made = FlakyCurrent(self.outage)
        return self._generations.setdefault(generation.number, made)


@contextmanager
def running(upkeep: Upkeep) -> Iterator[Upkeep]:
    upkeep.start()
    try:
        yield upkeep
    finally:
        upkeep.close()


def head(place: Place) -> int:
    return place.ledger.present().head.position


def found(place: Place, upkeep: Upkeep, user_id: str) -> set[tuple[str, int]]:
    """Return what a search in the current facts finds."""
    current = upkeep.current()
    assert current is not None, "this process has an engine"
    now = place.ledger.present().now
    bounds = within(subject_of(place, user_id).ref, valid_at=now, expired_at=now)
    return shown(current[1].nearest([1.0] * 8, bounds, limit=99))


def until(upkeep: Upkeep, holds: Callable[[], bool]) -> None:
    """Wait until something holds that the thread brings about."""
    with upkeep._moved:
        assert upkeep._moved.wait_for(holds, SECONDS), upkeep.progress()
