"""Several write what a team remembers: nothing is lost, and who leads it decides."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from muniment import MemoryStore, Principal, Scope, Settings
from muniment.errors import ChangeContestedError, VersionConflictError
from tests.access.matrix import IDENTITIES


SUBJECT, LEAD = IDENTITIES["subject"], IDENTITIES["lead"]
OTHER_LEAD = Principal(id="u-5", memberships=("lead_of:eng",))
TEAM = Scope.team("eng")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[MemoryStore]:
    settings = Settings(
        database_url=f"sqlite:///{tmp_path}/store/ledger.db",
        embedder="none",
        upkeep=False,
        truth_sources=frozenset({"hr"}),
    )
    with MemoryStore.open(settings) as store:
        yield store


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
    assert store.list_proposals(user_id="u-1") == ()
