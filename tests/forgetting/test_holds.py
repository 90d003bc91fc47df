"""Legal holds: each binds every path by which content could go, until it is released."""

from collections.abc import Callable
from pathlib import Path

import pytest

from muniment import MemoryStore, Receipt, RetentionRule
from muniment.api.certificates import ErasureCertificate, ErasureStatus
from muniment.errors import (
    FactNotCurrentError,
    NotFound,
    UnknownFactError,
    UnknownHoldError,
)
from tests.forgetting.traces import Backup, said, traces
from tests.stores import SECOND, Backend, SettableClock


USER, OTHER = "ann", "bob"
SAID = "CANARY said"
RULES = [RetentionRule(older_than_us=SECOND)]


Way = Callable[[MemoryStore, str], object]


def redact(store: MemoryStore, fact_id: str) -> Receipt:
    return store.forget(fact_id, mode="redact", reason="asked")


def erase(store: MemoryStore, _fact_id: str) -> ErasureCertificate:
    return store.erase(user_id=USER, reason="asked")


def retain_one(store: MemoryStore, _fact_id: str) -> object:
    return store.retain(RULES, user_id=USER)


def retain_all(store: MemoryStore, _fact_id: str) -> object:
    return store.retain(RULES)


DESTROYING: dict[str, Way] = {"redact": redact, "erase": erase}
RETIRING: dict[str, Way] = {"retain one": retain_one, "retain all": retain_all}
PATHS = {**DESTROYING, **RETIRING}
paths = pytest.mark.parametrize("path", PATHS.values(), ids=PATHS)
bound = pytest.mark.parametrize("whole", [True, False], ids=["subject", "fact"])


def hold(store: MemoryStore, fact_id: str, *, whole: bool = True, name: str = "h-1") -> str:
    receipt = store.place_hold(
        user_id=USER,
        fact_id=None if whole else fact_id,
        matter="CANARY v. the bank",
        issued_by="counsel",
        reason="litigation",
        hold_id=name,
    )
    assert receipt.hold_id == name
    return name


def readable(store: MemoryStore, fact_id: str) -> bool:
    """Whether the content of a fact can still be read in its history."""
    try:
        history = store.get_fact_history(fact_id)
    except UnknownFactError:
        return False
    return history.versions[0].content == SAID


def is_kept(store: MemoryStore, fact_id: str) -> bool:
    """Whether no content went, and none was retired."""
    kinds = {each.kind for each in store.get_fact_history(fact_id)}
    return readable(store, fact_id) and kinds == {"asserted"}


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock()


def started(backend: Backend, clock: SettableClock) -> tuple[MemoryStore, str]:
    """Open a store with a fact that is due by `RULES`."""
    store = backend.open(clock=clock)
    fact_id = store.remember(SAID, user_id=USER).fact_id
    clock.now += 2 * SECOND
    return store, fact_id


# C10, S11 (areev#278: a hold stopped only the purge by age).
@bound
@paths
def test_nothing_goes_by_any_path_while_a_hold_binds(
    backend: Backend, clock: SettableClock, path: Way, *, whole: bool
) -> None:
    store, fact_id = started(backend, clock)
    with store:
        hold(store, fact_id, whole=whole)

        path(store, fact_id)

        assert is_kept(store, fact_id)
        store.rebuild()
        assert is_kept(store, fact_id)
        assert store.verify()


@bound
@paths
def test_by_every_path_it_goes_once_the_hold_is_released(
    backend: Backend, clock: SettableClock, path: Way, *, whole: bool
) -> None:
    store, fact_id = started(backend, clock)
    with store:
        name = hold(store, fact_id, whole=whole)

        store.release_hold(name, user_id=USER)
        path(store, fact_id)

        assert said(store, user_id=USER) == []
        assert readable(store, fact_id) == (path in RETIRING.values())


@bound
@paths
def test_a_hold_that_comes_too_late_brings_nothing_back(
    backend: Backend, clock: SettableClock, path: Way, *, whole: bool
) -> None:
    store, fact_id = started(backend, clock)
    with store:
        path(store, fact_id)
        gone = not readable(store, fact_id)

        try:
            hold(store, fact_id, whole=whole)
        except UnknownFactError:
            assert gone

        assert said(store, user_id=USER) == []
        assert readable(store, fact_id) != gone


# C8: accepted as deferred, the subject restricted, carried out on release.
@pytest.mark.parametrize("path", DESTROYING.values(), ids=DESTROYING)
@bound
def test_what_was_asked_for_under_a_hold_is_done_on_release(
    backend: Backend, clock: SettableClock, path: Way, *, whole: bool
) -> None:
    store, fact_id = started(backend, clock)
    with store:
        at = store.get(fact_id).recorded_at
        name = hold(store, fact_id, whole=whole)

        asked = path(store, fact_id)

        if isinstance(asked, ErasureCertificate):
            assert asked.status is ErasureStatus.DEFERRED
            assert asked.text == ""
        else:
            assert isinstance(asked, Receipt)
            assert asked.deferred
        assert said(store, user_id=USER) == []
        with pytest.raises(FactNotCurrentError):
            store.get(fact_id)
        assert readable(store, fact_id)

        store.release_hold(name, user_id=USER)

        assert not readable(store, fact_id)
        known = store.get_memory_as_of(user_id=USER, timestamp=at)
        assert {each.content for each in known} <= {None}
        assert store.verify()


def test_asking_twice_under_a_hold_writes_once(backend: Backend) -> None:
    with backend.open() as store:
        fact_id = store.remember(SAID, user_id=USER).fact_id
        hold(store, fact_id)
        redact(store, fact_id)
        erase(store, fact_id)
        head = store.get_all(user_id=OTHER).position

        redact(store, fact_id)
        again = erase(store, fact_id)

        assert again.status is ErasureStatus.DEFERRED
        assert store.get_all(user_id=OTHER).position == head


def test_of_several_holds_the_last_release_counts(backend: Backend) -> None:
    with backend.open() as store:
        fact_id = store.remember(SAID, user_id=USER).fact_id
        first = hold(store, fact_id, name="h-1")
        second = hold(store, fact_id, whole=False, name="h-2")
        erase(store, fact_id)

        store.release_hold(first, user_id=USER)

        assert readable(store, fact_id)
        store.release_hold(second, user_id=USER)
        assert not readable(store, fact_id)
        with pytest.raises(UnknownFactError):
            store.get_fact_history(fact_id)


def test_what_waited_is_done_in_the_order_it_was_asked_for(backend: Backend) -> None:
    with backend.open() as store:
        facts = [store.remember(f"{SAID} {n}", user_id=USER).fact_id for n in range(4)]
        hold(store, facts[0])
        order = [facts[2], facts[0], facts[3]]
        for fact_id in order:
            redact(store, fact_id)

        receipt = store.release_hold("h-1", user_id=USER)

        assert list(receipt.fact_ids) == order
        assert said(store, user_id=USER) == [f"{SAID} 1"]


def test_a_hold_on_one_fact_leaves_the_others_free(backend: Backend) -> None:
    with backend.open() as store:
        held = store.remember(SAID, user_id=USER).fact_id
        free = store.remember(f"{SAID} too", user_id=USER).fact_id
        hold(store, held, whole=False)

        receipt = redact(store, free)

        assert not receipt.deferred
        assert said(store, user_id=USER) == [SAID]


def test_a_hold_binds_nobody_else(backend: Backend) -> None:
    with backend.open() as store:
        hold(store, store.remember(SAID, user_id=USER).fact_id)
        store.remember(SAID, user_id=OTHER)

        certificate = store.erase(user_id=OTHER, reason="asked")

        assert certificate.status is ErasureStatus.DONE
        assert said(store, user_id=USER) == [SAID]


def test_a_hold_cannot_be_placed_on_a_fact_of_somebody_else(backend: Backend) -> None:
    with backend.open() as store:
        fact_id = store.remember(SAID, user_id=OTHER).fact_id
        store.remember("mine", user_id=USER)

        with pytest.raises(UnknownFactError):
            hold(store, fact_id, whole=False)


def test_a_hold_nobody_placed_cannot_be_released(backend: Backend) -> None:
    with backend.open() as store:
        fact_id = store.remember(SAID, user_id=USER).fact_id
        store.remember(SAID, user_id=OTHER)
        name = hold(store, fact_id)
        erase(store, fact_id)

        with pytest.raises(UnknownHoldError):
            store.release_hold("h-strange", user_id=USER)
        with pytest.raises((UnknownHoldError, NotFound)):
            store.release_hold(name, user_id=OTHER)

        assert readable(store, fact_id)


def test_a_hold_lets_writing_and_rolling_back_go_on(backend: Backend) -> None:
    with backend.open() as store:
        fact_id = store.remember(SAID, user_id=USER).fact_id
        hold(store, fact_id)

        store.update(fact_id, content="changed")
        store.rollback_fact(fact_id, to_version=1)
        store.forget(fact_id)

        assert readable(store, fact_id)


# GDPR 18: what is restricted may be stored, and is not used.
def test_what_is_written_to_a_restricted_memory_is_kept_not_used_and_goes_with_it(
    backend: Backend,
) -> None:
    with backend.open(embedder="none") as store:
        fact_id = store.remember(SAID, user_id=USER).fact_id
        name = hold(store, fact_id)
        erase(store, fact_id)

        late = store.remember(f"{SAID} later", user_id=USER)
        store.update(fact_id, content=f"{SAID} otherwise")

        assert said(store, user_id=USER) == []
        assert list(store.search("CANARY", user_id=USER)) == []
        with pytest.raises(FactNotCurrentError):
            store.get(late.fact_id)
        assert readable(store, fact_id)
        assert store.get_fact_history(late.fact_id).versions[0].content == late.content
        store.release_hold(name, user_id=USER)
        for each in (fact_id, late.fact_id):
            with pytest.raises(UnknownFactError):
                store.get_fact_history(each)
    assert traces(backend, "CANARY") == []


def test_a_search_leaves_out_what_waits_to_be_redacted_and_goes_on_to_the_next(
    backend: Backend,
) -> None:
    with backend.open(embedder="none") as store:
        fact_id = store.remember(SAID, user_id=USER).fact_id
        at = store.remember(f"{SAID} something longer, too", user_id=USER).recorded_at
        assert (
            store.search("CANARY said", user_id=USER, limit=1).items[0].fact_id == fact_id
        )
        hold(store, fact_id)
        redact(store, fact_id)

        (found,) = store.search("CANARY said", user_id=USER, limit=1)

        assert found.fact.content == f"{SAID} something longer, too"
        # Whoever looks into the matter that the hold is for still finds it.
        (then, _) = store.search("CANARY said", user_id=USER, as_of=at)
        assert then.fact_id == fact_id


def test_what_is_written_to_a_fact_that_waits_to_be_redacted_goes_with_it(
    backend: Backend,
) -> None:
    with backend.open() as store:
        fact_id = store.remember(SAID, user_id=USER).fact_id
        name = hold(store, fact_id)
        redact(store, fact_id)

        store.update(fact_id, content=f"{SAID} otherwise")
        store.rollback_fact(fact_id, to_version=1)

        assert said(store, user_id=USER) == []
        store.release_hold(name, user_id=USER)
        contents = {each.content for each in store.get_fact_history(fact_id)}
        assert contents == {None}


# C9: a hold between plan and execution wins.
def test_a_hold_placed_between_plan_and_erasure_wins(backend: Backend) -> None:
    with backend.open() as store:
        fact_id = store.remember(SAID, user_id=USER).fact_id
        assert store.plan_erasure(user_id=USER).holds == ()
        hold(store, fact_id)

        certificate = erase(store, fact_id)

        assert store.plan_erasure(user_id=USER).holds == ("h-1",)
        assert certificate.status is ErasureStatus.DEFERRED
        assert readable(store, fact_id)


def test_what_a_hold_is_for_is_not_written_in_the_clear(durable: Backend) -> None:
    with durable.open() as store:
        hold(store, store.remember(SAID, user_id=USER).fact_id)

        assert traces(durable, "CANARY", "counsel", "litigation") == []


# S11 (areev#279: a hold was lost in export and restore).
def test_a_backup_that_is_restored_keeps_the_holds_it_has(
    durable: Backend, tmp_path: Path
) -> None:
    with durable.open() as store:
        fact_id = store.remember(SAID, user_id=USER).fact_id
        hold(store, fact_id)
        erase(store, fact_id)
        backup = Backup.of(durable, tmp_path / "backup.db")
        store.remember("later", user_id=OTHER)

    backup.restore()

    with durable.open() as store:
        assert store.plan_erasure(user_id=USER).holds == ("h-1",)
        assert erase(store, fact_id).status is ErasureStatus.DEFERRED
        assert readable(store, fact_id)
        assert said(store, user_id=USER) == []
        store.release_hold("h-1", user_id=USER)
        assert not readable(store, fact_id)
        assert store.verify()


def test_holds_and_what_waits_for_them_outlive_the_process(durable: Backend) -> None:
    with durable.open() as store:
        fact_id = store.remember(SAID, user_id=USER).fact_id
        hold(store, fact_id)
        erase(store, fact_id)

    with durable.open() as store:
        assert readable(store, fact_id)
        assert said(store, user_id=USER) == []
        store.release_hold("h-1", user_id=USER)
        assert not readable(store, fact_id)
    assert traces(durable, "CANARY") == []
