"""
Current facts in plain dictionaries: the twin that the engines are tested against.

It also serves a store that ends with its process.
"""

import math
from collections.abc import Sequence
from threading import RLock

from muniment.projections.current import (
    Among,
    Between,
    Condition,
    conditions,
    held,
    payload,
)
from muniment.projections.ports import (
    CurrentFacts,
    Found,
    Generation,
    Held,
    Point,
    Terms,
    Vector,
    Within,
)


class MemoryCurrent:
    """A `muniment.projections.ports.CurrentFacts` that looks at every point."""

    def __init__(self) -> None:
        self._lock = RLock()
        self._points: dict[str, Point] = {}

    def upsert(self, points: Sequence[Point], *, until: int) -> None:
        with self._lock:
            for point in points:
                known = self._points.get(point.point_id)
                if known is None or known.position <= until:
                    self._points[point.point_id] = point

    def delete(self, point_ids: Sequence[str], *, until: int) -> None:
        with self._lock:
            for each in point_ids:
                known = self._points.get(each)
                if known is not None and known.position <= until:
                    del self._points[each]

    def delete_subject(self, subject_ref: str) -> None:
        with self._lock:
            self._points = {
                name: point
                for name, point in self._points.items()
                if point.subject_ref != subject_ref
            }

    def nearest(self, vector: Vector, within: Within, *, limit: int) -> Sequence[Found]:
        scored = [
            (_cosine(vector, point.dense), point)
            for point in self._within(within)
            if point.dense is not None
        ]
        return _best(scored, limit)

    def matching(self, terms: Terms, within: Within, *, limit: int) -> Sequence[Found]:
        with self._lock:
            corpus = [
                point.sparse
                for point in self._points.values()
                if point.subject_ref in within.subject_refs and point.sparse is not None
            ]
        rarity = {index: _rarity(index, corpus) for index in terms.indices}
        scored = [
            (_shared(terms, point.sparse, rarity), point)
            for point in self._within(within)
            if point.sparse is not None and set(point.sparse.indices) & set(terms.indices)
        ]
        return _best(scored, limit)

    def count(self, subject_ref: str | None = None) -> int:
        with self._lock:
            return sum(
                subject_ref in (None, point.subject_ref) for point in self._points.values()
            )

    def size(self, subject_ref: str) -> int:
        return self.count(subject_ref)

    def scroll(self, *, after: str | None, limit: int) -> tuple[Sequence[Held], str | None]:
        with self._lock:
            names = sorted(name for name in self._points if after is None or name > after)
            page = [self._held(name) for name in names[:limit]]
        return page, page[-1].point_id if len(names) > limit else None

    def flush(self) -> None:
        """Do nothing: nothing of it outlives its process."""

    def scrub(self) -> None:
        """Do nothing: what was deleted is nowhere."""

    def optimize(self) -> None:
        """Do nothing: it looks at every point."""

    def close(self) -> None:
        """Keep everything, as an engine on a disk would."""

    def _held(self, name: str) -> Held:
        point = self._points[name]
        return held(name, payload(point), has_dense=point.dense is not None)

    def _within(self, within: Within) -> list[Point]:
        must, must_not = conditions(within)
        with self._lock:
            points = list(self._points.values())
        return [
            point
            for point in points
            if all(_holds(each, point) for each in must)
            and not any(_holds(each, point) for each in must_not)
        ]


class MemoryEngine:
    """A `muniment.projections.ports.Engine` that ends with its process."""

    def __init__(self) -> None:
        self._generations: dict[int, MemoryCurrent] = {}

    def exists(self, number: int) -> bool:
        return number in self._generations

    def open(self, generation: Generation) -> CurrentFacts:
        return self._generations.setdefault(generation.number, MemoryCurrent())

    def drop(self, number: int) -> None:
        self._generations.pop(number, None)

    def close(self) -> None:
        """Keep everything, as an engine on a disk would."""


def _holds(condition: Condition, point: Point) -> bool:
    value = payload(point).get(condition.field)
    if value is None:
        return False
    match condition:
        case Among():
            return value in condition.values
        case Between():
            bounds = condition
            return (
                (bounds.at_least is None or value >= bounds.at_least)
                and (bounds.above is None or value > bounds.above)
                and (bounds.at_most is None or value <= bounds.at_most)
                and (bounds.below is None or value < bounds.below)
            )


def _best(scored: list[tuple[float, Point]], limit: int) -> list[Found]:
    scored.sort(key=lambda each: (-each[0], each[1].point_id))
    return [
        Found(
            point_id=point.point_id,
            fact_id=point.fact_id,
            subject_ref=point.subject_ref,
            version=point.version,
            score=score,
        )
        for score, point in scored[:limit]
    ]


def _cosine(one: Vector, other: Vector) -> float:
    product = sum(a * b for a, b in zip(one, other, strict=True))
    return product / (math.hypot(*one) * math.hypot(*other))


def _rarity(index: int, corpus: Sequence[Terms]) -> float:
    """Return how rare a term is, as Qdrant's modifier for sparse vectors has it."""
    having = sum(index in terms.indices for terms in corpus)
    return math.log1p((len(corpus) - having + 0.5) / (having + 0.5))


def _shared(asked: Terms, held_terms: Terms, rarity: dict[int, float]) -> float:
    weights = dict(zip(held_terms.indices, held_terms.weights, strict=True))
    return sum(
        weight * weights.get(index, 0.0) * rarity[index]
        for index, weight in zip(asked.indices, asked.weights, strict=True)
    )
