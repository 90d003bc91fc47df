"""A rollback that nobody has looked at is not stopped by what others write meanwhile."""

import pytest

from muniment import MemoryStore
from muniment.api.rollbacks import Planner
from muniment.errors import PlanOutdatedError
from tests.stores import Backend


def write_between_plan_and_apply(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Let another writer of the same subject always come before the rollback."""
    apply = Planner.apply

    def overtaken(self: Planner, *args: object, **rest: object) -> object:
        store.remember(f"after {store._ledger.present().head.tx_id}", user_id="alice")
        return apply(self, *args, **rest)  # type: ignore[arg-type]

    monkeypatch.setattr(Planner, "apply", overtaken)


def test_one_fact_is_rolled_back_while_others_of_its_subject_are_written(
    backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    with backend.open() as store:
        fact = store.remember("one", user_id="alice")
        store.correct(fact.fact_id, content="two")
        write_between_plan_and_apply(store, monkeypatch)

        receipt = store.rollback_fact(fact.fact_id, to_version=1)

        assert receipt.fact_ids == (fact.fact_id,)
        assert store.get(fact.fact_id).content == "one"


def test_a_plan_that_was_looked_at_is_refused_once_its_subject_moved(
    backend: Backend,
) -> None:
    with backend.open() as store:
        fact = store.remember("one", user_id="alice")
        store.correct(fact.fact_id, content="two")
        plan = store.plan_rollback(fact_id=fact.fact_id, to_version=1)
        store.correct(fact.fact_id, content="three")
        before = store._ledger.present().head

        with pytest.raises(PlanOutdatedError):
            store.apply(plan)

        assert store._ledger.present().head == before
        assert store.get(fact.fact_id).content == "three"


def test_a_plan_is_not_stopped_by_another_subject(backend: Backend) -> None:
    with backend.open() as store:
        fact = store.remember("one", user_id="alice")
        store.correct(fact.fact_id, content="two")
        plan = store.plan_rollback(fact_id=fact.fact_id, to_version=1)
        store.remember("elsewhere", user_id="bob")

        store.apply(plan)

        assert store.get(fact.fact_id).content == "one"


def test_an_empty_store_has_nothing_to_roll_back_or_thaw(backend: Backend) -> None:
    with backend.open() as store:
        rolled_back = store.rollback_to_timestamp(
            user_id="alice", rollback_to="2000-01-01T00:00:00Z"
        )
        thawed = store.thaw(user_id="alice")

        assert (rolled_back.tx_id, rolled_back.position) == (None, 0)
        assert (thawed.tx_id, thawed.position) == (None, 0)
