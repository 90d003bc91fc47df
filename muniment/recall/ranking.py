"""
From scores to one order. Pure: the same documents and question always rank the same.

Sums run in the order of the documents and the question, so that a score is the same to
the last bit whenever the same things are ranked.
"""

import math
from array import array
from collections.abc import Collection, Mapping, Sequence
from heapq import heappop, heapreplace, nlargest
from typing import Final


Scores = Sequence[float]
"""One for each document; 0 or less where a leg says nothing of it."""

_SATURATION: Final = 1.2
_LENGTH_SHARE: Final = 0.75
"""The usual k1 and b of BM25."""

_LOOKED_FOR_MAX: Final = 16
"""To look for so many terms takes less than to see where every term is."""

_DIVERSE_MAX: Final = 20
"""So many are chosen for being unlike each other; nobody reads further with that care."""

_LOOKED_AT: Final = 3
"""So many are looked at for each that is chosen."""

_BEFORE: Final = 0.4
_AFTER: Final = 0.2
"""What a turn of a conversation gets of the score of the one before it, and after it."""


class TermIndex:
    """
    Where each term is among documents.

    Args:
        counts: The terms of each document.
        lengths: How many terms each has.
    """

    def __init__(self, counts: Sequence[Mapping[str, int]], lengths: Sequence[int]) -> None:
        mean = sum(lengths) / len(lengths) if lengths else 0.0
        self._counts = counts
        self._norms = [
            _SATURATION * (1 - _LENGTH_SHARE + _LENGTH_SHARE * each / mean)
            for each in lengths
        ]
        self._looked_for: dict[str, Sequence[int]] = {}
        self._every: Mapping[str, Sequence[int]] | None = None

    def having(self, term: str) -> Sequence[int]:
        """Return where the documents stand that have *term*."""
        if self._every is not None:
            return self._every.get(term, ())
        found = self._looked_for.get(term)
        if found is None:
            if len(self._looked_for) >= _LOOKED_FOR_MAX:
                self._every = self._every_term()
                return self._every.get(term, ())
            found = [place for place, terms in enumerate(self._counts) if term in terms]
            self._looked_for[term] = found
        return found

    def having_all(self, terms: Collection[str]) -> list[int]:
        """Return where the documents stand that have every one of *terms*, at least one."""
        rarest = min(map(self.having, terms), key=len)
        wanted = set(terms)
        return [place for place in rarest if wanted <= self._counts[place].keys()]

    def _every_term(self) -> Mapping[str, Sequence[int]]:
        # Arrays, as they are small, and nothing that the garbage collector has to visit.
        found: dict[str, array[int]] = {}
        for place, terms in enumerate(self._counts):
            for term in terms:
                if term not in found:
                    found[term] = array("I")
                found[term].append(place)
        return found

    def bm25(self, question: Sequence[str], *, weights: Mapping[str, float]) -> list[float]:
        """
        Return how well each document matches the terms of a question.

        Args:
            question: Its terms; a repeated one counts once more.
            weights: Of terms that do not count in full.

        Source:
            S. Robertson, H. Zaragoza, *The Probabilistic Relevance Framework: BM25 and
            Beyond*, 2009, section 3.4.
        """
        counts, norms = self._counts, self._norms
        scores = [0.0] * len(counts)
        for term in question:
            having = self.having(term)
            rarity = weights.get(term, 1.0) * _rarity(len(having), len(counts))
            for place in having:
                often = counts[place][term]
                scores[place] += rarity * often * (_SATURATION + 1) / (often + norms[place])
        return scores


def shares(groups: Sequence[Sequence[int]], total: int) -> list[float]:
    """
    Return for each document the rarity of the things it has, added up.

    Args:
        groups: For each thing, where the documents stand that have it.
        total: How many documents there are.
    """
    scores = [0.0] * total
    for having in groups:
        rarity = _rarity(len(having), total)
        for place in having:
            scores[place] += rarity
    return scores


def in_context(
    scores: Scores, before: Sequence[int | None], after: Sequence[int | None]
) -> list[float]:
    """
    Return *scores* with a share of those of the neighbours in a conversation.

    An answer seldom repeats the words of the question it answers.

    Args:
        scores: Of each document.
        before: Where the one said just before stands, if there is one.
        after: Where the one said just after stands, if there is one.
    """
    return [
        score
        + (_BEFORE * scores[early] if early is not None else 0.0)
        + (_AFTER * scores[late] if late is not None else 0.0)
        for score, early, late in zip(scores, before, after, strict=True)
    ]


def ranks(
    scores: Scores, *, depth: int | None = None, floor: float = 0.0
) -> dict[int, int]:
    """
    Return the rank of each document above *floor*, from 1; equal scores share one.

    Args:
        scores: Of each document.
        depth: Only ranks up to this one.
        floor: Scores up to it are no match.
    """
    if depth is not None and len(scores) > depth:
        # Equal to the last one are as many as there are.
        last = nlargest(depth, scores)[-1]
        matched = [at for at, each in enumerate(scores) if each >= last and each > floor]
    else:
        matched = [at for at, each in enumerate(scores) if each > floor]
    matched.sort(key=scores.__getitem__, reverse=True)
    found: dict[int, int] = {}
    rank = 0
    for number, place in enumerate(matched, start=1):
        if number == 1 or scores[place] != scores[matched[number - 2]]:
            rank = number
        found[place] = rank
    return found


def fused(
    legs: Mapping[str, Mapping[int, int]], weights: Mapping[str, float], *, k: int
) -> dict[int, float]:
    """
    Return one score for each document that any leg ranks, by reciprocal ranks.

    Args:
        legs: By name, the ranks of documents.
        weights: By name, how much a leg counts.
        k: How little the first ranks stand out.

    Source:
        G. V. Cormack, C. L. A. Clarke, S. Buettcher, *Reciprocal Rank Fusion outperforms
        Condorcet and individual Rank Learning Methods*, SIGIR 2009.
    """
    scores: dict[int, float] = {}
    for name in sorted(legs):
        for place, rank in legs[name].items():
            scores[place] = scores.get(place, 0.0) + weights[name] / (k + rank)
    return scores


def foremost(scores: Mapping[int, float], count: int, *, spread: float) -> list[int]:
    """
    Return which may be among the first *count* once each score is multiplied.

    Args:
        scores: Of each, above zero.
        count: At least 1.
        spread: No factor is more than so many times another one.
    """
    if len(scores) <= count:
        return list(scores)
    least = nlargest(count, scores.values())[-1] / spread
    return [place for place, score in scores.items() if score >= least]


def faded(age_us: int, half_life_us: float) -> float:
    """Return 1 for what is new or yet to come, a half after one half-life, and so on."""
    return math.exp2(-max(age_us, 0) / half_life_us)


def looked_at(limit: int) -> int:
    """Return how many of the first decide which *limit* `diverse` chooses."""
    return max(limit, _LOOKED_AT * min(limit, _DIVERSE_MAX))


def diverse(
    order: Sequence[int],
    scores: Mapping[int, float],
    terms: Mapping[int, Mapping[str, int]],
    *,
    limit: int,
    share: float,
) -> list[int]:
    """
    Return *limit* of *order*, each chosen for its score less its likeness to those before.

    Args:
        order: Candidates, best first.
        scores: Of each, above zero.
        terms: Of each: two that share all of them are one said twice.
        limit: How many to choose.
        share: 0 for the order as it is; up to 1, where likeness counts like the score.

    Source:
        J. Carbonell, J. Goldstein, *The Use of MMR, Diversity-Based Reranking*, SIGIR 1998.
    """
    if not order or share == 0:
        return list(order[:limit])
    best = scores[order[0]]
    first = min(limit, _DIVERSE_MAX)
    places = order[: _LOOKED_AT * first]
    likeness = dict.fromkeys(places, 0.0)
    compared = dict.fromkeys(places, 0)
    # Likeness only grows, so most are never compared with any: what they are worth at
    # best is less than what another is worth indeed.
    left = [(-scores[place] / best, at) for at, place in enumerate(places)]
    chosen: list[int] = []
    while left and len(chosen) < first:
        _, at = left[0]
        place = places[at]
        if compared[place] == len(chosen):
            heappop(left)
            chosen.append(place)
            continue
        alike = [_likeness(terms[place], terms[to]) for to in chosen[compared[place] :]]
        likeness[place] = max(likeness[place], *alike)
        compared[place] = len(chosen)
        heapreplace(left, (share * likeness[place] - scores[place] / best, at))
    rest = [places[at] for at in sorted(at for _, at in left)]
    return [*chosen, *rest, *order[len(places) :]][:limit]


def _likeness(one: Mapping[str, int], other: Mapping[str, int]) -> float:
    """Return which share of their terms two documents have in common."""
    if not one or not other:
        return 0.0
    common = len(one.keys() & other.keys())
    return common / (len(one) + len(other) - common)


def _rarity(having: int, total: int) -> float:
    return math.log(1 + (total - having + 0.5) / (having + 0.5))
