"""
Current facts in this process: Qdrant Edge, in a directory of the store.

One process at a time may hold the directory, by a lock of ours that is let go whenever
and however that process ends. The engine raises plain `Exception` for every trouble, and
only `flush` makes anything outlive a power cut.
"""

import fcntl
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, ParamSpec, TypeVar, assert_never

import qdrant_edge as edge

from muniment.errors import IndexHeldError, IndexUnavailableError
from muniment.projections import current
from muniment.projections.current import Among, Between, Condition
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
from muniment.projections.vectors import chunks


LOCK_FILE: Final = "lock"

# Of one subject's points the graph connects each with its like; there is no graph across
# subjects, which nobody searches. Below 10,000 kB of a subject it looks at all of them.
_GRAPH: Final = edge.HnswIndexConfig(
    m=0, ef_construct=100, full_scan_threshold=10_000, payload_m=16
)

_UPSERT_MAX: Final = 1_000

_LOG, _OLD_LOG = "wal", "wal.old"

P = ParamSpec("P")
T = TypeVar("T")


class EdgeEngine:
    """
    A `muniment.projections.ports.Engine` in one directory, held by this process.

    Args:
        directory: Made if absent.

    Raises:
        IndexHeldError: If another process, or this one already, holds it.
    """

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._directory = directory
        self._lock = os.open(directory / LOCK_FILE, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self._lock)
            raise IndexHeldError(str(directory)) from error

    def exists(self, number: int) -> bool:
        return self._place(number).exists()

    def open(self, generation: Generation) -> CurrentFacts:
        place = self._place(generation.number)
        shutil.rmtree(place / _OLD_LOG, ignore_errors=True)
        if not place.exists():
            _make(place, generation.dimensions)
        shard = _asked(edge.EdgeShard.load, str(place))
        _index(shard)
        return EdgeCurrent(shard, place, dimensions=generation.dimensions)

    def drop(self, number: int) -> None:
        shutil.rmtree(self._place(number), ignore_errors=True)

    def close(self) -> None:
        if self._lock >= 0:
            os.close(self._lock)
        self._lock = -1

    def _place(self, number: int) -> Path:
        return self._directory / f"generation-{number}"


class EdgeCurrent:
    """A `muniment.projections.ports.CurrentFacts` in one shard of Qdrant Edge."""

    def __init__(self, shard: edge.EdgeShard, place: Path, *, dimensions: int) -> None:
        self._shard = shard
        self._place = place
        self._vectors = [current.DENSE] if dimensions else []
        # Stands in the place of what is deleted: the engine only marks that as gone.
        self._blank: dict[str, Any] = {current.SPARSE: edge.SparseVector([0], [1.0])}
        if dimensions:
            self._blank[current.DENSE] = [1.0] + [0.0] * (dimensions - 1)

    def upsert(self, points: Sequence[Point], *, until: int) -> None:
        known = _filter([_known(until)])
        for some in chunks(points, _UPSERT_MAX):
            given = [_point(each) for each in some]
            self._update(edge.UpdateOperation.upsert_points(given, known))

    def delete(self, point_ids: Sequence[str], *, until: int) -> None:
        if not point_ids:
            return
        chosen = edge.Filter(
            must=[edge.HasIdCondition(set(point_ids)), _condition(_known(until))]
        )
        self._delete(chosen)

    def delete_subject(self, subject_ref: str) -> None:
        self._delete(_filter([Among(current.TENANT, [subject_ref])]))
        left = self.count(subject_ref)
        if left:
            raise IndexUnavailableError(f"{left} points of an erased subject are left")

    def nearest(self, vector: Vector, within: Within, *, limit: int) -> Sequence[Found]:
        return self._query(list(vector), current.DENSE, within, limit=limit, params=None)

    def matching(self, terms: Terms, within: Within, *, limit: int) -> Sequence[Found]:
        # How rare a term is among everybody's facts would tell of other people.
        theirs = edge.IdfParams(_filter([current.of_subjects(within)]))
        return self._query(
            _sparse(terms),
            current.SPARSE,
            within,
            limit=limit,
            params=edge.SearchParams(idf=theirs),
        )

    def count(self, subject_ref: str | None = None) -> int:
        chosen = (
            None if subject_ref is None else _filter([Among(current.TENANT, [subject_ref])])
        )
        return _asked(self._shard.count, edge.CountRequest(exact=True, filter=chosen))

    def size(self, subject_ref: str) -> int:
        theirs = _filter([Among(current.TENANT, [subject_ref])])
        return _asked(self._shard.count, edge.CountRequest(exact=False, filter=theirs))

    def scroll(self, *, after: str | None, limit: int) -> tuple[Sequence[Held], str | None]:
        # The engine goes on *from* an id, so the last one seen comes again.
        request = edge.ScrollRequest(
            offset=after,
            limit=limit + 2,
            with_payload=True,
            with_vector=self._vectors,
        )
        records, _ = _asked(self._shard.scroll, request)
        page = [
            current.held(
                str(record.id),
                record.payload or {},
                has_dense=current.DENSE in (record.vector or {}),
            )
            for record in records
            if str(record.id) != after
        ]
        rest = page[limit:]
        return page[:limit], page[limit - 1].point_id if rest else None

    def flush(self) -> None:
        _asked(self._shard.flush)

    def scrub(self) -> None:
        # What was ever upserted stands in the engine's log, too, until 32 MB are full.
        # All of it is in the segments once they are flushed, and the engine does without.
        _asked(self._shard.flush)
        _asked(self._shard.close)
        old = self._place / _OLD_LOG
        shutil.rmtree(old, ignore_errors=True)
        if (self._place / _LOG).exists():
            (self._place / _LOG).rename(old)
        shutil.rmtree(old, ignore_errors=True)
        self._shard = _asked(edge.EdgeShard.load, str(self._place))

    def optimize(self) -> None:
        _asked(self._shard.optimize)

    def close(self) -> None:
        _asked(self._shard.close)

    def _delete(self, chosen: edge.Filter) -> None:
        while True:
            request = edge.ScrollRequest(
                limit=_UPSERT_MAX, filter=chosen, with_payload=True
            )
            records, _ = _asked(self._shard.scroll, request)
            if not records:
                return
            # Of whom a point is, it stays: killed here, all this is done again.
            blanks = [
                edge.Point(record.id, self._blank, current.blank(record.payload or {}))
                for record in records
            ]
            self._update(edge.UpdateOperation.upsert_points(blanks))
            names = [record.id for record in records]
            self._update(edge.UpdateOperation.delete_points(names))

    def _update(self, operation: edge.UpdateOperation) -> None:
        _asked(self._shard.update, operation)

    def _query(
        self,
        vector: list[float] | edge.SparseVector,
        using: str,
        within: Within,
        *,
        limit: int,
        params: edge.SearchParams | None,
    ) -> list[Found]:
        must, must_not = current.conditions(within)
        request = edge.QueryRequest(
            limit=limit,
            query=edge.Query.Nearest(vector, using=using),
            filter=_filter(must, must_not),
            params=params,
            with_payload=edge.PayloadSelector.Include(current.FOUND_FIELDS),
        )
        hits = _asked(self._shard.query, request)
        return [current.found(str(hit.id), hit.payload or {}, hit.score) for hit in hits]


def _make(place: Path, dimensions: int) -> None:
    """Make a new shard; one that was half made when its process died is made anew."""
    unready = place.with_suffix(".new")
    shutil.rmtree(unready, ignore_errors=True)
    dense = edge.EdgeVectorParams(size=dimensions, distance=edge.Distance.Cosine)
    config = edge.EdgeConfig(
        vectors={current.DENSE: dense} if dimensions else None,
        sparse_vectors={
            current.SPARSE: edge.EdgeSparseVectorParams(modifier=edge.Modifier.Idf)
        },
        hnsw_config=_GRAPH,
    )
    shard = _asked(edge.EdgeShard.create, str(unready), config)
    _index(shard)
    _asked(shard.close)
    unready.rename(place)


def _index(shard: edge.EdgeShard) -> None:
    """Make what indexes *shard* has not, such as those that came later than it."""
    there = _asked(shard.info).payload_schema
    missing = [how for field, how in _indexes().items() if field not in there]
    for operation in missing:
        _asked(shard.update, operation)
    if missing:
        _asked(shard.flush)


def _indexes() -> Mapping[str, edge.UpdateOperation]:
    make = edge.UpdateOperation.create_field_index
    tenant = edge.KeywordIndexParams(is_tenant=True)
    # Or the graph would connect everybody's points of one status, too.
    keyword = edge.KeywordIndexParams(enable_hnsw=False)
    number = edge.PayloadSchemaType.Integer
    return {
        current.TENANT: make(current.TENANT, tenant),
        **{field: make(field, keyword) for field in current.KEYWORDS},
        **{field: make(field, number) for field in current.NUMBERS},
    }


def _asked(question: Callable[P, T], *args: P.args, **named: P.kwargs) -> T:
    """Return what the engine answers, or raise what its caller can deal with."""
    try:
        return question(*args, **named)
    except Exception as error:
        raise IndexUnavailableError(str(error)) from error


def _known(until: int) -> Condition:
    """Return what holds of a point written by whoever knew no more of the ledger."""
    return Between(field="position", at_most=until)


def _point(point: Point) -> edge.Point:
    vectors: dict[str, Any] = {}
    if point.dense is not None:
        vectors[current.DENSE] = point.dense
    if point.sparse is not None and point.sparse.indices:
        vectors[current.SPARSE] = _sparse(point.sparse)
    return edge.Point(point.point_id, vectors, current.payload(point))


def _sparse(terms: Terms) -> edge.SparseVector:
    return edge.SparseVector(list(terms.indices), list(terms.weights))


def _filter(must: Sequence[Condition], must_not: Sequence[Condition] = ()) -> edge.Filter:
    return edge.Filter(
        must=[_condition(each) for each in must],
        must_not=[_condition(each) for each in must_not],
    )


def _condition(condition: Condition) -> edge.FieldCondition:
    match condition:
        case Among(field, values):
            match_any = edge.MatchAny(list(values))
            return edge.FieldCondition(field, match=match_any)
        case Between():
            bounds = edge.RangeFloat(
                gte=_number(condition.at_least),
                gt=_number(condition.above),
                lte=_number(condition.at_most),
                lt=_number(condition.below),
            )
            return edge.FieldCondition(condition.field, range=bounds)
        case _:
            assert_never(condition)


def _number(value: float | None) -> float | None:
    return None if value is None else float(value)
