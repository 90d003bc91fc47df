"""Lists of what waits for somebody: whole, part by part, however many there are."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from muniment import EmergencyPage, ProposalPage, Scope
from muniment.ledger.records import PROPOSAL
from muniment.ledger.streams import each_stream
from tests.access.matrix import IDENTITIES, REASON
from tests.stores import BACKENDS, Backend


SUBJECT, LEAD, ON_CALL = (IDENTITIES[each] for each in ("subject", "lead", "on_call"))
TEAM = Scope.team("eng")

Page = ProposalPage | EmergencyPage


def by_parts(listed: Callable[..., Page], **asked: Any) -> tuple[list[Any], int]:  # noqa: ANN401
    """Return what parts of two hold, and how many parts there were."""
    items: list[Any] = []
    cursor, parts = None, 0
    while parts == 0 or cursor is not None:
        page = listed(limit=2, cursor=cursor, **asked)
        items, cursor, parts = [*items, *page], page.next_cursor, parts + 1
    return items, parts


@pytest.mark.parametrize("backend", BACKENDS, indirect=True)
def test_what_waits_is_listed_whole_part_by_part(backend: Backend) -> None:
    with backend.open(embedder="none", upkeep=False, approvals_needed=2) as store:
        for number in range(5):
            fact = store.remember(f"第 {number} 条", user_id="u-1")
            made = store.propose_share(fact.fact_id, to=TEAM, actor="u-1")
            if number % 2:
                store.approve(made.proposal_id, actor="u-4")
        other = store.remember("likes tea", user_id="u-2")
        store.propose_share(other.fact_id, to=Scope.org(), actor="u-2")
        for number in range(3):
            engineer = store.acting_as(replace(ON_CALL, id=f"o-{number}"))
            engineer.get_all(user_id="u-1", reason=REASON, break_glass=True)
        reviewed = store.list_broken_glass().items[1]
        store.review_broken_glass(reviewed.glass_id, actor="officer-1")
        recorder = store._ledger.recorder

        proposals = store.list_proposals(scope=TEAM)
        of_user, parts = by_parts(store.list_proposals, user_id="u-1")
        waiting, _ = by_parts(store.list_broken_glass)
        streams = {
            page: [
                (name, len(events))
                for name, events in each_stream(recorder, PROPOSAL, page=page)
            ]
            for page in (2, 3, 5, 1_000)
        }

    assert [len(each.approved_by) for each in proposals] == [0, 1, 0, 1, 0]
    assert (of_user, parts) == (list(proposals), 3)
    assert [each.actor for each in waiting] == ["o-0", "o-2"]
    assert len(streams[1_000]) == 6
    assert all(found == streams[1_000] for found in streams.values())
