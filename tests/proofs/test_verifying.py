"""Verifying a store that is in use, that forgot, or that is far behind what it signed."""

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy as sa

from muniment import MemoryStore
from muniment.ledger.records import TransactionRow
from muniment.ledger.tables import tile
from muniment.ledger.verification import LedgerCheck
from tests.proofs.malice import flipped
from tests.stores import SQLITE, Backend, backend_at, insert, plain_event


def silent(_done: int, _of: int) -> None:
    """Tell nobody."""


def test_a_store_is_as_recorded_after_all_that_is_allowed(backend: Backend) -> None:
    with backend.open() as store:
        redacted = store.remember("a", user_id="u").fact_id
        store.remember("b", user_id="u", idempotency_key="k")
        store.remember("b", user_id="u", idempotency_key="without effect")
        store.forget(redacted, mode="redact")
        store.remember("c", user_id="v")
        hold = store.place_hold(user_id="v", matter="case 1").hold_id
        store.tree_head()
        assert hold is not None
        store.release_hold(hold, user_id="v")
        store.erase(user_id="u", reason="asked", actor="officer-1")

        found = store.verify()

    assert found.findings == ()
    assert found.events >= 7


def test_an_empty_store_is_as_recorded(backend: Backend) -> None:
    with backend.open() as store:
        note = store.tree_head()

        found = store.verify(published=[note])

    assert (found.events, found.heads, found.findings) == (0, 2, ())


def test_progress_ends_with_every_event(backend: Backend) -> None:
    told: list[tuple[int, int]] = []
    with backend.open() as store:
        store.remember_many([{"content": f"{n}"} for n in range(30)], user_id="u")

        store.verify(progress=lambda done, of: told.append((done, of)))

    assert told[-1] == (30, 30)
    assert told == sorted(told)


def test_an_index_that_leads_astray_is_found_though_every_row_is_right(
    tmp_path: Path,
) -> None:
    """An as-of answer goes by it: it lacked a belief, and all was as recorded."""
    file = tmp_path / "store" / "ledger.db"
    with MemoryStore.open(file.parent) as store:
        last = store.remember_many(["one", "two", "three"], user_id="u")
        subject_ref = next(store._ledger.vault.subjects()).ref
    with closing(sqlite3.connect(file)) as connection:
        (size,) = connection.execute("PRAGMA page_size").fetchone()
        pages = connection.execute(
            "SELECT rootpage FROM sqlite_master WHERE type = 'index'"
            " AND tbl_name = 'belief' AND sql LIKE '%subject_ref%'"
        ).fetchall()
    raw = bytearray(file.read_bytes())
    for (page,) in pages:
        raw[raw.rindex(subject_ref.encode(), (page - 1) * size, page * size)] ^= 1
    file.write_bytes(raw)

    with MemoryStore.open(file.parent) as store:
        then = store.get_memory_as_of(user_id="u", timestamp=last.recorded_at)
        found = store.verify().findings

    assert len(then) < len(last)
    assert {each.kind for each in found} == {"database"}
    assert "index" in found[0].problem


class Meanwhile(LedgerCheck):
    """A check during which something is written once all that was there is read."""

    store: MemoryStore

    def _rows(self) -> Iterator[TransactionRow]:
        yield from super()._rows()
        receipt = self.store.remember("meanwhile", user_id="u")
        row = self._ledger.recorder.transaction(receipt.tx_id)
        assert row is not None
        yield row


def test_what_is_written_meanwhile_is_no_finding(backend: Backend) -> None:
    with backend.open() as store:
        store.remember("before", user_id="u")
        check = Meanwhile(store._ledger, progress=silent)
        check.store = store

        assert list(check.findings()) == []
    assert check.events == 2


def test_an_edited_payload_of_an_erased_subject_is_found(durable: Backend) -> None:
    with durable.open() as store:
        for number in range(3):
            store.remember(f"{number}", user_id="u")
        store.erase(user_id="u", reason="asked")
        with durable.sql() as connection:
            query = sa.text("SELECT state FROM ledger_event WHERE position = 2")
            state = bytes(connection.execute(query).scalar_one())
        for at in (0, 1, 8, -1):
            with durable.sql() as connection:
                update = sa.text("UPDATE ledger_event SET state = :s WHERE position = 2")
                connection.execute(update, {"s": flipped(state, at=at)})

            assert store.verify().findings[0].position == 2


def test_an_old_database_put_back_is_behind_the_heads_that_were_published(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    directory = tmp_path_factory.mktemp("old") / "store"
    here = backend_at(SQLITE, directory=directory, postgres_url=None)
    with here.open() as store:
        store.remember("a", user_id="u")
        published = [store.tree_head()]
    shutil.copytree(directory, directory.with_name("backup"))
    with here.open() as store:
        store.remember("b", user_id="u")
        published.append(store.tree_head())
    # The vault is not part of a backup of the ledger.
    shutil.copy(directory.with_name("backup") / "ledger.db", directory / "ledger.db")

    with here.open() as store:
        behind = store.verify(published=published).findings
        store.remember("b, said otherwise", user_id="u")
        forked = store.verify(published=published).findings

    assert [(each.position, each.kind) for each in behind] == [(2, "truncated")]
    assert [(each.position, each.kind) for each in forked] == [(2, "tree head")]


@pytest.mark.slow
def test_an_edited_tile_of_the_second_level_is_found(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    directory = tmp_path_factory.mktemp("high") / "store"
    here = backend_at(SQLITE, directory=directory, postgres_url=None)
    with here.ledger() as opened:
        for part in range(16):
            numbers = range(part * 4096, (part + 1) * 4096)
            with opened.ledger.recorder.appending() as append:
                insert(append, *(plain_event(f"plain-{n}", 1) for n in numbers))
        assert list(LedgerCheck(opened.ledger, progress=silent).findings()) == []

        second = tile.c.level == 1
        with here.sql() as connection:
            hashes = connection.execute(sa.select(tile.c.hashes).where(second)).scalar_one()
            edited = flipped(bytes(hashes), at=5)
            connection.execute(sa.update(tile).where(second).values(hashes=edited))
        found = list(LedgerCheck(opened.ledger, progress=silent).findings())

    assert [(each.position, each.kind) for each in found] == [(1, "tree")]
