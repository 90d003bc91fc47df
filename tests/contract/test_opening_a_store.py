"""Vault, key and ledger belong together, and a store is made once, whoever makes it."""

import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import sqlalchemy as sa

from muniment import MemoryStore, Settings, migrations
from muniment.api.key_files import KEY_FILE
from muniment.api.opening import VAULT_FILE
from muniment.errors import (
    ConfigurationError,
    DamagedDatabaseError,
    DatabaseUnavailableError,
    MissingKeyError,
    MunimentError,
    NotAStoreError,
    VaultMismatchError,
)
from muniment.ledger import tables
from tests.stores import SQLITE, Backend


PROCESSES = 3
SECONDS_MAX = 120
OPEN_AND_REMEMBER = """
import sys
from muniment import MemoryStore, Settings
settings = Settings.model_validate_json(sys.argv[1])
print("ready", flush=True)
sys.stdin.readline()
with MemoryStore.open(settings) as store:
    print(store.remember(f"by {sys.argv[2]}", user_id="alice").fact_id)
"""
KEY, OTHER_KEY = "11" * 32, "22" * 32


def key_file(durable: Backend) -> Path:
    return durable.directory / KEY_FILE


def filled(durable: Backend, content: str = "kept") -> str:
    """Make a store with one fact in it; return the fact's id."""
    with durable.open() as store:
        return store.remember(content, user_id="alice").fact_id


def drop_vault(durable: Backend) -> None:
    if durable.kind == SQLITE:
        for file in durable.directory.glob(f"{VAULT_FILE}*"):
            file.unlink()
    else:
        with durable.sql() as connection:
            connection.execute(sa.text("DROP SCHEMA muniment_vault CASCADE"))


@contextmanager
def refused_and_untouched(durable: Backend, error: type[MunimentError]) -> Iterator[None]:
    """Expect *error*, and that the ledger is left as it was."""
    before = ledger_rows(durable)
    with pytest.raises(error):
        yield
    assert ledger_rows(durable) == before


def ledger_rows(durable: Backend) -> list[tuple[object, ...]]:
    found: list[tuple[object, ...]] = []
    with durable.sql() as connection:
        tables = sa.MetaData()
        tables.reflect(connection)
        for table in tables.sorted_tables:
            found += [(table.name, *row) for row in connection.execute(sa.select(table))]
    return found


def test_a_store_opens_again_with_its_key(durable: Backend) -> None:
    fact_id = filled(durable)

    with durable.open() as store:
        assert store.get(fact_id).content == "kept"


def test_the_key_file_is_readable_by_its_owner_alone(durable: Backend) -> None:
    filled(durable)

    assert stat.S_IMODE(key_file(durable).stat().st_mode) == 0o600


def test_a_key_file_that_others_can_read_is_refused(durable: Backend) -> None:
    filled(durable)

    for mode in (0o640, 0o604, 0o660, 0o644):
        key_file(durable).chmod(mode)
        with refused_and_untouched(durable, ConfigurationError):
            durable.open()
    key_file(durable).chmod(0o600)
    durable.open().close()


def test_a_missing_key_file_is_not_made_anew(durable: Backend) -> None:
    filled(durable)
    key_file(durable).unlink()

    with refused_and_untouched(durable, MissingKeyError):
        durable.open()

    assert not key_file(durable).exists()


def test_another_key_is_refused(durable: Backend) -> None:
    filled(durable)
    key_file(durable).write_text(OTHER_KEY)

    with refused_and_untouched(durable, VaultMismatchError):
        durable.open()


def test_a_file_that_holds_no_key_is_refused(durable: Backend) -> None:
    filled(durable)

    for text in ("", "11" * 31, "11" * 33, "zz" * 32):
        key_file(durable).write_text(text)
        with refused_and_untouched(durable, ConfigurationError):
            durable.open()


def test_a_key_of_the_environment_needs_no_file(durable: Backend) -> None:
    with durable.open(key=KEY) as store:
        fact_id = store.remember("kept", user_id="alice").fact_id

    assert not key_file(durable).exists()
    with durable.open(key=KEY) as store:
        assert store.get(fact_id).content == "kept"
    with refused_and_untouched(durable, VaultMismatchError):
        durable.open(key=OTHER_KEY)


def test_a_vault_that_is_gone_is_not_made_anew(durable: Backend) -> None:
    filled(durable)
    drop_vault(durable)

    for _ in range(2):
        with refused_and_untouched(durable, VaultMismatchError):
            durable.open()


def test_a_vault_that_became_something_else_is_said_to_be_that(tmp_path: Path) -> None:
    with MemoryStore.open(tmp_path / "store") as store:
        store.remember("x", user_id="u")
    (tmp_path / "store" / VAULT_FILE).write_bytes(b"no database" * 1_000)

    with pytest.raises(VaultMismatchError, match=r"put the vault .* back"):
        MemoryStore.open(tmp_path / "store")


def test_a_ledger_that_is_gone_is_not_made_anew(durable: Backend) -> None:
    """It would answer that nothing was ever remembered."""
    filled(durable)
    with durable.sql() as connection:
        for table in reversed(tables.metadata.sorted_tables):
            connection.execute(sa.delete(table))
    if durable.kind == SQLITE:
        (durable.directory / "ledger.db").unlink()

    with pytest.raises(DamagedDatabaseError, match=r"ledger main is gone from .*backup"):
        durable.open()
    with durable.open(ledger="another") as other:
        assert other.get_all(user_id="u").items == ()


def test_the_vault_of_another_store_is_refused(durable: Backend, tmp_path: Path) -> None:
    filled(durable)
    elsewhere = tmp_path / "elsewhere"
    with MemoryStore.open(elsewhere) as other:
        other.remember("theirs", user_id="alice")

    with refused_and_untouched(durable, VaultMismatchError):
        durable.open(
            vault_url=f"sqlite:///{elsewhere / VAULT_FILE}", key_file=elsewhere / KEY_FILE
        )


def test_a_ledger_restored_from_a_backup_finds_its_keys(tmp_path: Path) -> None:
    place = tmp_path / "store"
    with MemoryStore.open(place) as store:
        kept = store.remember("in the backup", user_id="alice")
    shutil.copy(place / "ledger.db", tmp_path / "backup.db")
    with MemoryStore.open(place) as store:
        store.remember("after it", user_id="alice")

    shutil.copy(tmp_path / "backup.db", place / "ledger.db")

    with MemoryStore.open(place) as store:
        assert [each.content for each in store.get_all(user_id="alice").items] == [
            kept.content
        ]
        assert store.remember("again", user_id="alice").content == "again"


def test_a_directory_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("precious")

    with pytest.raises(NotAStoreError, match=r"thesis\.tex"):
        MemoryStore.open(tmp_path)

    assert [each.name for each in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_file_of_something_else_is_left_alone(tmp_path: Path) -> None:
    place = tmp_path / "store"
    place.mkdir()
    (place / "ledger.db").write_text("not a database, but precious" * 100)
    before = (place / "ledger.db").read_bytes()

    with pytest.raises(NotAStoreError):
        MemoryStore.open(place)

    assert (place / "ledger.db").read_bytes() == before


def test_a_server_that_is_not_there_is_unavailable(tmp_path: Path) -> None:
    nowhere = f"postgresql://postgres@/postgres?host={tmp_path}"

    with pytest.raises(DatabaseUnavailableError):
        MemoryStore.open(Settings(database_url=nowhere, key_file=tmp_path / "key"))


@pytest.mark.slow
@pytest.mark.parametrize("attempt", range(2))
def test_processes_that_make_a_store_at_once_make_one(
    untouched: Backend, attempt: int
) -> None:
    settings = untouched.settings().model_dump_json(exclude={"key"})
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", OPEN_AND_REMEMBER, settings, f"{attempt}-{number}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(PROCESSES)
    ]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"

    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    ended = [process.communicate(timeout=SECONDS_MAX) for process in processes]

    assert [stderr.strip().splitlines()[-1:] for _, stderr in ended] == [[]] * PROCESSES
    with untouched.sql(vault=True) as connection:
        assert connection.scalar(sa.text("SELECT count(*) FROM vault")) == 1
        assert connection.scalar(sa.text("SELECT count(*) FROM subject_key")) == 1
    assert [each.name for each in key_file(untouched).parent.glob("*key*")] == [KEY_FILE]
    with untouched.open() as store:
        facts = store.get_all(user_id="alice").items
        assert {each.fact_id for each in facts} == {stdout.strip() for stdout, _ in ended}
        assert {each.content for each in facts} == {
            f"by {attempt}-{number}" for number in range(PROCESSES)
        }


@pytest.mark.parametrize("step", ["ledger", "vault"])
def test_a_store_whose_making_was_interrupted_is_made_the_next_time(
    untouched: Backend, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    upgrade = migrations.upgrade

    def interrupted_after(
        engine: sa.Engine,
        target: migrations.Target,
        *,
        lock_timeout: float,
        schema: str | None = None,
    ) -> None:
        upgrade(engine, target, lock_timeout=lock_timeout, schema=schema)
        if target == step:
            engine.dispose()
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(migrations, "upgrade", interrupted_after)
        with pytest.raises(KeyboardInterrupt):
            untouched.open()

    with untouched.open() as store:
        assert store.remember("kept", user_id="alice").content == "kept"
