"""A disk on which one step goes wrong."""

import os
import signal
from collections.abc import Callable
from pathlib import Path

from muniment import MemoryStore
from muniment.archive.archiver import Archiver
from muniment.archive.shelf import Directory, Disk
from muniment.domain.time import Instant


SEGMENT_EVENTS = 12


class FailingDisk(Disk):
    """
    A disk on which one step goes wrong; a write leaves half of what was to be written.

    Args:
        last: How many steps go well before.
        harm: What happens then.
    """

    def __init__(self, last: int, harm: Callable[[], None]) -> None:
        self.done = 0
        self._last = last
        self._harm = harm

    def write(self, file: Path, content: bytes) -> int:
        if self.done == self._last:
            os.close(super().write(file, content[: len(content) // 2]))
        self._step()
        return super().write(file, content)

    def sync(self, descriptor: int) -> None:
        self._step()
        super().sync(descriptor)

    def rename(self, file: Path, to: Path) -> None:
        self._step()
        super().rename(file, to)

    def remove(self, file: Path) -> None:
        self._step()
        super().remove(file)

    def sync_directory(self, directory: Path) -> None:
        self._step()
        super().sync_directory(directory)

    def _step(self) -> None:
        if self.done == self._last:
            self._harm()
        self.done += 1


def full() -> None:
    """Fail as a disk that is full does."""
    raise OSError(28, "No space left on device")


def killed() -> None:
    """End this process without a word."""
    os.kill(os.getpid(), signal.SIGKILL)


def archive_on(store: MemoryStore, place: Path, disk: Disk, until: int) -> None:
    """Archive in segments of a few events."""
    shelf, timeline = Directory(place, disk), store._lookup.timeline
    archiver = Archiver(store._ledger, shelf, timeline, segment_events=SEGMENT_EVENTS)
    archiver.run(Instant(until), progress=_silent)


def _silent(_done: int, _of: int) -> None:
    """Tell nobody."""
