"""Places that cannot be opened: each has its own error, and nothing in them changes."""

import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
import sqlalchemy as sa

from muniment import Fact, MemoryStore, Settings
from muniment.domain.events import FactAsserted
from muniment.errors import (
    ConfigurationError,
    Corruption,
    DatabaseUnavailableError,
    InvalidValueError,
    MissingKeyError,
    MunimentError,
    NewerSchemaError,
    NotAStoreError,
    StoreNotFoundError,
    VaultMismatchError,
)
from muniment.ledger import codec
from muniment.migrations import HEAD
from tests.stores import POSTGRESQL, Backend


def files(place: Path) -> dict[str, object]:
    """Return what is in *place*, without what SQLite keeps beside an open database."""
    passing = ("-wal", "-shm")
    return {
        each.relative_to(place).as_posix(): each.read_bytes() if each.is_file() else None
        for each in sorted(place.rglob("*"))
        if not each.name.endswith(passing)
    }


@pytest.fixture
def made(tmp_path: Path) -> tuple[Path, Fact]:
    """An embedded store with one fact, closed."""
    place = tmp_path / "store"
    with MemoryStore.open(place) as store:
        return place, store.remember("fact", user_id="u")


def _text_as_ledger(place: Path) -> None:
    (place / "ledger.db").write_text("This is a text, not a database.\n" * 200)


def _short_text_as_ledger(place: Path) -> None:
    (place / "ledger.db").write_text("hi")


def _database_of_something_else(place: Path) -> None:
    with sqlite3.connect(place / "ledger.db") as connection:
        connection.execute("CREATE TABLE event (note TEXT)")
    connection.close()


def _other_files(place: Path) -> None:
    (place / "notes.txt").write_text("mine")


def _directory_as_ledger(place: Path) -> None:
    (place / "ledger.db").mkdir()


@pytest.mark.parametrize(
    "fill",
    [
        _text_as_ledger,
        _short_text_as_ledger,
        _database_of_something_else,
        _other_files,
        _directory_as_ledger,
    ],
)
def test_a_directory_that_is_something_else_is_refused_and_left_alone(
    tmp_path: Path, fill: Callable[[Path], None]
) -> None:
    place = tmp_path / "place"
    place.mkdir()
    fill(place)
    before = files(place)

    with pytest.raises(NotAStoreError, match=r"is not a Muniment store.*new directory"):
        MemoryStore.open(place)

    assert files(place) == before


def test_a_file_is_no_store(tmp_path: Path) -> None:
    place = tmp_path / "file"
    place.write_text("mine")

    with pytest.raises(NotAStoreError, match="it is not a directory"):
        MemoryStore.open(place)
    with pytest.raises(NotAStoreError, match="it is not a directory"):
        MemoryStore.open(place, create=False)

    assert place.read_text() == "mine"


@pytest.mark.parametrize("create", [True, False])
@pytest.mark.parametrize("below", ["file/store", "n" * 300])
def test_a_place_where_no_directory_can_be_says_why(
    tmp_path: Path, below: str, *, create: bool
) -> None:
    (tmp_path / "file").write_text("mine")
    expected = NotAStoreError if create or "/" not in below else StoreNotFoundError

    with pytest.raises(expected, match=r"(?i)not a directory|too long|no store"):
        MemoryStore.open(tmp_path / below, create=create)

    assert files(tmp_path) == {"file": b"mine"}


def test_a_store_that_is_not_to_be_made_is_not_made(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()

    for place in (tmp_path / "nowhere", empty, tmp_path / "deep" / "er"):
        with pytest.raises(StoreNotFoundError, match="make one with: muniment init"):
            MemoryStore.open(place, create=False)

    assert files(tmp_path) == {"empty": None}


def test_a_database_that_is_not_to_be_made_a_store_stays_empty(untouched: Backend) -> None:
    with pytest.raises(StoreNotFoundError):
        MemoryStore.open(untouched.settings(), create=False)

    assert not untouched.directory.exists()
    if untouched.kind == POSTGRESQL:
        with untouched.sql() as connection:
            assert sa.inspect(connection).get_table_names() == []


def _cut_short(place: Path) -> None:
    ledger = place / "ledger.db"
    ledger.write_bytes(ledger.read_bytes()[: ledger.stat().st_size // 2])


def _overwritten(place: Path) -> None:
    ledger = place / "ledger.db"
    whole = ledger.read_bytes()
    ledger.write_bytes(whole[:4096] + b"\xff" * 8192 + whole[12288:])


@pytest.mark.parametrize("harm", [_cut_short, _overwritten])
def test_a_broken_ledger_is_corruption_and_never_made_anew(
    made: tuple[Path, Fact], harm: Callable[[Path], None]
) -> None:
    place, fact = made
    harm(place)
    before = files(place)

    with pytest.raises((Corruption, NotAStoreError)), MemoryStore.open(place) as store:
        store.get(fact.fact_id)

    assert files(place) == before


def test_a_missing_key_is_named_and_no_new_one_is_made(made: tuple[Path, Fact]) -> None:
    place, fact = made
    key = place / "key"
    kept = key.read_text()
    key.unlink()
    before = files(place)

    with pytest.raises(
        MissingKeyError, match="MUNIMENT_KEY_FILE or MUNIMENT_KEY"
    ) as refused:
        MemoryStore.open(place)

    assert str(key) in str(refused.value)
    assert files(place) == before
    key.write_text(kept)
    key.chmod(0o600)
    with MemoryStore.open(place) as store:
        assert store.get(fact.fact_id) == fact


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o660, 0o604])
def test_a_key_that_others_can_read_is_refused(made: tuple[Path, Fact], mode: int) -> None:
    key = made[0] / "key"
    key.chmod(mode)
    before = files(made[0])

    with pytest.raises(ConfigurationError, match=f"mode {mode:04o}.*chmod 600"):
        MemoryStore.open(made[0])

    assert files(made[0]) == before


@pytest.mark.parametrize("text", ["", "zz", "ab" * 31, "ab" * 33, "key: " + "ab" * 32])
def test_a_key_that_is_none_is_refused(made: tuple[Path, Fact], text: str) -> None:
    place, _ = made
    (place / "key").write_text(text)

    with pytest.raises(ConfigurationError, match="64 hexadecimal digits"):
        MemoryStore.open(place)


def test_another_key_is_refused_before_anything_is_read(made: tuple[Path, Fact]) -> None:
    place, _ = made
    (place / "key").write_text("ab" * 32)
    before = files(place)

    with pytest.raises(VaultMismatchError, match="put the vault and the key"):
        MemoryStore.open(place)

    assert files(place) == before


def test_a_vault_that_is_gone_is_not_made_anew(made: tuple[Path, Fact]) -> None:
    place, fact = made
    vault = place / "vault.db"
    kept = vault.read_bytes()
    vault.unlink()
    before = files(place)

    for _ in range(2):
        with pytest.raises(VaultMismatchError, match="is gone"):
            MemoryStore.open(place)

    assert files(place) == before
    vault.write_bytes(kept)
    with MemoryStore.open(place) as store:
        assert store.get(fact.fact_id) == fact


def test_a_vault_that_is_a_text_is_refused(made: tuple[Path, Fact]) -> None:
    place, _ = made
    (place / "vault.db").write_text("This is a text, not a database.\n" * 200)
    before = files(place)

    with pytest.raises((VaultMismatchError, NotAStoreError)):
        MemoryStore.open(place)

    assert files(place) == before


@pytest.mark.parametrize("taken", [("vault.db",), ("vault.db", "key")])
def test_the_vault_of_another_store_is_refused(
    made: tuple[Path, Fact], tmp_path: Path, taken: tuple[str, ...]
) -> None:
    place, _ = made
    MemoryStore.open(tmp_path / "other").close()
    for name in taken:
        shutil.copy2(tmp_path / "other" / name, place / name)
    before = files(place)

    with pytest.raises(VaultMismatchError):
        MemoryStore.open(place)

    assert files(place) == before


@pytest.mark.parametrize("vault", [False, True])
@pytest.mark.parametrize("revision", ["9999", f"{int(HEAD) + 1:04}", "00a1"])
def test_a_store_of_a_newer_schema_is_left_alone(
    durable: Backend, revision: str, *, vault: bool
) -> None:
    durable.open().close()
    change = "UPDATE muniment_version SET version_num = '{}'"
    with durable.sql(vault=vault) as connection:
        connection.exec_driver_sql(change.format(revision))

    with pytest.raises(NewerSchemaError, match=f"{revision}.*upgrade Muniment"):
        durable.open()

    with durable.sql(vault=vault) as connection:
        found = connection.exec_driver_sql("SELECT version_num FROM muniment_version")
        assert found.scalars().all() == [revision]
        connection.exec_driver_sql(change.format(HEAD))
    durable.open().close()


@pytest.mark.parametrize(("kind", "schema"), [("fact.asserted", 2), ("fact.dreamt", 1)])
def test_an_event_of_a_newer_version_is_named_so(
    durable: Backend, kind: str, schema: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as newer, durable.open() as store:
        newer.setitem(codec._KINDS, FactAsserted, kind)
        newer.setitem(codec._SCHEMAS, kind, schema)
        fact = store.remember("fact", user_id="u")

    with durable.open() as store:
        for read in (store.get, store.get_fact_history, store.forget):
            with pytest.raises(Corruption, match=f"{kind}.*upgrade Muniment"):
                read(fact.fact_id)
        with pytest.raises(Corruption, match=f"{kind}.*upgrade Muniment"):
            store.rebuild()


@pytest.mark.parametrize(
    "url",
    [
        "mysql://host/db",
        "http://host",
        "postgresql+asyncpg://host/db",
        "sqlite://",
        "sqlite:///:memory:",
        "memory://somewhere",
        "://",
        "qdrant://x",
    ],
)
def test_an_unknown_kind_of_place_is_named_with_the_known_ones(url: str) -> None:
    with pytest.raises(ConfigurationError, match="sqlite:///PATH or"):
        MemoryStore.open(url)


def test_a_server_that_is_away_is_unavailable_and_no_password_is_shown(
    tmp_path: Path,
) -> None:
    url = "postgresql://user:hunter2@127.0.0.1:1/nothing"

    with pytest.raises(DatabaseUnavailableError) as refused:
        MemoryStore.open(Settings(database_url=url, key_file=tmp_path / "key"))

    assert "hunter2" not in str(refused.value)
    assert files(tmp_path) == {}


@pytest.mark.parametrize(
    "name", ["a b", "a%41b", "a?b=c", "a#b", "a:b", "a'b", "a\\b", "名前", "%", "a&b", "-a"]
)
def test_a_directory_is_the_one_that_was_named(tmp_path: Path, name: str) -> None:
    place = tmp_path / name

    with MemoryStore.open(place) as store:
        fact = store.remember("fact", user_id="u")

    assert [each.name for each in tmp_path.iterdir()] == [name]
    assert {"ledger.db", "vault.db", "key"} <= {each.name for each in place.iterdir()}
    with MemoryStore.open(str(place), create=False) as store:
        assert store.get(fact.fact_id) == fact


@pytest.mark.parametrize("target", [5, b"memory", ["memory"], "a\x00b"])
def test_a_place_that_is_no_name_is_refused(target: object) -> None:
    open_store: Callable[[object], MemoryStore] = MemoryStore.open  # type: ignore[assignment]

    with pytest.raises((InvalidValueError, ConfigurationError)):
        open_store(target)


@pytest.mark.parametrize(
    ("name", "value"),
    [("CONTENT_LIMIT", "much"), ("LEDGER", "No Name"), ("POOL_SIZE", "0")],
)
def test_a_setting_that_cannot_be_is_named(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(f"MUNIMENT_{name}", value)

    with pytest.raises(MunimentError, match=f"(?i){name}"):
        MemoryStore.open()


def test_a_store_in_memory_leaves_nothing_on_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    with MemoryStore.open("memory://") as store:
        store.remember("fact", user_id="u")

    assert files(tmp_path) == {}
