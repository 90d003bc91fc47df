"""
Questions about an archive in SQL, answered by DuckDB over the files of its segments.

Only files that a manifest names are read, so what an interrupted run left is never
counted. A question can read the archive and nothing else.
"""

import math
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from muniment.archive import segment
from muniment.archive.shelf import Directory, Remote, Shelf, read
from muniment.archive.told import Rows
from muniment.errors import ConfigurationError, InvalidValueError
from muniment.ledger.recorder import LedgerRecorder


def answered(recorder: LedgerRecorder, shelf: Shelf, sql: str) -> Rows:
    """
    Return what *sql* selects from the views ``events`` and ``transactions``.

    Raises:
        ConfigurationError: If DuckDB is not installed.
        InvalidValueError: If DuckDB does not understand it, or the archive is empty.
    """
    try:
        import duckdb  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise ConfigurationError(
            "DuckDB is not installed", "install muniment[duckdb]"
        ) from error
    manifests = [
        segment.read_manifest(each.manifest, read(shelf, each.manifest))
        for each in recorder.segments()
    ]
    if not manifests:
        raise InvalidValueError("the archive", "empty", "written first: muniment archive")
    with duckdb.connect(":memory:") as connection:
        connection.execute("SET TimeZone = 'UTC'")
        _view(connection, shelf, "events", [each.events.name for each in manifests])
        names = [each.transactions.name for each in manifests]
        _view(connection, shelf, "transactions", names)
        if isinstance(shelf, Directory):
            connection.execute("SET allowed_directories = [$1]", [shelf.place])
        connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")
        try:
            kinds = [each.type.name for each in connection.extract_statements(sql)]
            if kinds != ["SELECT"]:
                # Anything else could write, into the archive itself.
                raise InvalidValueError("the question", sql, "one SELECT")
            found = connection.execute(sql)
            described = found.description or ()
            rows = found.fetchall()
        except duckdb.Error as error:
            problem = str(error).partition("\n")[0]
            raise InvalidValueError("the question", sql, f"SQL ({problem})") from error
    return Rows(
        columns=tuple(each[0] for each in described),
        rows=tuple(tuple(_plain(value) for value in row) for row in rows),
    )


def _view(connection: Any, shelf: Shelf, name: str, files: Sequence[str]) -> None:  # noqa: ANN401
    """Give the files of one kind a name."""
    if isinstance(shelf, Directory):
        found = connection.read_parquet(
            [shelf.url(each) for each in files], hive_partitioning=True
        )
        found.create_view(name)
        return
    assert isinstance(shelf, Remote), "there are two kinds of shelf"
    connection.register(name, shelf.dataset(files))


def _plain(value: object) -> object:
    """Return a value as JSON can hold it, instants aside; a number of any size is text."""
    match value:
        case bytes():
            return value.hex()
        case datetime() if value.tzinfo is not None:
            return value
        case None | bool() | str():
            return value
        case int() if abs(value) < _INTEGER_MAX:
            return value
        case float() if math.isfinite(value):
            return value
        case list() | tuple():
            return tuple(_plain(each) for each in value)
        case dict():
            return {str(key): _plain(each) for key, each in value.items()}
        case _:
            return str(value)


_INTEGER_MAX: Final = 2**63
