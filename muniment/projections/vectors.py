"""
Version vectors in the ledger's own database, sealed like the contents they stand for.

A vector tells what its text is about, so it dies with the key of its stream. It is bound
to ledger, fact, version and model: one copied into another row does not open.
"""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import TypeVar

import sqlalchemy as sa

from muniment.domain.thinning import Runs
from muniment.ledger import sealing
from muniment.ledger.database import scrub, writing
from muniment.ledger.prepared import Prepared, Row, among, insert_of, rows_among
from muniment.ledger.records import FACT
from muniment.ledger.sql_recorder import SqlRecorder
from muniment.ledger.vault import Subject, Vault
from muniment.projections.ports import Pending, Said, Vector, VersionVector
from muniment.projections.vector_bytes import as_bytes, from_bytes
from muniment.projections.vector_tables import version_vector


_ONE_BY_ONE_MAX = 32
"""So many rows are found faster by their whole key each than by one list."""

_LIST_MAX = 500
_PUT_MAX = 1_000
"""So many rows in one transaction: appends wait for it."""

_LEAST, _MOST = 1e-30, 1e30
"""Between these the length of a vector can be squared in float32."""

T = TypeVar("T")


class SqlVersionVectors:
    """A `muniment.projections.ports.VersionVectors` beside a ledger in SQL."""

    def __init__(self, recorder: SqlRecorder, vault: Vault, *, lock_timeout: float) -> None:
        self._recorder = recorder
        self._ledger = recorder.ledger
        self._vault = vault
        self._lock_timeout = lock_timeout

    def put(self, model: str, vectors: Sequence[VersionVector]) -> None:
        for some in chunks(vectors, _PUT_MAX):
            self._put(model, some)

    def of(
        self, subject: Subject, model: str, said: Sequence[Said]
    ) -> Mapping[Said, Vector]:
        key = {"ledger": self._ledger, "subject_ref": subject.ref, "model": model}
        rows: list[Row] = []
        with self._recorder.reading() as connection:
            if len(said) <= _ONE_BY_ONE_MAX:
                for fact_id, version in said:
                    rows += _ONE.rows(connection, **key, fact_id=fact_id, version=version)
            else:
                ids = sorted({fact_id for fact_id, _ in said})
                rows += rows_among(connection, _OF_FACTS, ids, **key)
        wanted = set(said)
        found = [row for row in rows if (row[1], row[2]) in wanted]
        return {
            (row[1], row[2]): vector for row, vector in self._opened(subject, model, found)
        }

    def like(self, model: str, wanted: Mapping[bytes, Subject]) -> Mapping[bytes, Vector]:
        rows: list[Row] = []
        with self._recorder.reading() as connection:
            for tags in chunks(list(wanted), _LIST_MAX):
                values = {"ledger": self._ledger, "model": model, "tags": tags}
                rows += connection.execute(_LIKE, values)
        theirs: defaultdict[str, dict[bytes, Row]] = defaultdict(dict)
        subjects = {each.ref: each for each in wanted.values()}
        for row in rows:
            theirs[row[0]].setdefault(bytes(row[5]), row)
        return {
            bytes(row[5]): vector
            for ref, found in theirs.items()
            if ref in subjects
            for row, vector in self._opened(subjects[ref], model, list(found.values()))
        }

    def pending(self, model: str, *, limit: int) -> Sequence[Pending]:
        with self._recorder.reading() as connection:
            rows = _PENDING.rows(connection, ledger=self._ledger, model=model, most=limit)
        return [
            Pending(
                fact_id=fact_id,
                version=version,
                subject_ref=subject_ref,
                position=position,
                attempts=attempts,
            )
            for subject_ref, fact_id, version, position, attempts in rows
        ]

    def count_pending(self, model: str) -> int:
        with self._recorder.reading() as connection:
            row = _COUNT_PENDING.first(connection, ledger=self._ledger, model=model)
        return int(row[0]) if row else 0

    def count(self, subject_ref: str) -> int:
        with self._recorder.reading() as connection:
            row = _COUNT.first(connection, ledger=self._ledger, subject_ref=subject_ref)
        return int(row[0]) if row else 0

    def scrub(self) -> bool:
        return scrub(self._recorder.engine, (version_vector.name,))

    def forget(self, subject_ref: str, fact_ids: Sequence[str] | None = None) -> None:
        key = {"this_ledger": self._ledger, "this_subject": subject_ref}
        with writing(self._recorder.engine, lock_timeout=self._lock_timeout) as connection:
            if fact_ids is None:
                _FORGET_SUBJECT.run(connection, **key)
            else:
                rows = [{**key, "this_fact": each} for each in fact_ids]
                _FORGET_FACT.run_many(connection, rows)

    def thin(self, subject: Subject, fact_id: str, versions: Runs) -> None:
        whose = {"this_ledger": self._ledger, "this_subject": subject.ref}
        key = {**whose, "this_fact": fact_id}
        with writing(self._recorder.engine, lock_timeout=self._lock_timeout) as connection:
            runs = [{**key, "first": first, "last": last} for first, last in versions]
            _FORGET_VERSIONS.run_many(connection, runs)
            rows = _BY_STREAM.rows(connection, **key)
            anew = self._sealed_alone(subject, fact_id, rows) if rows else ()
            _SEALED_ANEW.run_many(connection, list(anew))

    def forget_model(self, model: str) -> None:
        with writing(self._recorder.engine, lock_timeout=self._lock_timeout) as connection:
            _FORGET_MODEL.run(connection, this_ledger=self._ledger, this_model=model)

    def _put(self, model: str, vectors: Sequence[VersionVector]) -> None:
        rows = [
            row
            for subject, theirs in _by_subject(vectors)
            for row in self._sealed(subject, model, theirs)
        ]
        embedded = [row for row in rows if row["state"] is not None]
        pending = [row for row in rows if row["state"] is None]
        if not rows:
            return
        with writing(self._recorder.engine, lock_timeout=self._lock_timeout) as connection:
            dialect = connection.dialect.name
            put, put_pending = _upserts(dialect)
            put.run_many(connection, embedded)
            put_pending.run_many(connection, pending)

    def _sealed(
        self, subject: Subject, model: str, vectors: Sequence[VersionVector]
    ) -> Iterator[dict[str, object]]:
        keys = self._vault.keys(subject, {each.key_id for each in vectors})
        without = [
            (FACT + each.fact_id, each.version, each.key_id)
            for each in vectors
            if each.key_id not in keys
        ]
        own = self._vault.payload_keys(subject, without)
        for each in vectors:
            key_id, key = each.key_id, keys.get(each.key_id)
            if key is None:
                key_id, key = -key_id, own.get((FACT + each.fact_id, each.version))
            if key is None:
                continue
            place = place_of(self._ledger, each.fact_id, each.version, model)
            vector = each.vector
            yield {
                "ledger": self._ledger,
                "subject_ref": subject.ref,
                "model": model,
                "fact_id": each.fact_id,
                "version": each.version,
                "position": each.position,
                "key_id": key_id,
                "text_tag": each.text_tag,
                "attempts": 1,
                "dimensions": len(vector) if vector is not None else 0,
                "state": None
                if vector is None
                else sealing.seal(key, as_bytes(vector), place=place),
            }

    def _opened(
        self, subject: Subject, model: str, rows: Sequence[Row]
    ) -> Iterator[tuple[Row, Vector]]:
        keys = self._vault.keys(subject, {row[3] for row in rows}) if rows else {}
        alone = [(FACT + row[1], row[2], -row[3]) for row in rows if row[3] < 0]
        own = self._vault.payload_keys(subject, alone)
        for row in rows:
            _, fact_id, version, key_id, state = row[:5]
            key = keys.get(key_id) if key_id > 0 else own.get((FACT + fact_id, version))
            if key is None:
                continue
            place = place_of(self._ledger, fact_id, version, model)
            yield row, from_bytes(sealing.unseal(key, bytes(state), place=place))

    def _sealed_alone(
        self, subject: Subject, fact_id: str, rows: Sequence[Row]
    ) -> Iterator[dict[str, object]]:
        """Yield *rows* of one fact as they are sealed by the keys of their payloads."""
        keys = self._vault.keys(subject, {row[2] for row in rows})
        said = [(FACT + fact_id, version, key_id) for _, version, key_id, _ in rows]
        own = self._vault.payload_keys(subject, said)
        for model, version, key_id, state in rows:
            key, alone = keys.get(key_id), own.get((FACT + fact_id, version))
            if alone is None:
                continue
            place = place_of(self._ledger, fact_id, version, model)
            anew = None
            # In a ledger restored from a backup it is lost, and has to be made again.
            if key is not None:
                vector = sealing.unseal(key, bytes(state), place=place)
                anew = sealing.seal(alone, vector, place=place)
            yield {
                "this_ledger": self._ledger,
                "this_subject": subject.ref,
                "this_model": model,
                "this_fact": fact_id,
                "this_version": version,
                "key_id": -key_id,
                "state": anew,
            }


def text_tag(subject: Subject, text: str) -> bytes:
    """Return the keyed digest by which the embedding of *text* is found again."""
    return sealing.tag(subject.tag_key, b"vector\x00" + text.encode())


def place_of(ledger: str, fact_id: str, version: int, model: str) -> bytes:
    """Return where the vector of one version stands, to which its seal is bound."""
    return f"vector/{ledger}/{fact_id}/{version}/{model}".encode()


def is_vector(vector: Vector, dimensions: int) -> bool:
    """Whether *vector* is one that can be compared: of that size, finite, not zero."""
    return len(vector) == dimensions and _LEAST < math.hypot(*vector) < _MOST


def chunks(values: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """Yield *values* in pieces of at most *size*."""
    for start in range(0, len(values), size):
        yield values[start : start + size]


def _by_subject(
    vectors: Sequence[VersionVector],
) -> Iterator[tuple[Subject, list[VersionVector]]]:
    theirs: defaultdict[str, list[VersionVector]] = defaultdict(list)
    for each in vectors:
        theirs[each.subject.ref].append(each)
    for same in theirs.values():
        yield same[0].subject, same


_c = version_vector.c
_LEDGER = _c.ledger == sa.bindparam("ledger", type_=sa.Text)
_MODEL = _c.model == sa.bindparam("model", type_=sa.Text)
_SUBJECT = _c.subject_ref == sa.bindparam("subject_ref", type_=sa.Text)
_EMBEDDED = _c.state.is_not(None)
_ROW = (_c.subject_ref, _c.fact_id, _c.version, _c.key_id, _c.state, _c.text_tag)
"""In this order `_opened` takes them."""

_ONE = Prepared(
    sa.select(*_ROW).where(
        _LEDGER,
        _SUBJECT,
        _MODEL,
        _EMBEDDED,
        _c.fact_id == sa.bindparam("fact_id", type_=sa.Text),
        _c.version == sa.bindparam("version", type_=sa.BigInteger),
    )
)
_THEIRS = sa.select(*_ROW).where(_LEDGER, _SUBJECT, _MODEL, _EMBEDDED)
_OF_FACTS = among(_THEIRS, _c.fact_id)
_LIKE = sa.select(*_ROW).where(
    _LEDGER, _MODEL, _EMBEDDED, _c.text_tag.in_(sa.bindparam("tags", expanding=True))
)
_PENDING = Prepared(
    sa.select(_c.subject_ref, _c.fact_id, _c.version, _c.position, _c.attempts)
    .where(_LEDGER, _MODEL, _c.state.is_(None))
    .order_by(_c.attempts, _c.position)
    .limit(sa.bindparam("most", type_=sa.BigInteger))
)
_COUNT_PENDING = Prepared(
    sa.select(sa.func.count())
    .select_from(version_vector)
    .where(_LEDGER, _MODEL, _c.state.is_(None))
)

_COUNT = Prepared(
    sa.select(sa.func.count()).select_from(version_vector).where(_LEDGER, _SUBJECT)
)


@cache
def _upserts(dialect: str) -> tuple[Prepared, Prepared]:
    """Return the statements that keep an embedded and a pending version."""
    keys = ["ledger", "subject_ref", "model", "fact_id", "version"]
    statement = insert_of(dialect)(version_vector)
    new = statement.excluded
    embedded = statement.on_conflict_do_update(
        index_elements=keys,
        set_={
            each.name: new[each.name]
            for each in version_vector.columns
            if each.name not in keys
        },
    )
    pending = statement.on_conflict_do_update(
        index_elements=keys,
        set_={"attempts": _c.attempts + sa.literal_column("1")},
        where=_c.state.is_(None),
    )
    return Prepared(embedded), Prepared(pending)


_THIS_LEDGER = _c.ledger == sa.bindparam("this_ledger", type_=sa.Text)
_THIS_SUBJECT = _c.subject_ref == sa.bindparam("this_subject", type_=sa.Text)
_FORGET_SUBJECT = Prepared(
    sa.delete(version_vector).where(_THIS_LEDGER, _THIS_SUBJECT), waits=True
)
_FORGET_FACT = Prepared(
    sa.delete(version_vector).where(
        _THIS_LEDGER,
        _THIS_SUBJECT,
        _c.fact_id == sa.bindparam("this_fact", type_=sa.Text),
    )
)
_THIS_FACT = _c.fact_id == sa.bindparam("this_fact", type_=sa.Text)
_FORGET_VERSIONS = Prepared(
    sa.delete(version_vector).where(
        _THIS_LEDGER,
        _THIS_SUBJECT,
        _THIS_FACT,
        _c.version.between(
            sa.bindparam("first", type_=sa.BigInteger),
            sa.bindparam("last", type_=sa.BigInteger),
        ),
    )
)
_BY_STREAM = Prepared(
    sa.select(_c.model, _c.version, _c.key_id, _c.state).where(
        _THIS_LEDGER,
        _THIS_SUBJECT,
        _THIS_FACT,
        _EMBEDDED,
        _c.key_id > sa.literal_column("0"),
    )
)
_SEALED_ANEW = Prepared(
    sa.update(version_vector)
    .where(
        _THIS_LEDGER,
        _THIS_SUBJECT,
        _THIS_FACT,
        _c.model == sa.bindparam("this_model", type_=sa.Text),
        _c.version == sa.bindparam("this_version", type_=sa.BigInteger),
    )
    .values(key_id=sa.bindparam("key_id"), state=sa.bindparam("state"))
)
_FORGET_MODEL = Prepared(
    sa.delete(version_vector).where(
        _THIS_LEDGER, _c.model == sa.bindparam("this_model", type_=sa.Text)
    ),
    waits=True,
)
