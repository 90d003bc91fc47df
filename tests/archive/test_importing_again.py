"""A later export goes on where an earlier one ended, and mixes with nothing else."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from muniment import MemoryStore
from muniment.errors import ErasedImportError, LedgerNotEmptyError, SubjectFrozenError


@pytest.fixture
def other(tmp_path: Path) -> Iterator[MemoryStore]:
    """An empty store."""
    with MemoryStore.open(tmp_path / "to") as store:
        yield store


def told_of(store: MemoryStore, fact_id: str) -> list[Any]:
    """Return what a store says of a fact, other than when it learned that."""
    return [
        (each.version, each.kind, each.content, each.valid_from, each.valid_to)
        for each in store.get_fact_history(fact_id)
    ]


def test_a_longer_export_goes_on_where_nothing_else_was_written(
    other: MemoryStore, tmp_path: Path
) -> None:
    with MemoryStore.open(tmp_path / "old") as old:
        fact = old.remember("住在杭州", user_id="u-1").fact_id
        old.freeze(user_id="u-1", reason="an incident")
        other.import_export(old.export(user_id="u-1").json())
        other.get_all(user_id="u-1")
        other.export(user_id="u-1")
        old.thaw(user_id="u-1", reason="over")
        old.update(fact, content="住在上海")

        done = other.import_export(old.export(user_id="u-1").json())

        # That copies were given out are events, too.
        assert (done.events, done.known) == (3, 3)
        assert told_of(other, fact) == told_of(old, fact)


def test_a_file_that_was_saved_with_a_byte_order_mark_is_imported(
    other: MemoryStore, tmp_path: Path
) -> None:
    file = tmp_path / "export.json"
    with MemoryStore.open(tmp_path / "old") as old:
        fact = old.remember("住在杭州", user_id="u-1").fact_id
        exported = old.export(user_id="u-1").json()
        file.write_text(exported, encoding="utf-8-sig")

        first = other.import_export(file)
        again = other.import_export("\ufeff" + exported)

        assert (first.facts, again.known) == (1, first.events)
        assert told_of(other, fact) == told_of(old, fact)


def written_there(store: MemoryStore, fact_id: str) -> None:
    store.correct(fact_id, content="corrected here")


def redacted_there(store: MemoryStore, fact_id: str) -> None:
    store.forget(fact_id, mode="redact", reason="asked")


def new_there(store: MemoryStore, fact_id: str) -> None:
    assert fact_id
    store.remember("only here", user_id="u-1")


@pytest.mark.parametrize("change", [written_there, redacted_there, new_there])
def test_a_longer_export_is_refused_where_something_else_was_written(
    other: MemoryStore, tmp_path: Path, change: Callable[[MemoryStore, str], None]
) -> None:
    with MemoryStore.open(tmp_path / "old") as old:
        fact = old.remember("secret", user_id="u-1").fact_id
        first = old.export(user_id="u-1").json()
        other.import_export(first)
        change(other, fact)
        before = told_of(other, fact)
        old.correct(fact, content="secret again")

        with pytest.raises(LedgerNotEmptyError, match="user:u-1"):
            other.import_export(old.export(user_id="u-1").json())

        assert told_of(other, fact) == before
        # What is there already is not refused, for there is nothing left to do.
        assert other.import_export(first).events == 0


def test_what_was_redacted_there_since_is_not_left_readable_here(
    other: MemoryStore, tmp_path: Path
) -> None:
    with MemoryStore.open(tmp_path / "old") as old:
        fact = old.remember("secret", user_id="u-1").fact_id
        other.import_export(old.export(user_id="u-1").json())
        old.forget(fact, mode="redact", reason="asked")

        with pytest.raises(LedgerNotEmptyError):
            other.import_export(old.export(user_id="u-1").json())

    assert [each.kind for each in other.get_fact_history(fact)] == ["asserted"]


def test_a_freeze_of_this_store_stops_an_import(other: MemoryStore, tmp_path: Path) -> None:
    with MemoryStore.open(tmp_path / "old") as old:
        fact = old.remember("a", user_id="u-1").fact_id
        other.import_export(old.export(user_id="u-1").json())
        other.freeze(user_id="u-1", reason="an incident")
        old.correct(fact, content="b")

        with pytest.raises(SubjectFrozenError):
            other.import_export(old.export(user_id="u-1").json())

    assert len(other.get_fact_history(fact).versions) == 1


def test_what_was_erased_here_is_not_imported_again(
    other: MemoryStore, tmp_path: Path
) -> None:
    with MemoryStore.open(tmp_path / "old") as old:
        old.remember("a", user_id="u-1")
        document = old.export(user_id="u-1").json()
    other.import_export(document)
    other.erase(user_id="u-1", reason="asked")

    with pytest.raises(ErasedImportError, match=r"user:u-1 .* into another store"):
        other.import_export(document)

    assert not other.get_all(user_id="u-1")


def test_the_whole_does_not_follow_a_part_of_it(other: MemoryStore, tmp_path: Path) -> None:
    with MemoryStore.open(tmp_path / "old") as old:
        old.remember("inferred", user_id="u-1", source="agent_inferred")
        old.remember("said", user_id="u-1", source="user_explicit")
        part = old.export(user_id="u-1", sources=["user_explicit"]).json()
        other.import_export(part)

        with pytest.raises(LedgerNotEmptyError):
            other.import_export(old.export(user_id="u-1").json())

    assert other.import_export(part).events == 0
    assert [each.content for each in other.get_all(user_id="u-1")] == ["said"]
