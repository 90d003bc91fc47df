"""What is restricted reaches those who may see it, and in no part anybody else."""

from collections.abc import Callable
from typing import Any

import pytest

from muniment import MemoryStore, Scope
from muniment.errors import (
    AccessDeniedError,
    UnknownFactError,
)
from tests.access.matrix import IDENTITIES, REASON


SUBJECT, OFFICER, AGENT = (IDENTITIES[each] for each in ("subject", "officer", "agent"))
CANARY = "住在杭州 canary-7431"
NEW_YEAR = "2026-01-01T00:00:00Z"


def test_what_is_restricted_reaches_the_subject_and_no_agent(store: MemoryStore) -> None:
    subject, agent = store.acting_as(SUBJECT), store.acting_as(AGENT)
    fact = subject.remember(CANARY, user_id="u-1", metadata={"access_level": "restricted"})
    plain = subject.remember("likes tea", user_id="u-1", metadata={"access_level": "open"})
    now = store.get_all(user_id="u-1").recorded_at
    asked: dict[str, Any] = {"user_id": "u-1", "reason": REASON}

    visible = [
        *agent.get_all(user_id="u-1"),
        *(hit.fact for hit in agent.search("canary-7431", user_id="u-1")),
        *agent.get_memory_as_of(timestamp=now, **asked),
        *(each.fact for each in agent.blame(**asked)),
        *(
            each.after
            for each in agent.diff_memory(time_a=NEW_YEAR, time_b=now, **asked).added
        ),
        *(
            v
            for each in agent.list_modified_facts(start=NEW_YEAR, **asked)
            for v in each.versions
        ),
    ]

    assert {each.fact_id for each in visible} == {plain.fact_id}
    calls: list[Callable[[], object]] = [
        lambda: agent.get(fact.fact_id),
        lambda: agent.get_fact_history(fact.fact_id, reason=REASON),
        lambda: agent.correct(fact.fact_id, metadata={}),
        lambda: agent.forget(fact.fact_id),
        lambda: agent.merge(fact.fact_id, into=plain.fact_id),
    ]
    for call in calls:
        with pytest.raises(UnknownFactError):
            call()
    assert len(subject.get_all(user_id="u-1")) == 2


def test_whoever_says_again_what_is_restricted_learns_no_more_of_it(
    store: MemoryStore,
) -> None:
    hidden = {"access_level": "restricted", "diagnosis": "secret"}
    subject = store.acting_as(SUBJECT)
    subject.remember(CANARY, user_id="u-1", metadata=hidden, entities=["Dr. Wu"])

    said = store.acting_as(AGENT).remember(CANARY, user_id="u-1")

    assert said.content == CANARY
    assert "secret" not in str(said.metadata)
    assert said.entities == ()


def test_a_context_for_an_agent_is_written_without_what_is_restricted(
    store: MemoryStore,
) -> None:
    subject, agent = store.acting_as(SUBJECT), store.acting_as(AGENT)
    hidden = {"access_level": "restricted"}
    subject.remember(CANARY, user_id="u-1", metadata=hidden, core=True)
    subject.remember(f"{CANARY} again", user_id="u-1", metadata=hidden, attribute="home")
    plain = subject.remember("canary likes tea", user_id="u-1", core=True)
    now = store.get_all(user_id="u-1").recorded_at

    whole = subject.build_context("canary", user_id="u-1")
    part = agent.build_context("canary", user_id="u-1")

    assert CANARY in whole.text
    assert "7431" not in str(part)
    assert [each.fact_id for each in part.facts] == [plain.fact_id]
    with pytest.raises(AccessDeniedError, match="restricted then"):
        agent.build_context("canary", user_id="u-1", as_of=now, reason=REASON)


def test_what_nobody_defined_is_restricted(store: MemoryStore) -> None:
    store.remember(CANARY, scope=Scope.team("eng"), metadata={"access_level": "secret"})

    assert len(store.acting_as(IDENTITIES["member"]).get_all(scope=Scope.team("eng"))) == 0
    assert len(store.acting_as(IDENTITIES["lead"]).get_all(scope=Scope.team("eng"))) == 1


def test_of_two_rights_the_one_that_sees_more_counts(store: MemoryStore) -> None:
    store.remember(CANARY, scope=Scope.org(), metadata={"access_level": "restricted"})

    assert len(store.acting_as(OFFICER).get_all(scope=Scope.org())) == 1
    assert len(store.acting_as(SUBJECT).get_all(scope=Scope.org())) == 0
