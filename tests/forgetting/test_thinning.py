"""Thinning: of old history only how it stood when each year began can still be read."""

import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from muniment import MemoryStore, RetentionRule
from muniment.archive.evidence_check import Report, check
from muniment.domain.policy import YEAR_US
from muniment.errors import FactNotCurrentError, ThinnedError
from tests.forgetting.lived import (
    BETWEEN,
    GONE,
    KEPT,
    LATER,
    NOW,
    RULES,
    UNTIL,
    USER,
    at,
    lived,
)
from tests.forgetting.traces import said
from tests.stores import MEMORY, Backend, SettableClock
from tests.years import us


def evidence(store: MemoryStore, **asked: Any) -> Report:  # noqa: ANN401 - of any field
    """Return what somebody outside finds proven in evidence."""
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "evidence.zip"
        store.export_evidence(
            file, user_id=USER, matter="case 7", reason="asked by the court", **asked
        )
        return check(file.read_bytes())


def test_what_is_between_the_years_is_refused_by_every_way_to_ask(
    backend: Backend,
) -> None:
    memory = lived(backend)
    with memory.store as store:
        (receipt,) = memory.thin()

        assert receipt.fact_ids == (memory.fact_id,)
        ways: list[Callable[[datetime], object]] = [
            memory.known,
            lambda t: store.get(memory.fact_id, as_of=t),
            lambda t: store.get(memory.fact_id, as_of=at(2024), valid_at=t),
            lambda t: store.get_memory_as_of(user_id=USER, timestamp=NOW, valid_at=t),
            lambda t: store.search("vier", user_id=USER, as_of=t),
            lambda t: store.search("vier", user_id=USER, valid_at=t),
            lambda t: store.diff_memory(user_id=USER, time_a=t, time_b=NOW),
            lambda t: store.diff_memory(user_id=USER, time_a=at(2019), time_b=t),
            lambda t: store.blame(user_id=USER, as_of=t),
            lambda t: store.why("vier", user_id=USER, at=t),
            lambda t: store.build_context("vier", user_id=USER, as_of=t),
            lambda t: store.plan_rollback(user_id=USER, to=t),
            lambda t: store.rollback_to_timestamp(user_id=USER, rollback_to=t),
            lambda t: store.reproduce_badcase(user_id=USER, timestamp=t),
            lambda t: evidence(store, points=[t]),
            lambda t: evidence(store, start=t),
        ]
        head = store.get_all(user_id=USER).position
        for way in ways:
            for when in BETWEEN:
                with pytest.raises(ThinnedError) as caught:
                    way(when)
                years = [datetime(when.year + n, 1, 1, tzinfo=UTC) for n in (0, 1)]
                assert caught.value.kept == tuple(us(each) for each in years)
        assert store.get_all(user_id=USER).position == head


# B43 (iceberg#8565: once one snapshot is expired, older ones are not found by their time).
def test_when_a_year_began_and_from_the_end_on_the_answers_are_what_they_were(
    backend: Backend,
) -> None:
    memory = lived(backend)
    with memory.store as store:
        times = [*KEPT, *LATER]
        before = [memory.known(each) for each in times]
        found = [store.search("zwei fünf", user_id=USER, as_of=each) for each in times]
        twice = [
            store.get_memory_as_of(user_id=USER, timestamp=one, valid_at=two)
            for one in times
            for two in times
        ]

        memory.thin()

        assert [memory.known(each) for each in times] == before
        assert [
            store.search("zwei fünf", user_id=USER, as_of=each) for each in times
        ] == found
        assert [
            store.get_memory_as_of(user_id=USER, timestamp=one, valid_at=two)
            for one in times
            for two in times
        ] == twice
        diff = store.diff_memory(user_id=USER, time_a=at(2019), time_b=at(2020))
        assert [(e.before and e.before.content) for e in diff.changed] == ["zwei"]
        assert [e.after and e.after.content for e in diff.changed] == ["fünf"]
        assert evidence(store, start=at(2019), end=at(2020)).proven
        assert evidence(store, points=KEPT).proven


def test_history_tells_what_went_when_by_whom_and_why(backend: Backend) -> None:
    memory = lived(backend)
    with memory.store as store:
        before = store.get_fact_history(memory.fact_id)

        memory.thin()

        history = store.get_fact_history(memory.fact_id)
        assert [each.content for each in history] == [
            *(None, "zwei", None, None, "fünf", "sechs", "sieben"),
            None,
        ]
        last = history.versions[-1]
        assert (last.kind, last.thinned) == ("thinned", GONE)
        assert (last.action, last.trigger) == ("retain", "retention")
        assert (last.actor, last.reason) == ("keeper", "policy 9")
        assert [each.recorded_at for each in history][:7] == [e.recorded_at for e in before]
        assert said(store, user_id=USER) == ["sieben", "stays as it is"]
        modified = store.list_modified_facts(user_id=USER, start=at(2018), end=at(2019, 4))
        assert {
            v.content for m in modified for v in m.versions if m.fact_id == memory.fact_id
        } == {None, "zwei"}
        rows = list(store._lookup.timeline.rows())
        store.rebuild()
        assert list(store._lookup.timeline.rows()) == rows
        assert store.verify()


def test_a_fact_of_which_nothing_went_is_answered_for_between_the_years(
    backend: Backend,
) -> None:
    memory = lived(backend)
    with memory.store as store:
        memory.thin()

        assert store.get(memory.other, as_of=at(2019, 3)).content == "stays as it is"
        with pytest.raises(FactNotCurrentError):
            store.get(memory.other, as_of=at(2018, 2))
        assert memory.known(at(2018, 2)).facts == ()


def test_a_plan_says_what_goes_and_writes_nothing(backend: Backend) -> None:
    memory = lived(backend)
    with memory.store as store:
        (due,) = store.plan_retention(RULES)

        assert (due.fact_id, due.cause) == (memory.fact_id, "thinned")
        assert (due.until, due.versions) == (UNTIL, GONE)
        assert store.plan_retention(RULES) == (due,)
        assert store.plan_retention(RULES, user_id="bob") == ()
        memory.thin()
        assert store.plan_retention(RULES) == ()
        assert memory.thin() == ()


def test_nothing_comes_back_that_was_thinned(backend: Backend) -> None:
    memory = lived(backend)
    with memory.store as store:
        tx_ids = [each.tx_id for each in store.get_fact_history(memory.fact_id)]
        memory.thin()

        for version in (1, 3, 4):
            for way in (store.rollback_fact, store.plan_rollback):
                with pytest.raises(ThinnedError):
                    way(fact_id=memory.fact_id, to_version=version)
        with pytest.raises(ThinnedError):
            store.update(memory.fact_id, content="neu", valid_from=at(2019, 3))
        plan = store.plan_rollback(user_id=USER, to=at(2020))
        assert [e.after and e.after.content for e in plan.diff.changed] == ["fünf"]
        store.rollback_fact(memory.fact_id, to_version=5)
        assert store.get(memory.fact_id).content == "fünf"
        undone = store.undo(tx_ids[4])
        assert undone.fact_ids == ()
        assert store.verify()


def test_a_retired_fact_whose_last_words_went_cannot_be_restored(backend: Backend) -> None:
    clock = SettableClock(us(at(2018, 3)))
    with backend.open(clock=clock) as store:
        fact = store.remember("CANARY", user_id=USER)
        clock.now = us(at(2018, 6))
        store.forget(fact.fact_id)
        clock.now = us(NOW)
        store.retain(RULES)

        with pytest.raises(ThinnedError):
            store.restore(fact.fact_id)

        assert store.remember("CANARY", user_id=USER).fact_id != fact.fact_id


def test_a_thinned_fact_lives_on_and_is_thinned_again(backend: Backend) -> None:
    memory = lived(backend)
    with memory.store as store:
        memory.thin()
        for when, content in ((NOW, "CANARY acht"), (at(2024, 9), "neun")):
            memory.clock.now = us(when)
            store.update(memory.fact_id, content=content)
        memory.clock.now = us(at(2029))

        memory.thin()

        contents = [each.content for each in store.get_fact_history(memory.fact_id)]
        assert contents[:7] == [None, "zwei", None, None, "fünf", "sechs", "sieben"]
        assert contents[7:] == [None, None, "neun", None]
        assert [each.content for each in memory.known(at(2024))][1:] == ["sieben"]
        with pytest.raises(ThinnedError):
            memory.known(at(2024, 2))
        assert store.get(memory.fact_id).content == "neun"
        assert store.verify()


# S11, C10: holds x thinning, before, while and after; C9: a hold after the plan wins.
@pytest.mark.parametrize("whole", [True, False], ids=["subject", "fact"])
def test_a_hold_stops_thinning_until_it_is_released(
    backend: Backend, *, whole: bool
) -> None:
    memory = lived(backend)
    with memory.store as store:
        planned = store.plan_retention(RULES)
        bound = None if whole else memory.fact_id
        store.place_hold(user_id=USER, fact_id=bound, matter="case", hold_id="h-1")

        assert len(planned) == 1
        assert store.plan_retention(RULES) == ()
        assert memory.thin() == ()
        assert memory.known(at(2019, 3)).facts
        store.release_hold("h-1", user_id=USER)
        assert len(memory.thin()) == 1
        store.place_hold(user_id=USER, matter="too late", hold_id="h-2")
        with pytest.raises(ThinnedError):
            memory.known(at(2019, 3))


def test_a_hold_that_comes_between_plan_and_thinning_wins(
    backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = lived(backend)
    with memory.store as store:
        from muniment.api.retaining import Retainer  # noqa: PLC0415 - to be patched

        whole = Retainer.retire

        def late(self: Retainer, *given: object) -> object:
            store.place_hold(user_id=USER, matter="case", hold_id="h-1")
            return whole(self, *given)  # type: ignore[arg-type]

        monkeypatch.setattr(Retainer, "retire", late)
        (receipt,) = memory.thin()

        assert receipt.tx_id is None
        assert memory.known(at(2019, 3)).facts


def test_frozen_memories_other_categories_and_core_facts_are_left_alone(
    backend: Backend,
) -> None:
    memory = lived(backend)
    with memory.store as store:
        chat = RetentionRule(thin_older_than_us=2 * YEAR_US, category="chat")
        assert store.plan_retention([chat]) == ()
        store.update(memory.fact_id, core=True)
        assert store.plan_retention(RULES) == ()
        store.update(memory.fact_id, core=False)
        store.freeze(user_id=USER)
        assert store.plan_retention(RULES) == ()
        store.thaw(user_id=USER)
        assert len(store.plan_retention(RULES)) == 1


def test_why_names_what_became_of_a_fact_before_it_was_thinned(tmp_path: Path) -> None:
    memory = lived(Backend(MEMORY, "memory://", tmp_path))
    with memory.store as store:
        store.forget(memory.fact_id, reason="moved on")
        before = store.why("sieben", user_id=USER)

        memory.thin()

        assert store.get_fact_history(memory.fact_id).versions[-1].kind == "thinned"
        after = store.why("sieben", user_id=USER)
        assert before.stage == "retired"
        assert (after.sentence, after.checks) == (before.sentence, before.checks)
