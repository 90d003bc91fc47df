"""
Processes that archive a store and are killed at one step.

Reads lines ``STEP UNTIL STORE`` and answers each with how that process ended. Each is a
child of one that has imported everything, but has no store open and no thread.
"""

import gc
import os
import sys
from pathlib import Path

from muniment import MemoryStore
from tests.archive.failing import FailingDisk, archive_on, killed


def main() -> None:
    # Otherwise each child copies what it only counts references to.
    gc.freeze()
    for line in sys.stdin:
        step, until, store_place = line.rstrip("\n").split(" ", 2)
        child = os.fork()
        if not child:
            with MemoryStore.open(store_place) as store:
                disk = FailingDisk(int(step), killed)
                archive_on(store, Path(store_place) / "archive", disk, int(until))
            return
        _, status = os.waitpid(child, 0)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
