"""What is shared stays its owner's: it is erased with them, and handed over by them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from muniment import MemoryStore, Principal, Scope, Settings
from muniment.api.copies import Copies, Copy
from muniment.api.entrusting import Policy
from muniment.errors import (
    AccessDeniedError,
    ApprovalRequiredError,
    FactNotCurrentError,
    FactRedactedError,
    InvalidScopeError,
    InvalidValueError,
    UnknownFactError,
)
from tests.access.matrix import IDENTITIES, REASON
from tests.stores import Backend, SettableClock


SUBJECT, LEAD, MEMBER = (IDENTITIES[each] for each in ("subject", "lead", "member"))
ADMINISTRATOR, OFFICER = IDENTITIES["administrator"], IDENTITIES["officer"]
OTHER_LEAD = Principal(id="u-5", memberships=("lead_of:eng",))
TEAM, ORG = Scope.team("eng"), Scope.org()
CANARY = "部署在周五停机 canary-5521"


def shared(store: MemoryStore, content: str = CANARY, **fields: Any) -> tuple[str, str]:  # noqa: ANN401
    """Share what a person says with the team; return the fact and its copy."""
    turns = fields.pop("source_turns", ())
    fact = store.acting_as(SUBJECT).remember(content, user_id="u-1", source_turns=turns)
    proposal = store.acting_as(SUBJECT).propose_share(fact.fact_id, to=TEAM, **fields)
    store.acting_as(LEAD).approve(proposal.proposal_id, reason="useful for all")
    (copy,) = (
        each
        for each in store.get_all(scope=TEAM)
        if each.metadata.get("shared_from") == fact.fact_id
    )
    return fact.fact_id, copy.fact_id


def shared_on(store: MemoryStore, copy_id: str) -> str:
    """Share a copy with everybody; return the copy of the copy."""
    proposal = store.acting_as(LEAD).propose_share(copy_id, to=ORG)
    store.acting_as(ADMINISTRATOR).approve(proposal.proposal_id)
    (found,) = store.get_all(scope=ORG)
    return found.fact_id


def left(store: MemoryStore) -> set[str]:
    """Return what of the canary any reading verb shows of team and organisation."""
    now = store.get_all(scope=TEAM).recorded_at
    found: list[object] = []
    for scope in (TEAM, ORG):
        found += [
            store.get_all(scope=scope),
            store.get_memory_as_of(scope=scope, timestamp=now),
            store.blame(scope=scope),
            store.list_modified_facts(scope=scope, start="2020-01-01T00:00:00Z"),
            store.list_proposals(scope=scope),
            store.list_shared(scope=scope),
            store.search("canary-5521", scope=scope),
        ]
    return {word for word in ("canary-5521", "u-1") for each in found if word in str(each)}


def test_who_is_erased_is_gone_from_every_memory_their_facts_were_shared_with(
    backend: Backend,
) -> None:
    with backend.open(embedder="none", upkeep=False) as store:
        _, copy = shared(store)
        of_all = shared_on(store, copy)
        store.acting_as(LEAD).correct(copy, content=f"{CANARY}, 除非紧急")
        theirs = store.remember("Friday is a quiet day", scope=TEAM)
        before = left(store)
        plan = store.plan_erasure(user_id="u-1")

        certificate = store.erase(user_id="u-1", reason="request 2026-20")

        assert before == {"canary-5521", "u-1"}
        assert plan.rows["shared"] == 2
        reports = {each.store: each for each in certificate.stores}
        assert (reports["shared"].removed, reports["shared"].remaining) == (2, 0)
        assert str(certificate.status) == "DONE"
        assert left(store) == set()
        for each in (copy, of_all):
            assert {v.content for v in store.get_fact_history(each).versions} == {None}
        assert store.get(theirs.fact_id).content == "Friday is a quiet day"
        assert store.verify()
        assert store.rebuild() > 0
        assert left(store) == set()


def test_the_copies_of_what_is_destroyed_are_looked_up_once(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    fact_id, copy = shared(store)
    shared_on(store, copy)
    session_id = store.start_session(user_id="u-1").session_id
    turn = store.add_turn(session_id, role="user", content="早")
    every = Copies._all
    looked_up: list[int] = []

    def counted(copies: Copies) -> Iterator[Copy]:
        looked_up.append(len(looked_up))
        return every(copies)

    monkeypatch.setattr(Copies, "_all", counted)
    store.redact_turn(turn.turn_id)
    assert looked_up == []
    store.forget(fact_id, mode="redact")
    assert looked_up == [0]
    store.erase(user_id="u-1", reason="request 2026-26")
    assert looked_up == [0, 1]
    assert left(store) == set()


@pytest.mark.usefixtures("backend")
def test_a_redacted_fact_takes_its_copies_along_and_an_archived_one_does_not(
    store: MemoryStore,
) -> None:
    redacted, its_copy = shared(store)
    retired, kept = shared(store, "站会在九点")

    store.forget(redacted, mode="redact", reason="never mind")
    store.forget(retired)

    with pytest.raises(FactNotCurrentError):
        store.get(its_copy)
    with pytest.raises(FactRedactedError):
        store.restore(its_copy)
    assert store.get(kept).content == "站会在九点"


@pytest.mark.usefixtures("backend")
def test_a_copy_that_a_hold_binds_waits_for_its_release_and_the_erasure_says_so(
    store: MemoryStore,
) -> None:
    _, copy = shared(store)
    of_all = shared_on(store, copy)
    store.place_hold(scope=TEAM, matter="case 9", hold_id="h-9", fact_id=copy)

    partial = store.erase(user_id="u-1", reason="request 2026-21")
    used = store.get_all(scope=TEAM), store.search("canary-5521", scope=TEAM)
    kept = store.get_fact_history(copy).versions[0].content
    store.release_hold("h-9", scope=TEAM)
    done = store.erasure_certificate(str(partial.subject_ref))

    assert str(partial.status) == "PARTIAL"
    assert [each.remaining for each in partial.stores if each.store == "shared"] == [1]
    assert [len(each) for each in used] == [0, 0]
    assert kept == CANARY
    with pytest.raises(FactNotCurrentError):
        store.get(of_all)
    assert done is not None
    assert str(done.status) == "DONE"
    assert left(store) == set()


@pytest.mark.usefixtures("backend")
def test_what_waits_for_a_hold_on_its_owner_is_used_nowhere_meanwhile(
    store: MemoryStore,
) -> None:
    _, copy = shared(store)
    store.place_hold(user_id="u-1", matter="case 9", hold_id="h-9")

    deferred = store.erase(user_id="u-1", reason="request 2026-22")
    meanwhile = len(store.get_all(scope=TEAM)), len(store.search("停机", scope=TEAM))
    readable = store.get_fact_history(copy).versions[0].content
    store.release_hold("h-9", user_id="u-1")

    assert str(deferred.status) == "DEFERRED"
    assert meanwhile == (0, 0)
    assert readable == CANARY
    assert left(store) == set()


def test_an_erasure_thatdied_before_the_copies_goes_on_when_the_store_is_opened(
    durable: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    with durable.open(embedder="none", upkeep=False) as store:
        shared(store)
        before = left(store)
        with monkeypatch.context() as patched:
            patched.setattr("muniment.api.copies.Copies.redact", die)
            with pytest.raises(SystemExit):
                store.erase(user_id="u-1", reason="request 2026-24")

    with durable.open(embedder="none", upkeep=False) as store:
        assert before == {"canary-5521", "u-1"}
        assert left(store) == set()


def die(*_: object, **__: object) -> None:
    raise SystemExit


@pytest.mark.usefixtures("backend")
def test_the_words_of_others_stay_though_they_said_the_same(store: MemoryStore) -> None:
    own = store.acting_as(LEAD).remember(CANARY, scope=TEAM)
    _, copy = shared(store)
    again = store.acting_as(OTHER_LEAD).remember(CANARY, scope=TEAM)

    store.erase(user_id="u-1", reason="request 2026-25")

    assert copy not in (own.fact_id, again.fact_id)
    assert again.fact_id == own.fact_id
    assert [each.content for each in store.get_all(scope=TEAM)] == [CANARY]


@pytest.mark.usefixtures("backend")
@pytest.mark.parametrize("is_held", [False, True], ids=["unreadable", "waits"])
def test_no_copy_is_made_of_what_went_meanwhile(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch, *, is_held: bool
) -> None:
    fact = store.acting_as(SUBJECT).remember(CANARY, user_id="u-1")
    proposal = store.acting_as(SUBJECT).propose_share(fact.fact_id, to=TEAM)
    if is_held:
        store.place_hold(user_id="u-1", matter="case 9", hold_id="h-9")
    source = store._source

    def read_too_early(*found: Any) -> Any:  # noqa: ANN401 - a proposal, and its fact
        read = source(*found)
        store.forget(fact.fact_id, mode="redact", reason="never mind")
        return read

    monkeypatch.setattr(store, "_source", read_too_early)
    with pytest.raises(UnknownFactError):
        store.acting_as(LEAD).approve(proposal.proposal_id)

    assert "canary-5521" not in left(store)
    assert len(store.get_all(scope=TEAM)) == 0


def test_no_copy_of_a_copy_is_made_before_that_is_told_that_it_goes(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    fact_id, copy = shared(store)
    proposal = store.acting_as(LEAD).propose_share(copy, to=ORG)
    store.place_hold(user_id="u-1", matter="case 9", hold_id="h-9")
    monkeypatch.setattr(Copies, "set_aside", lambda *_: None)
    store.forget(fact_id, mode="redact", reason="never mind")

    with pytest.raises(UnknownFactError, match=copy):
        store.acting_as(ADMINISTRATOR).approve(proposal.proposal_id)

    assert len(store.get_all(scope=ORG)) == 0


def test_a_shared_fact_has_an_owner_and_is_looked_at_when_its_time_comes(
    store: MemoryStore, clock: SettableClock
) -> None:
    lead, member = store.acting_as(LEAD), store.acting_as(MEMBER)
    _, copy = shared(store, review_at="2026-03-01T00:00:00Z")
    later = lead.remember("team rule", scope=TEAM)
    lead.entrust(later.fact_id, owner="u-4", review_at="2027-01-01T00:00:00Z")
    lead.update(copy, metadata={"k": 1})

    early = member.list_shared(scope=TEAM, overdue=True)
    clock.now += 90 * 86_400 * 1_000_000
    (due,) = member.list_shared(scope=TEAM, overdue=True)
    lead.entrust(copy, review_at="2028-01-01T00:00:00Z", reason="still true")
    every = member.list_shared(scope=TEAM)

    assert early == ()
    assert (due.fact.fact_id, due.owner, due.shared_from is not None) == (copy, "u-1", True)
    assert due.fact.metadata["k"] == 1
    assert [(each.fact.fact_id, each.overdue) for each in every] == [
        (later.fact_id, False),
        (copy, False),
    ]
    assert {each.owner for each in every} == {"u-1", "u-4"}
    with pytest.raises(AccessDeniedError):
        member.entrust(copy, owner="u-3")
    with pytest.raises(InvalidScopeError, match=r"^scope 'user:"):
        store.acting_as(SUBJECT).list_shared(user_id="u-1")
    with pytest.raises(InvalidValueError):
        lead.entrust(copy)


def test_new_metadata_of_what_a_team_said_itself_leave_who_answers_for_it(
    store: MemoryStore,
) -> None:
    lead = store.acting_as(LEAD)
    fact = lead.remember("team rule", scope=TEAM, metadata={"shared_from": "主页", "k": 0})
    entrusted = {"owner": "u-4", "review_at": "2027-01-01T00:00:00.000000Z"}
    lead.entrust(fact.fact_id, owner="u-4", review_at=entrusted["review_at"])
    later = lead.update(fact.fact_id, content="规则", valid_from="2030-01-01T00:00:00Z")
    own = store.remember("Ben 的车", user_id="u-1", metadata={"owner": "Ben"})

    changed = lead.update(fact.fact_id, metadata={"k": 1})
    ahead = lead.correct(later.fact_id, metadata={}, valid_from="2030-01-01T00:00:00Z")
    nobodys = lead.correct(fact.fact_id, metadata={"owner": None})

    assert changed.metadata == {**entrusted, "k": 1}
    assert ahead.metadata == entrusted
    assert nobodys.metadata == {**entrusted, "owner": None}
    assert store.update(own.fact_id, metadata={"k": 2}).metadata == {"k": 2}


@pytest.mark.usefixtures("backend")
@pytest.mark.parametrize("policy", ["keep", "archive", "delete"])
def test_what_somebody_answered_for_is_dealt_with_when_they_leave(
    store: MemoryStore, policy: Policy
) -> None:
    lead = store.acting_as(LEAD)
    mine = lead.remember("team rule", scope=TEAM)
    lead.entrust(mine.fact_id, owner="u-4")
    _, copy = shared(store)
    store.place_hold(scope=TEAM, matter="case 9", hold_id="h-9", fact_id=copy)

    done = lead.hand_over("u-1", scope=TEAM, policy=policy, to="u-5", reason=REASON)
    again = lead.hand_over("u-1", scope=TEAM, policy=policy, to="u-5", reason=REASON)

    assert done.fact_ids == (copy,)
    assert again.fact_ids == ()
    assert done.deferred == ((copy,) if policy == "delete" else ())
    known = {each.fact.fact_id: each.owner for each in store.list_shared(scope=TEAM)}
    expected = {mine.fact_id: "u-4"} | ({copy: "u-5"} if policy == "keep" else {})
    assert known == expected
    if policy == "archive":
        lead.restore(copy)
        assert store.get(copy).content == CANARY


def test_a_policy_of_deleting_needs_the_right_to_and_a_second_pair_of_eyes(
    tmp_path: Path,
) -> None:
    settings = Settings(
        database_url=f"sqlite:///{tmp_path}/store/ledger.db",
        embedder="none",
        upkeep=False,
        approve_above=0,
        shared_policy="delete",
    )
    with MemoryStore.open(settings) as store:
        store.remember("rule", scope=ORG, metadata={"owner": "u-1"})
        shared(store)

        with pytest.raises(AccessDeniedError):
            store.acting_as(ADMINISTRATOR).hand_over("u-1", scope=ORG, reason=REASON)
        with pytest.raises(ApprovalRequiredError):
            store.acting_as(LEAD).hand_over("u-1", scope=TEAM, reason=REASON)
        with pytest.raises(InvalidValueError):
            store.acting_as(LEAD).hand_over("u-1", scope=TEAM, policy="keep", to="u-1")
