"""Searches, and all that is kept for them, once a fact or a subject has gone."""

from collections.abc import Callable
from pathlib import Path

import pytest

from muniment import ErasureStatus, Fact, MemoryStore
from muniment.errors import IndexUnavailableError
from tests.forgetting.conftest import Sharing
from tests.forgetting.traces import traces
from tests.stores import Backend, backend_at


USER, OTHER = "ann", "bob"
SAID = "CANARY likes green tea 喜欢绿茶"
QUESTIONS = ("CANARY", "green tea", "绿茶", "what does she like to drink")


def retire(store: MemoryStore, fact: Fact) -> None:
    store.forget(fact.fact_id)


def end(store: MemoryStore, fact: Fact) -> None:
    store.end(fact.fact_id)


def roll_back(store: MemoryStore, fact: Fact) -> None:
    store.rollback_fact(fact.fact_id, to_version=0)


def redact(store: MemoryStore, fact: Fact) -> None:
    store.forget(fact.fact_id, mode="redact")


def erase(store: MemoryStore, _fact: Fact) -> None:
    store.erase(user_id=USER, reason="asked")


WAYS: dict[str, Callable[[MemoryStore, Fact], None]] = {
    each.__name__: each for each in (retire, end, roll_back, redact, erase)
}
FOR_GOOD = (redact, erase)


@pytest.fixture
def here(tmp_path: Path) -> Backend:
    return backend_at("sqlite", directory=tmp_path / "store", postgres_url=None)


def found(store: MemoryStore, fact: Fact, **at: object) -> list[str | None]:
    """Return what any question finds of a user, the id of the fact among them."""
    return [
        each.fact.content
        for question in (*QUESTIONS, fact.fact_id)
        for each in store.search(question, user_id=USER, **at)  # type: ignore[arg-type]
    ]


# M55 (cognee#3526: answers cite what was deleted), S3 and S5 (mem0#3610: the vector was
# kept; LongMemory#186: a cache was), B51 (qdrant#5956: a deleted point revives), M65.
@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_what_has_gone_is_found_by_no_question_whatever_is_rebuilt(
    here: Backend, way: Callable[[MemoryStore, Fact], None]
) -> None:
    with (
        here.open(embedder="hashing") as store,
        # It cannot have the engine, and has read what goes.
        here.open(embedder="hashing", upkeep=False) as other,
    ):
        fact = store.remember(SAID, user_id=USER)
        store.remember("CANARY of another drinks tea", user_id=OTHER)
        store.catch_up()
        for each in (store, other):
            assert SAID in found(each, fact)

        way(store, fact)

        for each in (store, other):
            assert found(each, fact) == []
            then = found(each, fact, as_of=fact.recorded_at)
            assert (SAID in then) == (way not in FOR_GOOD)
            assert (then == []) == (way in FOR_GOOD)
        store.catch_up()
        store.rebuild()
        store.reindex()
        assert found(store, fact) == found(other, fact) == []
        assert store.reconcile() == ()
        current = store._recall.upkeep.current()
        assert current is not None
        points, _ = current[1].scroll(after=None, limit=100)
        # What ended is believed still of the time before.
        held = {each.fact_id for each in points}
        assert (fact.fact_id in held) == (way is end)
        assert len(store.search("CANARY", user_id=OTHER)) == 1
    with here.open(embedder="hashing") as store:
        assert found(store, fact) == []
    if way in FOR_GOOD:
        assert traces(here, "CANARY likes", "喜欢绿茶") == []


def test_an_erasure_is_done_once_the_engine_has_heard_of_it(here: Backend) -> None:
    with here.open(embedder="hashing") as store:
        store.remember(SAID, user_id=USER)
        store.catch_up()

        certificate = store.erase(user_id=USER, reason="asked")

        assert certificate.subject_ref is not None
        assert certificate.status in (ErasureStatus.PARTIAL, ErasureStatus.DONE)
        store.catch_up()
        store.erase(user_id=USER, reason="asked")
        kept = store.erasure_certificate(certificate.subject_ref)
        assert kept is not None
        assert kept.status is ErasureStatus.DONE
        looked_at = {each.store for each in kept.stores}
        assert looked_at == {"vault", "timeline", "conversation", "recall"}


def test_an_erasure_waits_for_nobody_where_no_engine_outlives_its_process(
    shared_place: tuple[str, Path],
) -> None:
    url, directory = shared_place
    here = Sharing("postgresql", url, directory, "ledger-without-engine")
    with (
        here.open(embedder="hashing") as embedding,
        here.open(embedder="hashing") as store,
    ):
        store.remember(SAID, user_id=USER)
        done = embedding.catch_up()
        assert (done.reached, done.pending) == (done.head, 0)
        with pytest.raises(IndexUnavailableError, match="no engine"):
            embedding.reconcile()

        certificate = store.erase(user_id=USER, reason="asked")

        assert certificate.status is ErasureStatus.DONE
        assert {each.store: each.removed for each in certificate.stores}["recall"] == 1
