"""A backup of the ledger restored after an erasure shows nothing of what was erased."""

import shutil
from pathlib import Path

import pytest
import sqlalchemy as sa

from muniment import MemoryStore
from muniment.api.opening import VAULT_FILE
from muniment.errors import Corruption, UnknownFactError, VaultMismatchError
from tests.forgetting.traces import Backup, said, traces
from tests.stores import POSTGRESQL, Backend


USER = "CANARY-user"


def lived(store: MemoryStore) -> str:
    fact = store.remember("CANARY one", user_id=USER, actor="CANARY-actor")
    store.update(fact.fact_id, content="CANARY two")
    store.remember("stays", user_id="bob")
    return fact.fact_id


def check_nothing_is_shown(store: MemoryStore, fact_id: str) -> None:
    assert said(store, user_id=USER) == []
    with pytest.raises(UnknownFactError):
        store.get_fact_history(fact_id)
    assert said(store, user_id="bob") == ["stays"]
    assert store.verify()


# B55 (sliceworkz#127: in-place erasure leaves backups), S11.
def test_a_backup_made_before_an_erasure_shows_nothing_of_it(
    durable: Backend, tmp_path: Path
) -> None:
    with durable.open() as store:
        fact_id = lived(store)
        at = store.get(fact_id).recorded_at
        backup = Backup.of(durable, tmp_path / "backup.db")
        store.erase(user_id=USER, reason="asked")

    backup.restore()

    for _ in range(2):
        with durable.open() as store:
            check_nothing_is_shown(store, fact_id)
            assert len(store.get_memory_as_of(user_id=USER, timestamp=at)) == 0
            store.rebuild()
            check_nothing_is_shown(store, fact_id)
            assert traces(durable, "CANARY") == []
    if backup.file is not None:
        assert b"CANARY" not in backup.file.read_bytes()


def test_a_restored_ledger_says_once_that_it_was_erased(
    durable: Backend, tmp_path: Path
) -> None:
    with durable.open() as store:
        lived(store)
        backup = Backup.of(durable, tmp_path / "backup.db")
        store.erase(user_id=USER, reason="asked")
    backup.restore()

    heads = []
    for _ in range(3):
        with durable.open() as store:
            heads.append(store.get_all(user_id="bob").position)

    # Three events, and the tombstone.
    assert heads == [4, 4, 4]


def test_a_second_restore_shows_nothing_either(durable: Backend, tmp_path: Path) -> None:
    with durable.open() as store:
        early = Backup.of(durable, tmp_path / "early.db")
        fact_id = lived(store)
        late = Backup.of(durable, tmp_path / "late.db")
        store.erase(user_id=USER, reason="asked")

    for backup in (late, early, late):
        backup.restore()
        with durable.open() as store:
            assert said(store, user_id=USER) == []
            with pytest.raises(UnknownFactError):
                store.get_fact_history(fact_id)
            assert store.verify()


def test_what_is_remembered_after_a_restore_is_a_life_of_its_own(
    durable: Backend, tmp_path: Path
) -> None:
    with durable.open() as store:
        lived(store)
        backup = Backup.of(durable, tmp_path / "backup.db")
        store.erase(user_id=USER, reason="asked")
    backup.restore()

    with durable.open() as store:
        store.remember("CANARY again", user_id=USER)
        assert said(store, user_id=USER) == ["CANARY again"]
        assert store.erase(user_id=USER, reason="again").status == "DONE"
        assert said(store, user_id=USER) == []
        assert store.verify()


def test_redacted_and_then_erased_a_restored_backup_opens(
    durable: Backend, tmp_path: Path
) -> None:
    with durable.open() as store:
        fact_id = lived(store)
        backup = Backup.of(durable, tmp_path / "backup.db")
        store.forget(fact_id, mode="redact")
        store.erase(user_id=USER, reason="asked")
    backup.restore()

    for _ in range(2):
        with durable.open() as store:
            check_nothing_is_shown(store, fact_id)


def test_an_erasure_before_a_hold_was_released_is_not_undone_by_a_restore(
    durable: Backend, tmp_path: Path
) -> None:
    with durable.open() as store:
        fact_id = lived(store)
        store.place_hold(user_id=USER, matter="case", hold_id="h-1")
        backup = Backup.of(durable, tmp_path / "backup.db")
        store.release_hold("h-1", user_id=USER)
        store.erase(user_id=USER, reason="asked")
    backup.restore()

    with durable.open() as store:
        check_nothing_is_shown(store, fact_id)


def test_an_old_vault_beside_a_newer_ledger_is_refused(
    durable: Backend, tmp_path: Path
) -> None:
    with durable.open() as store:
        lived(store)
    kept = _vault(durable, tmp_path)
    with durable.open() as store:
        store.remember_many([f"later {n}" for n in range(5)], user_id="bob")
        store.remember("later", user_id="new")
    _put_back(durable, kept)

    with pytest.raises(VaultMismatchError):
        durable.open()


def test_a_vault_that_is_gone_is_an_error_that_says_what_is_lost(
    durable: Backend,
) -> None:
    with durable.open() as store:
        lived(store)
    if durable.kind == POSTGRESQL:
        with durable.sql() as connection:
            connection.execute(sa.text("DROP SCHEMA muniment_vault CASCADE"))
    else:
        (durable.directory / VAULT_FILE).unlink()

    with pytest.raises(Corruption, match="every key"):
        durable.open()


Kept = Path | dict[str, list[dict[str, object]]]


def _vault(durable: Backend, tmp_path: Path) -> Kept:
    if durable.kind != POSTGRESQL:
        return Path(shutil.copy(durable.directory / VAULT_FILE, tmp_path / "vault.db"))
    with durable.sql(vault=True) as connection:
        return {
            table.name: [dict(e) for e in connection.execute(sa.select(table)).mappings()]
            for table in _tables(connection)
        }


def _put_back(durable: Backend, kept: Kept) -> None:
    if isinstance(kept, Path):
        for end in ("-wal", "-shm"):
            (durable.directory / f"{VAULT_FILE}{end}").unlink(missing_ok=True)
        shutil.copy(kept, durable.directory / VAULT_FILE)
        return
    with durable.sql(vault=True) as connection:
        for table in _tables(connection):
            connection.execute(sa.delete(table))
            if kept[table.name]:
                connection.execute(sa.insert(table), kept[table.name])


def _tables(connection: sa.Connection) -> list[sa.Table]:
    metadata = sa.MetaData()
    metadata.reflect(connection)
    return metadata.sorted_tables
