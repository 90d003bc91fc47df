"""A process that archives a store and is killed at one step: STORE STEP UNTIL."""

import sys
from pathlib import Path

from muniment import MemoryStore
from muniment.archive.archiver import Archiver
from muniment.archive.shelf import Directory
from muniment.domain.time import Instant
from tests.archive.failing import SEGMENT_EVENTS, FailingDisk, killed, silent


def main(store_place: str, step: str, until: str) -> None:
    store = MemoryStore.open(store_place)
    disk = FailingDisk(int(step), killed)
    place = Path(store_place) / "archive"
    shelf, timeline = Directory(place, disk), store._lookup.timeline
    archiver = Archiver(store._ledger, shelf, timeline, segment_events=SEGMENT_EVENTS)
    archiver.run(Instant(int(until)), progress=silent)


if __name__ == "__main__":
    main(*sys.argv[1:])
