"""What is recorded stays, on SQLite, whoever has the application's own connection (C12)."""

from collections.abc import Iterator

import pytest
import sqlalchemy as sa

from muniment import MemoryStore, Settings
from muniment.ledger.sql_recorder import SqlRecorder
from tests.access.matrix import IDENTITIES, REASON


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MemoryStore]:
    place = tmp_path_factory.mktemp("kept")
    settings = Settings(
        database_url=f"sqlite:///{place}/store/ledger.db",
        embedder="none",
        upkeep=False,
        tree_head_every=1,
    )
    with MemoryStore.open(settings) as store:
        store.remember("喝茶", user_id="u-1")
        store.acting_as(IDENTITIES["officer"]).blame(user_id="u-1", reason=REASON)
        yield store


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM ledger_event WHERE stream LIKE 'access-%'",
        "UPDATE ledger_event SET state = x'' WHERE stream LIKE 'access-%'",
        "UPDATE ledger_event SET state = x'' WHERE position = 1",
        "UPDATE ledger_event SET leaf = x'00'",
        "UPDATE ledger_transaction SET header = x''",
        "DELETE FROM ledger_transaction WHERE tx_id = 2",
        "DELETE FROM tree_head",
        "UPDATE tree_head SET note = ''",
        "DELETE FROM ledger",
        "INSERT OR REPLACE INTO ledger_event SELECT * FROM ledger_event",
        "INSERT OR REPLACE INTO ledger_transaction SELECT * FROM ledger_transaction",
    ],
)
def test_c12_nobody_changes_or_removes_what_is_recorded(
    store: MemoryStore, statement: str
) -> None:
    recorder = store._ledger.recorder
    assert isinstance(recorder, SqlRecorder)

    with (
        recorder.engine.connect() as connection,
        pytest.raises(sa.exc.IntegrityError, match="never changed or removed"),
    ):
        connection.exec_driver_sql(statement)

    assert len(store.access_log()) == 1
    assert store.verify()


def test_c12_a_payload_leaves_once_the_archive_has_it_and_that_of_a_look_never(
    store: MemoryStore,
) -> None:
    fact = store.remember("an old thing", user_id="u-2")
    store.correct(fact.fact_id, content="a new thing")
    store.archive()

    pruned = store.prune()
    (entry,) = store.access_log()

    assert pruned >= 1
    assert entry.reason == REASON
    assert store.verify()
    assert [e.content for e in store.get_fact_history(fact.fact_id).versions] == [
        "an old thing",
        "a new thing",
    ]
