"""What is archived is read as before, whatever left the database, and by others, too."""

import json
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from muniment import MemoryStore
from muniment.archive import archiver as archiver_module
from muniment.archive import schema, segment
from muniment.archive.archiver import Archiver
from muniment.archive.gathering import Stretch, event_batch, sorted_events
from muniment.archive.shelf import Directory, shelf_at
from muniment.domain.time import BEGINNING, FOREVER
from muniment.errors import (
    ArchiveUnavailableError,
    ConfigurationError,
    DamagedArchiveError,
    InvalidValueError,
    TamperedError,
)
from muniment.ledger.cold import is_dropped
from muniment.ledger.leaves import StoredRow
from muniment.ledger.records import StampedEvent, TransactionRow
from tests.archive.told import DAY, Told, instant, lose_ledger, told
from tests.stores import NEW_YEAR, POSTGRESQL, SQLITE, Backend, backend_at


OF_TRAITS = (
    *("category", "attribute", "status", "confidence", "importance", "core", "expires_at"),
)


@pytest.fixture
def story(backend: Backend) -> Iterator[Told]:
    """A store that was told much, wherever it lives."""
    found = told(backend)
    yield found
    found.store.close()


@pytest.fixture
def embedded(tmp_path: Path) -> Iterator[Told]:
    """The same in a directory."""
    found = told(backend_at(SQLITE, directory=tmp_path / "store", postgres_url=None))
    yield found
    found.store.close()


def read_cold(store: MemoryStore) -> int:
    """Return how many payloads are not in the database."""
    recorder = store._ledger.recorder
    cold, recorder.cold = recorder.cold, Uncold()
    try:
        events = recorder.read(limit=1_000)
    finally:
        recorder.cold = cold
    return sum(is_dropped(each) for each in events)


class Uncold:
    """An archive that gives nothing back."""

    def whole(self, events: Sequence[StampedEvent]) -> Sequence[StampedEvent]:
        return events


def test_every_answer_is_the_same_before_and_after(story: Told) -> None:
    store, before = story.store, story.answers()
    proof = store.prove(3).envelope

    written = store.archive()
    archived = story.answers()
    gone = store.prune()

    assert (written.events, written.last_position) == (21, 21)
    assert archived == before
    assert gone == read_cold(store) > 5
    assert story.answers() == before
    assert store.prove(3).envelope == proof
    assert store.verify()
    assert store.rebuild() > 0
    assert story.answers() == before
    assert store.verify()
    # And writing goes on upon what is cold.
    story.pass_time()
    cold = story.facts["ann"][0]
    assert store.update(cold, content="warm").version == 3
    store.rollback_fact(story.facts["bob"][2], to_version=1)
    assert store.verify()


def test_what_a_belief_of_today_rests_on_stays(embedded: Told) -> None:
    store = embedded.store
    embedded.store.archive()

    store.prune()

    shutil.rmtree(embedded.place)
    page = store.get_all(user_id="ann", limit=100)
    assert sorted(each.content or "" for each in page) == [
        "CANARY ann moved",
        "CANARY ann 不喜欢",
        "CANARY ann 喜欢 3",
    ]
    with pytest.raises(ArchiveUnavailableError):
        store.get_fact_history(embedded.facts["ann"][0])


def test_a_run_goes_on_where_the_last_one_ended(story: Told) -> None:
    store = story.store
    middle = instant(NEW_YEAR + 10 * DAY)

    plan = store.plan_archive(until=middle)
    first = store.archive(until=middle)
    second = store.archive()
    third = store.archive()

    assert (plan.first_position, plan.last_position, plan.months) == (1, 9, ("2026-01",))
    assert (first.events, second.events, third.events) == (9, 12, 0)
    # A segment holds one month: January was archived twice, February once.
    assert (first.segments, second.segments) == (1, 2)
    assert store.plan_archive().events == 0
    assert store.verify()


def test_no_path_tells_whose_memory_it_is(embedded: Told) -> None:
    embedded.store.archive()

    names = Directory(embedded.place).names("")

    assert len(names) == 6
    assert all(
        re.fullmatch(
            r"(manifests/ledger=main|(events|transactions)/ledger=main/year=2026/month=0[12])"
            r"/\d{12}-\d{12}\.(json|parquet)",
            name,
        )
        for name in names
    )


def test_duckdb_and_polars_read_the_archive_as_it_is(embedded: Told) -> None:
    store = embedded.store
    store.archive()
    files = f"{embedded.place}/events/**/*.parquet"

    with duckdb.connect() as connection:
        counted = connection.execute(
            "SELECT count(*), count(DISTINCT month) "
            f"FROM read_parquet('{files}', hive_partitioning = true)"
        ).fetchall()
    frame = pl.scan_parquet(files, hive_partitioning=True)
    kinds = frame.group_by("topic").len().sort("topic").collect().rows()
    asked = store.query_archive(
        "SELECT topic, count(*) n FROM events GROUP BY 1 ORDER BY 1"
    )

    assert counted == [(21, 2)]
    assert asked.columns == ("topic", "n")
    assert list(asked.rows) == kinds
    assert dict(kinds)["fact.asserted.v1"] == 11


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM read_csv('/etc/passwd')",
        "COPY events TO 'stolen.parquet'",
        "SELECT 1; SELECT 2",
        "SELEC 1",
        "SET enable_external_access = true",
    ],
)
def test_a_question_reads_the_archive_and_nothing_else(embedded: Told, sql: str) -> None:
    embedded.store.archive()

    with pytest.raises(InvalidValueError):
        embedded.store.query_archive(sql)


@pytest.mark.parametrize("rows", [0, 1])
def test_b53_a_file_has_the_pinned_schema_empty_or_not(rows: int) -> None:
    row = TransactionRow(
        tx_id=1,
        recorded_at=NEW_YEAR,
        first_position=1,
        last_position=0,
        action="remember",
        subject_ref="",
        idempotency_tag=None,
        request_tag=None,
        header=b"",
    )
    stretch = Stretch(first=row)
    stretch.add([row], [])

    pairs = zip(stretch.tables(), (schema.EVENTS, schema.TRANSACTIONS), strict=True)
    for table, expected in pairs:
        written = segment.encoded(table.slice(0, rows))
        found = segment.decoded("it", written, expected)
        assert found.schema.equals(expected, check_metadata=True)
        assert str(found.schema.field("recorded_at").type) == "timestamp[us, tz=UTC]"


BROKEN: dict[str, Callable[[pa.Table], pa.Table | None]] = {
    "a row is missing": lambda table: table.slice(0, 2),
    "a row stands twice": lambda table: pa.concat_tables([table, table.slice(0, 1)]),
    "two rows changed places": lambda table: table.take([1, 0, 2]),
    "a value is another": lambda table: table.set_column(
        table.schema.get_field_index("sealed"),
        table.schema.field("sealed"),
        [[b"one", b"two", b"other"]],
    ),
    "a column is missing": lambda table: table.drop_columns("sealed"),
    "nothing was written": lambda _: None,
}


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
def test_a_file_that_does_not_read_back_as_it_was_is_not_kept(
    monkeypatch: pytest.MonkeyPatch, broken: Callable[[pa.Table], pa.Table | None]
) -> None:
    rows: list[StoredRow] = [
        (at, 1, NEW_YEAR, f"fact-{at}", 1, "t", "s", at, b"\x02\0\x02{}" + said, b"")
        for at, said in enumerate((b"one", b"two", b"three"), 1)
    ]
    table = sorted_events([event_batch(rows)])
    write = pq.write_table

    def written(table: pa.Table, sink: pa.BufferOutputStream, **_: object) -> None:
        found = broken(table)
        if found is not None:
            write(found, sink)

    assert segment.decoded("it", segment.encoded(table), schema.EVENTS).equals(table)
    monkeypatch.setattr(pq, "write_table", written)
    with pytest.raises(DamagedArchiveError, match="a new file"):
        segment.encoded(table)


@pytest.mark.parametrize("most", [{"segment_events": 4}, {"segment_bytes": 1}])
def test_a_segment_ends_when_it_is_full(
    embedded: Told, monkeypatch: pytest.MonkeyPatch, most: dict[str, int]
) -> None:
    monkeypatch.setattr(archiver_module, "_PAGE", 4)
    ledger = embedded.store._ledger
    shelf, timeline = shelf_at(str(embedded.place)), embedded.store._lookup.timeline
    archiver = Archiver(ledger, shelf, timeline, **most)

    written = archiver.run(embedded.clock(), progress=lambda _done, _of: None)

    assert written.events == 21
    assert written.segments > 4
    assert embedded.store.prune() > 0
    assert embedded.store.verify()
    assert len(embedded.answers()) > 20


def alter(file: Path) -> None:
    raw = bytearray(file.read_bytes())
    raw[len(raw) // 2] ^= 1
    file.write_bytes(raw)


@pytest.mark.parametrize("kind", ["events", "transactions", "manifests"])
@pytest.mark.parametrize("harm", [alter, Path.unlink])
def test_b19_a_file_that_is_not_what_it_was_is_named(
    embedded: Told, kind: str, harm: Callable[[Path], None]
) -> None:
    store = embedded.store
    store.archive()
    file = next(e for e in sorted((embedded.place / kind).rglob("*")) if e.is_file())

    harm(file)

    (finding,) = store.verify().findings
    assert (finding.position, finding.kind) == (1, "archive")
    assert file.name in finding.problem
    with pytest.raises((DamagedArchiveError, ArchiveUnavailableError)):
        store.prune()
    assert read_cold(store) == 0
    lose_ledger(embedded)
    with pytest.raises((DamagedArchiveError, ArchiveUnavailableError)):
        MemoryStore.rebuild_from_archive(embedded.backend.settings())
    embedded.reopen()


@pytest.mark.parametrize("change", ["key_id = 9", "state = 'text'", "topic = x'00'"])
def test_what_was_altered_in_the_database_is_not_archived(
    embedded: Told, change: str
) -> None:
    with embedded.backend.sql() as connection:
        connection.exec_driver_sql(f"UPDATE ledger_event SET {change} WHERE position = 3")

    with pytest.raises(TamperedError) as refused:
        embedded.store.archive()

    assert refused.value.position == 3
    assert not Directory(embedded.place).names("manifests")


def test_two_processes_do_not_write_to_one_archive(embedded: Told) -> None:
    with (
        embedded.store._ledger.recorder.archiving(),
        pytest.raises(ArchiveUnavailableError),
        embedded.backend.open(clock=embedded.clock) as other,
    ):
        other.archive()


def test_without_a_place_nothing_is_archived(
    postgres_database: str, tmp_path: Path
) -> None:
    backend = backend_at(POSTGRESQL, directory=tmp_path, postgres_url=postgres_database)

    with (
        backend.open(archive_url=None) as store,
        pytest.raises(ConfigurationError, match="MUNIMENT_ARCHIVE_URL"),
    ):
        store.archive()


def test_rows_are_grouped_so_that_a_reader_skips_others(embedded: Told) -> None:
    embedded.store.archive()
    file = next((embedded.place / "events").rglob("*.parquet"))

    table = pq.read_table(file, columns=["subject_ref", "stream", "version"])

    rows = [tuple(each.values()) for each in table.to_pylist()]
    assert rows == sorted(rows)


def plain_columns(header: dict[str, Any]) -> dict[str, Any]:
    """Return what the columns should hold of a header, in the plainest way."""
    traits = header.get("traits") or {}
    start, end = header.get("valid") or (None, None)
    return {
        **{each: traits.get(each) for each in OF_TRAITS},
        "valid_from": None if start == BEGINNING else start,
        "valid_to": None if end == FOREVER else end,
        "cause": header.get("cause"),
        "to_version": header.get("to_version"),
    }


def test_columns_say_what_headers_of_every_kind_of_event_say() -> None:
    golden = Path(__file__).parents[1] / "golden"
    headers = [
        str(each["header"])
        for file in sorted(golden.glob("*.v*.json"))
        for each in json.loads(file.read_text(encoding="utf-8"))
    ]
    # Some would be of a kind that is known already, but for what stands behind.
    headers += [
        '{"valid":[-9223372036854775808,5],"zeta":[1,2]}',
        '{"valid":[7,9223372036854775807]}',
        '{"cause":"valid\\":[3,4]","valid":[1,-2]}',
    ]
    events: list[Any] = []
    for at, text in enumerate(headers, 1):
        header = text.encode()
        state = b"\x02" + len(header).to_bytes(2, "big") + header + b"sealed %d" % at
        events.append((at, at, at, f"fact-{at}", 1, "fact.asserted.v1", "s", 1, state, b""))

    batch = event_batch(events)

    for at, text in enumerate(headers):
        expected = plain_columns(json.loads(text))
        found = {
            name: int(column.cast(pa.int64())[at].as_py())
            if pa.types.is_timestamp(column.type) and column[at].is_valid
            else column[at].as_py()
            for name in expected
            for column in [batch.column(name)]
        }
        assert found == expected, text
    assert list(segment.states(pa.table(batch))) == [each[8] for each in events]
