"""A connection that breaks is named as what it is, and replaced by the next call."""

import psycopg
import pytest
import sqlalchemy as sa

from muniment import MemoryStore
from muniment.errors import CommitUncertainError, Unavailable
from muniment.ledger import database
from tests.stores import POSTGRESQL, Backend, backend_at


ATTEMPTS_MAX = 6


@pytest.fixture
def server(postgres_database: str, tmp_path_factory: pytest.TempPathFactory) -> Backend:
    """A database of a server, to which connections can be cut."""
    directory = tmp_path_factory.mktemp("store")
    return backend_at(POSTGRESQL, directory=directory, postgres_url=postgres_database)


def cut_all(server: Backend) -> int:
    """End every connection to the database but one's own; return how many there were."""
    with psycopg.connect(server.database_url, autocommit=True) as connection:
        ended = connection.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        ).fetchall()
    return len(ended)


def remembered(store: MemoryStore, content: str) -> int:
    """Remember *content*, again as long as the store says try later; return the tries."""
    for tries in range(ATTEMPTS_MAX):
        try:
            store.remember(content, user_id="alice", idempotency_key=content)
        except Unavailable:
            continue
        return tries
    raise AssertionError(f"still unavailable after {ATTEMPTS_MAX} tries")


def contents(store: MemoryStore) -> list[str | None]:
    for _ in range(ATTEMPTS_MAX):
        try:
            return [each.content for each in store.get_all(user_id="alice").items]
        except Unavailable:
            continue
    raise AssertionError(f"still unavailable after {ATTEMPTS_MAX} tries")


def test_a_store_goes_on_after_its_connections_were_cut(server: Backend) -> None:
    with server.open() as store:
        remembered(store, "before")
        assert contents(store) == ["before"]

        assert cut_all(server) > 0
        remembered(store, "after")
        assert cut_all(server) > 0

        assert contents(store) == ["before", "after"]
        remembered(store, "later")
        assert remembered(store, "at once") == 0
        assert store._ledger.present().head.position == 4


def test_a_commit_that_was_cut_is_uncertain_and_a_retry_writes_once(
    server: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = database._commit
    with server.open() as store:
        remembered(store, "before")

        def cut(connection: sa.Connection) -> None:
            cut_all(server)
            commit(connection)

        with monkeypatch.context() as patched:
            patched.setattr(database, "_commit", cut)
            with pytest.raises(CommitUncertainError):
                store.remember("new", user_id="alice", idempotency_key="new")

        remembered(store, "new")
        assert contents(store) == ["before", "new"]


def test_a_commit_whose_answer_was_lost_is_uncertain_and_a_retry_writes_nothing(
    server: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = database._commit
    with server.open() as store:
        remembered(store, "before")

        def answer_lost(connection: sa.Connection) -> None:
            commit(connection)
            raise CommitUncertainError("the server went away")

        with monkeypatch.context() as patched:
            patched.setattr(database, "_commit", answer_lost)
            with pytest.raises(CommitUncertainError):
                store.remember("new", user_id="alice", idempotency_key="new")

        assert contents(store) == ["before", "new"]
        remembered(store, "new")
        assert contents(store) == ["before", "new"]
        assert store._ledger.present().head.tx_id == 2


def test_a_reader_of_a_server_that_is_gone_is_told_to_try_later(server: Backend) -> None:
    with server.open() as store:
        fact = store.remember("before", user_id="alice")
        cut_all(server)

        with pytest.raises(Unavailable):
            store.get(fact.fact_id)
