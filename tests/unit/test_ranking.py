import math
from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.recall import ranking


def plain_bm25(question: list[str], documents: list[list[str]], place: int) -> float:
    """Return the score of one document by the formula as it is printed."""
    mean = sum(map(len, documents)) / len(documents)
    document = documents[place]
    score = 0.0
    for term in question:
        having = sum(term in each for each in documents)
        rarity = math.log(1 + (len(documents) - having + 0.5) / (having + 0.5))
        often = document.count(term)
        length = 1 - 0.75 + 0.75 * len(document) / mean
        score += rarity * often * 2.2 / (often + 1.2 * length)
    return score


words = st.lists(st.sampled_from("abcd"), min_size=1, max_size=6)


@given(words, st.lists(words, min_size=1, max_size=6))
def test_bm25_is_its_formula(question: list[str], documents: list[list[str]]) -> None:
    index = ranking.TermIndex(list(map(Counter, documents)), list(map(len, documents)))

    scores = index.bm25(question, weights={})

    expected = [plain_bm25(question, documents, at) for at in range(len(documents))]
    assert scores == pytest.approx(expected)


@given(words, st.lists(words, max_size=6))
def test_what_has_all_terms_is_told_from_what_has_some(
    wanted: list[str], documents: list[list[str]]
) -> None:
    index = ranking.TermIndex(list(map(Counter, documents)), list(map(len, documents)))

    found = index.having_all(wanted)

    assert found == [at for at, each in enumerate(documents) if set(wanted) <= set(each)]


@given(
    st.lists(st.tuples(st.floats(0.01, 1), st.floats(0.7, 1.3)), max_size=40),
    st.integers(1, 8),
)
def test_no_factor_brings_what_was_passed_over_among_the_first(
    weighed: list[tuple[float, float]], count: int
) -> None:
    scores = {at: score for at, (score, _) in enumerate(weighed)}
    final = {at: score * factor for at, (score, factor) in enumerate(weighed)}

    kept = ranking.foremost(scores, count, spread=1.9)

    least = min(sorted(final.values(), reverse=True)[:count], default=0.0)
    assert {at for at, score in final.items() if score >= least} <= set(kept)


def test_a_term_nobody_asked_for_counts_for_its_share() -> None:
    index = ranking.TermIndex([Counter("a"), Counter("b")], [1, 1])

    full = index.bm25(["a"], weights={})
    half = index.bm25(["a"], weights={"a": 0.5})

    assert half == [full[0] / 2, 0.0]


@given(st.lists(st.sampled_from([0.0, 0.5, 1.0, 2.0])), st.integers(1, 5))
def test_equal_scores_share_a_rank_and_nothing_else_does(
    scores: list[float], depth: int
) -> None:
    found = ranking.ranks(scores, depth=depth)

    for place, rank in found.items():
        assert scores[place] > 0
        assert rank == 1 + sum(other > scores[place] for other in scores)
    left = [place for place, score in enumerate(scores) if score > 0 and place not in found]
    assert all(sum(other > scores[place] for other in scores) >= depth for place in left)


def test_a_neighbour_gives_a_share_of_its_score() -> None:
    scores = ranking.in_context([1.0, 0.0, 0.0], [None, 0, 1], [1, 2, None])

    assert scores == [1.0, 0.4, 0.0]


def test_fusion_adds_up_reciprocal_ranks() -> None:
    legs = {"one": {0: 1, 1: 2}, "other": {1: 1}}

    scores = ranking.fused(legs, {"one": 1.0, "other": 0.5}, k=9)

    assert scores == pytest.approx({0: 1 / 10, 1: 1 / 11 + 0.5 / 10})


def test_what_is_rare_among_the_documents_weighs_more() -> None:
    rare, common = [0], [1, 2]

    scores = ranking.shares([rare, common], total=3)

    assert scores[0] > scores[1] == scores[2] > 0


def test_the_same_said_twice_makes_room_for_another() -> None:
    terms = dict(enumerate(map(Counter, ("abc", "abc", "xyz"))))
    scores = {0: 1.0, 1: 0.99, 2: 0.95}

    chosen = ranking.diverse([0, 1, 2], scores, terms, limit=2, share=0.1)

    assert chosen == [0, 2]


@given(st.lists(st.floats(0.1, 1), max_size=80), st.integers(1, 100))
def test_diversity_loses_nothing_and_repeats_nothing(
    values: list[float], limit: int
) -> None:
    scores = dict(enumerate(values))
    order = sorted(scores, key=lambda place: -scores[place])
    terms = {place: Counter("ab"[place % 2]) for place in scores}

    chosen = ranking.diverse(order, scores, terms, limit=limit, share=0.1)

    assert len(set(chosen)) == len(chosen) == min(limit, len(values))
    assert set(chosen) <= set(order)
    assert chosen[:1] == order[:1]


def test_without_a_share_for_likeness_the_order_stays() -> None:
    terms = {place: Counter("abc") for place in range(3)}

    chosen = ranking.diverse([2, 0, 1], {0: 2.0, 1: 1.0, 2: 3.0}, terms, limit=2, share=0)

    assert chosen == [2, 0]


def test_a_half_life_halves() -> None:
    ages = [ranking.faded(age, 10.0) for age in (-5, 0, 10, 20)]

    assert ages == [1.0, 1.0, 0.5, 0.25]
    assert all(early >= late for early, late in pairwise(ages))
