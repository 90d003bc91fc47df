"""What the state machine found wrong, each told as the shortest story that shows it."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from muniment import MemoryStore, Scope
from muniment.domain.time import Instant
from muniment.errors import InvalidTimeError
from muniment.instants import moment
from tests.stores import in_memory_at


class Clock:
    """A clock that says what it is told."""

    def __init__(self) -> None:
        self.now = Instant(1_000)

    def __call__(self) -> Instant:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(tmp_path: Path, clock: Clock) -> Iterator[MemoryStore]:
    settings = in_memory_at(tmp_path)
    with MemoryStore.open(settings, clock=clock) as opened:
        yield opened


def at(instant: int) -> str:
    return moment(Instant(instant)).isoformat()


def test_a_write_that_changes_nothing_is_answered_in_an_empty_ledger(
    store: MemoryStore,
) -> None:
    receipt = store.thaw(user_id="ann")

    assert (receipt.tx_id, receipt.position) == (None, 0)


def test_a_rollback_in_an_empty_ledger_has_nothing_to_do(store: MemoryStore) -> None:
    receipt = store.rollback_where(user_id="ann", session_id="s-1")

    assert (receipt.tx_id, receipt.position) == (None, 0)


def test_the_history_of_an_expired_fact_has_no_current_content(
    store: MemoryStore, clock: Clock
) -> None:
    fact = store.remember("tea", user_id="ann", expires_at=at(2_000))
    clock.now = Instant(2_000)

    assert store.get_all(user_id="ann").items == ()
    assert store.get_fact_history(fact.fact_id).current_content is None


def test_remembering_again_what_was_so_once_gives_back_what_was_remembered(
    store: MemoryStore,
) -> None:
    fact = store.remember("tea", user_id="ann", valid_from=at(10))
    store.update(fact.fact_id, content="water", valid_from=at(20))

    again = store.remember("tea", user_id="ann", valid_from=at(10), valid_to=at(20))

    assert again.content == "tea"


def test_a_correction_that_says_the_same_gives_back_what_it_says(
    store: MemoryStore,
) -> None:
    fact = store.remember("tea", user_id="ann", valid_from=at(10))
    store.update(fact.fact_id, content="water", valid_from=at(20))

    again = store.correct(fact.fact_id, content="tea", valid_from=at(10))

    assert again.content == "tea"


def test_a_rollback_sent_again_with_its_key_is_answered_as_the_first_time(
    store: MemoryStore,
) -> None:
    fact = store.remember("tea", user_id="ann")
    store.update(fact.fact_id, content="water")

    first = store.rollback_fact(fact.fact_id, to_version=1, idempotency_key="k")

    assert store.rollback_fact(fact.fact_id, to_version=1, idempotency_key="k") == first


def test_a_rollback_to_a_time_sent_again_with_its_key_is_answered_as_the_first_time(
    store: MemoryStore, clock: Clock
) -> None:
    fact = store.remember("tea", scope=Scope.user("ann"))
    clock.now = Instant(1_010)
    store.update(fact.fact_id, content="water")

    first = store.rollback_to_timestamp(
        user_id="ann", rollback_to=fact.recorded_at, idempotency_key="k"
    )
    again = store.rollback_to_timestamp(
        user_id="ann", rollback_to=fact.recorded_at, idempotency_key="k"
    )

    assert again == first


def test_an_undo_sent_again_with_its_key_is_answered_as_the_first_time(
    store: MemoryStore,
) -> None:
    fact = store.remember("tea", user_id="ann")

    first = store.undo(fact.tx_id, idempotency_key="k")

    assert store.undo(fact.tx_id, idempotency_key="k") == first


def test_a_store_in_memory_leaves_nothing_on_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    with MemoryStore.open("memory://") as opened:
        opened.remember("tea", user_id="ann")

    assert list(tmp_path.iterdir()) == []


def test_a_diff_names_no_event_that_was_about_another_time(store: MemoryStore) -> None:
    fact = store.remember("tea", user_id="ann", valid_from=at(10), valid_to=at(20))
    store.update(fact.fact_id, content="water", valid_from=at(50))

    diff = store.diff_memory(
        user_id="ann", time_a=at(999), time_b=at(1_001), valid_at=at(15)
    )

    assert [each.kind for each in diff.added[0].causes] == ["asserted"]


def test_an_end_that_could_not_be_given_back_leaves_memory_readable(
    store: MemoryStore,
) -> None:
    kept = store.remember("tea", user_id="ann")

    with pytest.raises(InvalidTimeError):
        store.remember("x", user_id="ann", valid_to="9999-12-31T23:59:59-08:00")

    assert store.get_all(user_id="ann").items == (kept,)
