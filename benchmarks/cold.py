"""
What it costs to ask what was known long ago: all of an as-of that the archive answers.

    .venv/bin/python -m benchmarks.cold --generated 10000000 --dir DIR

Some users are really told a hundred facts each, of which nothing is believed any more.
What was recorded of them is moved apart, evenly among millions of events that are made up:
in the tables of the ledger, the timeline and the vault, and in the segments that hold the
payloads. So an answer finds its rows in tables as large as they would be, and its payloads
in every segment there is. The tree of hashes does not reach any of it, and no transaction
says who it was: an as-of asks for neither. Ten million take ten minutes and ten gigabytes.
"""

import argparse
import json
import os
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, TypeAlias

from benchmarks.segments import OF_USER, SEGMENT_EVENTS, written
from benchmarks.workload import fact_fields
from muniment import MemoryStore
from muniment.api.opening import VAULT_FILE
from muniment.archive.shelf import Directory
from muniment.domain.time import Instant
from muniment.instants import moment
from muniment.ledger.cold import Segment
from tests.stores import NEW_YEAR, SECOND, SettableClock


USERS = 40
_LEDGER = "ledger.db"
_PROCESSES = 5
_FIRST_MADE_KEY = 1_000_000_000


def main(arguments: Sequence[str] | None = None) -> dict[str, object]:
    """Measure, print what was measured as JSON, and return it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--generated", type=int, default=1_000_000, help="events in all")
    parser.add_argument("--dir", type=Path, help="directory on the disk to measure")
    asked = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(dir=asked.dir) as folder:
        made = Made(Path(folder) / "store", asked.generated)
        made.tell()
        made.spread()
        found: dict[str, object] = {
            "events": asked.generated,
            "segments": made.parts,
            "facts of a user": made.parts * made.facts_of_part,
            "bytes of ledger, vault and archive": made.bytes_used(),
            "archive not open yet, ms": _ms(map(made.asked, range(USERS))),
            "likewise, and no file in memory, ms": _ms(map(made.asked_cold, range(USERS))),
            "likewise, the first of a process, ms": _ms(
                map(made.asked_alone, range(_PROCESSES))
            ),
            "the same user again, ms": _ms(made.asked_again()),
        }
    sys.stdout.write(json.dumps(found, indent=2) + "\n")
    return found


Taken: TypeAlias = tuple[float, float]
"""Seconds: on the clock, and of the processor."""


@dataclass(frozen=True)
class Made:
    """A store of *events*, most of them made up."""

    place: Path
    events: int

    @property
    def parts(self) -> int:
        """How many segments there are."""
        return self.events // min(SEGMENT_EVENTS, self.events)

    @property
    def facts_of_part(self) -> int:
        """How many facts of one user are in one segment."""
        return OF_USER // self.parts

    @property
    def _asked_at(self) -> datetime:
        return moment(Instant(NEW_YEAR + self.events * SECOND))

    def tell(self) -> None:
        """Tell the store what is asked for, and that nothing of it is believed any more."""
        clock = SettableClock()
        with MemoryStore.open(self.place, clock=clock) as store:
            for part in range(self.parts):
                for user in range(USERS):
                    clock.now += SECOND
                    items = [
                        {**fact_fields(self._number(user, part, n)), "valid_from": _START}
                        for n in range(self.facts_of_part)
                    ]
                    store.remember_many(items, user_id=f"u-{user}")
            for user in range(USERS):
                clock.now += SECOND
                store.rollback_to_timestamp(user_id=f"u-{user}", rollback_to=_START)

    def spread(self) -> None:
        """Move what was told apart, and make up the rest."""
        with _bulk(self.place / _LEDGER) as ledger:
            places = self._places(ledger)
            rows = _taken(ledger, places)
            users, size = self.events // OF_USER, self.events // self.parts
            made = size - USERS * self.facts_of_part
            spans = [(at + 1, at + made) for at in range(0, self.events, size)]
            others = _archived(rows["ledger_event"], self.parts, size)
            for table, statement in _MADE.items():
                _insert(ledger, table, rows[table])
                for first, last in spans:
                    ledger.execute(statement, {"a": first, "z": last, "users": users})
            segments = written(Directory(self.place / "archive"), self.events, others)
            _insert(ledger, "archive_segment", map(_segment_row, segments))
            head = max(places.values())
            ledger.execute("UPDATE projection_checkpoint SET position = ?", (head,))
            hot = ledger.execute(_HOT, (self.events,)).fetchone()
            assert hot == (0,), "every payload that is asked for is in the archive alone"
        with _bulk(self.place / VAULT_FILE) as vault:
            for first, last in spans:
                vault.execute(_KEYS, {"a": first, "z": last, "users": users})

    def asked(self, user: int) -> Taken:
        """Return what it takes that one user's facts come from an archive not open yet."""
        with MemoryStore.open(self.place) as store:
            return self._answered(store, user)

    def asked_cold(self, user: int) -> Taken:
        """Return the same where the files have to come from the disk."""
        with MemoryStore.open(self.place) as store:
            self._leave_memory()
            return self._answered(store, user)

    def asked_alone(self, user: int) -> Taken:
        """Return the same of a new process, which has to load Arrow for it."""
        self._leave_memory()
        code = (
            "import sys, time; from muniment import MemoryStore\n"
            "with MemoryStore.open(sys.argv[1]) as store:\n"
            " begun, used = time.perf_counter(), time.process_time()\n"
            " store.get_memory_as_of(user_id=sys.argv[2], timestamp=sys.argv[3])\n"
            " print(time.perf_counter() - begun, time.process_time() - used)"
        )
        asked = [str(self.place), f"u-{user}", self._asked_at.isoformat()]
        ended = subprocess.run(  # noqa: S603 - our own interpreter
            [sys.executable, "-c", code, *asked], check=True, capture_output=True
        )
        wall, processor = map(float, ended.stdout.split())
        return wall, processor

    def asked_again(self) -> Iterator[Taken]:
        """Yield in how many seconds an answer comes that came before."""
        with MemoryStore.open(self.place) as store:
            self._answered(store, 0)
            for _ in range(USERS):
                yield self._answered(store, 0)

    def bytes_used(self) -> int:
        """Return what all of it takes on the disk."""
        return sum(each.stat().st_size for each in self.place.rglob("*") if each.is_file())

    def _answered(self, store: MemoryStore, user: int) -> Taken:
        begun, used = time.perf_counter(), time.process_time()
        then = store.get_memory_as_of(user_id=f"u-{user}", timestamp=self._asked_at)
        taken = time.perf_counter() - begun, time.process_time() - used
        expected = {
            fact_fields(self._number(user, part, n))["content"]
            for part in range(self.parts)
            for n in range(self.facts_of_part)
        }
        assert {each.content for each in then} == expected, "no more, no less"
        return taken

    def _number(self, user: int, part: int, number: int) -> int:
        return (user * self.parts + part) * self.facts_of_part + number

    def _places(self, ledger: sqlite3.Connection) -> dict[int, int]:
        """Return where each event goes: the last of its segment, or past them all."""
        told = USERS * self.parts * self.facts_of_part
        ((count,),) = ledger.execute("SELECT max(position) FROM ledger_event")
        of_part, size = told // self.parts, self.events // self.parts
        archived = {
            at: (at - 1) // of_part * size + size - of_part + (at - 1) % of_part + 1
            for at in range(1, told + 1)
        }
        return archived | {at: at - told + self.events for at in range(told + 1, count + 1)}

    def _leave_memory(self) -> None:
        """Have the system forget what it read of the files."""
        for each in self.place.rglob("*"):
            if each.is_file():
                descriptor = os.open(each, os.O_RDONLY)
                os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
                os.close(descriptor)


_START = moment(NEW_YEAR)
_AT = f"{NEW_YEAR} + p * {SECOND}"
_SUBJECT = "printf('%020x', (p - 1) % :users * 2654435761)"
_FROM = (
    "FROM (WITH RECURSIVE n(p) AS (SELECT :a UNION ALL SELECT p + 1 FROM n WHERE p < :z)"
    " SELECT p FROM n)"
)
_MADE = {
    "ledger_transaction": (
        f"INSERT INTO ledger_transaction SELECT 'main', p, {_AT}, p, p, 'remember',"
        f" {_SUBJECT}, NULL, NULL, randomblob(120) {_FROM}"
    ),
    "ledger_event": (
        f"INSERT INTO ledger_event SELECT 'main', p, p, {_AT}, printf('fact-%026d', p), 1,"
        f" 'fact.asserted.v1', {_SUBJECT}, p, x'', randomblob(32) {_FROM}"
    ),
    "belief": (
        f"INSERT INTO belief SELECT 'main', printf('%026d', p), {_AT}, {_AT},"
        f" {_AT} + 86400000000, 9223372036854775807, {_SUBJECT}, 1, p, 'schedule',"
        f" 'meeting', 'active', 1.0, 0.5, 0, NULL, NULL {_FROM}"
    ),
}
"""What is made up in each table, with as many bytes as a row of it has."""

_HOT = "SELECT count(*) FROM ledger_event WHERE position <= ? AND length(state) > 0"

_KEYS = (
    f"INSERT INTO stream_key SELECT 'main', {_FIRST_MADE_KEY} + p, {_SUBJECT},"
    f" randomblob(60) {_FROM}"
)


@contextmanager
def _bulk(file: Path) -> Iterator[sqlite3.Connection]:
    """Give a connection that writes much: nothing is durable or guarded until the end."""
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        for pragma in ("synchronous = OFF", "cache_size = -1000000", "journal_mode = OFF"):
            connection.execute(f"PRAGMA {pragma}")
        query = "SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL"
        held = [
            each for each in connection.execute(query) if each[0] in ("trigger", "index")
        ]
        connection.execute("BEGIN")
        for kind, name, _ in held:
            connection.execute(f"DROP {kind} {name}")
        yield connection
        for _, _, statement in held:
            connection.execute(statement)
        connection.execute("COMMIT")
        connection.execute("PRAGMA journal_mode = WAL")


Rows: TypeAlias = dict[str, list[tuple[Any, ...]]]


def _taken(ledger: sqlite3.Connection, places: dict[int, int]) -> Rows:
    """Take the rows of what was told out of *ledger*, with new positions and times."""
    places = {0: 0, **places}
    times: dict[int, int] = {}
    rows: Rows = {each: [] for each in _MADE}
    query = "SELECT * FROM ledger_transaction ORDER BY tx_id"
    for name, _, recorded_at, first, last, *rest in ledger.execute(query):
        tx_id, at = places[last], NEW_YEAR + places[last] * SECOND
        times[recorded_at] = at
        rows["ledger_transaction"].append((name, tx_id, at, places[first], tx_id, *rest))
    for name, position, _, recorded_at, *rest in ledger.execute(
        "SELECT * FROM ledger_event"
    ):
        at = times[recorded_at]
        tx_id = (at - NEW_YEAR) // SECOND
        rows["ledger_event"].append((name, places[position], tx_id, at, *rest))
    for row in ledger.execute("SELECT * FROM belief"):
        name, fact, start, valid, end, valid_end, subject, version, position, *rest = row
        start, end = times[start], times.get(end, end)
        place = places[position]
        rows["belief"].append(
            (name, fact, start, valid, end, valid_end, subject, version, place, *rest)
        )
    for table in _MADE:
        ledger.execute(f"DELETE FROM {table}")
    return rows


def _archived(
    events: list[tuple[Any, ...]], parts: int, size: int
) -> list[list[tuple[Any, ...]]]:
    """Return the events of each segment as archived; *events* lose their payloads."""
    found: list[list[tuple[Any, ...]]] = [[] for _ in range(parts)]
    for at, event in enumerate(events):
        position = event[1]
        if position <= parts * size:
            found[(position - 1) // size].append(event[1:])
            events[at] = (*event[:9], b"", *event[10:])
    return found


def _segment_row(segment: Segment) -> tuple[Any, ...]:
    return ("main", *(getattr(segment, each) for each in Segment.__dataclass_fields__))


def _insert(
    ledger: sqlite3.Connection, table: str, rows: Iterable[tuple[Any, ...]]
) -> None:
    rows = list(rows)
    marks = ", ".join("?" * len(rows[0]))
    ledger.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)


def _ms(taken: Iterable[Taken]) -> dict[str, float]:
    walls, processor = zip(*taken, strict=True)
    return {
        "p50": _rounded(statistics.median(walls)),
        "max": _rounded(max(walls)),
        "of the processor, p50": _rounded(statistics.median(processor)),
    }


def _rounded(seconds: float) -> float:
    return round(seconds * 1_000, 1)


if __name__ == "__main__":
    main()
