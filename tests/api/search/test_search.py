from datetime import timedelta

import pytest

from muniment import MemoryStore, Scope
from muniment.errors import (
    FutureAsOfError,
    InvalidInput,
    InvalidScopeError,
    InvalidTimeError,
    InvalidValueError,
    MunimentError,
    UnknownFieldError,
)
from tests.searching import (
    START,
    MeaningOfThree,
    SteppingClock,
    contents,
    open_at,
)


# M15 (mem0#4884: a Chinese sentence is one token).
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("朝阳", "住在北京市朝阳区"),
        ("rerank 精排", "负责 rerank 精排 模型"),
        ("東京", "東京タワーに行きました"),
        ("커피", "서울에서 커피를 마셨다"),
        ("ข้าว", "ฉันชอบกินข้าวผัด"),
        ("مدرسة", "ذهبت إلى المدرسة الكبيرة"),
        (
            "\uff29\uff2e\uff36\uff0d\uff12\uff10\uff12\uff14",
            "invoice INV-2024-001 was paid",
        ),
        ("painting", "she painted a sunrise"),
    ],
)
def test_a_keyword_of_any_language_hits_by_the_keyword_leg_alone(
    store: MemoryStore, query: str, expected: str
) -> None:
    store.remember_many(
        [
            "住在北京市朝阳区",
            "负责 rerank 精排 模型",
            "東京タワーに行きました",
            "서울에서 커피를 마셨다",
            "ฉันชอบกินข้าวผัด",
            "ذهبت إلى المدرسة الكبيرة",
            "invoice INV-2024-001 was paid",
            "she painted a sunrise",
        ],
        user_id="u",
    )

    hits = store.search(query, user_id="u")

    assert contents(hits)[0] == expected
    assert hits.unserved == {"meaning": "no embedder is set"}


def test_a_fact_is_found_by_its_id(store: MemoryStore) -> None:
    store.remember_many([f"tea number {number}" for number in range(20)], user_id="u")
    fact = store.remember("nothing alike", user_id="u")

    hits = store.search(f" {fact.fact_id} ", user_id="u", limit=1)

    assert contents(hits) == ["nothing alike"]


def test_what_ended_is_found_as_of_then_alone(
    store: MemoryStore, clock: SteppingClock
) -> None:
    fact = store.remember("works at Acme", user_id="u")
    then = clock.forward(days=1)
    clock.forward(days=1)
    store.update(fact.fact_id, content="works at Initech")

    assert contents(store.search("works at", user_id="u")) == ["works at Initech"]
    assert contents(store.search("works at", user_id="u", as_of=then)) == ["works at Acme"]


def test_what_is_not_believed_now_is_in_no_answer(
    store: MemoryStore, clock: SteppingClock
) -> None:
    retired = store.remember("tea of the retired", user_id="u")
    ended = store.remember("tea of the ended", user_id="u")
    undone = store.remember("tea of the undone", user_id="u")
    store.remember("tea of the expired", user_id="u", expires_at=START + timedelta(days=1))
    store.remember("tea of the future", user_id="u", valid_from=START + timedelta(days=9))
    store.remember("tea of today", user_id="u")
    clock.forward(days=2)
    store.forget(retired.fact_id)
    store.end(ended.fact_id)
    store.undo(undone.tx_id)

    found = contents(store.search("tea", user_id="u"))
    by_id = [
        contents(store.search(each.fact_id, user_id="u"))
        for each in (retired, ended, undone)
    ]

    assert found == ["tea of today"]
    assert by_id == [[], [], []]


def test_what_holds_later_comes_without_an_event(
    store: MemoryStore, clock: SteppingClock
) -> None:
    store.remember("tea of the future", user_id="u", valid_from=START + timedelta(days=9))
    before = contents(store.search("tea", user_id="u"))
    clock.forward(days=9)

    assert before == []
    assert contents(store.search("tea", user_id="u")) == ["tea of the future"]


def test_another_subject_is_never_reached(store: MemoryStore) -> None:
    for name in ("acme", "acme-corp", "Acme", "a%", "acme/x"):
        store.remember(f"tea of {name}", user_id=name)

    assert contents(store.search("tea", user_id="acme")) == ["tea of acme"]
    assert contents(store.search("tea", scope=Scope.team("acme"))) == []
    assert contents(store.search("tea", user_id="nobody")) == []


def test_scopes_are_searched_together_and_labelled(store: MemoryStore) -> None:
    store.remember("tea of the user", user_id="u")
    store.remember("tea of the team", scope=Scope.team("eng"))
    store.remember("tea of all", scope=Scope.org())

    hits = store.search("tea", user_id="u", scopes=["team:eng", Scope.org(), "user:u"])

    assert {str(hit.fact.scope): hit.fact.content for hit in hits} == {
        "user:u": "tea of the user",
        "team:eng": "tea of the team",
        "org": "tea of all",
    }


def test_every_filter_narrows(store: MemoryStore, clock: SteppingClock) -> None:
    store.remember("green tea", user_id="u", category="food", attribute="drink")
    clock.forward(days=1)
    day = clock.now
    store.remember("black tea", user_id="u", category="food", source="tool", confidence=0.4)
    clock.forward(days=1)
    store.remember("tea house", user_id="u", category="place")

    def found(**narrow: object) -> set[str | None]:
        return set(contents(store.search("tea", user_id="u", **narrow)))  # type: ignore[arg-type]

    assert found() == {"green tea", "black tea", "tea house"}
    assert found(category="food") == {"green tea", "black tea"}
    assert found(category=["food", "place"]) == found()
    assert found(attribute="drink") == {"green tea"}
    assert found(source="tool") == {"black tea"}
    assert found(min_confidence=0.5) == {"green tea", "tea house"}
    assert found(since=day) == {"black tea", "tea house"}
    assert found(until=day) == {"green tea"}
    assert found(since=day, until=day + timedelta(hours=1)) == {"black tea"}
    assert found(category="Food") == set()
    assert found(status="active") == found()
    with pytest.raises(InvalidValueError, match="status must be one of active"):
        found(status=None)


def test_the_answer_says_where_it_was_read(
    store: MemoryStore, clock: SteppingClock
) -> None:
    fact = store.remember("tea", user_id="u")
    clock.forward(days=1)

    hits = store.search("tea", user_id="u")

    assert hits.position == fact.position
    assert hits.recorded_at == hits.valid_at == clock.now
    assert hits[0].fact == fact
    assert len(hits) == 1


def test_an_explanation_names_each_leg_and_factor(store: MemoryStore) -> None:
    store.remember("Ada drinks tea", user_id="u", entities=["Ada"], importance=0.9)
    store.remember("Bob drinks tea", user_id="u", entities=["Bob"])

    plain = store.search("what does Ada drink", user_id="u")
    (first, second) = store.search("what does Ada drink", user_id="u", explain=True)

    assert [hit.score for hit in plain] == [first.score, second.score]
    assert not plain[0].legs
    assert not plain[0].factors
    assert first.fact.content == "Ada drinks tea"
    assert first.legs["keyword"].rank == first.legs["entity"].rank == 1
    assert "entity" not in second.legs
    assert first.factors["importance"] > second.factors["importance"]
    fused = 1.0 / 11 + 0.3 / 11
    assert first.score == pytest.approx(fused * (1 + sum(first.factors.values())))


def test_what_is_sure_important_or_recent_stands_before_what_is_less(
    store: MemoryStore, clock: SteppingClock
) -> None:
    store.remember("tea one", user_id="sure", confidence=0.5)
    store.remember("tea two", user_id="sure", confidence=0.9)
    store.remember("tea one", user_id="important", importance=0.1)
    store.remember("tea two", user_id="important", importance=0.2)
    store.remember("tea one", user_id="recent")
    clock.forward(days=400)
    store.remember("tea two", user_id="recent")

    firsts = [
        contents(store.search("tea", user_id=each))[0]
        for each in ("sure", "important", "recent")
    ]

    assert firsts == ["tea two", "tea two", "tea two"]


def test_a_turn_is_found_by_what_it_answers(store: MemoryStore) -> None:
    store.remember_many(
        [
            {"content": "Which instrument do you play?", "source_turns": ["t1"]},
            {"content": "The cello, since school.", "source_turns": ["t2"]},
            {"content": "An unrelated note"},
        ],
        user_id="u",
    )

    assert contents(store.search("instrument play", user_id="u")) == [
        "Which instrument do you play?",
        "The cello, since school.",
    ]


def test_recent_turns_widen_a_question(store: MemoryStore) -> None:
    store.remember_many(["The cello is in the attic", "The car is red"], user_id="u")

    alone = store.search("which colour", user_id="u")
    widened = store.search("which colour", user_id="u", recent_turns=["I miss my cello"])

    assert contents(alone) == []
    assert contents(widened) == ["The cello is in the attic"]


MISTYPED: tuple[tuple[dict[str, object], type[MunimentError]], ...] = (
    ({"user_id": None}, InvalidScopeError),
    ({"user_id": "u", "scope": Scope.org()}, InvalidScopeError),
    ({"user_id": None, "scopes": ["users:u"]}, InvalidScopeError),
    ({"user_id": None, "scopes": []}, InvalidScopeError),
    ({"scopes": "user:u"}, InvalidValueError),
    ({"scopes": [f"user:{number}" for number in range(101)]}, InvalidValueError),
    ({"limit": 0}, InvalidValueError),
    ({"limit": 1_001}, InvalidValueError),
    ({"limit": True}, InvalidValueError),
    ({"status": "unknown"}, InvalidValueError),
    ({"status": []}, InvalidValueError),
    ({"category": []}, InvalidValueError),
    ({"category": "a\nb"}, InvalidValueError),
    ({"min_confidence": 1.5}, InvalidValueError),
    ({"min_confidence": float("nan")}, InvalidValueError),
    ({"since": "2026-01-01T00:00:00"}, InvalidTimeError),
    ({"as_of": "2030-01-01T00:00:00Z"}, FutureAsOfError),
    ({"recent_turns": "one text"}, InvalidValueError),
    ({"recent_turns": ["x"] * 21}, InvalidValueError),
    ({"explain": 1}, InvalidValueError),
    ({"categroy": "food"}, UnknownFieldError),
)


def test_a_mistyped_field_is_an_error_and_never_a_wider_answer(
    store: MemoryStore, subtests: pytest.Subtests
) -> None:
    for fields, error in MISTYPED:
        with subtests.test(repr(fields)[:80]), pytest.raises(error):
            store.search("tea", **{"user_id": "u", **fields})  # type: ignore[arg-type]


@pytest.mark.parametrize("query", ["", "  \n ", "x" * 70_000, "\ud800"])
def test_a_query_has_words_and_an_end(store: MemoryStore, query: str) -> None:
    with pytest.raises(InvalidInput):
        store.search(query, user_id="u")


def test_synonyms_are_configured() -> None:
    with open_at("memory://", synonyms={"car": ["automobile"]}) as store:
        store.remember_many(["bought an automobile", "bought tea"], user_id="u")

        found = contents(store.search("which car", user_id="u"))

    assert found == ["bought an automobile"]


def test_a_half_life_is_of_its_category() -> None:
    clock = SteppingClock()
    with open_at("memory://", clock=clock, half_lives={"mood": 1.0}) as store:
        store.remember("tea", user_id="u", category="mood")
        store.remember("tea", user_id="u", category="taste")
        clock.forward(days=10)

        hits = store.search("tea", user_id="u", explain=True)

    recency = {hit.fact.category: hit.factors["recency"] for hit in hits}
    assert recency["mood"] < 0.001
    assert recency["taste"] > 0.09


def test_a_conversation_calls_up_what_is_like_what_it_is_about() -> None:
    with open_at("memory://") as store:
        store._recall.meaning.use(MeaningOfThree())
        store.remember_many(
            ["writes a compiler", "Ada likes dumplings", "green tea"], user_id="u"
        )

        alone = store.search("you know Ada", user_id="u", explain=True)
        spoken = store.search(
            "you know Ada", user_id="u", recent_turns=["hello"], explain=True
        )
        none = store.search(
            "you know Ada", user_id="u", recent_turns=["hello"], category="none"
        )

    assert none.items == ()
    assert not any("association" in hit.legs for hit in alone)
    assert contents(spoken)[0] == "Ada likes dumplings"
    assert {hit.fact.content: hit.legs["association"].rank for hit in spoken} == {
        "Ada likes dumplings": 1,
        "green tea": 1,
        "writes a compiler": 3,
    }


def test_meaning_finds_what_shares_no_word() -> None:
    with open_at("memory://") as store:
        store._recall.meaning.use(MeaningOfThree())
        store.remember_many(["likes dumplings", "writes a compiler", "sleeps"], user_id="u")

        hits = store.search("cuisine", user_id="u", explain=True)

    assert contents(hits)[0] == "likes dumplings"
    assert set(hits[0].legs) == {"meaning", "context"}
    assert hits.unserved == {}
    assert hits.model == "three"
