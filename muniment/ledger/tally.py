"""
How many receipts a process has taken and not recorded: told even of one that was killed.

Two numbers in a file that is mapped into memory: the kernel keeps them when the process
dies. The file is locked for as long as its process lives; whoever finds one that is not
reads off it what was lost.
"""

import fcntl
import mmap
import os
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, Final


SUFFIX: Final = ".receipts"
_PAIR: Final = struct.Struct("<QQ")


class Tally:
    """
    The tally of one process; made with the first receipt, removed when all are recorded.

    Args:
        directory: Where it is kept; ``None`` for nowhere.
        name: Of the ledger it belongs to.
    """

    def __init__(self, directory: Path | None, name: str) -> None:
        self._directory = directory
        self._name = name
        self._accepted = self._kept = 0
        self._file: BinaryIO | None = None
        self._map: mmap.mmap | None = None

    def accept(self) -> None:
        """Count a receipt that was taken."""
        if self._map is None and self._directory is not None:
            self._open(self._directory)
        self._accepted += 1
        self._write()

    def keep(self, count: int) -> None:
        """Count receipts that are recorded, or need not be any more."""
        self._kept += count
        self._write()

    def close(self) -> None:
        """Remove the file, unless something was lost that is still to be told."""
        if self._map is None or self._file is None:
            return
        if self._accepted == self._kept:
            Path(self._file.name).unlink(missing_ok=True)
        self._map.close()
        self._file.close()
        self._map = self._file = None

    def _open(self, directory: Path) -> None:
        directory.mkdir(parents=True, mode=0o700, exist_ok=True)
        unique = f"{os.getpid()}-{os.urandom(4).hex()}"
        path = directory / f"{self._name}-{unique}{SUFFIX}"
        self._file = path.open("xb+")
        fcntl.flock(self._file, fcntl.LOCK_EX)
        self._file.write(_PAIR.pack(0, 0))
        self._file.flush()
        self._map = mmap.mmap(self._file.fileno(), _PAIR.size)

    def _write(self) -> None:
        if self._map is not None:
            _PAIR.pack_into(self._map, 0, self._accepted, self._kept)


def lost(directory: Path, name: str) -> Iterator[tuple[int, Callable[[], None]]]:
    """
    Yield what each process that is dead took and did not record, and how to tick it off.

    One that was killed between recording and counting is counted too high, never too
    low.
    """
    for path in sorted(directory.glob(f"{name}-*{SUFFIX}")):
        try:
            file = path.open("rb")
        except FileNotFoundError:
            continue
        with file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                # Its process lives.
                continue
            if not path.exists():
                # Another process has just told of it.
                continue
            pair = file.read(_PAIR.size)
            accepted, kept = _PAIR.unpack(pair) if len(pair) == _PAIR.size else (0, 0)
            yield accepted - kept, path.unlink
