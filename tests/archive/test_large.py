"""What is large is archived a part at a time, or refused before it is written."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from muniment import MemorySnapshot, MemoryStore
from muniment.api.shapes import document
from muniment.archive import archiver, snapshots
from muniment.archive.reading import ArchiveReader
from muniment.errors import TransactionTooLargeError
from muniment.ledger import cold
from muniment.ledger.leaves import StoredRow
from tests.archive.test_snapshots import CountingDirectory
from tests.archive.told import DAY, told
from tests.stores import NEW_YEAR, SQLITE, Backend, SettableClock, backend_at


TURN = "2026-12-31T23:59:59.999999Z"


def test_large_payloads_are_gathered_a_few_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archiver, "_BYTES_OF_PAGE", 500)
    story = told(backend_at(SQLITE, directory=tmp_path / "store", postgres_url=None))
    recorder, read = story.store._ledger.recorder, list[tuple[int, int]]()
    read_rows = recorder.read_rows

    def counted(*, after: int, limit: int) -> Sequence[StoredRow]:
        read.append((after + 1, after + limit))
        return read_rows(after=after, limit=limit)

    monkeypatch.setattr(recorder, "read_rows", counted)
    assert story.store.archive().events == 21

    sizes = [recorder.payload_bytes(first=first, last=last) for first, last in read]
    # A transaction of three is never parted, however large.
    assert max(sizes) == sizes[-1] > 500
    assert all(each <= 500 for each in sizes[:-1])
    assert len(read) > 5
    assert [at for first, last in read for at in range(first, last + 1)] == [*range(1, 22)]
    story.store.close()


def test_what_no_segment_can_hold_is_refused_before_anything_is_written(
    backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    items = [{"content": f"CANARY {number} 不能归档"} for number in range(5)]
    monkeypatch.setattr(cold, "TRANSACTION_BYTES_MAX", 500)

    with backend.open() as store:
        with pytest.raises(TransactionTooLargeError, match="several") as refused:
            store.remember_many(items, user_id="ann", idempotency_key="k")

        assert refused.value.size > refused.value.limit == 500
        assert store.plan_archive().last_position == 0
        store.remember_many(items[:2], user_id="ann", idempotency_key="k")
        assert store.plan_archive().last_position == 2
        assert store.verify()


def test_what_one_person_is_remembered_by_may_be_more_than_a_file_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshots, "_BYTES_OF_PART", 1)
    clock = SettableClock(NEW_YEAR)
    backend = backend_at(SQLITE, directory=tmp_path / "store", postgres_url=None)
    with backend.open(clock=clock) as store:
        facts: dict[str, list[str]] = {"ann": [], "bob": [], "陈": []}
        for month in range(4):
            clock.now += 30 * DAY
            for user_id in facts if month else ["ann"]:
                fact = store.remember(f"CANARY 第{month}月", user_id=user_id)
                facts[user_id].append(fact.fact_id)
        clock.now += 300 * DAY
        for fact_id in (each for mine in facts.values() for each in mine):
            store.forget(fact_id)
        before = {each: document(as_of_turn(store, each)) for each in facts}

        store.archive()
        assert store.prune() == 2 * 10

        for user_id, theirs in facts.items():
            shelf = CountingDirectory(tmp_path / "store" / "archive")
            recorder = store._ledger.recorder
            recorder.cold = ArchiveReader(recorder.segments, shelf)
            assert document(as_of_turn(store, user_id)) == before[user_id]
            assert all(each.startswith("snapshots/") for each in shelf.names_opened)
            assert len(shelf.names_opened) == len(theirs)
        assert store.verify()


def as_of_turn(store: MemoryStore, user_id: str) -> MemorySnapshot:
    return store.get_memory_as_of(user_id=user_id, timestamp=TURN)
