"""Retention from end to end: what rules retire, and what stays to be seen."""

from collections.abc import Sequence
from datetime import timedelta

import pytest

from muniment import MemoryStore, RetentionRule
from muniment.domain.time import Instant
from muniment.errors import FactNotCurrentError, InvalidValueError, UnknownFactError
from muniment.instants import moment
from tests.forgetting.traces import said
from tests.stores import SECOND, Backend, SettableClock


DAY = 86_400 * SECOND
YEARLY = RetentionRule(older_than_us=365 * DAY)


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock()


def due(store: MemoryStore, *rules: RetentionRule) -> dict[str | None, str]:
    return {each.fact_id: each.cause for each in store.plan_retention(rules)}


@pytest.mark.parametrize(("offset_us", "is_due"), [(-1, False), (0, True), (1, True)])
def test_a_rule_is_applied_on_the_very_microsecond(
    backend: Backend, clock: SettableClock, offset_us: int, *, is_due: bool
) -> None:
    with backend.open(clock=clock) as store:
        fact = store.remember("old", user_id="ann")
        recorded_at = int(fact.recorded_at.timestamp()) * SECOND
        clock.now = recorded_at + fact.recorded_at.microsecond + 365 * DAY + offset_us

        receipts = store.retain([YEARLY])

        assert bool(receipts) == is_due
        assert said(store, user_id="ann") == ([] if is_due else ["old"])


# M57 (memanto: expiry tested against today, so past states miss items).
def test_before_its_expiry_a_fact_is_still_seen_as_it_was(
    backend: Backend, clock: SettableClock
) -> None:
    with backend.open(clock=clock) as store:
        expires_at = moment(Instant(clock.now + DAY))
        fact = store.remember("for a day", user_id="ann", expires_at=expires_at)
        clock.now += 2 * DAY

        (receipt,) = store.retain([], user_id="ann")

        assert receipt.fact_ids == (fact.fact_id,)
        before = expires_at - timedelta(microseconds=1)
        known = store.get_memory_as_of(user_id="ann", timestamp=before)
        assert [each.content for each in known] == ["for a day"]
        for later in (expires_at, receipt.recorded_at):
            assert not store.get_memory_as_of(user_id="ann", timestamp=later).facts
        with pytest.raises(FactNotCurrentError):
            store.get(fact.fact_id)
        history = store.get_fact_history(fact.fact_id)
        assert [each.content for each in history] == ["for a day", None]
        assert store.verify()


def test_what_a_rule_retired_says_by_what_and_can_be_restored(
    backend: Backend, clock: SettableClock
) -> None:
    with backend.open(clock=clock) as store:
        fact = store.remember("old", user_id="ann")
        clock.now += 366 * DAY
        store.retain([YEARLY], actor="scheduler", reason="policy 7")

        last = store.get_fact_history(fact.fact_id).versions[-1]
        assert (last.kind, last.action, last.trigger) == ("retired", "retain", "retention")
        assert (last.actor, last.reason) == ("scheduler", "policy 7")
        store.restore(fact.fact_id)
        assert said(store, user_id="ann") == ["old"]


def test_a_plan_retires_nothing_and_says_what_would_be_retired(
    backend: Backend, clock: SettableClock
) -> None:
    with backend.open(clock=clock) as store:
        old = store.remember("old", user_id="ann").fact_id
        dull = store.remember("dull", user_id="bob", importance=0.1).fact_id
        clock.now += 366 * DAY
        store.remember("new", user_id="ann")
        core = store.remember("core", user_id="ann", importance=0.0, core=True)
        rules = [RetentionRule(importance_below=0.2), YEARLY]

        planned = due(store, *rules)

        assert planned == {old: "expired", dull: "unimportant"}
        assert due(store, *rules) == planned
        receipts = store.retain(rules)
        assert {each for r in receipts for each in r.fact_ids} == set(planned)
        assert said(store, user_id="ann") == ["core", "new"]
        assert store.get(core.fact_id).content == "core"
        assert store.retain(rules) == ()


def test_a_rule_for_one_subject_leaves_the_others(
    backend: Backend, clock: SettableClock
) -> None:
    with backend.open(clock=clock) as store:
        store.remember("old", user_id="ann")
        store.remember("old", user_id="bob")
        clock.now += 366 * DAY

        store.retain([YEARLY], user_id="ann")

        assert said(store, user_id="ann") == []
        assert said(store, user_id="bob") == ["old"]


def test_a_rule_for_a_category_leaves_the_others(
    backend: Backend, clock: SettableClock
) -> None:
    with backend.open(clock=clock) as store:
        store.remember("tea", user_id="ann", category="drink")
        store.remember("rice", user_id="ann", category="food")
        store.remember("none", user_id="ann")
        clock.now += 366 * DAY

        store.retain([RetentionRule(category="drink", older_than_us=365 * DAY)])

        assert said(store, user_id="ann") == ["none", "rice"]


def test_writing_counts_as_use(backend: Backend, clock: SettableClock) -> None:
    unused = RetentionRule(unused_for_us=30 * DAY)
    with backend.open(clock=clock) as store:
        store.remember("idle", user_id="ann")
        store.remember("busy", user_id="ann")
        clock.now += 20 * DAY
        store.remember("busy", user_id="ann", source="another")
        clock.now += 20 * DAY

        store.retain([unused])

        assert said(store, user_id="ann") == ["busy"]


class Recalled:
    """Somebody who knows when facts were recalled."""

    def __init__(self, **used_at: Instant) -> None:
        self.used_at = used_at

    def last_used(self, fact_ids: Sequence[str]) -> dict[str, Instant]:
        return {each: at for each, at in self.used_at.items() if each in fact_ids}


def test_recalling_counts_as_use_where_somebody_knows_of_it(
    backend: Backend, clock: SettableClock
) -> None:
    unused = RetentionRule(unused_for_us=30 * DAY)
    with backend.open(clock=clock) as store:
        facts = {
            each: store.remember(each, user_id="ann").fact_id
            for each in ("idle", "recalled", "recalled long ago", "written since")
        }
        clock.now += 20 * DAY
        now = Instant(clock.now)
        store.update(facts["written since"], content="written since", source="another")
        long_ago = Instant(now - 19 * DAY)
        store._lookup.last_use = (
            Recalled(**{facts["recalled"]: now, facts["written since"]: long_ago}),
            Recalled(**{facts["recalled"]: long_ago, facts["recalled long ago"]: long_ago}),
        )
        clock.now += 20 * DAY

        assert due(store, unused) == {
            facts["idle"]: "unused",
            facts["recalled long ago"]: "unused",
        }
        clock.now = now + 30 * DAY
        assert due(store, unused).keys() == set(facts.values())


def test_what_agents_are_given_is_used(backend: Backend, clock: SettableClock) -> None:
    unused = RetentionRule(unused_for_us=30 * DAY)
    with backend.open(clock=clock, embedder="none") as store:
        idle = store.remember("has a cat", user_id="ann")
        store.remember("likes tea", user_id="ann")
        clock.now += 20 * DAY
        assert len(store.search("tea", user_id="ann")) == 1
        store.flush_receipts()
        clock.now += 20 * DAY

        assert due(store, unused) == {idle.fact_id: "unused"}


def test_a_frozen_memory_is_left_as_it_is(backend: Backend, clock: SettableClock) -> None:
    with backend.open(clock=clock) as store:
        store.remember("old", user_id="ann")
        store.remember("old", user_id="bob")
        store.freeze(user_id="ann")
        clock.now += 366 * DAY

        store.retain([YEARLY])

        assert said(store, user_id="ann") == ["old"]
        assert said(store, user_id="bob") == []


# B45: a hold blocks it; C10.
def test_what_is_held_is_retired_at_the_first_run_after_the_release(
    backend: Backend, clock: SettableClock
) -> None:
    with backend.open(clock=clock) as store:
        fact = store.remember("old", user_id="ann")
        store.place_hold(user_id="ann", fact_id=fact.fact_id, matter="case", hold_id="h-1")
        clock.now += 366 * DAY

        assert store.retain([YEARLY]) == ()
        store.release_hold("h-1", user_id="ann")
        assert len(store.retain([YEARLY])) == 1

        assert said(store, user_id="ann") == []


def test_retention_finds_nothing_of_the_erased(
    backend: Backend, clock: SettableClock
) -> None:
    with backend.open(clock=clock) as store:
        store.remember("old", user_id="ann")
        fact = store.remember("old too", user_id="ann")
        store.forget(fact.fact_id, mode="redact")
        clock.now += 366 * DAY
        store.erase(user_id="ann", reason="asked")

        assert due(store, YEARLY) == {}
        assert store.retain([YEARLY]) == ()


def test_a_merged_fact_points_to_the_one_that_says_the_same(backend: Backend) -> None:
    with backend.open() as store:
        stays = store.remember("likes green tea", user_id="ann")
        goes = store.remember("likes tea, green", user_id="ann")

        store.merge(goes.fact_id, into=stays.fact_id, reason="the same")

        assert said(store, user_id="ann") == ["likes green tea"]
        versions = store.get_fact_history(goes.fact_id).versions
        assert [(each.kind, each.survivor) for each in versions] == [
            ("asserted", None),
            ("retired", stays.fact_id),
        ]
        known = store.get_memory_as_of(user_id="ann", timestamp=goes.recorded_at)
        assert len(known) == 2
        store.restore(goes.fact_id)
        assert len(said(store, user_id="ann")) == 2


def test_no_fact_is_merged_into_one_that_says_nothing_now(
    backend: Backend, clock: SettableClock
) -> None:
    with backend.open(clock=clock) as store:
        one = store.remember("likes tea", user_id="ann")
        expires_at = moment(Instant(clock.now + DAY))
        over = store.remember("drinks tea", user_id="ann", expires_at=expires_at)
        gone = store.remember("has tea", user_id="ann")
        store.forget(gone.fact_id)
        waits = store.remember("is to go", user_id="ann")
        store.place_hold(user_id="ann", matter="case 9", fact_id=waits.fact_id)
        assert store.forget(waits.fact_id, mode="redact").deferred
        clock.now += DAY

        for other in (over, gone, waits):
            with pytest.raises(FactNotCurrentError):
                store.merge(one.fact_id, into=other.fact_id)
        with pytest.raises(InvalidValueError, match="another fact"):
            store.merge(one.fact_id, into=one.fact_id)

        assert said(store, user_id="ann") == ["likes tea"]


def test_what_is_relied_on_is_not_merged_into_what_is_not(backend: Backend) -> None:
    with backend.open(embedder="none", upkeep=False) as store:
        vouched = store.remember("喜欢茶", user_id="ann")
        heard = store.remember("爱喝茶", user_id="ann", status="unverified")
        rumour = store.remember("茶", user_id="ann", status="unverified")

        with pytest.raises(InvalidValueError, match="active, as the fact that goes"):
            store.merge(vouched.fact_id, into=heard.fact_id)
        found = [each.fact_id for each in store.search("茶", user_id="ann")]
        store.merge(rumour.fact_id, into=heard.fact_id)
        store.correct(heard.fact_id, status="active")
        store.merge(vouched.fact_id, into=heard.fact_id)

        assert found == [vouched.fact_id]
        assert [each.fact_id for each in store.search("茶", user_id="ann")] == [
            heard.fact_id
        ]


def test_facts_of_two_subjects_are_not_merged(backend: Backend) -> None:
    with backend.open() as store:
        one = store.remember("likes tea", user_id="ann")
        other = store.remember("likes tea", user_id="bob")

        with pytest.raises(UnknownFactError):
            store.merge(one.fact_id, into=other.fact_id)

        assert said(store, user_id="ann") == ["likes tea"]
