"""Facts go upward by approval alone, and what is about much needs two pairs of eyes."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import Any

import pytest

from muniment import MemoryStore, Principal, ProposalState, Scope
from muniment.errors import (
    AccessDeniedError,
    ApprovalRequiredError,
    FactNotCurrentError,
    IdempotencyConflictError,
    InvalidScopeError,
    InvalidValueError,
    OwnProposalError,
    ProposalStateError,
    UnknownProposalError,
    VersionConflictError,
)
from tests.access.matrix import IDENTITIES, REASON
from tests.stores import Backend


SUBJECT, LEAD, OFFICER = (IDENTITIES[each] for each in ("subject", "lead", "officer"))
OTHER_OFFICER = Principal(id="o-9", roles=OFFICER.roles)
TEAM = Scope.team("eng")


@pytest.fixture
def changes() -> dict[str, object]:
    return {"approve_above": 2}


def test_what_a_person_shares_reaches_the_team_once_its_lead_agrees(
    backend: Backend,
) -> None:
    with backend.open(embedder="none", upkeep=False) as store:
        subject, lead = store.acting_as(SUBJECT), store.acting_as(LEAD)
        fact = subject.remember(
            "部署在周五停机",
            user_id="u-1",
            category="deploy",
            metadata={"access_level": "restricted", "k": 1},
        )
        proposal = subject.propose_share(
            fact.fact_id, to=TEAM, review_at="2027-01-01T00:00:00Z", reason="team rule"
        )
        before = lead.get_all(scope=TEAM)
        (listed,) = lead.list_proposals(scope=TEAM)
        done = lead.approve(proposal.proposal_id, reason="useful for all")

        assert len(before) == 0
        assert listed == proposal
        assert (listed.content, listed.to, listed.proposed_by) == (
            "部署在周五停机",
            TEAM,
            "u-1",
        )
        assert done.state is ProposalState.DONE
        assert done.approved_by == ("u-4",)
        (shared,) = lead.get_all(scope=TEAM)
        assert (shared.content, shared.category) == ("部署在周五停机", "deploy")
        assert shared.metadata == {
            "k": 1,
            "owner": "u-1",
            "review_at": "2027-01-01T00:00:00.000000Z",
            "shared_from": fact.fact_id,
        }
        assert store.verify()


def test_nobody_shares_by_any_other_way(store: MemoryStore) -> None:
    subject, lead = store.acting_as(SUBJECT), store.acting_as(LEAD)
    fact = subject.remember("likes tea", user_id="u-1")
    theirs = lead.remember("team rule", scope=TEAM)

    calls: list[Callable[[], object]] = [
        lambda: subject.remember("likes tea", scope=TEAM),
        lambda: subject.merge(fact.fact_id, into=theirs.fact_id),
        lambda: store.acting_as(IDENTITIES["agent"]).propose_share(fact.fact_id, to=TEAM),
        lambda: lead.propose_share(fact.fact_id, to=TEAM),
    ]
    for call in calls:
        with pytest.raises(Exception, match=r"no such fact|within the reach|may not"):
            call()
    for down in (Scope.user("u-1"), Scope.user("u-2")):
        with pytest.raises(InvalidScopeError, match=r"^scope '.*' is not upward"):
            subject.propose_share(fact.fact_id, to=down)
    assert [each.content for each in store.get_all(scope=TEAM)] == ["team rule"]


def test_a_proposal_is_answered_by_others_and_only_while_it_is_open(
    store: MemoryStore,
) -> None:
    lead = store.acting_as(LEAD)
    both = Principal(id="u-1", memberships=("lead_of:eng",))
    owner = store.acting_as(both)
    fact = owner.remember("likes tea", user_id="u-1")
    proposal = owner.propose_share(fact.fact_id, to=TEAM)

    with pytest.raises(OwnProposalError):
        owner.approve(proposal.proposal_id)
    with pytest.raises(UnknownProposalError):
        store.acting_as(IDENTITIES["other"]).approve(proposal.proposal_id)
    with pytest.raises(AccessDeniedError):
        store.acting_as(IDENTITIES["member"]).approve(proposal.proposal_id)
    rejected = lead.reject(proposal.proposal_id, reason="不是团队的事")
    with pytest.raises(ProposalStateError, match="is rejected, not open"):
        lead.approve(proposal.proposal_id)

    assert (rejected.state, rejected.note) == (ProposalState.REJECTED, "不是团队的事")
    assert len(store.get_all(scope=TEAM)) == 0


def test_a_key_answers_for_the_proposal_it_was_used_for_and_for_no_other(
    store: MemoryStore,
) -> None:
    subject, lead = store.acting_as(SUBJECT), store.acting_as(LEAD)
    first, second = (subject.remember(each, user_id="u-1") for each in ("茶", "tea"))
    proposed = subject.propose_share(first.fact_id, to=TEAM, idempotency_key="q")
    other = subject.propose_share(second.fact_id, to=TEAM)
    approved = lead.approve(proposed.proposal_id, idempotency_key="w")
    subject.update(first.fact_id, content="绿茶")

    again = subject.propose_share(first.fact_id, to=TEAM, idempotency_key="q")
    with pytest.raises(IdempotencyConflictError):
        subject.propose_share(second.fact_id, to=TEAM, idempotency_key="q")
    with pytest.raises(IdempotencyConflictError):
        lead.approve(other.proposal_id, idempotency_key="w")
    repeated = lead.approve(proposed.proposal_id, idempotency_key="w")

    assert again.proposal_id == proposed.proposal_id
    assert approved.state is repeated.state is ProposalState.DONE
    # By name: the clock stood still, and names of one millisecond are in no order.
    states = {e.proposal_id: e.state for e in subject.list_proposals(user_id="u-1")}
    assert states[other.proposal_id] is ProposalState.OPEN


def test_what_was_agreed_to_is_shared_and_nothing_it_became_since(
    store: MemoryStore,
) -> None:
    subject, lead = store.acting_as(SUBJECT), store.acting_as(LEAD)
    changed = subject.remember("likes tea", user_id="u-1")
    gone = subject.remember("likes jazz", user_id="u-1")
    first = subject.propose_share(changed.fact_id, to=TEAM)
    second = subject.propose_share(gone.fact_id, to=TEAM)
    subject.correct(changed.fact_id, content="a secret")
    subject.forget(gone.fact_id, mode="redact", reason="asked")

    with pytest.raises(VersionConflictError):
        lead.approve(first.proposal_id)
    with pytest.raises(FactNotCurrentError):
        lead.approve(second.proposal_id)

    assert [each.content for each in lead.list_proposals(scope=TEAM)] == [None, None]
    assert len(store.get_all(scope=TEAM)) == 0


def test_as_many_others_have_to_agree_as_are_needed_each_once(
    backend: Backend,
) -> None:
    with backend.open(embedder="none", upkeep=False, approvals_needed=2) as store:
        fact = store.remember("likes tea", user_id="u-1")
        proposal = store.acting_as(SUBJECT).propose_share(fact.fact_id, to=TEAM)
        lead = store.acting_as(LEAD)
        gate = threading.Barrier(8)

        def agree(_: int) -> ProposalState:
            gate.wait()
            state: ProposalState = lead.approve(proposal.proposal_id).state
            return state

        with ThreadPoolExecutor(8) as pool:
            states = set(pool.map(agree, range(8)))
        second = Principal(id="u-5", memberships=("lead_of:eng",))
        done = store.acting_as(second).approve(proposal.proposal_id)

        assert states == {ProposalState.OPEN}
        assert done.state is ProposalState.DONE
        assert done.approved_by == ("u-4", "u-5")


@pytest.mark.usefixtures("backend")
def test_an_erasure_of_much_waits_for_another_officer_and_is_done_once(
    store: MemoryStore,
) -> None:
    store.remember_many(["one", "two", "three"], user_id="u-1")
    officer, other = store.acting_as(OFFICER), store.acting_as(OTHER_OFFICER)
    asked: dict[str, Any] = {"user_id": "u-1", "reason": REASON}

    with pytest.raises(ApprovalRequiredError) as caught:
        officer.erase(**asked)
    approval = caught.value.proposal_id
    with pytest.raises(ProposalStateError, match="open, not approved"):
        officer.erase(**asked, approval=approval)
    with pytest.raises(OwnProposalError):
        officer.approve(approval, reason=REASON)
    (listed,) = other.list_proposals(**asked)
    other.approve(approval, reason=REASON)
    with pytest.raises(InvalidValueError, match="this very request"):
        other.erase(**asked, approval=approval)
    certificate = officer.erase(**asked, approval=approval)

    assert (listed.verb, listed.size) == ("erase", 3)
    assert str(certificate.status) == "DONE"
    store.remember_many(["one", "two", "three"], user_id="u-1")
    with pytest.raises(UnknownProposalError):
        officer.erase(**asked, approval=approval)


@pytest.mark.usefixtures("backend")
def test_rollbacks_and_releases_of_much_wait_and_those_of_little_do_not(
    store: MemoryStore,
) -> None:
    first = store.remember("one", user_id="u-1")
    many = store.remember_many(["two", "three", "four"], user_id="u-1", session_id="s-1")
    store.place_hold(user_id="u-1", matter="case", hold_id="h-1")
    officer, other = store.acting_as(OFFICER), store.acting_as(OTHER_OFFICER)
    whose: dict[str, object] = {"user_id": "u-1", "reason": REASON}
    plan = store.plan_rollback(user_id="u-1", to=first.recorded_at)

    asked: list[tuple[str, tuple[object, ...], dict[str, object]]] = [
        ("rollback_to_timestamp", (), {**whose, "rollback_to": first.recorded_at}),
        ("rollback_where", (), {**whose, "session_id": "s-1"}),
        ("undo", (many.tx_id,), {"reason": REASON}),
        ("apply", (plan,), {"reason": REASON}),
        ("release_hold", ("h-1",), whose),
    ]
    approvals = {}
    for verb, args, fields in asked:
        with pytest.raises(ApprovalRequiredError) as caught:
            getattr(officer, verb)(*args, **fields)
        approvals[verb] = caught.value.proposal_id
        other.approve(approvals[verb], reason=REASON)
    with pytest.raises(InvalidValueError, match="this very request"):
        officer.apply(plan, reason=REASON, approval=approvals["undo"])
    done = officer.apply(plan, reason=REASON, approval=approvals["apply"])
    with pytest.raises(ProposalStateError, match="done, not approved"):
        officer.apply(plan, reason=REASON, approval=approvals["apply"])

    assert done.diff is not None
    assert len(done.diff.removed) == 3
    assert officer.rollback_fact(first.fact_id, to_version=0, reason=REASON).tx_id


def test_a_person_erases_their_own_without_asking_and_the_owner_of_the_store_anybodys(
    store: MemoryStore,
) -> None:
    for user in ("u-1", "u-2"):
        store.remember_many(["one", "two", "three"], user_id=user)

    mine = store.acting_as(SUBJECT).erase(user_id="u-1", reason="I want it gone")
    theirs = store.erase(user_id="u-2", reason="request")

    assert {str(mine.status), str(theirs.status)} == {"DONE"}


def test_to_entrust_what_others_never_stop_to_write_ends_in_a_conflict(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    fact = store.remember("规则 0", scope=TEAM)
    head, tried = store._head, count(1)

    def overtaken(fact_id: str) -> int:
        read = head(fact_id)
        store.update(fact_id, content=f"规则 {next(tried)}")
        return read

    monkeypatch.setattr(store, "_head", overtaken)
    with pytest.raises(VersionConflictError):
        store.entrust(fact.fact_id, owner="u-4")

    last = store.get(fact.fact_id)
    assert (last.content, dict(last.metadata)) == ("规则 10", {})
