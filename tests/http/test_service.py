"""The service beside its rights: answers, problems, preconditions, limits, health."""

import gc
import json
import logging
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from muniment import Cause, MemoryStore, Principal, Records, RetentionRule, Scope
from muniment.api.http import serving
from muniment.api.turns import REDACTED
from muniment.errors import (
    IdempotencyConflictError,
    InvalidCursorError,
    NotFound,
    PlanOutdatedError,
    SubjectFrozenError,
    UnknownFieldError,
    VersionConflictError,
)
from tests.access.matrix import IDENTITIES, REASON
from tests.served import client_of, key_of, logged


OFFICER = IDENTITIES["officer"]
SHAPE = {"type", "title", "status", "detail", "error", "request_id", "facts"}


def person(name: str) -> Principal:
    return Principal(id=name)


@pytest.fixture
def raw(store: MemoryStore, url: str) -> Iterator[httpx.Client]:
    """Plain requests of a person named u-raw."""
    headers = {"Authorization": f"Bearer {key_of(store, person('u-raw'))}"}
    with httpx.Client(base_url=url, headers=headers) as raw:
        yield raw


def test_code_that_runs_embedded_runs_served_with_the_same_answers(
    store: MemoryStore, url: str
) -> None:
    with client_of(store, url, person("u-same")) as served:
        embedded = store.acting_as(person("u-same"))
        fact = served.remember(
            "用户写 Python",
            user_id="u-same",
            category="profession",
            valid_from=datetime(2021, 6, 1, tzinfo=UTC),
            metadata={"键": [1, 2.5, None, {"a": "🦀"}]},
            entities=["Python"],
        )
        served.update(fact.fact_id, content="用户转到 Rust", expected_version=1)
        served.remember_many(
            ["likes tea", {"content": "茶", "core": True}], user_id="u-same"
        )
        now = embedded.get_all(user_id="u-same").recorded_at
        asked: dict[str, Any] = {"user_id": "u-same", "timestamp": now}

        assert served.get(fact.fact_id) == embedded.get(fact.fact_id)
        history = embedded.get_fact_history(fact.fact_id)
        assert served.get_fact_history(fact.fact_id) == history
        assert served.get_memory_as_of(**asked) == embedded.get_memory_as_of(**asked)
        assert served.blame(user_id="u-same") == embedded.blame(user_id="u-same")
        span: dict[str, Any] = {
            "user_id": "u-same",
            "time_a": fact.recorded_at,
            "time_b": now,
        }
        assert served.diff_memory(**span) == embedded.diff_memory(**span)
        since: dict[str, Any] = {"user_id": "u-same", "start": fact.recorded_at}
        assert served.list_modified_facts(**since) == embedded.list_modified_facts(**since)
        found = served.search("rust 茶", scopes=[Scope.user("u-same")], explain=True)
        hits = embedded.search("rust 茶", user_id="u-same", explain=True)
        assert [each.fact for each in found] == [each.fact for each in hits]
        plan = served.plan_rollback(user_id="u-same", where=Cause(actor="u-same"))
        made = served.apply(plan, reason="all of it was wrong")
        assert made.diff
        assert made.tx_id is not None
        assert len(made.diff.removed) == 3
        undone = served.undo(made.tx_id).diff
        assert undone is not None
        assert undone.added
        assert served.public_key == store.public_key
        assert served.whoami() == person("u-same")


def test_a_conversation_goes_over_http_as_embedded(store: MemoryStore, url: str) -> None:
    with client_of(store, url, person("u-talk")) as served:
        embedded = store.acting_as(person("u-talk"))
        session = served.start_session(user_id="u-talk", metadata={"channel": "微信"})
        turn = served.add_turn(
            session.session_id,
            role="user",
            content="我喜欢茶",
            uttered_at="2026-03-01T09:00:00+08:00",
        )
        served.add_turns(session.session_id, turns=[{"role": "assistant", "content": "好"}])
        fact = served.remember("喜欢茶", user_id="u-talk", source_turns=[turn.turn_id])
        context = served.build_context("茶", user_id="u-talk", language="zh")

        assert turn.utc_offset == timedelta(hours=8)
        assert served.get_session(session.session_id) == session
        assert served.list_sessions(user_id="u-talk") == (session,)
        turns = embedded.get_turns(session.session_id)
        assert served.get_turns(session.session_id) == turns
        assert served.get_turn(turn.turn_id) == turn
        assert served.get_source_turns(fact.fact_id) == (turn,)
        assert served.get_facts_of_turn(turn.turn_id)[0].fact_id == fact.fact_id
        assert "喜欢茶" in context.text
        assert served.why("茶", user_id="u-talk").fact_id == fact.fact_id
        served.end_session(session.session_id)
        assert served.redact_turn(turn.turn_id).fact_ids == (fact.fact_id,)
        assert served.get_turn(turn.turn_id).token == REDACTED
        served.redact_session(session.session_id, facts="keep")
        stranger = client_of(store, url, person("u-stranger"))
        with stranger, pytest.raises(NotFound, match="no such session"):
            stranger.get_turns(session.session_id)


def test_what_an_officer_does_over_http_is_as_embedded(
    store: MemoryStore, url: str
) -> None:
    with client_of(store, url, OFFICER) as officer:
        store.remember("喜欢茶", user_id="u-held")

        officer.place_hold(
            user_id="u-held", matter="案件 4711", hold_id="h/1", reason=REASON
        )
        (hold,) = officer.list_holds(user_id="u-held", reason=REASON, matter="案件 100%")
        deferred = officer.erase(user_id="u-held", reason=REASON)
        officer.release_hold("h/1", user_id="u-held", reason=REASON)
        certificate = officer.erasure_certificate(str(deferred.subject_ref))
        log = officer.access_log(reason=REASON, limit=1)
        rules = [RetentionRule(category=None, older_than_us=1_000_000)]
        rules.append(RetentionRule(records=Records.TURN, older_than_us=1_000_000))
        due = officer.plan_retention(rules, user_id="u-held", reason=REASON)
        report = officer.report_retention(rules, user_id="u-held", reason=REASON)

    assert (hold.hold_id, hold.matter) == ("h/1", "案件 4711")
    assert str(deferred.status) == "DEFERRED"
    assert certificate is not None
    assert certificate.text is not None
    assert str(certificate.status) in ("DONE", "PARTIAL")
    assert certificate.text.startswith(store.origin)
    assert (log.items[0].verb, log.items[0].actor) == ("list_holds", "o-1")
    assert due == ()
    assert (str(report.status), report.acts) == ("DONE", ())
    assert report.text.startswith(store.origin)


def test_a_problem_has_one_shape_and_names_the_request(raw: httpx.Client) -> None:
    missing = "/v1/facts/01m8nqhdc08zyb7218v6btq1av"
    mine = {"X-Request-Id": "req-7"}
    cases = [
        (raw.get(missing, headers=mine), 404, "UnknownFactError"),
        (raw.get("/v1/nowhere", headers=mine), 404, "NotFound"),
        (raw.put("/v1/facts", headers=mine), 405, "MethodNotAllowed"),
        (raw.get("/v1/facts", headers=mine), 422, "InvalidInput"),
        (
            raw.get("/v1/facts?scope=user:u-raw&catgory=x", headers=mine),
            422,
            "InvalidInput",
        ),
        (raw.get("/v1/facts?scope=user:u-other", headers=mine), 404, "OutOfReachError"),
        (raw.get("/v1/accesses", headers=mine), 403, "AccessDeniedError"),
        (raw.post("/v1/facts", content=b"{", headers=mine), 422, "InvalidInput"),
        (
            raw.post("/v1/facts", content=b'{"a":' * 5_000, headers=mine),
            422,
            "InvalidInput",
        ),
    ]

    for answer, status, error in cases:
        body = answer.json()
        assert (answer.status_code, body["status"], body["error"]) == (
            status,
            status,
            error,
        )
        assert answer.headers["content-type"] == "application/problem+json"
        assert set(body) == SHAPE
        assert body["request_id"] == answer.headers["x-request-id"] == "req-7"


def test_a_fact_of_another_is_in_no_way_different_from_one_that_is_not_there(
    store: MemoryStore, raw: httpx.Client
) -> None:
    """Case M29: in the wrong scope a fact is not found, and not changed."""
    theirs = store.remember("canary-9", user_id="u-somebody").fact_id
    none = "01m8nqhdc08zyb7218v6btq1av"
    paths = ["", "/history", "?as_of=2020-01-01T00:00:00Z", "/update", "/merge", "/forget"]

    for path in paths:
        verb = "get" if path in ("", "/history") or "?" in path else "post"
        body = {"json": {"into": none}} if path == "/merge" else {}
        answers = [
            getattr(raw, verb)(f"/v1/facts/{each}{path}", **body) for each in (theirs, none)
        ]
        first, second = (each.text.replace(theirs, none) for each in answers)
        same = [json.loads(each) | {"request_id": ""} for each in (first, second)]
        assert same[0] == same[1], path
        assert answers[0].status_code == 404


def test_a_write_can_be_made_on_a_version_and_once(
    store: MemoryStore, url: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Case M37: a race that is lost is an answer like others, and no error in a log."""
    with client_of(store, url, person("u-once")) as client:
        fact = client.remember("likes tea", user_id="u-once", idempotency_key="键 1")
        again = client.remember("likes tea", user_id="u-once", idempotency_key="键 1")
        with pytest.raises(IdempotencyConflictError):
            client.remember("likes jazz", user_id="u-once", idempotency_key="键 1")
        client.update(fact.fact_id, content="likes coffee", expected_version=1)
        with pytest.raises(VersionConflictError) as caught:
            client.update(fact.fact_id, content="likes water", expected_version=1)
        plan = client.plan_rollback(fact_id=fact.fact_id, to_version=1)
        client.end(fact.fact_id)
        with pytest.raises(PlanOutdatedError):
            client.apply(plan)

    assert [each for each in caplog.records if each.levelno >= logging.WARNING] == []
    assert again == fact
    assert (caught.value.expected, caught.value.actual) == (1, 2)


def test_every_view_of_one_history_has_times_that_sort_as_its_transactions_do(
    store: MemoryStore, url: str
) -> None:
    """Cases B27 and M5: one precision and one form of time, whatever shows it."""
    with client_of(store, url, person("u-times")) as client:
        fact = client.remember("likes tea", user_id="u-times")
        for number in range(5):
            client.update(fact.fact_id, content=f"likes tea {number}")
    store.acting_as(OFFICER).blame(user_id="u-times", reason=REASON)
    path = f"/v1/facts/{fact.fact_id}"
    headers = {"Authorization": f"Bearer {key_of(store, person('u-times'))}"}
    with httpx.Client(base_url=url, headers=headers) as raw:
        versions = raw.get(f"{path}/history").json()["versions"]
        blamed = raw.get("/v1/memory/blame?scope=user:u-times").json()["items"]
        looks = raw.get("/v1/accesses?scope=user:u-times").json()["items"]
        now = raw.get(path).json()
    exported = store.export(user_id="u-times").document.transactions

    seen = [(each["tx_id"], each["recorded_at"]) for each in (*versions, *looks, now)]
    seen += [(each["said_by"]["tx_id"], each["said_by"]["recorded_at"]) for each in blamed]
    seen += [(each.tx_id, each.recorded_at) for each in exported]
    assert all(re.fullmatch(r".*T..:..:..\.\d{6}Z", at) for _, at in seen)
    assert sorted(seen) == sorted(seen, key=lambda each: each[1])
    assert len(dict(seen)) == len(set(seen))


def test_an_etag_is_what_if_match_takes(raw: httpx.Client) -> None:
    made = raw.post("/v1/facts", json={"scope": "user:u-raw", "content": "drinks tea"})
    path = f"/v1/facts/{made.json()['fact_id']}"
    tag = raw.get(path).headers["etag"]

    first = raw.post(f"{path}/update", json={"content": "a"}, headers={"If-Match": tag})
    second = raw.post(f"{path}/update", json={"content": "b"}, headers={"If-Match": tag})
    wrong = raw.post(f"{path}/update", json={"content": "b"}, headers={"If-Match": "*"})

    assert made.status_code == 201
    assert (first.status_code, second.status_code, wrong.status_code) == (200, 412, 422)


def test_a_read_says_where_it_was_read_and_says_the_same_when_asked_as_of_that(
    raw: httpx.Client,
) -> None:
    body = {"scope": "user:u-raw", "content": "reads itself again"}
    fact_id = raw.post("/v1/facts", json=body).json()["fact_id"]
    first = raw.get(f"/v1/facts/{fact_id}")
    raw.post(f"/v1/facts/{fact_id}/update", json={"content": "something else"})
    point = {
        "as_of": first.headers["Muniment-Recorded-At"],
        "valid_at": first.headers["Muniment-Valid-At"],
    }

    again = raw.get(f"/v1/facts/{fact_id}", params=point)
    later = raw.get(f"/v1/facts/{fact_id}")
    history = raw.get(f"/v1/facts/{fact_id}/history")
    listed = raw.get("/v1/facts", params={"scope": "user:u-raw"})

    assert again.json() == first.json() != later.json()
    assert again.headers["Muniment-Position"] == first.headers["Muniment-Position"]
    for each in (later, history, listed):
        assert int(each.headers["Muniment-Position"]) > int(
            first.headers["Muniment-Position"]
        )
    assert listed.json()["recorded_at"] == listed.headers["Muniment-Recorded-At"]


def test_a_list_comes_in_parts_whose_cursors_belong_to_it(
    store: MemoryStore, url: str
) -> None:
    with client_of(store, url, person("u-list")) as client:
        client.remember_many([f"fact {number}" for number in range(7)], user_id="u-list")
        seen, cursor = [], None
        while True:
            page = client.get_all(user_id="u-list", limit=3, cursor=cursor)
            seen += [str(each.content) for each in page]
            cursor = page.next_cursor
            if cursor is None:
                break
            kept = cursor
        with pytest.raises(InvalidCursorError):
            client.get_all(user_id="u-list", category="x", cursor=kept)

    assert sorted(seen) == [f"fact {number}" for number in range(7)]


def test_a_body_over_the_limit_is_refused_whether_it_says_so_or_not(
    raw: httpx.Client,
) -> None:
    part = b"x" * 65_536

    said = raw.post("/v1/facts", content=part * 17)
    streamed = raw.post("/v1/facts", content=(part for _ in range(17)))

    for answer in (said, streamed):
        assert answer.status_code == 413
        assert answer.json()["facts"] == {"limit": 1_048_576}


def test_a_frozen_memory_is_locked_and_says_so(store: MemoryStore, url: str) -> None:
    store.freeze(user_id="u-frozen")

    client = client_of(store, url, person("u-frozen"))
    with client, pytest.raises(SubjectFrozenError, match="u-frozen"):
        client.remember("likes tea", user_id="u-frozen")


def test_a_client_refuses_what_the_service_has_not(store: MemoryStore, url: str) -> None:
    with client_of(store, url, person("u-1")) as client:
        with pytest.raises(UnknownFieldError):
            client.get_all(user_id="u-1", limitt=3)  # type: ignore[call-arg]
        with pytest.raises(AttributeError):
            client.close_everything()  # type: ignore[attr-defined]
        with pytest.raises(NotFound):
            client.get("no/such?fact#%2e%2e")


def test_the_service_is_alive_and_ready_and_says_how_far_its_index_is(url: str) -> None:
    alive, ready = httpx.get(f"{url}/healthz"), httpx.get(f"{url}/readyz")

    assert alive.json() == {"status": "alive"}
    assert ready.json()["status"] == "ready"
    assert ready.json()["index_lag"] in (None, 0)
    for place in ("healthz", "readyz"):
        head = httpx.head(f"{url}/{place}")
        assert (head.status_code, head.content) == (200, b"")


def test_a_line_is_logged_for_each_request_and_holds_no_content(
    raw: httpx.Client,
) -> None:
    with logged() as said:
        raw.post("/v1/facts", json={"scope": "user:u-raw", "content": "canary-31"})
        raw.post("/v1/search", json={"scope": "user:u-raw", "query": "canary-31"})
        raw.get("/v1/facts?scope=user:u-canary-31")
        text = [said.get(timeout=10) for _ in range(3)]

    lines = [json.loads(each) for each in text]
    assert sorted(each["status"] for each in lines) == [200, 201, 404]
    assert {each["route"] for each in lines} == {"/v1/facts", "/v1/search"}
    assert "canary-31" not in str(text)
    assert "u-raw" not in str(text)


def test_what_is_there_when_it_listens_is_no_work_for_the_collector(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While it looks through all there is, every request waits."""
    monkeypatch.setattr(serving, "log_to_stderr", lambda: None)
    left: list[int] = []

    def started(url: str) -> None:
        assert url.startswith("http://127.0.0.1:")
        left.append(len(gc.get_objects()))
        raise EOFError

    before = len(gc.get_objects())
    try:
        with pytest.raises(EOFError):
            serving.serve(store, host="127.0.0.1", port=0, started=started)
    finally:
        gc.unfreeze()

    assert left[0] < before / 100
