"""Readers, and other processes, in the middle of an erasure."""

import gc
import itertools
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import psycopg
import pytest

from muniment import Fact, MemoryStore
from muniment.api.certificates import ErasureStatus
from muniment.errors import StoreClosedError, Unavailable, UnknownFactError
from muniment.projections.beliefs import DerivedStore
from tests.stores import POSTGRESQL, Backend


USER, SAID = "ann", "CANARY likes tea"


class Interrupted(Exception):  # noqa: N818 - no error of ours
    """The process that erases ends here."""


@dataclass
class Interrupting:
    """A derived store before whose purge something else happens."""

    store: DerivedStore
    before: Callable[[], object]

    @property
    def name(self) -> str:
        return self.store.name

    def purge(self, subject_ref: str) -> int:
        self.before()
        return self.store.purge(subject_ref)

    def remaining(self, subject_ref: str) -> int:
        return self.store.remaining(subject_ref)

    def scrub(self) -> bool:
        return self.store.scrub()


def interrupted() -> None:
    raise Interrupted


def meanwhile(store: MemoryStore, before: Callable[[], object]) -> None:
    """Let *before* happen when *store* has destroyed keys, and has purged nothing."""
    lookup = store._lookup
    first, *rest = lookup.derived
    lookup.derived = (Interrupting(first, before), *rest)


def erased_without_purge(here: Backend, user: str) -> None:
    """Destroy the keys as another process does, which then ends."""
    with here.ledger(embedder="none") as opened:
        store = MemoryStore(opened, here.settings())
        meanwhile(store, interrupted)
        with pytest.raises(Interrupted):
            store.erase(user_id=user, reason="asked")


Reading = Callable[[MemoryStore, Fact], Sequence[object]]
READINGS: dict[str, Reading] = {
    "history": lambda s, fact: list(s.get_fact_history(fact.fact_id)),
    "get": lambda s, fact: [s.get(fact.fact_id, as_of=fact.recorded_at)],
    "get all": lambda s, fact: s.get_all(scope=fact.scope).items,
    "as of": lambda s, fact: (
        s.get_memory_as_of(scope=fact.scope, timestamp=fact.recorded_at).facts
    ),
    "blame": lambda s, fact: s.blame(scope=fact.scope, as_of=fact.recorded_at),
    "modified": lambda s, fact: s.list_modified_facts(
        scope=fact.scope, start=fact.recorded_at
    ),
    "diff": lambda s, fact: (
        s.diff_memory(
            scope=fact.scope, time_a="2020-01-01T00:00:00Z", time_b=fact.recorded_at
        ).added
    ),
    "search": lambda s, fact: s.search("tea", scope=fact.scope).items,
}


def seen(reading: Reading, store: MemoryStore, fact: Fact) -> list[object]:
    try:
        return list(reading(store, fact))
    except UnknownFactError:
        return []


def test_nothing_is_shown_between_the_keys_and_the_rows(durable: Backend) -> None:
    with durable.open(embedder="none") as store:
        fact = store.remember(SAID, user_id=USER)
        for reading in READINGS.values():
            assert SAID in repr(seen(reading, store, fact))

        erased_without_purge(durable, USER)

        shown = {name: seen(each, store, fact) for name, each in READINGS.items()}
        assert {name for name, each in shown.items() if each} == set()


# The reader has the sealed rows in hand when the keys go.
def test_nothing_is_shown_of_what_is_erased_in_the_middle_of_a_reading(
    durable: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    met = set()
    with durable.open(embedder="none") as store:
        mapper = store._ledger.mapper
        ways = mapper.opened, mapper.opened_alone
        for (name, reading), nth in itertools.product(READINGS.items(), (1, 2)):
            user, calls = f"{name} {nth}", itertools.count(1)
            fact = store.remember(SAID, user_id=user)

            def late(way: Callable[..., object], *given: Any, **how: Any) -> object:  # noqa: ANN401 - as the mapper has them
                # Who writes receipts meanwhile has the lock that an erasure waits for.
                is_reader = threading.current_thread() is threading.main_thread()
                if is_reader and next(calls) == nth:  # noqa: B023 - called in this round alone
                    met.add((name, nth))  # noqa: B023
                    erased_without_purge(durable, user)  # noqa: B023
                return way(*given, **how)

            with monkeypatch.context() as patched:
                for way in ways:
                    patched.setattr(mapper, way.__name__, partial(late, way))
                shown = seen(reading, store, fact)

            # What was opened before may be shown whole; without its content it may not.
            assert all("content=None" not in repr(each) for each in shown), user
    assert {name for name, _ in met} == READINGS.keys()


def test_two_processes_that_carry_out_one_erasure_count_what_was_there(
    durable: Backend,
) -> None:
    with durable.open() as store:
        for number in range(3):
            store.remember(f"{SAID} {number}", user_id=USER)
        plan = store.plan_erasure(user_id=USER)
        meanwhile(store, lambda: durable.open().close())

        certificate = store.erase(user_id=USER, reason="asked")

        assert certificate.status is ErasureStatus.DONE
        assert {each.store: each.removed for each in certificate.stores} == plan.rows
        assert plan.rows["timeline"] == 3
        for each in certificate.stores:
            assert f"store {each.store} removed {each.removed} " in certificate.text


@pytest.fixture
def server(durable: Backend) -> Iterator[psycopg.Connection]:
    if durable.kind != POSTGRESQL:
        pytest.skip("only a server knows who is connected")
    with psycopg.connect(durable.database_url, autocommit=True) as connection:
        yield connection


def others(server: psycopg.Connection) -> int:
    """Return how many connections there are besides, once those that end have ended."""
    query = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
    count = -1
    for _ in range(200):
        row = server.execute(f"{query} AND pid <> pg_backend_pid()").fetchone()
        assert row is not None
        count = int(row[0])
        if not count:
            break
        server.execute("SELECT pg_sleep(0.01)")
    return count


def test_a_connection_that_is_out_when_its_store_is_closed_is_closed_when_it_is_back(
    durable: Backend, server: psycopg.Connection
) -> None:
    store = durable.open()
    store.remember(SAID, user_id=USER)
    rows = iter(store._lookup.timeline.rows())
    next(rows)
    recorder, vault = store._ledger.recorder, store._ledger.vault

    store.close()
    del rows
    gc.collect()

    assert others(server) == 0
    with suppress(Unavailable):
        recorder.present()
    with pytest.raises(StoreClosedError):
        vault.next_key_id()
    assert others(server) == 0
