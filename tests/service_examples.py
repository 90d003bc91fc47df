"""
The examples of the OpenAPI document: what a running service is sent, and answers.

`muniment/api/http/examples.json` is what this prints; run
``python -m tests.service_examples`` after a request or an answer changed its shape.
"""

import json
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final

import httpx

from muniment import MemoryStore, Principal, RetentionRule, Scope, Settings
from muniment.api.operation import Operation
from muniment.api.rollbacks import Cause
from muniment.client import Client
from muniment.domain.access import Kind, Role
from tests.served import key_of, served


FILE: Final = Path(__file__).parents[1] / "muniment" / "api" / "http" / "examples.json"
TEAM: Final = Scope.team("eng")
USER: Final = "u-123"
EVERYBODY: Final = Principal(id=USER, roles=tuple(Role), memberships=("lead_of:eng",))
AGENT: Final = Principal(id="a-7", kind=Kind.AGENT, user_id=USER)
WHY: Final = "核查投诉 2026-17 号"
ITEMS_MAX: Final = 2
"""So many of a list show what it is a list of."""

_SECRET: Final = re.compile(r"(mnm_[0-9a-z]{26}_)[0-9a-f]{64}")


class Noting(Client):
    """A client that keeps of each verb the first request, and its answer."""

    noted: dict[str, dict[str, Any]]

    def _sent(
        self, operation: Operation, /, *args: object, **given_: object
    ) -> httpx.Response:
        # Most of them need none of the subject, and all of an officer.
        response = super()._sent(operation, *args, **{"reason": WHY, **given_})
        request, verb = response.request, operation.verb
        if verb not in self.noted:
            self.noted[verb] = {}
            if request.content:
                self.noted[verb]["request"] = shortened(json.loads(request.content))
            if response.headers["content-type"] == "application/json":
                self.noted[verb]["response"] = shortened(response.json())
        return response


def shortened(value: Any) -> Any:  # noqa: ANN401 - JSON
    """Return *value* with the first of every list, and no secret."""
    match value:
        case str():
            return _SECRET.sub(lambda found: found[1] + "0" * 64, value)
        case list():
            return [shortened(each) for each in value[:ITEMS_MAX]]
        case dict():
            return {name: shortened(each) for name, each in value.items()}
        case _:
            return value


class Clock:
    """Goes on a minute with every look at it."""

    def __init__(self) -> None:
        self.now = datetime.fromisoformat("2026-03-25T10:30:00+08:00")

    def __call__(self) -> datetime:
        self.now += timedelta(minutes=1)
        return self.now


def made() -> str:
    """Return the examples by verb, as JSON."""
    with tempfile.TemporaryDirectory() as place:
        settings = Settings(
            database_url=f"sqlite:///{place}/store/ledger.db",
            embedder="none",
            upkeep=False,
            rate_limit=1_000_000,
        )
        with MemoryStore.open(settings, clock=Clock()) as store, noting(store) as client:
            remember(client)
            converse(client, store)
            look(client)
            share(client, store)
            keep(client, store, Path(place))
            take_back(client)
            end(client)
            noted = client.noted
    return json.dumps(noted, ensure_ascii=False, indent=1, sort_keys=True) + "\n"


@contextmanager
def noting(store: MemoryStore) -> Iterator[Noting]:
    with served(store) as url, Noting(url, api_key=key_of(store, EVERYBODY)) as client:
        client.noted = {}
        yield client


def remember(client: Client) -> None:
    session = client.start_session(user_id=USER, agent="客服", metadata={"thread": 7})
    turn = client.add_turn(
        session.session_id,
        role="user",
        content="我主要写 Python",
        uttered_at="2026-03-25T10:30:05+08:00",
        idempotency_key="msg-81/1",
    )
    fact = client.remember(
        "用户主要写 Python",
        user_id=USER,
        category="profession",
        attribute="primary_language",
        confidence=0.9,
        entities=["Python"],
        session_id=session.session_id,
        source_turns=[turn.turn_id],
    )
    drinks = client.remember_many(
        ["lives in Hangzhou", {"content": "爱喝绿茶", "category": "taste"}],
        user_id=USER,
        reason="import of the profile",
    )
    client.update(fact.fact_id, content="用户转到 Rust", reason="said so today")
    client.correct(fact.fact_id, content="用户是 Rust 工程师", expected_version=2)
    tea = client.remember("likes green tea", user_id=USER, category="taste")
    client.merge(tea.fact_id, into=drinks.fact_ids[-1])
    client.restore(tea.fact_id)
    client.end(tea.fact_id, valid_to="2026-04-01T00:00:00+08:00")
    client.forget(tea.fact_id, reason="nobody relies on it")


def converse(client: Client, store: MemoryStore) -> None:
    (session,) = store.list_sessions(user_id=USER)
    fact = store.get_all(user_id=USER).items[0]
    turns = client.add_turns(
        session.session_id,
        turns=[
            {"role": "assistant", "content": "记下了。"},
            {"role": "user", "content": "I moved to Hangzhou in January."},
        ],
    )
    client.get_session(session.session_id)
    client.list_sessions(user_id=USER)
    client.get_turns(session.session_id)
    client.get_turn(turns[0].turn_id)
    client.get_turns_before(user_id=USER, timestamp=turns[1].recorded_at)
    client.get_source_turns(fact.fact_id)
    client.get_facts_of_turn(f"{session.session_id}.1")
    (summary,) = client.summarize_session(session.session_id, force=True, keep=1)
    client.get_summaries(session.session_id)
    client.withdraw_summary(session.session_id, version=summary.version)
    client.record_config("prompt", "简短地回答", reason="release 12")
    client.get_config_as_of(store.get_all(user_id=USER).recorded_at)
    client.search("用户写什么语言?", user_id=USER, limit=3, explain=True)
    client.build_context("Which language?", user_id=USER, budget_tokens=500, language="zh")
    client.search("tea", user_id="u-nobody", scopes=())
    client.flush_receipts()
    client.get_receipts(user_id=USER)
    client.get_stray_receipts()
    client.count_lost_receipts()
    client.get_uses(fact.fact_id)
    client.end_session(session.session_id)


def look(client: Client) -> None:
    client.whoami()
    page = client.get_all(user_id=USER, limit=2)
    first = page.items[0]
    now, then = page.recorded_at, first.recorded_at
    client.get(first.fact_id)
    client.get_fact_history(first.fact_id)
    client.get_memory_as_of(user_id=USER, timestamp=then)
    client.diff_memory(user_id=USER, time_a=then, time_b=now)
    client.list_modified_facts(user_id=USER, start=then)
    client.blame(user_id=USER)
    client.why("Rust", user_id=USER)
    client.reproduce_badcase(user_id=USER, timestamp=now)
    client.get_all(user_id="u-other")
    client.access_log(limit=2)


def share(client: Client, store: MemoryStore) -> None:
    mine = store.get_all(user_id=USER).items[0]
    client.propose_share(mine.fact_id, to=TEAM, review_at="2027-01-01T00:00:00Z")
    theirs = [
        store.remember(words, user_id="u-2").fact_id for words in ("部署在周五冻结", "no")
    ]
    proposed = [store.propose_share(each, to=TEAM, actor="u-2") for each in theirs]
    client.list_proposals(scope=TEAM)
    client.approve(proposed[0].proposal_id, reason="everybody needs it")
    client.reject(proposed[1].proposal_id, reason="says nothing")
    (shared,) = client.list_shared(scope=TEAM)
    client.entrust(shared.fact.fact_id, owner="u-2", review_at="2026-12-01T00:00:00Z")
    client.hand_over("u-2", scope=TEAM, policy="keep", to=USER, reason="left the team")
    on_call = replace(EVERYBODY, id="u-9", roles=(Role.ON_CALL,))
    store.acting_as(on_call).get_all(user_id=USER, reason=WHY, break_glass=True)
    (glass,) = client.list_broken_glass(reason=WHY)
    client.review_broken_glass(glass.glass_id, reason="事故 88 号, in order")


def keep(client: Client, store: MemoryStore, place: Path) -> None:
    made = client.issue_api_key(AGENT, verbs=["search", "remember"], reason="new agent")
    rolled = client.roll_api_key(made.key_id)
    client.revoke_api_key(rolled.key_id, reason="it leaked")
    client.list_api_keys()
    rules = [RetentionRule(category="taste", unused_for_us=86_400_000_000)]
    client.plan_retention(rules, user_id=USER)
    client.retain(rules, user_id=USER)
    client.report_retention(user_id=USER)
    for each in ("origin", "public_key"):
        getattr(client, each)
    client.tree_head()
    client.prove(1)
    client.prove_consistency(1)
    client.verify()
    client.index_progress()
    client.catch_up()
    client.reconcile()
    client.reindex(embedder="none")
    client.rebuild()
    client.rotate_key()
    client.plan_archive()
    client.archive()
    client.prune()
    client.query_archive("SELECT count(*) AS events FROM events")
    client.export(user_id=USER)
    with MemoryStore.open("memory://") as another:
        another.remember("爱听爵士乐", user_id="u-124")
        client.import_export(another.export(user_id="u-124").document)
    client.export_evidence(
        place / "evidence.zip",
        reason=WHY,
        user_id=USER,
        matter="案 4711",
        points=[store.get_all(user_id=USER).recorded_at],
    )


def take_back(client: Client) -> None:
    fact = client.remember("住在北京", user_id=USER, category="home")
    client.update(fact.fact_id, content="lives in Tianjin", session_id="chat-8")
    plan = client.plan_rollback(user_id=USER, where=Cause(session_id="chat-8"))
    done = client.apply(plan, reason="poisoned")
    assert done.tx_id is not None, "there was something to take back"
    client.undo(done.tx_id, reason="it was not")
    client.rollback_fact(fact.fact_id, to_version=1)
    client.rollback_where(user_id=USER, session_id="chat-8", on_conflict="skip")
    client.rollback_to_timestamp(user_id=USER, rollback_to=fact.recorded_at)
    client.freeze(user_id=USER, hide=True, reason="事故 88 号")
    client.thaw(user_id=USER, reason="looked into")


def end(client: Client) -> None:
    (session,) = client.list_sessions(user_id=USER)
    client.place_hold(user_id=USER, matter="案 4711", hold_id="h-1")
    client.list_holds(user_id=USER)
    client.release_hold("h-1", user_id=USER, reason="case closed")
    client.redact_turn(f"{session.session_id}.1", reason="asked for by the person")
    client.redact_session(session.session_id, reason="asked for by the person")
    client.plan_erasure(user_id=USER)
    certificate = client.erase(user_id=USER, reason="本人要求删除")
    assert certificate.subject_ref is not None, "somebody was erased"
    client.erasure_certificate(certificate.subject_ref)


if __name__ == "__main__":
    FILE.write_text(made(), encoding="utf-8")
