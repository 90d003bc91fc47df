"""SQLite goes by an index that leads to what is asked for, however large a store is."""

import re
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy.dialects import sqlite

from muniment import MemoryStore
from muniment.ledger import statements, vault_statements
from muniment.ledger.prepared import Prepared
from muniment.projections import generations, sql_pages, timeline, uses, vectors


WHOLE = {"_FIRST_ROWS", "_DELETE_ALL", "_ERASED", "ALL_SUBJECTS"}
"""These are to read all of a ledger."""

LAST = {"LAST_TREE_HEAD"}
"""These read the first row of an order, and stop."""

BY_DIALECT = {
    "PRESENT",
    "READ_AT",
    "SETTLED_AT",
    "SOME_FACT",
    "READ_STREAMS",
    "KEYS",
    "TRANSACTIONS",
    "_OF_FACTS",
    "NEW_SUBJECT",
}
ON_POSTGRESQL = {"LOCK", "_REPEATS_OF_ALL"}


def prepared(module: object) -> dict[str, Prepared]:
    found = {
        name: value for name, value in vars(module).items() if isinstance(value, Prepared)
    }
    return {
        name: value
        for name, value in found.items()
        if name not in WHOLE | LAST | ON_POSTGRESQL
    } | {
        name: value["sqlite"]
        for name, value in vars(module).items()
        if name in BY_DIALECT and isinstance(value, Mapping)
    }


QUESTIONS = [
    pytest.param(file, statement, id=name)
    for file, module in (
        ("ledger.db", statements),
        ("ledger.db", timeline),
        ("ledger.db", sql_pages),
        ("ledger.db", generations),
        ("ledger.db", uses),
        ("ledger.db", vectors),
        ("vault.db", vault_statements),
    )
    for name, statement in prepared(module).items()
]


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("plans") / "store"
    with MemoryStore.open(place) as store:
        store.remember("likes tea", user_id="u-1")
    return place


def steps(connection: sqlite3.Connection, statement: Prepared) -> Iterator[str]:
    """Yield what SQLite does for *statement*."""
    compiled = str(statement.clause.compile(dialect=sqlite.dialect()))
    values = [None] * compiled.count("?")
    for row in connection.execute(f"EXPLAIN QUERY PLAN {compiled}", values):
        yield row[3]


@pytest.mark.parametrize(("file", "statement"), QUESTIONS)
def test_no_question_reads_all_of_a_ledger_to_find_its_rows(
    directory: Path, file: str, statement: Prepared
) -> None:
    with closing(sqlite3.connect(directory / file)) as connection:
        plan = list(steps(connection, statement))

    # Of one row each: the vault itself, and the ledger and its key. And the list asked for.
    small = r"\b(vault|ledger|ledger_key|VIRTUAL TABLE)\b"
    large = [each for each in plan if not re.search(small, each)]
    assert not [each for each in large if each.startswith("SCAN")]
    assert not [each for each in large if each.endswith("(ledger=?)")]
