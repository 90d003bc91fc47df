"""
What `remember` is measured against.

* ``raw``: one row in the clear, in a table with a primary key, inserted and committed.
* ``same rows``: the very rows that one `remember` leaves in the ledger and the timeline,
  ready-made, inserted by the driver and committed. What Muniment's tables cost without
  Muniment: no sealing, no decision, no read.
* ``library``: one aggregate saved by an application of the `eventsourcing` library.
"""

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from itertools import count
from uuid import UUID

from eventsourcing.application import Application
from eventsourcing.domain import Aggregate
from psycopg.conninfo import conninfo_to_dict

from benchmarks.places import Connection, Place
from benchmarks.timing import Work
from benchmarks.workload import fact_fields, remember, user_id
from muniment import MemoryStore


_TABLES = ("ledger_transaction", "ledger_event", "belief")
_RAW_TABLE = """
    CREATE TABLE fact (
        fact_id TEXT PRIMARY KEY, user_id TEXT NOT NULL, content TEXT NOT NULL,
        category TEXT, attribute TEXT, source TEXT NOT NULL,
        recorded_at_us BIGINT NOT NULL, valid_from_us BIGINT NOT NULL, valid_to_us BIGINT
    )
"""


class Note(Aggregate):
    """A fact as an aggregate of the library."""

    def __init__(self, *, user: str, content: str, category: str, attribute: str) -> None:
        self.user = user
        self.content = content
        self.category = category
        self.attribute = attribute


@contextmanager
def raw(place: Place) -> Iterator[Work]:
    """Give the insertion of one row in the clear."""
    insert = f"INSERT INTO fact VALUES ({', '.join([place.mark] * 9)})"
    numbers = count()
    with closing(place.connect("raw")) as connection:
        connection.execute(_RAW_TABLE)

        def work(times: int) -> None:
            for _ in range(times):
                connection.execute(insert, _raw_row(next(numbers)))

        yield work


@contextmanager
def raw_many(place: Place, *, batch: int) -> Iterator[Work]:
    """Give the insertion of rows in the clear, *batch* in a transaction."""
    insert = f"INSERT INTO fact VALUES ({', '.join([place.mark] * 9)})"
    numbers = count()
    with closing(place.connect("raw_many")) as connection:
        connection.execute(_RAW_TABLE)

        def work(times: int) -> None:
            for _ in range(times // batch):
                rows = [_raw_row(next(numbers)) for _ in range(batch)]
                connection.execute("BEGIN")
                connection.cursor().executemany(insert, rows)
                connection.execute("COMMIT")

        yield work


@contextmanager
def same_rows(place: Place, *, most: int) -> Iterator[Work]:
    """
    Give the insertion of the rows that one `remember` leaves.

    Args:
        place: Where.
        most: So many facts are remembered beforehand, to have their rows.
    """
    with MemoryStore.open(place.settings("rows_made")) as store:
        for number in range(most):
            remember(store, number)
    MemoryStore.open(place.settings("rows")).close()
    with closing(place.connect("rows_made")) as made:
        rows = zip(*(_rows(made, table) for table in _TABLES), strict=True)
        inserts = [_insert(made, table, place) for table in _TABLES]
    with closing(place.connect("rows")) as connection:

        def work(times: int) -> None:
            for _ in range(times):
                connection.execute("BEGIN")
                for insert, row in zip(inserts, next(rows), strict=True):
                    connection.execute(insert, row)
                connection.execute("COMMIT")

        yield work


@contextmanager
def library(place: Place) -> Iterator[Work]:
    """Give the saving of one aggregate by the library."""
    numbers = count()
    with closing(Application[UUID](env=_library_env(place))) as application:

        def work(times: int) -> None:
            for _ in range(times):
                number = next(numbers)
                fields = fact_fields(number)
                application.save(Note(user=user_id(number), **fields))

        yield work


def _raw_row(number: int) -> tuple[object, ...]:
    fields = fact_fields(number)
    return (
        f"fact-{number:026}",
        user_id(number),
        fields["content"],
        fields["category"],
        fields["attribute"],
        "user_explicit",
        1_700_000_000_000_000 + number,
        1_700_000_000_000_000 + number,
        None,
    )


def _rows(connection: Connection, table: str) -> Iterator[tuple[object, ...]]:
    order = "recorded_from_us" if table == "belief" else "recorded_at_us"
    found = connection.execute(f"SELECT * FROM {table} ORDER BY {order}").fetchall()
    return iter(found)


def _insert(connection: Connection, table: str, place: Place) -> str:
    columns = connection.execute(f"SELECT * FROM {table} LIMIT 1").description or ()
    return f"INSERT INTO {table} VALUES ({', '.join([place.mark] * len(columns))})"


def _library_env(place: Place) -> Mapping[str, str]:
    if place.server is None:
        (place.directory / "library").mkdir()
        return {
            "PERSISTENCE_MODULE": "eventsourcing.sqlite",
            "SQLITE_DBNAME": str(place.directory / "library" / "events.db"),
        }
    parts = conninfo_to_dict(place.url("library"))
    return {
        "PERSISTENCE_MODULE": "eventsourcing.postgres",
        "POSTGRES_DBNAME": str(parts["dbname"]),
        "POSTGRES_HOST": str(parts["host"]),
        "POSTGRES_PORT": str(parts.get("port", 5432)),
        "POSTGRES_USER": str(parts["user"]),
        "POSTGRES_PASSWORD": str(parts.get("password", "")),
    }
