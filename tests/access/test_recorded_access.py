"""A look at another's memory, or at the past, is in the ledger before it is answered."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from muniment import MemoryStore, Principal, Scope
from muniment.api.accesses import AccessRecords
from muniment.domain.access import Kind, Role
from muniment.errors import (
    AccessDeniedError,
    DatabaseUnavailableError,
    ForeignTenantError,
    GlassAlreadyBrokenError,
    ImpersonationError,
    OutOfReachError,
    ReasonRequiredError,
    UnknownFactError,
    UnknownGlassError,
)
from tests.access.matrix import IDENTITIES, REASON
from tests.forgetting.traces import traces
from tests.stores import SECOND, Backend, SettableClock
from tests.zones import in_zone


OFFICER, AUDITOR = IDENTITIES["officer"], IDENTITIES["auditor"]
SUBJECT, ON_CALL = IDENTITIES["subject"], IDENTITIES["on_call"]
AGENT = IDENTITIES["agent"]
CANARY = "住在杭州 canary-7431"
NEW_YEAR = "2026-01-01T00:00:00Z"


def test_what_was_looked_at_is_recorded_on_every_backend_and_outlasts_a_reopening(
    backend: Backend,
) -> None:
    with backend.open() as store:
        fact = store.remember(CANARY, user_id="u-1")
        now = fact.recorded_at
        snapshot = store.acting_as(OFFICER).get_memory_as_of(
            user_id="u-1", timestamp=now, reason=REASON, matter="case 4711"
        )
        again = store.get_memory_as_of(user_id="u-1", timestamp=now)

        assert snapshot == again
        (entry,) = store.access_log(user_id="u-1")
        assert (entry.actor, entry.standing) == ("o-1", "compliance_officer")
        assert (entry.verb, entry.scope) == ("get_memory_as_of", Scope.user("u-1"))
        assert (entry.reason, entry.matter) == (REASON, "case 4711")
        assert entry.returned == ((fact.fact_id, 1),)
        assert entry.count == 1
        assert entry.query == {"timestamp": now.isoformat().replace("+00:00", "Z")}
        assert entry.recorded_at > now
        assert store.verify()
        assert store.rebuild() == 1


@pytest.mark.parametrize(
    "reason", [None, "", "   ", "audit", " \n\t  \u3000 a", "\u200b" * 20, "合规调查", 7]
)
def test_a_reason_that_says_nothing_answers_nothing_and_records_nothing(
    store: MemoryStore,
    reason: Any,  # noqa: ANN401 - whatever is sent
) -> None:
    """C11: no reason, no answer."""
    store.remember(CANARY, user_id="u-1")
    before = store.verify().events

    with pytest.raises(ReasonRequiredError) as caught:
        store.acting_as(OFFICER).blame(user_id="u-1", reason=reason)

    assert "canary" not in str(caught.value)
    assert store.verify().events == before
    assert len(store.access_log()) == 0


def test_an_access_that_cannot_be_recorded_is_not_answered(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """C11: the record comes before the answer, or there is none."""
    fact = store.remember(CANARY, user_id="u-1")

    def full(*_: object) -> None:
        raise DatabaseUnavailableError("database or disk is full")

    monkeypatch.setattr(AccessRecords, "record", full)
    acting = store.acting_as(OFFICER)

    calls: list[Callable[[], object]] = [
        lambda: acting.get_fact_history(fact.fact_id, reason=REASON),
        lambda: acting.search("杭州", user_id="u-1", reason=REASON),
        lambda: acting.access_log(user_id="u-1", reason=REASON),
    ]
    for call in calls:
        with pytest.raises(DatabaseUnavailableError):
            call()


def test_reading_the_record_is_recorded_too_and_nobody_takes_it_back(
    store: MemoryStore,
) -> None:
    """C12: who reads the record is in it, and cannot take that back."""
    store.remember(CANARY, user_id="u-1")
    officer, auditor = store.acting_as(OFFICER), store.acting_as(AUDITOR)

    officer.get_all(user_id="u-1", reason=REASON)
    seen = auditor.access_log(user_id="u-1", reason="quarterly review")
    everything = auditor.access_log(reason="quarterly review")

    assert [each.verb for each in seen] == ["get_all"]
    assert [each.verb for each in everything] == ["access_log", "get_all"]
    log = store.access_log()
    assert [each.verb for each in log] == ["access_log", "access_log", "get_all"]
    assert [each.scope and str(each.scope) for each in log] == [
        None,
        "user:u-1",
        "user:u-1",
    ]
    for entry in log:
        with pytest.raises(Exception, match=r"changed no belief|no such transaction"):
            officer.undo(entry.tx_id, reason=REASON)


def test_the_log_comes_in_parts_without_gap_or_repeat_though_others_look_meanwhile(
    store: MemoryStore, clock: SettableClock
) -> None:
    store.remember(CANARY, user_id="u-1")
    officer = store.acting_as(OFFICER)
    for number in range(7):
        clock.now += SECOND
        officer.get_all(user_id="u-1", reason=f"look number {number}")

    reasons, cursor = [], None
    while True:
        page = store.access_log(user_id="u-1", limit=3, cursor=cursor)
        reasons += [each.reason for each in page]
        officer.get_all(user_id="u-1", reason="meanwhile somebody looks")
        cursor = page.next_cursor
        if cursor is None:
            break

    assert reasons == [f"look number {number}" for number in range(6, -1, -1)]


@pytest.mark.usefixtures("backend")
def test_a_person_sees_who_looked_but_not_what_a_hold_delays(store: MemoryStore) -> None:
    """C13: a person sees who read their memory."""
    store.remember(CANARY, user_id="u-1")
    officer, subject = store.acting_as(OFFICER), store.acting_as(SUBJECT)

    officer.blame(user_id="u-1", reason="before the hold")
    officer.place_hold(user_id="u-1", matter="case 1", hold_id="h-1", reason=REASON)
    officer.blame(user_id="u-1", reason="while it is held")
    during = subject.access_log(user_id="u-1")
    for_the_auditor = store.acting_as(AUDITOR).access_log(user_id="u-1", reason=REASON)
    officer.release_hold("h-1", user_id="u-1", reason=REASON)
    after = subject.access_log(user_id="u-1")

    assert [each.reason for each in during] == ["before the hold"]
    assert len(for_the_auditor) == 2
    assert [each.reason for each in after] == [
        REASON,
        "while it is held",
        "before the hold",
    ]


def test_an_erasure_takes_the_content_of_an_access_and_leaves_who_and_when(
    store: MemoryStore, backend: Backend
) -> None:
    store.remember(CANARY, user_id="u-1")
    store.acting_as(OFFICER).search(
        "canary-7431", user_id="u-1", reason="about canary-7431", matter="case canary-7431"
    )

    store.erase(user_id="u-1", reason="request 2026-18")
    (entry,) = store.access_log()

    assert (entry.actor, entry.standing, entry.verb, entry.count) == (
        *("o-1", "compliance_officer", "search"),
        1,
    )
    assert (entry.reason, entry.matter, entry.query, entry.scope) == (None,) * 4
    assert entry.returned == ()
    assert store.verify()
    store.close()
    assert traces(backend, "canary-7431") == []


def test_looking_for_somebody_nobody_knows_is_recorded_and_keeps_no_name(
    store: MemoryStore,
) -> None:
    found = store.acting_as(OFFICER).get_all(user_id="nobody-9", reason=REASON)

    assert len(found) == 0
    (entry,) = store.access_log()
    assert (entry.scope, entry.reason) == (None, REASON)
    assert "nobody-9" not in str(entry)
    assert store.plan_retention([]) == ()


def test_somebody_on_call_looks_once_until_another_has_reviewed_it(
    store: MemoryStore,
) -> None:
    fact = store.remember(CANARY, user_id="u-1")
    engineer, officer = store.acting_as(ON_CALL), store.acting_as(OFFICER)

    with pytest.raises(OutOfReachError):
        engineer.get_all(user_id="u-1", reason=REASON)
    with pytest.raises(UnknownFactError):
        engineer.get(fact.fact_id, reason=REASON)
    with pytest.raises(ReasonRequiredError):
        engineer.get_all(user_id="u-1", break_glass=True)
    found = engineer.get_all(user_id="u-1", reason=REASON, break_glass=True)
    with pytest.raises(GlassAlreadyBrokenError):
        engineer.get(fact.fact_id, reason=REASON, break_glass=True)
    (waiting,) = officer.list_broken_glass(reason="daily review")
    officer.review_broken_glass(waiting.glass_id, reason="it was needed 确有必要")

    assert [each.content for each in found] == [CANARY]
    assert (waiting.actor, waiting.scope) == ("o-4", Scope.user("u-1"))
    assert officer.list_broken_glass(reason="daily review").items == ()
    assert engineer.get(fact.fact_id, reason=REASON, break_glass=True) == fact
    broken = [each.actor for each in store.access_log() if each.glass_broken]
    assert broken == ["o-4", "o-4"]
    with pytest.raises(UnknownGlassError):
        officer.review_broken_glass("0" * 32, reason=REASON)


def test_an_emergency_about_somebody_erased_since_is_reviewed_before_there_is_another(
    backend: Backend,
) -> None:
    with backend.open() as store:
        for user in ("u-1", "u-2"):
            store.remember(CANARY, user_id=user)
        engineer, officer = store.acting_as(ON_CALL), store.acting_as(OFFICER)
        another = store.acting_as(replace(ON_CALL, id="o-9"))
        engineer.get_all(user_id="u-2", reason=REASON, break_glass=True)
        store.erase(user_id="u-2", reason="request 2026-19")
        store.remember("住在上海", user_id="u-2")

        for user in ("u-2", "u-1"):  # who was erased cannot be told any more
            with pytest.raises(GlassAlreadyBrokenError, match="erased since"):
                engineer.get_all(user_id=user, reason=REASON, break_glass=True)
        assert len(another.get_all(user_id="u-1", reason=REASON, break_glass=True)) == 1
        waiting, others = store.list_broken_glass()
        with pytest.raises(AccessDeniedError, match="its own access"):
            store.review_broken_glass(waiting.glass_id, actor="o-4")
        reviewed = officer.review_broken_glass(waiting.glass_id, reason="情况紧急,确有必要")
        with pytest.raises(UnknownGlassError):
            officer.review_broken_glass(waiting.glass_id, reason="and once more 再一次")

        assert (waiting.actor, waiting.scope) == ("o-4", None)
        assert reviewed.tx_id is not None
        assert store.list_broken_glass().items == (others,)
        found = engineer.get_all(user_id="u-2", reason=REASON, break_glass=True)
        assert [each.content for each in found] == ["住在上海"]
        assert store.verify()


def test_nobody_reviews_their_own_emergency(store: MemoryStore) -> None:
    both = Principal(id="o-5", roles=(Role.ON_CALL, Role.COMPLIANCE_OFFICER))
    store.remember(CANARY, user_id="u-1")
    on_call = replace(both, roles=(Role.ON_CALL,))
    store.acting_as(on_call).get_all(user_id="u-1", reason=REASON, break_glass=True)
    (waiting,) = store.list_broken_glass()

    with pytest.raises(AccessDeniedError, match="its own access"):
        store.acting_as(both).review_broken_glass(waiting.glass_id, reason=REASON)


def test_an_access_outdates_no_plan_and_is_no_change(store: MemoryStore) -> None:
    fact = store.remember(CANARY, user_id="u-1")
    store.update(fact.fact_id, content="住在上海")
    plan = store.plan_rollback(fact_id=fact.fact_id, to_version=1)

    store.acting_as(OFFICER).blame(user_id="u-1", reason=REASON)
    receipt = store.apply(plan)

    assert receipt.fact_ids == (fact.fact_id,)
    modified = store.list_modified_facts(user_id="u-1", start=NEW_YEAR)
    assert [each.kind for each in modified[0].versions] == [
        *("asserted", "revised", "rolled_back"),
    ]


def test_who_writes_is_who_asks_whatever_an_argument_says(store: MemoryStore) -> None:
    acting = store.acting_as(SUBJECT)

    fact = acting.remember("likes tea", user_id="u-1", idempotency_key="k")
    for field in ("actor", "issued_by"):
        with pytest.raises(ImpersonationError, match="root"):
            acting.remember("likes jazz", user_id="u-1", **forged(field))
    agent = store.acting_as(AGENT)
    by_agent = agent.remember("writes Rust", user_id="u-1", idempotency_key="k")

    versions = store.get_fact_history(fact.fact_id).versions
    assert [each.actor for each in versions] == ["u-1"]
    # The same key of another principal is another key.
    assert by_agent.fact_id != fact.fact_id
    assert by_agent.source == "agent:a-1"
    hits = store.search("Rust tea", user_id="u-1", source="agent:a-1")
    assert [each.fact_id for each in hits] == [by_agent.fact_id]


def forged(field: str) -> dict[str, Any]:
    return {field: "root"}


def test_a_search_of_several_memories_is_a_look_at_each(store: MemoryStore) -> None:
    for user in ("u-1", "u-2"):
        store.remember(f"{user} likes tea", user_id=user)
    scopes = (each for each in ("user:u-1", "user:u-2", "org"))

    hits = store.acting_as(OFFICER).search("tea", scopes=scopes, reason=REASON)
    with pytest.raises(OutOfReachError):
        store.acting_as(SUBJECT).search("tea", scopes=["user:u-1", "user:u-2"])

    assert len(hits) == 2
    assert {str(each.scope) for each in store.access_log()} == {"user:u-1", "user:u-2"}


def test_a_principal_of_another_tenant_gets_no_store(store: MemoryStore) -> None:
    with pytest.raises(ForeignTenantError):
        store.acting_as(replace(OFFICER, tenant="acme"))

    assert store.acting_as(replace(OFFICER, tenant="main")).principal.id == "o-1"


@pytest.mark.parametrize(
    "zone", ["UTC", "Asia/Shanghai", "America/St_Johns", "Pacific/Apia", "Europe/Berlin"]
)
def test_the_time_of_an_access_is_the_same_in_every_zone(
    store: MemoryStore, zone: str
) -> None:
    store.remember(CANARY, user_id="u-1")
    with in_zone(zone):
        store.acting_as(OFFICER).get_all(user_id="u-1", reason=REASON)
        (entry,) = store.access_log()

    assert entry.recorded_at.isoformat() == "2026-01-01T00:00:00.000001+00:00"


def test_an_agent_that_is_named_like_a_user_is_not_that_user(store: MemoryStore) -> None:
    store.remember(CANARY, user_id="u-1")

    for kind in (Kind.AGENT, Kind.SERVICE):
        with pytest.raises(OutOfReachError):
            store.acting_as(Principal(id="u-1", kind=kind)).get_all(user_id="u-1")
