"""What plans and receipts of rollbacks tell, compared with what is believed."""

from collections.abc import Mapping

from muniment import Receipt, RollbackPlan
from tests.oracle import Held, Recorded
from tests.property import shown
from tests.property.model import Model, Rollback


def check_plan(model: Model, plan: RollbackPlan, subject: str, answer: Rollback) -> None:
    """Check that a plan tells what would be done, fact by fact."""
    assert plan.position == len(model.ledger)
    assert str(plan.scope) == subject
    assert plan.skipped == ()
    entries = [*plan.diff.added, *plan.diff.removed, *plan.diff.changed]
    assert {each.fact_id: each.beliefs_after for each in entries} == {
        fact_id: shown.pieces(model.fact(fact_id), held)
        for fact_id, held in answer.wanted.items()
    }
    assert {each.fact_id: each.versions for each in plan.conflicts} == {
        fact_id: tuple(shown.version(model.fact(fact_id)[number - 1]) for number in numbers)
        for fact_id, numbers in answer.clashing.items()
    }
    forced = {each.fact_id: each.forced for each in plan.conflicts if each.forced}
    assert {fact_id: each.beliefs_after for fact_id, each in forced.items()} == {
        fact_id: shown.pieces(model.fact(fact_id), held)
        for fact_id, held in answer.forced.items()
    }


def check_receipt(
    model: Model, receipt: Receipt, events: list[Recorded], before: Mapping[str, Held]
) -> None:
    """Check that *receipt* tells what was done, and how it was before."""
    if before:
        # Of a subject that nobody remembers anything of, no more is looked at.
        assert receipt.position == len(model.ledger)
    assert set(receipt.fact_ids) == {each.fact_id for each in events}
    assert receipt.diff is not None
    entries = [*receipt.diff.added, *receipt.diff.removed, *receipt.diff.changed]
    assert sorted(each.fact_id for each in entries) == sorted(receipt.fact_ids)
    for entry in entries:
        history, mine = model.fact(entry.fact_id), before[entry.fact_id]
        assert entry.beliefs_before == shown.pieces(history, mine)
        after = shown.pieces(history, model.held(entry.fact_id))
        assert entry.beliefs_after == after
        assert (entry.before is None, entry.after is None) == (not mine, not after)
        assert entry.causes == tuple(
            shown.version(each) for each in events if each.fact_id == entry.fact_id
        )
