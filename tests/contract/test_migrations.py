"""Tables come from the migrations alone, and every store of old opens now."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory

import muniment
from muniment import migrations
from muniment.errors import NewerSchemaError
from muniment.ledger import tables as ledger_tables
from muniment.ledger import vault_tables as vault
from muniment.ledger.database import writing
from muniment.projections import tables as projection_tables
from tests.contract import fresh, released
from tests.stores import POSTGRESQL, Backend


PACKAGE = Path(muniment.__file__).parent
METADATA = {"ledger": ledger_tables.metadata, "vault": vault.metadata}
assert projection_tables.belief.metadata is METADATA["ledger"], "they share a database"

MAKES_TABLES = {"create_table", "create_all", "CreateTable"}
SAYS_SO = re.compile(r"\b(CREATE|ALTER|DROP)\s+(TABLE|INDEX|VIEW)\b", re.IGNORECASE)


def scripts() -> ScriptDirectory:
    config = Config()
    config.set_main_option("script_location", str(PACKAGE / "migrations"))
    return ScriptDirectory.from_config(config)


def every_revision() -> list[str]:
    """Return all revisions, oldest first."""
    return [each.revision for each in scripts().walk_revisions()][::-1]


def described(connection: sa.Connection) -> dict[str, Any]:
    """Return all that the database knows about its tables, but for that of versions."""
    inspector = sa.inspect(connection)
    return {
        name: {
            "columns": [
                {**column, "type": str(column["type"])}
                for column in inspector.get_columns(name)
            ],
            "key": inspector.get_pk_constraint(name)["constrained_columns"],
            "checks": sorted(map(repr, inspector.get_check_constraints(name))),
            "indexes": sorted(map(_index, inspector.get_indexes(name))),
            "unique": sorted(map(repr, inspector.get_unique_constraints(name))),
            "options": inspector.get_table_options(name),
        }
        for name in inspector.get_table_names()
        if name != migrations.VERSION_TABLE
    }


def _index(index: Any) -> str:  # noqa: ANN401
    options = index.get("dialect_options", {})
    # A condition is an object that says nothing of itself unless it is asked.
    conditions = {name: str(each) for name, each in options.items()}
    return repr({**index, "dialect_options": conditions})


@pytest.mark.parametrize("target", released.TARGETS)
def test_an_upgrade_from_nothing_gives_the_tables_that_the_code_knows(
    untouched: Backend, target: migrations.Target
) -> None:
    released.upgrade(untouched, target)

    with released.engine_of(untouched, target) as engine, engine.connect() as connection:
        context = MigrationContext.configure(
            connection,
            opts={
                "compare_type": True,
                "compare_server_default": True,
                "version_table": migrations.VERSION_TABLE,
            },
        )
        assert compare_metadata(context, METADATA[target]) == []
        # Alembic does not look at checks, partial indexes and the storage of tables.
        migrated = described(connection)
        assert migrated.keys() == METADATA[target].tables.keys()
        METADATA[target].drop_all(connection)
        METADATA[target].create_all(connection)
        assert described(connection) == migrated


@pytest.mark.parametrize("target", released.TARGETS)
def test_a_new_database_is_made_by_what_the_revisions_say_to_an_empty_one(
    untouched: Backend, target: migrations.Target
) -> None:
    untouched.directory.mkdir()
    file = migrations.fresh_file(target, untouched.kind)

    # If this fails: python -m tests.contract.fresh
    assert file.read_text(encoding="utf-8") == fresh.script(untouched, target)


@pytest.mark.parametrize("target", released.TARGETS)
def test_a_new_database_knows_what_an_upgraded_one_knows(
    untouched: Backend, target: migrations.Target
) -> None:
    untouched.directory.mkdir()
    known = []
    with released.engine_of(untouched, target) as engine:
        for makes in (fresh.run_all_revisions, migrations._make):
            with writing(engine, lock_timeout=10) as connection:
                fresh.make_schema(connection, target)
                makes(connection, target)
                known.append((described(connection), fresh.also_known(connection)))
                connection.rollback()

    assert known[0] == known[1]
    tables, (versions, *_) = known[0]
    assert tables.keys() == METADATA[target].tables.keys()
    assert versions == [(migrations.HEAD,)]


def test_there_is_one_head_and_the_code_names_it() -> None:
    assert scripts().get_heads() == [migrations.HEAD]
    assert every_revision() == sorted(every_revision())


def test_a_store_is_kept_of_every_revision() -> None:
    assert released.revisions() == every_revision()


@pytest.mark.parametrize("revision", released.revisions())
def test_a_store_of_an_older_revision_answers_as_it_did(
    untouched: Backend, revision: str
) -> None:
    kept = released.restore(untouched, revision)

    with untouched.open(key=released.KEY) as store:
        asked = [question for question, _ in kept.answers]
        assert released.answers(store, asked) == kept.answers
        assert released.histories(store, kept.histories) == kept.histories
        before = list(store._lookup.timeline.rows())
        assert before
        store.rebuild()
        assert list(store._lookup.timeline.rows()) == before

        head = store._ledger.present().head
        fact = store.remember("still writable", user_id="u-1")
        assert (fact.tx_id, fact.position) == (head.tx_id + 1, head.position + 1)
        again = store.restore(
            next(each for each in kept.histories if _was_restored(kept, each)),
            idempotency_key="restored-u-1",
        )
        assert again.tx_id is not None
        assert again.tx_id < fact.tx_id


def _was_restored(kept: released.Released, fact_id: str) -> bool:
    return "restored" in {kind for kind, _ in kept.histories[fact_id]}


@pytest.mark.parametrize("target", released.TARGETS)
def test_an_upgrade_of_a_store_that_is_new_enough_does_nothing(
    untouched: Backend, target: migrations.Target
) -> None:
    untouched.open().close()
    with released.engine_of(untouched, target) as engine, engine.connect() as connection:
        before = described(connection)

    released.upgrade(untouched, target)

    with released.engine_of(untouched, target) as engine, engine.connect() as connection:
        assert described(connection) == before


@pytest.mark.parametrize("target", released.TARGETS)
def test_a_store_of_a_newer_schema_is_refused_and_left_as_it_is(
    untouched: Backend, target: migrations.Target
) -> None:
    with untouched.open() as store:
        store.remember("kept", user_id="alice")
    newer = f"{int(migrations.HEAD) + 1:04}"
    with untouched.sql(vault=target == "vault") as connection:
        connection.execute(
            sa.text(f"UPDATE {migrations.VERSION_TABLE} SET version_num = :newer"),
            {"newer": newer},
        )
    before = everything(untouched)

    with pytest.raises(NewerSchemaError, match=newer):
        untouched.open()

    assert everything(untouched) == before


def everything(untouched: Backend) -> list[tuple[object, ...]]:
    """Return every row of ledger and vault."""
    found: list[tuple[object, ...]] = []
    for is_vault in (False, True):
        with untouched.sql(vault=is_vault) as connection:
            known = sa.MetaData()
            known.reflect(connection)
            for table in known.sorted_tables:
                rows = connection.execute(sa.select(table))
                found += [(table.name, *row) for row in rows]
    return found


@pytest.mark.parametrize("revision", [None, "0001"])
def test_an_upgrade_that_fails_leaves_the_database_as_it_was(
    untouched: Backend, monkeypatch: pytest.MonkeyPatch, revision: str | None
) -> None:
    untouched.directory.mkdir(parents=True, exist_ok=True)
    if revision is not None:
        released.upgrade(untouched, "ledger", revision)
    with untouched.sql() as connection:
        names = sa.inspect(connection).get_table_names()
        before = described(connection)
    step = "_make" if revision is None else "_run_alembic"
    run = getattr(migrations, step)

    def runs_and_fails(*args: Any) -> None:  # noqa: ANN401
        run(*args)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(migrations, step, runs_and_fails)
        with pytest.raises(KeyboardInterrupt):
            released.upgrade(untouched, "ledger")

    with untouched.sql() as connection:
        assert sa.inspect(connection).get_table_names() == names
        assert described(connection) == before
    released.upgrade(untouched, "ledger")
    with untouched.sql() as connection:
        assert migrations.VERSION_TABLE in sa.inspect(connection).get_table_names()


def places_that_make_tables(module: Path) -> Iterator[int]:
    """Yield the lines of *module* that change a schema, by a call or in SQL."""
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        match node:
            case ast.Call(
                func=ast.Attribute(attr=name) | ast.Name(id=name), lineno=line
            ) if name in MAKES_TABLES:
                yield line
            case ast.Constant(value=str(text), lineno=line) if SAYS_SO.search(text):
                yield line
            case _:
                pass


def test_nothing_but_the_migrations_makes_tables() -> None:
    modules = sorted(PACKAGE.rglob("*.py"))
    making = {
        module.relative_to(PACKAGE).parts[0]
        for module in modules
        if list(places_that_make_tables(module))
    }

    assert making == {"migrations"}


def test_every_table_starts_with_its_ledger(untouched: Backend) -> None:
    # So that a database can be split by it; the vault itself belongs to all of them.
    for target in released.TARGETS:
        released.upgrade(untouched, target)
        with (
            released.engine_of(untouched, target) as engine,
            engine.connect() as connection,
        ):
            described_tables = described(connection)
        for name, table in described_tables.items():
            if name == "vault":
                continue
            assert table["columns"][0]["name"] == "ledger"
            assert table["key"][0] == "ledger"
            assert all("['ledger'" in index for index in table["indexes"])


def test_streams_are_in_the_order_of_code_points_whatever_the_locale(
    untouched: Backend,
) -> None:
    """The server of the tests has no other order, so it is the column that is asked."""
    untouched.open().close()
    with untouched.sql() as connection:
        columns = sa.inspect(connection).get_columns("ledger_event")

    (kind,) = (each["type"] for each in columns if each["name"] == "stream")
    assert isinstance(kind, sa.Text)
    assert kind.collation == ("C" if untouched.kind == POSTGRESQL else None)
