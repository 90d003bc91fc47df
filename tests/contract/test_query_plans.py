"""SQLite goes by an index that leads to what is asked for, however large a store is."""

import re
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import pytest
from sqlalchemy.dialects import sqlite

import muniment.ledger
import muniment.projections
from muniment import MemoryStore
from muniment.ledger.prepared import Prepared


WHOLE = {
    "destruction._ALL",
    "destruction._UNFINISHED",
    "generations._EVERY",
    "sql_conversation._ALL_RECEIPTS",
    "sql_conversation._ALL_SESSIONS",
    "sql_conversation._ALL_TURNS",
    "sql_conversation._ALL_USES",
    "sql_conversation._DELETE_ALL 0",
    "sql_conversation._DELETE_ALL 1",
    "sql_conversation._DELETE_ALL 2",
    "sql_conversation._DELETE_ALL 3",
    "sql_pages._ERASED",
    "sql_pages._FIRST_ROWS",
    "statements.SEGMENTS",
    "thinnings._ALL",
    "thinnings._UNFINISHED",
    "timeline._DELETE_ALL",
    "vault_statements.ALL_SUBJECTS",
    "vectors._FORGET_MODEL",
}
"""These are to read all rows of a ledger in one table."""

LAST = {"statements.LAST_TREE_HEAD", "statements.PRESENT", "statements.SETTLED_AT"}
"""These read the first or last row of an order, and stop; the plan does not say so."""

ON_POSTGRESQL = {
    "timeline._REPEATS_OF_ALL",
    "timeline._REPEATS_OF_EACH",
    "turns._END",
    "turns._TRY",
}
"""SQLite is never asked these."""

IN_THE_VAULT = {"destruction", "payload_keys", "thinnings", "vault_statements"}
"""Modules whose statements are about the tables of the other file."""


def every_statement() -> Iterator[tuple[str, str, Prepared]]:
    """Yield every prepared statement with its name and the file it is about."""
    for package in (muniment.ledger, muniment.projections):
        for module in iter_modules(package.__path__, f"{package.__name__}."):
            here = module.name.rpartition(".")[2]
            file = "vault.db" if here in IN_THE_VAULT else "ledger.db"
            for name, value in vars(import_module(module.name)).items():
                for label, statement in prepared(f"{here}.{name}", value):
                    yield label, file, statement


def prepared(name: str, value: object) -> Iterator[tuple[str, Prepared]]:
    """Yield the statements in *value*: itself, or each of several, or SQLite's of two."""
    match value:
        case Prepared():
            yield name, value
        case {"sqlite": statement, "postgresql": _}:
            yield from prepared(name, statement)
        case Mapping():
            for key, each in value.items():
                yield from prepared(f"{name} {key}", each)
        case list() | tuple():
            for number, each in enumerate(value):
                yield from prepared(f"{name} {number}", each)
        case _:
            pass


STATEMENTS = {name: (file, statement) for name, file, statement in every_statement()}
EXCEPTED = WHOLE | LAST | ON_POSTGRESQL


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("plans") / "store"
    with MemoryStore.open(place) as store:
        store.remember("likes tea", user_id="u-1")
    return place


def plan_of(directory: Path, name: str) -> list[str]:
    """Return what SQLite does for a statement; nothing for an insert."""
    file, statement = STATEMENTS[name]
    compiled = str(statement.clause.compile(dialect=sqlite.dialect()))
    values = [None] * compiled.count("?")
    with closing(sqlite3.connect(directory / file)) as connection:
        plan = [
            row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {compiled}", values)
        ]
    assert plan or compiled.startswith("INSERT")
    return plan


def whole_reads(plan: list[str]) -> list[str]:
    """Return the steps of *plan* that read all rows of a ledger."""
    # Of one row each: the vault itself, and the ledger and its key. And the list asked for.
    small = r"^(SCAN|SEARCH) (vault|ledger|ledger_key)\b|VIRTUAL TABLE"
    large = [each for each in plan if not re.search(small, each)]
    # What a step before has found; how it did so is a step of its own.
    made = {each.split()[1] for each in plan if each.startswith(("MATERIALIZE", "CO-ROU"))}
    return [
        each
        for each in large
        if (each.startswith("SCAN") and each.split()[1] not in made)
        or each.endswith("(ledger=?)")
    ]


@pytest.mark.parametrize("name", sorted(STATEMENTS.keys() - EXCEPTED))
def test_no_question_reads_all_of_a_ledger_to_find_its_rows(
    directory: Path, name: str
) -> None:
    assert not whole_reads(plan_of(directory, name))


def test_what_is_excepted_is_there_and_needs_to_be(directory: Path) -> None:
    assert STATEMENTS.keys() >= EXCEPTED
    assert all(whole_reads(plan_of(directory, name)) for name in WHOLE | LAST)
