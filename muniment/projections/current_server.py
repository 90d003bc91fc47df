"""
Current facts on a Qdrant server, or in the in-memory imitation of its client.

One collection for each generation of a ledger, named after the vault too, so that stores
which share a server never share a collection. What was deleted is waited for and counted.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, ParamSpec, TypeVar, assert_never

from qdrant_client import QdrantClient, models
from qdrant_client.common.client_exceptions import QdrantException
from qdrant_client.http.exceptions import ApiException

from muniment.errors import ConfigurationError, IndexUnavailableError
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


OLDEST_SERVER: Final = (1, 19)
"""The first with a rarity of terms for each subject apart; positions came with 1.16."""

_UPSERT_MAX: Final = 256
_ALL_REPLICAS: Final = models.ReadConsistencyType.ALL

P = ParamSpec("P")
T = TypeVar("T")


class ServerEngine:
    """
    A `muniment.projections.ports.Engine` on a Qdrant server.

    Any number of processes may use it at once.

    Args:
        client: Of the server; closed with the engine.
        store: Names the vault and the ledger: no other store has the same name.
    """

    def __init__(self, client: QdrantClient, *, store: str) -> None:
        self._client = client
        self._store = store

    @classmethod
    def at(
        cls, url: str, *, store: str, api_key: str | None, timeout: int
    ) -> "ServerEngine":
        """Return the engine at *url*; nothing is asked of it yet."""
        client = QdrantClient(
            url=url, api_key=api_key, timeout=timeout, check_compatibility=False
        )
        return cls(client, store=store)

    def exists(self, number: int) -> bool:
        return _asked(self._client.collection_exists, self._name(number))

    def open(self, generation: Generation) -> CurrentFacts:
        _refuse_old(self._client)
        name = self._name(generation.number)
        if not self.exists(generation.number):
            _make(self._client, name, generation.dimensions)
        _index(self._client, name)
        has_dense = generation.dimensions > 0
        return ServerCurrent(self._client, name, has_dense=has_dense)

    def drop(self, number: int) -> None:
        _asked(self._client.delete_collection, self._name(number))

    def close(self) -> None:
        _asked(self._client.close)

    def _name(self, number: int) -> str:
        return f"muniment-{self._store}-{number}"


class ServerCurrent:
    """A `muniment.projections.ports.CurrentFacts` in one collection."""

    def __init__(self, client: QdrantClient, name: str, *, has_dense: bool) -> None:
        self._client = client
        self._name = name
        self._vectors = [current.DENSE] if has_dense else []

    def upsert(self, points: Sequence[Point], *, until: int) -> None:
        known = _filter([_known(until)])
        for some in chunks(points, _UPSERT_MAX):
            given = [_point(each) for each in some]
            _asked(self._client.upsert, self._name, given, wait=True, update_filter=known)

    def delete(self, point_ids: Sequence[str], *, until: int) -> None:
        if not point_ids:
            return
        chosen = models.Filter(
            must=[models.HasIdCondition(has_id=list(point_ids)), _condition(_known(until))]
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
        theirs = models.IdfCorpusParams(corpus=_filter([current.of_subjects(within)]))
        return self._query(
            _sparse(terms),
            current.SPARSE,
            within,
            limit=limit,
            params=models.SearchParams(idf=theirs),
        )

    def count(self, subject_ref: str | None = None) -> int:
        chosen = (
            None if subject_ref is None else _filter([Among(current.TENANT, [subject_ref])])
        )
        counted = _asked(self._client.count, self._name, count_filter=chosen, exact=True)
        return counted.count

    def size(self, subject_ref: str) -> int:
        theirs = _filter([Among(current.TENANT, [subject_ref])])
        counted = _asked(self._client.count, self._name, count_filter=theirs, exact=False)
        return counted.count

    def scroll(self, *, after: str | None, limit: int) -> tuple[Sequence[Held], str | None]:
        # The engine goes on *from* an id, so the last one seen comes again.
        records, _ = _asked(
            self._client.scroll,
            self._name,
            offset=after,
            limit=limit + 2,
            with_payload=True,
            with_vectors=self._vectors,
            consistency=_ALL_REPLICAS,
        )
        page = [
            current.held(
                str(record.id),
                record.payload or {},
                has_dense=current.DENSE in _named(record.vector),
            )
            for record in records
            if str(record.id) != after
        ]
        rest = page[limit:]
        return page[:limit], page[limit - 1].point_id if rest else None

    def flush(self) -> None:
        """Do nothing: every write was waited for, the server's own log has it."""

    def scrub(self) -> None:
        """Do nothing: its files are the server's, which lets go of them in its own time."""

    def optimize(self) -> None:
        """Do nothing: the server does that by itself."""

    def close(self) -> None:
        """Do nothing: the client belongs to the engine."""

    def _delete(self, chosen: models.Filter) -> None:
        selector = models.FilterSelector(filter=chosen)
        _asked(self._client.delete, self._name, selector, wait=True)

    def _query(
        self,
        vector: list[float] | models.SparseVector,
        using: str,
        within: Within,
        *,
        limit: int,
        params: models.SearchParams | None,
    ) -> list[Found]:
        must, must_not = current.conditions(within)
        answer = _asked(
            self._client.query_points,
            self._name,
            query=vector,
            using=using,
            query_filter=_filter(must, must_not),
            search_params=params,
            limit=limit,
            with_payload=current.FOUND_FIELDS,
        )
        return [
            current.found(str(hit.id), hit.payload or {}, hit.score)
            for hit in answer.points
        ]


def _refuse_old(client: QdrantClient) -> None:
    """
    Refuse a server that would silently leave out what it does not know.

    Raises:
        ConfigurationError: If it does not count how rare a term is for each subject
            apart, or, older still, writes without comparing positions.
    """
    version = _asked(client.info).version
    numbers = version.split(".")[:2]
    if all(map(str.isdecimal, numbers)) and tuple(map(int, numbers)) < OLDEST_SERVER:
        oldest = ".".join(map(str, OLDEST_SERVER))
        raise ConfigurationError(
            f"the Qdrant server is version {version}", f"upgrade it to {oldest} or newer"
        )


def _make(client: QdrantClient, name: str, dimensions: int) -> None:
    """Make a collection, unless another process made it meanwhile."""
    dense = models.VectorParams(size=dimensions, distance=models.Distance.COSINE)
    terms = models.SparseVectorParams(modifier=models.Modifier.IDF)
    try:
        client.create_collection(
            name,
            vectors_config={current.DENSE: dense} if dimensions else {},
            sparse_vectors_config={current.SPARSE: terms},
            # Of one subject's points the graph connects each with its like; there is no
            # graph across subjects, which nobody searches.
            hnsw_config=models.HnswConfigDiff(m=0, payload_m=16),
        )
    except (QdrantException, ApiException, OSError, ValueError) as error:
        if not _asked(client.collection_exists, name):
            raise IndexUnavailableError(str(error)) from error


def _index(client: QdrantClient, name: str) -> None:
    """Make what indexes a collection has not, such as those that came later than it."""
    there = _asked(client.get_collection, name).payload_schema
    for field, schema in _indexes().items():
        if field not in there:
            _asked(client.create_payload_index, name, field, schema, wait=True)


def _indexes() -> Mapping[str, Any]:
    kind = models.KeywordIndexType.KEYWORD
    tenant = models.KeywordIndexParams(type=kind, is_tenant=True)
    # Or the graph would connect everybody's points of one status, too.
    keyword = models.KeywordIndexParams(type=kind, enable_hnsw=False)
    return {
        current.TENANT: tenant,
        **dict.fromkeys(current.KEYWORDS, keyword),
        **dict.fromkeys(current.NUMBERS, models.PayloadSchemaType.INTEGER),
    }


def _asked(question: Callable[P, T], *args: P.args, **named: P.kwargs) -> T:
    """Return what the server answers, or raise what the caller can deal with."""
    try:
        return question(*args, **named)
    except (QdrantException, ApiException, OSError, ValueError) as error:
        raise IndexUnavailableError(str(error).partition("\n")[0]) from error


def _named(vector: object) -> Mapping[str, Any]:
    """Return the vectors of a record by name; it may have none."""
    return vector if isinstance(vector, dict) else {}


def _known(until: int) -> Condition:
    """Return what holds of a point written by whoever knew no more of the ledger."""
    return Between(field="position", at_most=until)


def _point(point: Point) -> models.PointStruct:
    vectors: dict[str, Any] = {}
    if point.dense is not None:
        vectors[current.DENSE] = list(point.dense)
    if point.sparse is not None and point.sparse.indices:
        vectors[current.SPARSE] = _sparse(point.sparse)
    return models.PointStruct(
        id=point.point_id, vector=vectors, payload=current.payload(point)
    )


def _sparse(terms: Terms) -> models.SparseVector:
    return models.SparseVector(indices=list(terms.indices), values=list(terms.weights))


def _filter(must: Sequence[Condition], must_not: Sequence[Condition] = ()) -> models.Filter:
    return models.Filter(
        must=[_condition(each) for each in must],
        must_not=[_condition(each) for each in must_not],
    )


def _condition(condition: Condition) -> models.FieldCondition:
    match condition:
        case Among(field, values):
            match_any = models.MatchAny(any=list(values))
            return models.FieldCondition(key=field, match=match_any)
        case Between():
            bounds = models.Range(
                gte=condition.at_least,
                gt=condition.above,
                lte=condition.at_most,
                lt=condition.below,
            )
            return models.FieldCondition(key=condition.field, range=bounds)
        case _:
            assert_never(condition)
