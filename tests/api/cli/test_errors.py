"""What goes wrong at the command line: its exit code, its one line, and no new store."""

import sqlite3
from pathlib import Path

import pytest

from muniment import MemoryStore
from muniment.api.cli.exits import code_of
from muniment.errors import (
    CommitUncertainError,
    Conflict,
    Corruption,
    Forbidden,
    Frozen,
    Held,
    InvalidInput,
    MunimentError,
    NotFound,
    Unavailable,
)
from tests.api.cli.command_line import CommandLine


USER = ("--user", "u-1")
EARLIER, LATER = "2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z"
OFFICER = ("--as", "o-1", "--reason", "quarterly review")
NOWHERE = "01m8nqhdc08zyb7218v6btq1av"
NO_DATABASE = {"ledger.db": (2, "NotAStoreError"), "vault.db": (1, "VaultMismatchError")}


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        (InvalidInput, 2),
        (NotFound, 3),
        (Conflict, 4),
        (Frozen, 4),
        (Held, 4),
        (Unavailable, 4),
        (Forbidden, 5),
        (Corruption, 1),
        (MunimentError, 1),
    ],
)
def test_the_exit_code_is_that_of_the_kind(kind: type[MunimentError], code: int) -> None:
    leaf = type("LeafError", (kind,), {})

    assert code_of(kind()) == code_of(leaf()) == code


@pytest.mark.parametrize(
    ("arguments", "code", "error"),
    [
        (["as-of", "2026-03-01T00:00:00", *USER], 2, "InvalidTimeError"),
        (["as-of", "9999-01-01T00:00:00Z", *USER], 2, "FutureAsOfError"),
        (["as-of", "2026-03-01T00:00:00Z"], 2, "UsageError"),
        (["as-of", "2026-03-01T00:00:00Z", *USER, "--org"], 2, "UsageError"),
        (["list", "--user", "a\nb"], 2, "InvalidScopeError"),
        (["list", "--user", ""], 2, "InvalidScopeError"),
        (["list", *USER, "--limit", "0"], 2, "InvalidValueError"),
        (["list", *USER, "--limit", "many"], 2, "UsageError"),
        (["list", *USER, "--cursor", "x"], 2, "InvalidCursorError"),
        (["remember", "", *USER], 2, "InvalidValueError"),
        (["remember", "x", *USER, "--metadata", "{"], 2, "InvalidValueError"),
        (["remember", "x", *USER, "--metadata", '{"a": NaN}'], 2, "InvalidValueError"),
        (["remember", "x", *USER, "--metadata", '{"core": 1}'], 2, "ReservedMetadataError"),
        (["remember", "x", *USER, "--metadata", '{"a":1,"a":2}'], 2, "InvalidValueError"),
        (["remember", "x", *USER, "--confidence", "nan"], 2, "InvalidValueError"),
        (["remember", "x" * 70_000, *USER], 2, "ContentTooLargeError"),
        (["remember"], 2, "UsageError"),
        (["remeber", "x"], 2, "UsageError"),
        (["remember", "x", *USER, "--colour", "red"], 2, "UsageError"),
        (["undo", "0"], 2, "InvalidValueError"),
        (["undo", "7"], 3, "UnknownTransactionError"),
        (["get", NOWHERE], 3, "UnknownFactError"),
        (["history", NOWHERE], 3, "UnknownFactError"),
        (["receipts", "uses", NOWHERE], 3, "UnknownFactError"),
        (["proposals", *USER, "--cursor", "0"], 2, "InvalidCursorError"),
        (["audit", "log", *OFFICER, "--cursor", "0"], 2, "InvalidCursorError"),
        (["audit", "emergencies", *OFFICER, "--cursor", "9"], 2, "InvalidCursorError"),
        (["update", NOWHERE, "x"], 3, "UnknownFactError"),
        (["rollback", NOWHERE, "--to-version", "1", "--yes"], 3, "UnknownFactError"),
        (["modified", LATER, EARLIER, *USER], 2, "InvalidPeriodError"),
    ],
)  # fmt: skip
def test_each_error_has_its_code_its_line_and_its_name(
    cli: CommandLine, arguments: list[str], code: int, error: str
) -> None:
    assert cli.fails(*arguments) == (code, error)


@pytest.mark.parametrize("command", [[], ["keys"], ["audit"]])
def test_a_command_that_needs_another_shows_its_help_and_no_error(
    cli: CommandLine, command: list[str]
) -> None:
    outcome = cli.run(*command)

    assert outcome.code == 2
    assert "Usage: muniment" in outcome.out
    assert "muniment: " not in outcome.err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["retain", "--thin-older-than", "30d"], "365 days or more, not '30 days'"),
        (
            ["retain", "--records", "receipt", "--older-than", "30d"],
            "184 days or more for receipt, which the law wants kept, not '30 days'",
        ),
        (["retain", "--records", "fact", "--older-than", "30d"], "receipt, look, emerg"),
        (["retain", "--thin-older-than", "12h"], "365 days or more, not '0.5 days'"),
        (
            ["keys", "issue", "a", "--ends-at", "2020-01-01T08:00:00+08:00"],
            "must be in the future, not 2020-01-01T00:00:00Z",
        ),
        (["keys", "issue", "bot", "--kind", "agent"], "name them with --user"),
    ],
)
def test_what_is_refused_is_named_as_a_person_writes_it(
    cli: CommandLine, arguments: list[str], says: str
) -> None:
    outcome = cli.on_store(*arguments)

    assert (outcome.code, outcome.out) == (2, "")
    assert says in outcome.err
    assert cli.ask("keys", "list")["keys"] == []


def test_an_error_is_one_line_without_a_traceback(cli: CommandLine) -> None:
    outcome = cli.on_store("get", NOWHERE)

    assert outcome.code == 3
    assert outcome.out == ""
    assert outcome.err == (
        f"muniment: no such fact: '{NOWHERE}'; list facts to see their ids\n"
    )


def test_an_error_shows_nothing_a_terminal_would_obey(cli: CommandLine) -> None:
    outcome = cli.run("list", *USER, "--store", "no\x1b[2Jthing\nhere")

    assert outcome.code == 3
    assert outcome.err.startswith("muniment: no store at no\\x1b[2Jthing\\nhere;")
    assert outcome.err.count("\n") == 1


def test_a_fact_that_moved_on_is_a_conflict(cli: CommandLine) -> None:
    fact = cli.ask("remember", "x", *USER)
    cli.ask("correct", fact["fact_id"], "y")

    stale = cli.fails("correct", fact["fact_id"], "z", "--expected-version", "1")

    assert stale == (4, "VersionConflictError")


def test_a_ledger_that_is_busy_is_a_matter_of_trying_later(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MUNIMENT_LOCK_TIMEOUT", "0.05")
    with sqlite3.connect(cli.store / "ledger.db", isolation_level=None) as other:
        other.execute("BEGIN IMMEDIATE")

        assert cli.fails("remember", "x", *USER) == (4, "LedgerBusyError")


def test_a_server_that_is_away_is_a_matter_of_trying_later(cli: CommandLine) -> None:
    outcome = cli.run("list", *USER, "--store", "postgresql://127.0.0.1:1/none", "--json")

    assert (outcome.code, outcome.error["error"]) == (4, "DatabaseUnavailableError")


@pytest.mark.parametrize("name", NO_DATABASE)
def test_a_file_that_is_no_database_is_no_store(cli: CommandLine, name: str) -> None:
    for each in cli.store.glob(f"{name}*"):
        each.unlink()
    (cli.store / name).write_text("not a database" * 1_000)

    assert cli.fails("list", *USER) == NO_DATABASE[name]


def test_a_key_that_is_not_the_stores_is_no_mistake_of_the_request(
    cli: CommandLine,
) -> None:
    cli.ask("remember", "x", *USER)
    (cli.store / "key").write_text("00" * 32)

    assert cli.fails("list", *USER) == (1, "VaultMismatchError")


def test_our_own_bug_says_so_and_shows_where(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_self: MemoryStore, **_asked: object) -> None:
        raise RuntimeError("the wheels came off")

    monkeypatch.setattr(MemoryStore, "get_all", broken)

    outcome = cli.on_store("list", *USER)

    assert outcome.code == 1
    assert "Traceback" in outcome.err
    assert outcome.err.splitlines()[-1] == (
        "muniment: RuntimeError: the wheels came off; this is a bug in Muniment, report it"
    )


def test_what_the_machine_refuses_is_no_bug(cli: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    made = cli.run("init", "--store", str(tmp_path / "file" / "store"), "--json")
    written = cli.on_store(
        "export", *USER, "--out", str(tmp_path / "file" / "out"), "--json"
    )

    assert (made.code, made.error["error"]) == (2, "NotAStoreError")
    assert (written.code, written.error["error"]) == (4, "NotADirectoryError")
    assert "Traceback" not in made.err + written.err


@pytest.mark.parametrize(
    "arguments",
    [
        ["as-of", "2026-03-01T00:00:00Z", *USER],
        ["blame", *USER],
        ["correct", NOWHERE, "x"],
        ["diff", "2026-03-01T00:00:00Z", "2026-03-01T00:00:00Z", *USER],
        ["end", NOWHERE],
        ["forget", NOWHERE],
        ["freeze", *USER],
        ["get", NOWHERE],
        ["history", NOWHERE],
        ["list", *USER],
        ["load", "facts.jsonl"],
        ["modified", "2026-03-01T00:00:00Z", *USER],
        ["rebuild"],
        ["remember", "x", *USER],
        ["restore", NOWHERE],
        ["rollback", *USER, "--to", "2026-03-01T00:00:00Z", "--yes"],
        ["thaw", *USER],
        ["undo", "1"],
        ["update", NOWHERE, "x"],
    ],
)
def test_a_mistyped_store_or_ledger_is_not_found_and_never_made(
    cli: CommandLine, arguments: list[str]
) -> None:
    Path("facts.jsonl").write_text('{"content": "x", "user_id": "u-1"}\n')
    before = _files(Path.cwd().parent)

    default = cli.run(*arguments, "--json")
    directory = cli.run(*arguments, "--json", "--store", "mistyped")
    ledger = cli.on_store(*arguments, "--json", "--ledger", "mistyped")

    for outcome in (default, directory, ledger):
        assert (outcome.code, outcome.error["error"]) == (3, "StoreNotFoundError")
    assert _files(Path.cwd().parent) == before
    assert cli.fails("list", *USER, "--ledger", "mistyped")[0] == 3


def _files(place: Path) -> list[Path]:
    """Return what is in *place*, but for what SQLite keeps beside an open database."""
    beside = ("-wal", "-shm")
    return sorted(each for each in place.rglob("*") if not each.name.endswith(beside))


def test_ledgers_of_one_store_know_nothing_of_each_other(cli: CommandLine) -> None:
    cli.ask("init", "--ledger", "acme")

    cli.ask("remember", "x", *USER, "--ledger", "acme")

    assert cli.ask("list", *USER)["items"] == []
    assert len(cli.ask("list", *USER, "--ledger", "acme")["items"]) == 1


@pytest.mark.parametrize("name", ["odd?name", "odd%41name", "奇 怪", "a#b"])
def test_a_directory_is_found_under_its_very_name(cli: CommandLine, name: str) -> None:
    cli.run("init", "--store", name)

    assert Path(name, "ledger.db").is_file()
    assert [each.name for each in Path.cwd().iterdir()] == [name]


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("MUNIMENT_LEDGER", "Bad Name"),
        ("MUNIMENT_POOL_SIZE", "none"),
        ("MUNIMENT_KEY", "xyz"),
    ],
)
def test_a_setting_that_is_wrong_is_named(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch, variable: str, value: str
) -> None:
    monkeypatch.setenv(variable, value)

    outcome = cli.on_store("list", *USER)

    assert outcome.code == 2
    assert variable in outcome.err


def test_the_environment_names_the_store(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli.ask("remember", "x", *USER)

    monkeypatch.setenv("MUNIMENT_STORE", str(cli.store))

    assert len(cli.run("list", *USER).answer["items"]) == 1


def test_notes_of_an_error_stand_on_its_line(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def uncertain(_self: MemoryStore, **_asked: object) -> None:
        error = CommitUncertainError("connection lost")
        error.add_note("and one thing more")
        raise error

    monkeypatch.setattr(MemoryStore, "get_all", uncertain)

    outcome = cli.on_store("list", *USER)

    assert outcome.code == 4
    assert outcome.err.endswith("; and one thing more\n")
