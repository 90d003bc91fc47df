"""A ledger comes back from its archive: the same, and nothing of the erased."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from muniment import MemoryStore
from muniment.archive.shelf import Directory
from muniment.errors import (
    ArchiveAheadError,
    LedgerNotEmptyError,
    StoreNotFoundError,
    VaultMismatchError,
)
from tests.archive.told import DAY, Told, instant, lose_ledger, told
from tests.forgetting.traces import traces
from tests.stores import NEW_YEAR, SQLITE, Backend, backend_at


@pytest.fixture
def embedded(tmp_path: Path) -> Iterator[Told]:
    """A store in a directory that was told much."""
    found = told(backend_at(SQLITE, directory=tmp_path / "store", postgres_url=None))
    yield found
    found.store.close()


def test_a_ledger_is_restored_from_its_archive_alone(durable: Backend) -> None:
    story = told(durable)
    story.store.archive()
    story.store.prune()
    before = story.answers()
    proof = [story.store.prove(each).envelope for each in (1, 9, 21)]
    head = story.store.tree_head()
    lose_ledger(story)

    restored = MemoryStore.rebuild_from_archive(durable.settings())

    story.reopen()
    assert (restored.events, restored.last_position, restored.signed) == (21, 21, 21)
    assert story.answers() == before
    assert [story.store.prove(each).envelope for each in (1, 9, 21)] == proof
    assert story.store.tree_head() == head
    assert story.store.verify(published=[head])
    assert MemoryStore.rebuild_from_archive(durable.settings()).events == 0
    story.pass_time()
    story.store.remember("later", user_id="ann")
    with pytest.raises(LedgerNotEmptyError):
        MemoryStore.rebuild_from_archive(durable.settings())
    story.store.close()


# C7, B55: nothing of the erased in an archive, nor in a store restored from it.
def test_who_was_erased_is_in_no_segment_and_no_restored_store(durable: Backend) -> None:
    story = told(durable)
    story.store.archive()
    proof = story.store.prove(1).envelope
    before = story.answers(("bob",))

    story.store.erase(user_id="ann", reason="asked")
    story.store.prune()
    story.store.archive()

    assert story.store.verify()
    assert traces(durable, "CANARY") == []
    lose_ledger(story)
    MemoryStore.rebuild_from_archive(durable.settings())
    story.reopen()
    assert not story.store.get_all(user_id="ann")
    assert story.answers(("bob",)) == before
    assert story.store.prove(1).envelope == proof
    assert story.store.verify()
    assert traces(durable, "CANARY") == []
    story.store.close()


def test_an_erasure_since_the_archive_is_repeated_after_a_restore(embedded: Told) -> None:
    embedded.store.archive()
    embedded.store.erase(user_id="ann", reason="asked")
    lose_ledger(embedded)

    MemoryStore.rebuild_from_archive(embedded.backend.settings())

    embedded.reopen()
    then = instant(embedded.times[5])
    assert not embedded.store.get_memory_as_of(user_id="ann", timestamp=then)
    then = instant(embedded.times[9])
    assert embedded.store.get_memory_as_of(user_id="bob", timestamp=then)
    assert embedded.store.verify()


def test_an_archive_that_is_ahead_of_its_ledger_is_not_overwritten(embedded: Told) -> None:
    middle = instant(NEW_YEAR + 10 * DAY)
    embedded.store.archive(until=middle)
    ledger = embedded.backend.directory / "ledger.db"
    embedded.store.close()
    older = ledger.read_bytes()
    embedded.reopen()
    embedded.store.archive()
    names = Directory(embedded.place).names("")
    embedded.store.close()

    ledger.write_bytes(older)
    embedded.reopen()

    # The backup holds all of it, and takes up what was archived since.
    assert embedded.store.archive().events == 0
    assert Directory(embedded.place).names("") == names
    embedded.store.close()
    ledger.write_bytes(older)
    embedded.reopen()
    truncate(embedded)
    with pytest.raises(ArchiveAheadError):
        embedded.store.archive()
    assert Directory(embedded.place).names("") == names


def truncate(story: Told) -> None:
    """Take the last transaction from the ledger, as an older backup would not have it."""
    with story.backend.sql() as connection:
        connection.exec_driver_sql("DELETE FROM ledger_event WHERE position >= 19")
        connection.exec_driver_sql(
            "DELETE FROM ledger_transaction WHERE last_position >= 19"
        )


def test_a_restore_needs_the_vault_and_an_archive(embedded: Told, tmp_path: Path) -> None:
    embedded.store.archive()
    lose_ledger(embedded)
    elsewhere = tmp_path / "elsewhere"

    with pytest.raises(StoreNotFoundError):
        MemoryStore.rebuild_from_archive(elsewhere)
    assert not elsewhere.exists()
    shutil.copytree(embedded.place, elsewhere / "archive")
    with pytest.raises(VaultMismatchError):
        MemoryStore.rebuild_from_archive(elsewhere)

    MemoryStore.rebuild_from_archive(embedded.backend.settings())
    embedded.reopen()
