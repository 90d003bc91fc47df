"""
Bytes on the disk: facts with one version each, with ten, and as plain rows.

Every fact has one `remember` to itself, and every other version one `update` (or
`correct`), as they come in use. A plain row is in the clear, one a fact: what it says
now, whose it is, its category and times, and an index by user.
"""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from benchmarks.places import Connection, Place
from benchmarks.sizes import Sizes
from benchmarks.versions import in_threads, revise
from benchmarks.workload import fact_fields, user_id
from muniment import MemoryStore


VERSIONS = 10

_PLAIN = """
    CREATE TABLE fact (
        id TEXT PRIMARY KEY, user_id TEXT NOT NULL, content TEXT NOT NULL,
        category TEXT, recorded_at_us BIGINT NOT NULL, valid_from_us BIGINT NOT NULL,
        valid_to_us BIGINT
    )
"""
_RELATIONS = """
    SELECT relname, pg_table_size(c.oid) FROM pg_class c
    JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE nspname IN ('public', 'muniment_vault') AND relkind IN ('r', 'i')
"""

Sized = dict[str, int]


def measure(place: Place, sizes: Sizes) -> dict[str, object]:
    """Return the bytes of each table and index, in all and as ratios."""
    facts = sizes.disk_facts
    plain = _plain(place, facts)
    stores = {
        "one version": _store(place, "one", facts, None),
        "ten versions, by update": _store(place, "updated", facts, "update"),
        "ten versions, by correct": _store(place, "corrected", facts, "correct"),
    }
    one = sum(stores["one version"].values())
    answers: dict[str, object] = {"plain rows": _answer(plain, facts, plain, one)}
    for name, sized in stores.items():
        answers[name] = _answer(sized, facts, plain, one)
    return answers


def _answer(sized: Sized, facts: int, plain: Sized, one: int) -> dict[str, object]:
    total = sum(sized.values())
    return {
        "facts": facts,
        "bytes_in_all": total,
        "bytes_a_fact": round(total / facts),
        "of_plain_rows": round(total / sum(plain.values()), 2),
        "of_one_version": round(total / one, 2),
        "bytes_by_table": dict(sorted(sized.items(), key=lambda each: -each[1])),
    }


def _store(place: Place, name: str, facts: int, verb: str | None) -> Sized:
    """Return what a store takes whose facts were remembered, and changed by *verb*."""
    with MemoryStore.open(place.settings(name)) as store:

        def remembered(number: int) -> str:
            fields = fact_fields(number)
            fact = store.remember(
                fields["content"],
                user_id=user_id(number),
                category=fields["category"],
                attribute=fields["attribute"],
            )
            return fact.fact_id

        fact_ids = in_threads(remembered, range(facts))
        changes: dict[str | None, Callable[..., object]] = {
            "update": store.update,
            "correct": store.correct,
        }
        if verb is not None:
            revise(changes[verb], fact_ids, versions=VERSIONS)
    with closing(place.connect(name)) as connection:
        sized = _sized(place, connection)
    vault = place.directory / name / "vault.db"
    return sized if place.server else sized | {"the vault": _file_bytes(vault)}


def _plain(place: Place, facts: int) -> Sized:
    with closing(place.connect("plain")) as connection:
        connection.execute(_PLAIN)
        connection.execute("CREATE INDEX fact_by_user ON fact (user_id)")
        insert = f"INSERT INTO fact VALUES ({', '.join([place.mark] * 7)})"
        rows = map(_plain_row, range(facts))
        connection.execute("BEGIN")
        connection.cursor().executemany(insert, list(rows))
        connection.execute("COMMIT")
        return _sized(place, connection)


def _plain_row(number: int) -> tuple[object, ...]:
    fields = fact_fields(number)
    at = 1_700_000_000_000_000 + number
    identifier = f"{number:026}"
    return (
        identifier, user_id(number), fields["content"], fields["category"], at, at, None
    )  # fmt: skip


def _sized(place: Place, connection: Connection) -> Sized:
    """Return the bytes of each table and index, the empty ones left out."""
    if place.server is None:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        asked = "SELECT name, sum(pgsize) FROM dbstat GROUP BY name"
    else:
        connection.execute("VACUUM")
        asked = _RELATIONS
    rows = connection.execute(asked).fetchall()
    return {str(name): int(str(size)) for name, size in rows if int(str(size)) > 0}


def _file_bytes(file: Path) -> int:
    """Return the length of *file* and of the log before it."""
    log = file.with_name(file.name + "-wal")
    return file.stat().st_size + (log.stat().st_size if log.exists() else 0)
