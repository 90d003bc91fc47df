"""Several write what a team remembers: nothing is lost, and who leads it decides."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from muniment import ErasureStatus, MemoryStore, Principal, Scope
from muniment.api.proposals import Proposals
from muniment.api.proposed import Proposal
from muniment.errors import (
    ChangeContestedError,
    FactRedactedError,
    IdempotencyConflictError,
    ProposalStateError,
    VersionConflictError,
    WordsRedactedError,
)
from tests.access.matrix import IDENTITIES
from tests.forgetting.traces import Backup
from tests.stores import Backend


SUBJECT, LEAD = IDENTITIES["subject"], IDENTITIES["lead"]
BY_LEAD = ("lead_of:eng",)
OTHER_LEAD = Principal(id="u-5", memberships=BY_LEAD)
TEAM = Scope.team("eng")
CANARY = "TEAMSECRET3 周三部署"


@pytest.fixture
def changes() -> dict[str, object]:
    return {"truth_sources": frozenset({"hr"})}


@pytest.mark.usefixtures("backend")
def test_a_change_that_comes_too_late_is_kept_until_the_lead_decides(
    store: MemoryStore,
) -> None:
    lead, other = store.acting_as(LEAD), store.acting_as(OTHER_LEAD)
    fact = lead.remember("deploys on Friday", scope=TEAM, source="chat")
    lead.update(fact.fact_id, content="deploys on Monday", expected_version=1)

    late: dict[str, Any] = {
        "content": "周二部署",
        "source": "agent:a-7",
        "expected_version": 1,
    }
    with pytest.raises(ChangeContestedError) as caught:
        other.update(fact.fact_id, **late, idempotency_key="k", reason="heard it")
    with pytest.raises(ChangeContestedError) as repeated:
        other.update(fact.fact_id, **late, idempotency_key="k", reason="heard it")
    (open_,) = lead.list_proposals(scope=TEAM)
    believed = store.get(fact.fact_id).content
    done = lead.approve(open_.proposal_id, reason="she was there")

    assert caught.value.proposal_id == repeated.value.proposal_id == open_.proposal_id
    assert (caught.value.expected, caught.value.actual) == (1, 2)
    assert (open_.verb, open_.content, open_.proposed_by) == ("update", "周二部署", "u-5")
    assert believed == "deploys on Monday"
    assert str(done.state) == "done"
    versions = store.get_fact_history(fact.fact_id).versions
    assert [each.content for each in versions] == [
        "deploys on Friday",
        "deploys on Monday",
        "周二部署",
    ]
    last = versions[-1]
    assert (last.actor, last.trigger, last.source) == ("u-4", "arbitration", "agent:a-7")


def test_a_key_that_kept_one_late_change_does_not_answer_for_another(
    store: MemoryStore,
) -> None:
    lead, other = store.acting_as(LEAD), store.acting_as(OTHER_LEAD)
    fact = lead.remember("deploys on Friday", scope=TEAM)
    lead.update(fact.fact_id, content="deploys on Monday", expected_version=1)
    late: dict[str, Any] = {"expected_version": 1, "idempotency_key": "k"}
    with pytest.raises(ChangeContestedError):
        other.update(fact.fact_id, content="周二部署", **late)

    others: list[dict[str, Any]] = [
        {"content": "周三部署"},
        {"content": "周二部署", "reason": "heard"},
    ]
    for another in others:
        with pytest.raises(IdempotencyConflictError, match="key 'k' was"):
            other.update(fact.fact_id, **another, **late)
    with pytest.raises(IdempotencyConflictError, match="key 'k' was"):
        other.correct(fact.fact_id, content="周二部署", **late)

    assert [each.content for each in store.list_proposals(scope=TEAM)] == ["周二部署"]


@pytest.mark.parametrize("finisher", [LEAD, Principal(id="u-6", memberships=BY_LEAD)])
def test_what_was_agreed_to_is_said_once_whoever_finishes_what_a_dead_process_began(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch, finisher: Principal
) -> None:
    fact = store.acting_as(LEAD).remember("on Friday", scope=TEAM)
    proposal_id = contested(store, fact.fact_id)
    with monkeypatch.context() as patched:
        patched.setattr(Proposals, "carry_out", _die)
        with pytest.raises(SystemExit):
            store.acting_as(LEAD).approve(proposal_id, reason="she was there")
    approved = store.list_proposals(scope=TEAM).items[0].state

    done = store.acting_as(finisher).approve(proposal_id, reason="it was left undone")

    assert (str(approved), str(done.state)) == ("approved", "done")
    versions = store.get_fact_history(fact.fact_id).versions
    assert [each.content for each in versions if each.kind != "corroborated"] == [
        "on Friday",
        "deploys on Monday",
        CANARY,
    ]


def _die(*_: object, **__: object) -> None:
    raise SystemExit


def test_a_rejected_change_stays_on_record_and_changes_nothing(store: MemoryStore) -> None:
    lead, other = store.acting_as(LEAD), store.acting_as(OTHER_LEAD)
    fact = lead.remember("deploys on Friday", scope=TEAM)
    lead.update(fact.fact_id, content="deploys on Monday")
    with pytest.raises(ChangeContestedError) as caught:
        other.correct(fact.fact_id, content="never deploys", expected_version=1)

    rejected = lead.reject(caught.value.proposal_id, reason="not so")

    assert (str(rejected.state), rejected.content) == ("rejected", "never deploys")
    assert store.get(fact.fact_id).content == "deploys on Monday"


def test_what_a_source_of_truth_says_wins_whoever_comes_first(store: MemoryStore) -> None:
    lead = store.acting_as(LEAD)
    fact = lead.remember("Wu leads", scope=TEAM, source="chat")
    lead.update(fact.fact_id, content="Li leads", source="chat")

    won = lead.update(fact.fact_id, content="Xu leads", source="hr", expected_version=1)
    with pytest.raises(ChangeContestedError):
        lead.update(fact.fact_id, content="Wu leads again", source="chat")
    seen = lead.update(fact.fact_id, content="Xu, as of May", expected_version=won.version)

    assert won.content == "Xu leads"
    assert seen.content == "Xu, as of May"
    assert len(store.get_fact_history(fact.fact_id).versions) == 4
    assert len(store.list_proposals(scope=TEAM)) == 1


def test_a_repeated_key_is_answered_as_the_first_time_whoever_said_the_truth_since(
    store: MemoryStore,
) -> None:
    lead = store.acting_as(LEAD)
    fact = lead.remember("on Friday", scope=TEAM)
    blind: dict[str, Any] = {"content": "on Monday", "idempotency_key": "k"}
    late: dict[str, Any] = {
        "content": "周三",
        "source": "hr",
        "expected_version": 1,
        "idempotency_key": "h",
    }
    first = [lead.update(fact.fact_id, **each) for each in (blind, late)]

    again = [lead.update(fact.fact_id, **each) for each in (blind, late)]

    assert again == first
    assert [each.version for each in first] == [2, 3]
    assert len(store.list_proposals(scope=TEAM)) == 0


def test_a_late_change_to_a_memory_of_ones_own_is_an_error_and_no_more(
    store: MemoryStore,
) -> None:
    subject = store.acting_as(SUBJECT)
    fact = subject.remember("likes tea", user_id="u-1")
    subject.update(fact.fact_id, content="likes jazz")

    with pytest.raises(VersionConflictError) as caught:
        subject.update(fact.fact_id, content="likes rust", expected_version=1)

    assert not isinstance(caught.value, ChangeContestedError)


def test_who_has_the_store_itself_gets_an_error_that_leaves_nothing(
    store: MemoryStore,
) -> None:
    fact = store.remember("deploys on Friday", scope=TEAM)
    head = store.update(fact.fact_id, content="deploys on Monday")

    with pytest.raises(VersionConflictError) as caught:
        store.update(fact.fact_id, content="deploys on Tuesday", expected_version=1)

    assert not isinstance(caught.value, ChangeContestedError)
    assert store.get_all(scope=TEAM).items == (head,)
    assert store._ledger.present().head.position == head.position
    assert store.list_proposals(user_id="u-1").items == ()


def contested(store: MemoryStore, fact_id: str, *, source_turns: Sequence[str] = ()) -> str:
    """Say of a fact, and too late, what must not be found again."""
    store.acting_as(LEAD).update(fact_id, content="deploys on Monday")
    with pytest.raises(ChangeContestedError) as caught:
        store.acting_as(OTHER_LEAD).update(
            fact_id,
            content=CANARY,
            metadata={"why": CANARY},
            expected_version=1,
            source_turns=source_turns,
        )
    return caught.value.proposal_id


def shown(store: MemoryStore) -> tuple[str, str | None, bool]:
    """Return of the one contested change its state and content, and if it says it still."""
    (found,) = [e for e in store.list_proposals(scope=TEAM) if e.verb == "update"]
    return str(found.state), found.content, CANARY in repr(found)


def test_a_contested_change_goes_with_the_fact_that_is_redacted(
    durable: Backend, tmp_path: Path
) -> None:
    def both(store: MemoryStore) -> list[Proposal]:
        """Return the change of the fact that goes, and that of the one that stays."""
        found = store.list_proposals(scope=TEAM)
        return sorted(found, key=lambda each: each.proposal_id == kept)

    with durable.open(embedder="none", upkeep=False) as store:
        lead = store.acting_as(LEAD)
        fact, other = (lead.remember(each, scope=TEAM) for each in ("on Friday", "b"))
        proposal_id = contested(store, fact.fact_id)
        kept = contested(store, other.fact_id)
        backup = Backup.of(durable, tmp_path / "before.db")

        store.forget(fact.fact_id, mode="redact", reason="asked for")
        gone, stays = both(store)
        for answer in (lead.approve, lead.reject):
            with pytest.raises(ProposalStateError, match="is redacted, not open"):
                answer(proposal_id)
        assert [str(each.state) for each in (gone, stays)] == ["redacted", "open"]
        assert (gone.content, dict(gone.asked), gone.reason) == (None, {}, None)
        assert gone.proposed_by == OTHER_LEAD.id
        assert stays.content == CANARY
        assert store.verify()
    backup.restore()
    with durable.open(embedder="none", upkeep=False) as restored:
        gone, stays = both(restored)
        assert (str(gone.state), gone.content, stays.content) == ("redacted", None, CANARY)


@pytest.mark.usefixtures("backend")
def test_a_contested_change_waits_with_its_fact_for_the_release_of_a_hold(
    store: MemoryStore,
) -> None:
    fact = store.acting_as(LEAD).remember("on Friday", scope=TEAM)
    contested(store, fact.fact_id)
    store.place_hold(scope=TEAM, matter="case 9", hold_id="h-9", fact_id=fact.fact_id)
    before = shown(store)
    store.forget(fact.fact_id, mode="redact")
    waiting = shown(store)
    store.release_hold("h-9", scope=TEAM)

    assert before == ("open", CANARY, True)
    assert waiting == ("open", None, False)
    assert shown(store) == ("redacted", None, False)


@pytest.mark.usefixtures("backend")
def test_a_contested_change_of_a_copy_goes_with_the_person_who_is_erased(
    store: MemoryStore,
) -> None:
    subject, lead = store.acting_as(SUBJECT), store.acting_as(LEAD)
    fact = subject.remember("on Friday", user_id=SUBJECT.id)
    lead.approve(subject.propose_share(fact.fact_id, to=TEAM).proposal_id)
    (copy,) = store.get_all(scope=TEAM)
    contested(store, copy.fact_id)
    before = shown(store)

    certificate = store.erase(user_id=SUBJECT.id, reason="asked for")

    assert before == ("open", CANARY, True)
    assert certificate.status is ErasureStatus.DONE
    assert shown(store) == ("redacted", None, False)


@pytest.mark.usefixtures("backend")
def test_what_is_redacted_while_a_late_change_is_kept_takes_none(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    lead, other = store.acting_as(LEAD), store.acting_as(OTHER_LEAD)
    fact = lead.remember("on Friday", scope=TEAM)
    lead.update(fact.fact_id, content="on Monday", expected_version=1)
    make = Proposals.make

    def late(*given: Any, **named: Any) -> Any:  # noqa: ANN401 - as they were given
        store.forget(fact.fact_id, mode="redact")
        return make(*given, **named)

    monkeypatch.setattr(Proposals, "make", late)
    with pytest.raises(FactRedactedError):
        other.update(fact.fact_id, content=CANARY, expected_version=1)

    assert store.list_proposals(scope=TEAM).items == ()


@pytest.mark.parametrize("whole", [False, True], ids=["turn", "session"])
def test_a_contested_change_goes_with_what_was_said_that_it_is_drawn_from(
    store: MemoryStore, *, whole: bool
) -> None:
    lead = store.acting_as(LEAD)
    session_id = store.start_session(scope=TEAM).session_id
    said = [store.add_turn(session_id, role="user", content=CANARY) for _ in range(2)]
    turns = [each.turn_id for each in said]
    facts = [lead.remember(each, scope=TEAM).fact_id for each in ("on Friday", "b")]
    going, other = (
        contested(store, fact_id, source_turns=[turn_id])
        for fact_id, turn_id in zip(facts, turns, strict=True)
    )
    store.place_hold(scope=TEAM, matter="case 9", hold_id="h-9")

    def told() -> dict[str, tuple[str, bool]]:
        found = store.list_proposals(scope=TEAM)
        return {e.proposal_id: (str(e.state), CANARY in repr(e)) for e in found}

    def redact() -> bool:
        if whole:
            return store.redact_session(session_id, facts="keep").deferred
        return store.redact_turn(turns[0], facts="keep").deferred

    before, deferred = told(), redact()
    with pytest.raises(WordsRedactedError):
        lead.approve(going)
    waiting = told()
    with pytest.raises(WordsRedactedError):
        contested(store, facts[0], source_turns=[turns[0]])
    store.release_hold("h-9", scope=TEAM)
    with pytest.raises(WordsRedactedError):
        contested(store, facts[0], source_turns=[turns[0]])

    readable, gone = ("open", True), ("redacted", False)
    assert deferred
    assert before == {going: readable, other: readable}
    assert waiting == {going: ("open", False), other: ("open", not whole)}
    assert told() == {going: gone, other: gone if whole else readable}
    assert store.get(facts[0]).content == "deploys on Monday"
    assert store.verify()
