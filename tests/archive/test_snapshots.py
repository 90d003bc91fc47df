"""What was believed when a year began lies together: one file answers for it."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from muniment import MemoryStore
from muniment.api.shapes import document
from muniment.archive.reading import ArchiveReader
from muniment.archive.shelf import Directory
from muniment.domain.time import Instant
from muniment.errors import ArchiveUnavailableError
from muniment.instants import to_instant
from tests.archive.told import DAY, instant
from tests.stores import NEW_YEAR, SQLITE, SettableClock, backend_at


MONTHS = 30
TURNS = ("2026-12-31T23:59:59.999999Z", "2027-12-31T23:59:59.999999Z")


class CountingDirectory(Directory):
    """A directory that keeps the names of the files of Parquet that were opened."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.names_opened: list[str] = []

    def opened(self, name: str) -> Any:  # noqa: ANN401 - as promised
        if name.endswith(".parquet"):
            self.names_opened.append(name)
        return super().opened(name)


class UnlistedDirectory(CountingDirectory):
    """The same, of which nobody is told what is in it."""

    def names(self, folder: str) -> list[str]:
        raise ArchiveUnavailableError(folder, "it may not be listed")


@dataclass
class Long:
    """A store over three years, all of it archived and nothing believed any more."""

    store: MemoryStore
    place: Path
    before: dict[str, str]

    def answer(self, at: str) -> str:
        return document(self.store.get_memory_as_of(user_id="ann", timestamp=at))

    def files_opened_for(
        self, at: str, kind: type[CountingDirectory] = CountingDirectory
    ) -> list[str]:
        """Return the files that are read for an answer by a reader that just began."""
        recorder, shelf = self.store._ledger.recorder, kind(self.place)
        recorder.cold = ArchiveReader(recorder.segments, shelf)
        assert self.answer(at) == self.before[at]
        return shelf.names_opened


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Long]:
    """Each month ann says something; every third time she takes it back next month."""
    directory = tmp_path_factory.mktemp("years") / "store"
    backend = backend_at(SQLITE, directory=directory, postgres_url=None)
    clock = SettableClock(NEW_YEAR)
    with backend.open(clock=clock) as store:
        times, facts = list(TURNS), list[str]()
        for number in range(MONTHS):
            clock.now += 30 * DAY
            if facts and number % 3 == 1:
                store.forget(facts.pop())
            facts += [store.remember(f"CANARY 第{number}月", user_id="ann").fact_id]
            store.remember(f"month {number}", user_id="bob")
            times.append(instant(clock.now))
        clock.now += DAY
        for fact_id in facts:
            store.forget(fact_id)
        clock.now += DAY
        before = {
            at: document(store.get_memory_as_of(user_id="ann", timestamp=at))
            for at in times
        }
        store.archive()
        assert store.prune() > MONTHS
        yield Long(store, directory / "archive", before)


def test_as_of_the_turn_of_a_year_opens_one_file(long: Long) -> None:
    opened = [long.files_opened_for(at) for at in TURNS]

    assert [[each.split("/")[2] for each in names] for names in opened] == [
        ["year=2027"],
        ["year=2028"],
    ]
    assert all(each.startswith("snapshots/") for names in opened for each in names)


def test_the_segments_answer_where_nobody_can_list_the_snapshots(long: Long) -> None:
    opened = long.files_opened_for(TURNS[0], UnlistedDirectory)

    assert len(opened) > 1
    assert all(each.startswith("events/") for each in opened)


def test_as_of_any_other_time_opens_no_more_than_a_year_has(long: Long) -> None:
    for at in long.before:
        names = long.files_opened_for(at)

        snapshots = [each for each in names if each.startswith("snapshots/")]
        year = f"year={at[:4]}"
        assert len(snapshots) <= 2
        of_years = {each.split("/")[2] for each in names if each.startswith("events/")}
        # Before the first snapshot there is the first year alone.
        assert of_years <= {year}, at


def test_b43_each_retained_time_is_the_transaction_it_was(long: Long) -> None:
    store = long.store
    after = 0
    while rows := store._ledger.recorder.read_transactions(after=after, limit=20):
        for row in rows:
            at = instant(row.recorded_at)
            then = store.get_memory_as_of(user_id="ann", timestamp=at)
            assert then.position == row.last_position
            if at in long.before:
                assert document(then) == long.before[at]
        after = rows[-1].tx_id
    assert after > 2 * MONTHS


def test_what_is_in_a_snapshot_is_what_was_believed(long: Long) -> None:
    store = long.store
    timeline, recorder = store._lookup.timeline, store._ledger.recorder

    for at in TURNS:
        then = store.get_memory_as_of(user_id="ann", timestamp=at)
        positions, after = [], ""
        while events := timeline.resting(Instant(to_instant(at)), after=after):
            after = events[-1].sealed.subject_ref
            positions += [e.position for e in recorder.whole(events) if e.sealed.state]
        bobs = store.get_memory_as_of(user_id="bob", timestamp=at)
        assert sorted(positions) == sorted(e.position for e in (*then, *bobs))


def test_a_snapshot_that_was_altered_is_found(long: Long) -> None:
    (file, *_) = (long.place / "snapshots").rglob("*.parquet")
    kept = file.read_bytes()

    assert long.store.verify()
    file.write_bytes(kept[:-9] + b"x" + kept[-8:])
    found = long.store.verify().findings
    file.write_bytes(kept)

    assert [each.kind for each in found] == ["archive"]
    assert file.name in found[0].problem


def of_other_columns() -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"subject_ref": ["ann"]}), sink)
    return bytes(sink.getvalue())


@pytest.mark.parametrize(
    "wrong",
    [None, b"", b"PAR1 nothing of it PAR1", of_other_columns()],
    ids=["gone", "empty", "no Parquet", "other columns"],
)
def test_the_segments_answer_where_a_snapshot_cannot(
    long: Long, wrong: bytes | None
) -> None:
    files = {e: e.read_bytes() for e in (long.place / "snapshots").rglob("*.parquet")}

    try:
        for each in files:
            each.unlink() if wrong is None else each.write_bytes(wrong)
        for at in TURNS:
            long.files_opened_for(at)
        found = long.store.verify().findings
    finally:
        for each, raw in files.items():
            each.write_bytes(raw)

    assert files
    assert {each.kind for each in found} == {"archive"}


def test_the_segments_answer_where_one_bit_of_a_snapshot_is_another(long: Long) -> None:
    (path, *_) = sorted((long.place / "snapshots").rglob("*.parquet"))
    kept = path.read_bytes()
    columns = pq.ParquetFile(path).metadata.row_group(0)

    try:
        for number in range(columns.num_columns):
            column = columns.column(number)
            # The last byte of the column, whose pages end with what they hold.
            last = column.data_page_offset + column.total_compressed_size - 1
            if column.has_dictionary_page:
                last += column.dictionary_page_offset - column.data_page_offset
            path.write_bytes(kept[:last] + bytes([kept[last] ^ 1]) + kept[last + 1 :])
            long.files_opened_for(TURNS[0])
    finally:
        path.write_bytes(kept)
