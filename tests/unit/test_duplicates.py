"""Which facts say the same: by their words, and by what an embedder finds alike."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.domain.duplicates import WORDS_MAX, Merge, Remembered, merges
from muniment.domain.events import Status, Traits
from muniment.domain.policy import RetentionRule, merged_from
from muniment.domain.time import FOREVER, Instant, Period
from muniment.errors import InvalidValueError
from muniment.recall import alike


TRAITS = Traits(
    category="drink",
    attribute=None,
    status=Status.ACTIVE,
    confidence=1.0,
    importance=0.5,
    core=False,
    expires_at=None,
)
FACT = Remembered(
    fact_id="f-1",
    text="likes tea",
    traits=TRAITS,
    valid=Period(Instant(0)),
    entities=frozenset(),
    metadata={},
    said_at=Instant(0),
)


def saying(*texts: str, **fields: Any) -> list[Remembered]:  # noqa: ANN401 - of a fact
    """Return a fact for each text, each a microsecond after the one before."""
    return [
        replace(FACT, fact_id=f"f-{at}", text=text, valid=Period(Instant(at)), **fields)
        for at, text in enumerate(texts, 1)
    ]


def merged(facts: Sequence[Remembered], *, near: bool = True) -> dict[str, str]:
    """Return what goes into what; an embedder finds all alike, or nothing."""
    pairs = combinations([each.fact_id for each in facts], 2) if near else ()
    return {each.goes: each.survivor for each in merges(facts, pairs)}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("用户 写 Ｐｙｔｈｏｎ。", "用户写python"),
        ("Likes  tea!", "likes tea"),
        ("“喜欢茶”", "喜欢茶"),
        ("Cafe\u0301 au lait", "CAFÉ AU LAIT"),
        ("Don't call, please.", "don't call, please"),
    ],
)
def test_the_same_words_are_the_same_without_an_embedder(one: str, other: str) -> None:
    assert merged(saying(one, other), near=False) == {"f-2": "f-1"}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("用户喜欢喝绿茶", "用户爱喝绿茶"),
        ("用户住在北京", "用户居住在北京"),
        ("drinks coffee every morning", "drinks coffee each morning"),
        ("The user prefers tabs in the editor", "The user prefers tabs in editor"),
    ],
)
def test_what_an_embedder_finds_alike_is_merged(one: str, other: str) -> None:
    assert merged(saying(one, other)) == {"f-2": "f-1"}
    assert merged(saying(one, other), near=False) == {}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("不，喜欢茶", "不喜欢茶"),
        ("用户喜欢茶", "用户不喜欢茶"),
        ("没去过东京", "去过东京"),
        ("likes tea", "does not like tea"),
        ("doesn't smoke, drinks", "smokes, doesn't drink"),
        ("never drinks coffee but drinks tea", "drinks coffee but never drinks tea"),
        ("has 2 cats", "has 3 cats"),
        ("养了两只猫", "养了三只猫"),
        ("weighs 1.5 kg", "weighs 15 kg"),
        ("the deadline is March 3", "the deadline is April 3"),
        ("三月出发", "五月出发"),
        ("the call is on Monday", "the call is on Friday"),
        ("drinks tea before bed", "drinks tea after bed"),
        ("lives in Paris", "lives in London"),
        ("用户写 Python", "用户写 Java"),
        ("Ann owes Bob", "Bob owes Ann"),
        ("likes dark roast", "likes light roast"),
        ("用户喜欢喝绿茶", "用户喜欢喝红茶"),
        ("programs in C", "programs in C++"),
        ("is it tea?", "it is tea"),
        ("likes tea?", "likes tea"),
        ("tea " * WORDS_MAX + "and milk", "tea " * WORDS_MAX + "with milk"),
    ],
)
def test_one_word_can_change_what_an_embedder_finds_alike(one: str, other: str) -> None:
    assert merged(saying(one, other)) == {}


@pytest.mark.parametrize(
    "other",
    [
        {"traits": replace(TRAITS, category="food")},
        {"traits": replace(TRAITS, attribute="favourite")},
        {"traits": replace(TRAITS, status=Status.UNVERIFIED)},
        {"traits": replace(TRAITS, confidence=0.9)},
        {"traits": replace(TRAITS, importance=0.4)},
        {"traits": replace(TRAITS, expires_at=Instant(9))},
        {"valid": Period(Instant(3))},
        {"valid": Period(Instant(0), Instant(9))},
        {"metadata": {"access_level": "restricted"}},
        {"apart": frozenset({"f-2"})},
    ],
)
def test_what_stays_is_in_every_answer_that_what_goes_was_in(
    other: Mapping[str, Any],
) -> None:
    one, goes = saying("likes tea", "likes tea", entities=frozenset({"tea"}))

    assert merged([one, goes]) == {"f-2": "f-1"}
    assert merged([replace(one, **other), goes]).get("f-2") is None
    assert merged([replace(one, entities=frozenset()), goes]).get("f-2") is None


facts = st.builds(
    replace,
    st.just(FACT),
    text=st.sampled_from(
        ["likes tea", "Likes tea.", "enjoys tea", "likes no tea", "喜欢茶"]
    ),
    valid=st.builds(
        Period,
        st.integers(0, 2).map(Instant),
        st.sampled_from([Instant(5), Instant(6), FOREVER]),
    ),
    traits=st.builds(replace, st.just(TRAITS), confidence=st.sampled_from([0.5, 1.0])),
    said_at=st.integers(0, 3).map(Instant),
)


@given(drawn=st.lists(facts, max_size=6), pick=st.randoms(use_true_random=False))
def test_what_stays_is_merged_into_nothing_in_whatever_order_they_come(
    drawn: list[Remembered], pick: Random
) -> None:
    found = [replace(each, fact_id=f"f-{at}") for at, each in enumerate(drawn)]
    pairs = [*combinations([each.fact_id for each in found], 2)]

    done = merges(found, pairs)

    going = {each.goes for each in done}
    assert not going & {each.survivor for each in done}
    by_id = {each.fact_id: each for each in found}
    for each in done:
        goes, stays = by_id[each.goes], by_id[each.survivor]
        assert stays.valid.covers(goes.valid)
        assert stays.traits.confidence >= goes.traits.confidence
        assert ("no" in goes.text.split()) == ("no" in stays.text.split())
    assert merges([each for each in found if each.fact_id not in going], pairs) == ()
    pick.shuffle(found)
    assert merges(found, pairs) == done


def test_of_several_rules_the_one_that_keeps_least_counts() -> None:
    rules = [
        RetentionRule(merge_alike=1),
        RetentionRule(merge_alike=0.97, category="drink"),
        RetentionRule(older_than_us=1),
    ]

    asked = {
        each: merged_from(category=each, core=False, rules=rules) for each in ("drink", "x")
    }

    assert asked == {"drink": 0.97, "x": 1}
    assert merged_from(category="drink", core=True, rules=rules) is None
    assert merged_from(category=None, core=False, rules=rules[2:]) is None
    for bad in (0.94, 1.01, float("nan")):
        with pytest.raises(InvalidValueError, match="merge_alike"):
            RetentionRule(merge_alike=bad)


@pytest.mark.parametrize("has_numpy", [True, False])
def test_pairs_are_found_with_and_without_numpy(
    monkeypatch: pytest.MonkeyPatch, *, has_numpy: bool
) -> None:
    monkeypatch.setattr(alike, "_HAS_NUMPY", has_numpy)
    monkeypatch.setattr(alike, "_BLOCK", 2)
    vectors = {"a": [1.0, 0.0], "b": [0.6, 0.8], "c": [1.0, 0.0], "d": [0.8, 0.6]}

    found = {tuple(sorted(each)) for each in alike.alike(vectors, 0.95)}

    assert found == {("a", "c"), ("b", "d")}
    assert list(alike.alike({}, 0.95)) == []


def test_a_merge_names_both() -> None:
    assert merges(saying("茶", "茶"), ()) == (Merge(goes="f-2", survivor="f-1"),)
