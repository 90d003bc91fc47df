"""Memory as tools of a model, and a pipeline made personal: within what a host allows."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muniment import MemoryStore, Scope
from muniment.api.personalizing import FLOOR, WINDOW, Personalizer
from muniment.api.tools import SCHEMAS, MemoryTools
from tests.stores import Backend


ANN, BOB = Scope.user("ann"), Scope.user("bob")


def called(tools: MemoryTools, name: str, **arguments: object) -> Any:  # noqa: ANN401 - JSON
    return json.loads(tools.call(name, json.dumps(arguments)))


def test_a_model_remembers_finds_updates_and_forgets(backend: Backend) -> None:
    with backend.open(embedder="none") as store:
        session_id = store.start_session(scope=ANN).session_id
        tools = MemoryTools(store=store, scope=ANN, agent="waiter", session_id=session_id)
        made = called(
            tools, "memory_remember", content="drinks green tea", category="taste"
        )
        fact_id = made["remembered"]["fact_id"]

        found = called(tools, "memory_search", query="green tea", limit=3)["facts"]
        assert [each["fact_id"] for each in found] == [fact_id]
        called(tools, "memory_update", fact_id=fact_id, content="drinks white tea")
        called(
            tools,
            "memory_update",
            fact_id=fact_id,
            content="drinks black tea",
            was_wrong=True,
        )
        gone = called(tools, "memory_forget", fact_id=fact_id, reason="asked me to")

        assert gone == {"forgotten": fact_id}
        versions = store.get_fact_history(fact_id).versions
        assert [each.kind for each in versions] == [
            "asserted",
            "revised",
            "corrected",
            "retired",
        ]
        assert {each.actor for each in versions} == {"waiter"}
        assert {each.trigger for each in versions} == {"tool_call"}
        assert {each.session_id for each in versions} == {session_id}
        assert {each.source for each in versions} == {"agent:waiter", None}
        assert [each.agent for each in store.get_receipts(scope=ANN)] == ["waiter"]


@pytest.mark.parametrize(
    ("name", "arguments", "error"),
    [
        ("memory_erase", "{}", "InvalidValueError"),
        ("memory_search", "{not json", "InvalidValueError"),
        ("memory_search", "[1]", "InvalidValueError"),
        ("memory_search", "{}", "InvalidValueError"),
        ("memory_search", '{"query": "tea", "user_id": "bob"}', "UnknownFieldError"),
        ("memory_search", '{"query": "tea", "limit": 5000}', "InvalidValueError"),
        ("memory_search", '{"query": {"a": 1}}', "InvalidValueError"),
        ("memory_remember", '{"content": "x", "core": true}', "UnknownFieldError"),
        ("memory_remember", '{"content": "x", "scope": "org"}', "UnknownFieldError"),
        ("memory_remember", '{"content": "x", "valid_from": "soon"}', "InvalidTimeError"),
        ("memory_forget", '{"fact_id": "OF-BOB", "reason": "x"}', "UnknownFactError"),
        ("memory_update", '{"fact_id": "OF-BOB", "content": "x"}', "UnknownFactError"),
        (
            "memory_forget",
            '{"fact_id": "OF-BOB", "reason": "x", "mode": "redact"}',
            "UnknownFieldError",
        ),
        ("memory_search", "[" * 100_000, "InvalidValueError"),
        ("memory_search", '{"query": "tea", "category": ["taste"]}', "InvalidValueError"),
        (["memory_search"], '{"query": "tea"}', "InvalidValueError"),
    ],
)
def test_what_a_model_may_not_do_is_told_and_not_done(
    name: Any,  # noqa: ANN401 - whatever a model makes of it
    arguments: str,
    error: str,
) -> None:
    with MemoryStore.open("memory://") as store:
        theirs = store.remember("secret of bob", scope=BOB)
        tools = MemoryTools(store=store, scope=ANN)

        answer = json.loads(tools.call(name, arguments.replace("OF-BOB", theirs.fact_id)))

        assert answer["error"] == error
        assert answer["message"]
        assert "secret" not in json.dumps(answer)
        assert len(store.get_fact_history(theirs.fact_id)) == 1
        assert len(store.get_all(scope=ANN)) == 0


def test_the_schemas_are_those_of_a_chat_completion() -> None:
    plain: Any = json.loads(json.dumps(SCHEMAS))
    names = [each["function"]["name"] for each in plain]

    assert names == [
        "memory_search",
        "memory_remember",
        "memory_update",
        "memory_forget",
    ]
    assert plain == list(SCHEMAS)
    assert all(each["type"] == "function" for each in SCHEMAS)


@pytest.fixture
def store() -> Iterator[MemoryStore]:
    with MemoryStore.open("memory://") as store:
        store.remember(
            "writes Rust and Python", scope=ANN, category="work", attribute="language"
        )
        store.remember("deadline of project Falcon is in May", scope=ANN)
        yield store


def test_a_question_is_widened_by_what_is_relevant_and_by_half_at_most(
    store: MemoryStore,
) -> None:
    personal = Personalizer(store=store, scope=ANN)
    question = "When is the deadline of the project?"

    widened = personal.expanded(question)

    assert widened.startswith(question)
    assert "falcon" in widened.casefold()
    assert len(widened) <= len(question) * 3 // 2
    assert personal.expanded("zebra crossing") == "zebra crossing"
    plain = Personalizer(store=store, scope=ANN, expands=False)
    assert plain.expanded(question) == question


@settings(deadline=None, max_examples=20)
@given(scores=st.lists(st.floats(0, 1), min_size=1, max_size=23))
def test_two_of_every_five_results_stand_where_they_were(scores: list[float]) -> None:
    with MemoryStore.open("memory://") as store:
        store.remember("writes Rust", scope=ANN, attribute="language")
        ordered = sorted(scores, reverse=True)
        results = [
            (at, "a page on Rust" if at % 2 else "a page on tea", score)
            for at, score in enumerate(ordered)
        ]

        ranked = Personalizer(store=store, scope=ANN).ranked(results)
        as_they_were = Personalizer(store=store, scope=ANN, boosts=False).ranked(results)

    assert sorted(ranked) == as_they_were == list(range(len(scores)))
    left = list(as_they_were)
    for start in range(0, len(ranked), WINDOW):
        window = ranked[start : start + WINDOW]
        personal = window[: WINDOW - FLOOR]
        rest = [at for at in left if at not in personal]
        assert window[len(personal) :] == rest[: len(window) - len(personal)]
        left = [at for at in left if at not in window]


def test_weights_are_of_what_is_structured_an_attribute_or_names(
    store: MemoryStore,
) -> None:
    store.remember("met Ann at lunch", scope=ANN, entities=["Ann"], confidence=0.5)

    weights = Personalizer(store=store, scope=ANN).weights()

    assert (weights["rust"], weights["ann"]) == (1.0, 0.5)
    assert {"falcon", "lunch"}.isdisjoint(weights)
    assert Personalizer(store=store, scope=ANN, boosts=False).weights() == {}


def test_a_section_is_a_context_and_can_be_left_out(store: MemoryStore) -> None:
    personal = Personalizer(store=store, scope=ANN)

    assert "Falcon" in personal.section("deadline of Falcon", budget_tokens=300)
    plain = Personalizer(store=store, scope=ANN, has_section=False)
    assert plain.section("deadline of Falcon") == ""
