"""
What archives cost: how fast they are written, how small they are, how fast they answer.

    .venv/bin/python -m benchmarks.archive --events 200000 --generated 10000000

Writes a store and archives it; then writes an archive of generated events, which never
were in a database, and asks for one user of it and, with DuckDB, for all. Ten million
generated events take about a minute and one gigabyte.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from itertools import count
from pathlib import Path
from typing import TypeVar

import duckdb

from benchmarks.segments import OF_USER, made_up, written
from benchmarks.workload import USERS, fact_fields, user_id
from muniment import MemoryStore, Scope
from muniment.api.evidencing import shaped_origin
from muniment.api.shapes import shaped
from muniment.archive.reading import ArchiveReader
from muniment.archive.shelf import Directory
from muniment.instants import moment
from muniment.ledger.cold import Segment
from muniment.ledger.leaves import stored_row


Answer = TypeVar("Answer")

_BATCH = 1_000
_READS = 40
_EVENT = (
    "position",
    "tx_id",
    "recorded_at",
    "stream",
    "version",
    "topic",
    "subject_ref",
    "key_id",
)
_TRANSACTION = ("tx_id", "first_position", "last_position", "action", "subject_ref")


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print what was measured as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=100_000, help="in the store")
    parser.add_argument("--singles", type=int, default=10_000, help="remembered one by one")
    parser.add_argument("--texts", type=Path, help="what these say, a line each")
    parser.add_argument("--generated", type=int, default=1_000_000, help="in the archive")
    parser.add_argument("--dir", type=Path, help="directory on the disk to measure")
    asked = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(dir=asked.dir) as folder:
        found = {
            "batched": _archived(Path(folder) / "store", asked.events),
            "single": _singles(Path(folder) / "singles", asked.singles, asked.texts),
            "generated": _generated(Path(folder) / "archive", asked.generated),
        }
    sys.stdout.write(json.dumps(found, indent=2) + "\n")


def _archived(place: Path, events: int) -> dict[str, object]:
    with MemoryStore.open(place) as store:
        numbers = count()
        for first in range(0, events, _BATCH):
            items = [fact_fields(next(numbers)) for _ in range(_BATCH)]
            store.remember_many(
                items,
                user_id=user_id(first // _BATCH),
                actor="agent-1",
                reason="stated in conversation",
                session_id=f"session-{first}",
            )
        found = _written_and_sized(store)
        exported, _, _ = _timed(lambda: store.export(user_id=user_id(0)).json())
        pruned, _, _ = _timed(store.prune)
    return {
        **found,
        f"export of a user with {events // USERS:,} events, s": round(exported, 2),
        "looking for what to prune, s": round(pruned, 2),
    }


def _singles(place: Path, events: int, texts: Path | None) -> dict[str, object]:
    """Measure a ledger in which each event has a transaction of its own."""
    said = texts.read_text("utf-8").splitlines() if texts else []
    with MemoryStore.open(place) as store:
        for number in range(events):
            fields = fact_fields(number)
            text = f"{said[number % len(said)]} {number}" if said else fields["content"]
            store.remember(
                text,
                user_id=user_id(number),
                actor="agent-1",
                reason="stated in conversation",
                session_id=f"session-{number // 20}",
                source_turns=[f"session-{number // 20}:{number % 20}"],
                category=fields["category"],
                attribute=fields["attribute"],
            )
        return _written_and_sized(store)


def _written_and_sized(store: MemoryStore) -> dict[str, object]:
    wall, processor, written = _timed(store.archive)
    each = written.byte_count / written.events
    scope = Scope.user(user_id(0))
    rows, versions, count = _lines_of(store, scope)
    return {
        "archived events": written.events,
        "archived events a second": round(written.events / wall),
        "archived events a second of one processor": round(written.events / processor),
        "archived bytes an event": round(each, 1),
        "the same rows opened, as JSON Lines, bytes an event": round(rows / count, 1),
        "times smaller than these": round(rows / count / each, 2),
        "versions as history shows them, as JSON Lines, bytes": round(versions / count, 1),
        "times smaller than those": round(versions / count / each, 2),
    }


def _lines_of(store: MemoryStore, scope: Scope) -> tuple[int, int, int]:
    """
    Return what one subject's events take as JSON Lines in the clear, and how many they are.

    Once row by row, events and transactions, with all that the archive holds of them;
    once as the versions of facts that a history shows. Without a space too many.
    """
    ledger = store._ledger  # noqa: SLF001 - what is stored is not shown by a verb
    subject = ledger.vault.find(scope)
    assert subject is not None, "it was told something"
    events = ledger.recorder.read_subject(subject.ref)
    opened = ledger.mapper.shown(events, subject)
    rows = 0
    for event, shown in zip(events, opened, strict=True):
        values = dict(zip(_EVENT, stored_row(event, b""), strict=False))
        content = json.loads(shown.content or b"{}")
        header = json.loads(shown.header)
        at = str(moment(event.recorded_at))
        rows += _line({**values, "recorded_at": at, "header": header, "content": content})
    for row in ledger.recorder.transactions({each.tx_id for each in events}):
        origin = shaped_origin(ledger.mapper.origin(subject, row))
        values = {each: getattr(row, each) for each in _TRANSACTION}
        at = str(moment(row.recorded_at))
        rows += _line({**values, "recorded_at": at, "origin": origin})
    facts = {str(each.sealed.originator_id).removeprefix("fact-") for each in events}
    versions = sum(
        _line(shaped(each)) for fact in facts for each in store.get_fact_history(fact)
    )
    return rows, versions, len(events)


def _line(value: object) -> int:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return len(text.encode()) + 1


def _generated(place: Path, events: int) -> dict[str, object]:
    shelf = Directory(place)
    segments = written(shelf, events)
    files = f"{place}/events/**/*.parquet"
    with duckdb.connect() as connection:
        sql = f"SELECT count(*) FROM read_parquet('{files}', hive_partitioning = true)"
        counting, _, found = _timed(lambda: connection.execute(sql).fetchall())
        by_topic = sql.replace("count(*)", "topic, count(*)") + " GROUP BY 1"
        grouping, _, _ = _timed(lambda: connection.execute(by_topic).fetchall())
    assert found == [(events,)], "every event is counted"
    cold = [_read(shelf, segments, events, user) for user in range(_READS)]
    return {
        "generated events": events,
        "bytes an event": round(_bytes_in(place) / events, 1),
        "DuckDB counts them, s": round(counting, 3),
        "DuckDB counts them by topic, s": round(grouping, 3),
        f"payloads of a user, {OF_USER} of them, first time, ms": _ms(w for w, _ in cold),
        "the same, of the processor, ms": _ms(processor for _, processor in cold),
    }


def _read(
    shelf: Directory, segments: list[Segment], events: int, user: int
) -> tuple[float, float]:
    """
    Return in how many seconds one user's payloads come from an archive not open yet.

    And in how many seconds of the processor.
    """
    users = events // OF_USER
    mine = user * 7_919 % users
    wanted = [
        made_up(mine + users * number + 1, users, state=b"") for number in range(OF_USER)
    ]
    reader = ArchiveReader(lambda: segments, shelf)
    wall, processor, found = _timed(lambda: reader.whole(wanted))
    assert all(each.sealed.state for each in found), "each has its payload"
    return wall, processor


def _timed(work: Callable[[], Answer]) -> tuple[float, float, Answer]:
    wall, processor = time.perf_counter(), time.process_time()
    answer = work()
    return time.perf_counter() - wall, time.process_time() - processor, answer


def _bytes_in(place: Path) -> int:
    return sum(each.stat().st_size for each in place.rglob("*.parquet"))


def _ms(taken: Iterable[float]) -> dict[str, float]:
    ordered = sorted(taken)
    middle, last = ordered[len(ordered) // 2], ordered[-1]
    return {"p50": round(middle * 1_000, 1), "max": round(last * 1_000, 1)}


if __name__ == "__main__":
    main()
