"""What searches keep of a memory goes with it: vectors, points, and what is in memory."""

import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from muniment import ErasureStatus, MemoryStore, Scope, StoreReport
from muniment.api.recalling import LEXICON
from muniment.projections.vector_bytes import as_bytes
from muniment.recall import tokens
from muniment.recall.embedders import HashingEmbedder
from tests.forgetting.traces import every_file
from tests.searching import contents, open_at


CANARY = "zanzibar pelican pelican quill 金丝雀"


def redact(store: MemoryStore, fact_id: str) -> None:
    store.forget(fact_id, mode="redact", reason="asked")


def erase(store: MemoryStore, _fact_id: str) -> None:
    assert store.erase(user_id="u", reason="asked").status is ErasureStatus.DONE


FORGETTING = {each.__name__: each for each in (redact, erase)}
Forget = Callable[[MemoryStore, str], None]


def traces(place: Path) -> list[str]:
    """Return which files of the engine tell what was said, by its vector or its terms."""
    vector = as_bytes(HashingEmbedder().query(CANARY))
    terms = LEXICON.passage(CANARY).indices
    rare = [struct.pack(order, each) for order in ("<I", ">I") for each in terms]
    return sorted(
        name
        for name, held in every_file(place / "current")
        if any(each in held for each in (vector, *rare))
    )


# S3 (mem0#3610: a delete flips a state in SQL, and the vector is kept), B55.
@pytest.mark.parametrize("forget", FORGETTING.values(), ids=FORGETTING)
def test_no_vector_of_what_was_forgotten_is_left_in_the_files_of_the_engine(
    forget: Forget, tmp_path: Path
) -> None:
    place = tmp_path / "store"
    with open_at(place, embedder="hashing") as store:
        store.remember_many([f"tea number {number}" for number in range(50)], user_id="v")
        fact = store.remember(CANARY, user_id="u")
        store.catch_up()
        before = traces(place)

        forget(store, fact.fact_id)
        store.catch_up()

        assert len(before) >= 2, "the vector in a segment, the terms in a log"
        assert traces(place) == []
        assert store.reconcile() == ()
        assert len(store.search("tea", user_id="v", limit=50)) == 50
    assert traces(place) == []


def test_an_erasure_is_partial_until_whoever_has_the_engine_has_heard_of_it(
    tmp_path: Path,
) -> None:
    place = tmp_path / "store"
    with (
        open_at(place, embedder="hashing") as holding,
        open_at(place, embedder="hashing") as erasing,
    ):
        holding.remember_many(["one", "two", "three"], user_id="u")
        holding.catch_up()

        before = erasing.plan_erasure(user_id="u").rows
        partial = erasing.erase(user_id="u", reason="asked")
        again = holding.plan_erasure(user_id="u")
        holding.catch_up()
        erasing.erase(user_id="u", reason="asked")
        assert partial.subject_ref is not None
        done = erasing.erasure_certificate(partial.subject_ref)

    assert before["recall"] == 3, "vectors; the points are in another process"
    assert partial.status is ErasureStatus.PARTIAL
    assert _recall(partial.stores) == StoreReport(
        store="recall", removed=3, remaining=0, verified=False
    )
    assert again.rows == {}
    assert done is not None
    assert done.status is ErasureStatus.DONE
    assert _recall(done.stores).verified


def test_a_process_that_has_not_searched_yet_erases_from_the_engine_too(
    tmp_path: Path,
) -> None:
    place = tmp_path / "store"
    with open_at(place, embedder="hashing") as store:
        store.remember_many([CANARY, "tea"], user_id="u")
        store.catch_up()
        assert traces(place)

    with open_at(place, embedder="hashing", upkeep=True) as store:
        certificate = store.erase(user_id="u", reason="asked")

    assert certificate.status is ErasureStatus.DONE
    assert _recall(certificate.stores).verified
    assert traces(place) == []


def test_what_is_left_is_counted_where_the_engine_is_at_hand(tmp_path: Path) -> None:
    with open_at(tmp_path / "store", embedder="hashing") as store:
        store.remember_many(["one", "two", "three"], user_id="u")
        store.catch_up()

        plan = store.plan_erasure(user_id="u")
        certificate = store.erase(user_id="u", reason="asked")

    assert plan.rows["recall"] == 6, "three vectors and three points"
    assert _recall(certificate.stores) == StoreReport(
        store="recall", removed=6, remaining=0, verified=True
    )
    assert certificate.status is ErasureStatus.DONE


# S5, M65 (LongMemory#186: a cache serves what was deleted until a restart).
@pytest.mark.parametrize("forget", FORGETTING.values(), ids=FORGETTING)
def test_what_a_search_has_read_is_gone_from_memory_with_its_key(
    forget: Forget, tmp_path: Path
) -> None:
    place = tmp_path / "store"
    with open_at(place) as here, open_at(place) as elsewhere:
        fact = here.remember(CANARY, user_id="u")
        here.remember("tea", user_id="v")
        then = here.get_all(user_id="u").recorded_at
        for store in (here, elsewhere):
            assert contents(store.search("pelican", user_id="u")) == [CANARY]
            store.search("tea", user_id="v")

        forget(here, fact.fact_id)

        # At once where it was forgotten, and elsewhere before the next answer.
        assert dict(here._recall.documents._kept) == {}
        assert tokens._words.cache_info().currsize == 0
        assert contents(elsewhere.search("tea", user_id="v")) == ["tea"]
        assert CANARY not in repr(elsewhere._recall.documents._kept)
        for store in (here, elsewhere):
            for as_of in (None, then):
                assert contents(store.search("pelican", user_id="u", as_of=as_of)) == []


def test_a_key_destroyed_while_a_search_reads_ends_that_search_with_nothing(
    tmp_path: Path,
) -> None:
    place = tmp_path / "store"
    with open_at(place) as store, open_at(place) as erasing:
        fact = store.remember(CANARY, user_id="u")
        mapper, opened = store._ledger.mapper, store._ledger.mapper.opened

        def opened_and_then_forgotten(*args: object, tagged: bool = True) -> object:
            found = opened(*args, tagged=tagged)  # type: ignore[arg-type]
            redact(erasing, fact.fact_id)
            return found

        mapper.opened = opened_and_then_forgotten  # type: ignore[method-assign, assignment]
        hits = store.search("pelican", user_id="u")
        mapper.opened = opened  # type: ignore[method-assign]
        store.search("pelican", user_id="u")

        assert contents(hits) == []
        assert CANARY not in repr(store._recall.documents._kept)


def test_a_memory_that_is_pushed_out_is_read_again(tmp_path: Path) -> None:
    with open_at(tmp_path / "store", search_memory=3) as store:
        for user in ("a", "b", "c"):
            store.remember_many([f"{user} tea", f"{user} water"], user_id=user)

        found = [
            contents(store.search(word, user_id=user))
            for _ in range(2)
            for user in ("a", "b", "c")
            for word in ("tea", "water")
        ]

        kept = store._recall.documents._kept
        ref = store._ledger.vault.find(Scope.user("c"))
        assert ref is not None
        assert list(kept) == [ref.ref]
    assert found == [[f"{user} {word}"] for user in "abc" for word in ("tea", "water")] * 2


def _recall(reports: tuple[StoreReport, ...]) -> StoreReport:
    (found,) = (each for each in reports if each.store == "recall")
    return found
