"""The timeline in SQL: one row for each rectangle, applied with the events themselves."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import groupby

import sqlalchemy as sa

from muniment.domain.time import FOREVER, AsOf, Instant
from muniment.errors import ProjectionError
from muniment.ledger import tables as ledger_tables
from muniment.ledger.bulk import insert_rows
from muniment.ledger.database import scrub
from muniment.ledger.mapper import SealingMapper
from muniment.ledger.prepared import Prepared, Row, among, rows_among
from muniment.ledger.recorder import Append
from muniment.ledger.records import StampedEvent, stamped
from muniment.ledger.sql_append import SqlAppend
from muniment.ledger.sql_recorder import SqlRecorder
from muniment.ledger.statements import EVENT_COLUMNS
from muniment.ledger.transaction import FactChange
from muniment.projections import tables
from muniment.projections.agreement import agree, rows_expected
from muniment.projections.beliefs import (
    BeliefQuery,
    BeliefRow,
    Believed,
    Closing,
    rows_after,
    rows_of,
    without_digest,
)
from muniment.projections.needs import needed, resting
from muniment.projections.rectangles import ROW_COLUMNS, row_of, values_of
from muniment.projections.sql_pages import fact_events, stored_rows


_PAGE = 5_000
_NO_LIMIT = 2**31 - 1


class SqlTimeline:
    """A `muniment.projections.beliefs.Timeline` in the ledger's own database."""

    name = "timeline"

    def __init__(self, recorder: SqlRecorder) -> None:
        self._recorder = recorder
        self._ledger = recorder.ledger

    def bind(self, mapper: SealingMapper) -> None:
        """Say by what the events of the ledger are opened."""
        self._mapper = mapper

    def foresee(self, append: Append, said: Sequence[tuple[str, bytes]]) -> None:
        connection = append.connection
        assert connection is not None, "an append of this recorder has a connection"
        if connection.dialect.name != "postgresql":
            return  # SQLite is no journey away.
        refs, tags = zip(*said, strict=True)
        known = append.repeats
        for subject_ref, tag in said:
            known.setdefault(subject_ref, {})[tag] = []
        rows = _REPEATS_OF_EACH.rows(
            connection, ledger=self._ledger, refs=list(refs), tags=list(tags)
        )
        for subject_ref, tag, fact_id in rows:
            known[subject_ref][bytes(tag)].append(fact_id)

    def apply(self, append: Append, changes: Sequence[FactChange]) -> None:
        assert isinstance(append, SqlAppend), "the ledger is in the same database"
        opened: list[tuple[object, ...]] = []
        for change in changes:
            closed, begun = rows_after(change)
            if closed:
                _close(append.connection, self._ledger, closed, change.added[0].position)
            opened.extend(values_of(self._ledger, row) for row in begun)
            runs = without_digest(change)
            if runs:
                key = {"this_ledger": self._ledger, "this_fact": change.fact_id}
                rows = [{**key, "first": one, "last": two} for one, two in runs]
                _BLANK.run_many(append.connection, rows)
        append.insert_rows(tables.belief, opened)

    def of_subject(self, query: BeliefQuery) -> Sequence[Believed]:
        statement = _OF_SUBJECT if query.category is None else _OF_CATEGORY
        values: dict[str, object] = {
            "ledger": self._ledger,
            "subject_ref": query.subject_ref,
            "recorded_at": query.as_of.recorded_at,
            "valid_at": query.as_of.valid_at,
            "expired_at": query.expired_at,
            "after_from": query.after[0] if query.after else -(2**63),
            "after_id": query.after[1] if query.after else "",
            "most": _NO_LIMIT if query.limit is None else query.limit,
        }
        if query.category is not None:
            values["category"] = query.category
        with self._recorder.reading() as connection:
            rows = statement.rows(connection, **values)
        return self._believed(rows)

    def of_fact(self, fact_id: str, as_of: AsOf) -> Believed | None:
        with self._recorder.reading() as connection:
            row = _OF_FACT.first(
                connection,
                ledger=self._ledger,
                fact_id=fact_id,
                recorded_at=as_of.recorded_at,
                valid_at=as_of.valid_at,
            )
        return None if row is None else self._believed([row])[0]

    def moved(self, subject_ref: str, *, after: Instant, limit: int) -> list[BeliefRow]:
        key = {"ledger": self._ledger, "subject_ref": subject_ref}
        with self._recorder.reading() as connection:
            rows = _MOVED.rows(connection, **key, after=after, most=limit)
        return [row_of(row) for row in rows]

    def of_facts(self, fact_ids: Sequence[str]) -> Sequence[BeliefRow]:
        with self._recorder.reading() as connection:
            rows = rows_among(connection, _OF_FACTS, fact_ids, ledger=self._ledger)
        return [row_of(row) for row in rows]

    def repeats(
        self,
        connection: sa.Connection | None,
        subject_ref: str,
        content_tags: Sequence[bytes],
    ) -> Mapping[bytes, Sequence[str]]:
        assert connection is not None, "asked within a transaction"
        found: dict[bytes, list[str]] = {}
        rows: Iterable[Row]
        if len(content_tags) == 1:
            rows = _REPEATS.rows(
                connection,
                ledger=self._ledger,
                subject_ref=subject_ref,
                content_tag=content_tags[0],
            )
        else:
            different = list(dict.fromkeys(content_tags))
            rows = self._repeats_of_many(connection, subject_ref, different)
        for tag, fact_id in rows:
            found.setdefault(bytes(tag), []).append(fact_id)
        return found

    def _repeats_of_many(
        self, connection: sa.Connection, subject_ref: str, content_tags: Sequence[bytes]
    ) -> Iterator[Row]:
        whose = {"ledger": self._ledger, "subject_ref": subject_ref}
        if connection.dialect.name == "postgresql":
            yield from _REPEATS_OF_ALL.rows(connection, tags=content_tags, **whose)
            return
        # SQLite has no lists of bytes: the tags fill statements that are always alike.
        for first in range(0, len(content_tags), _TAGS):
            some = content_tags[first : first + _TAGS]
            padded = [*some, *[some[-1]] * (_TAGS - len(some))]
            tags = {f"tag_{number}": tag for number, tag in enumerate(padded)}
            yield from _REPEATS_OF_SOME.rows(connection, **tags, **whose)

    def needed(
        self, connection: sa.Connection | None, *, first: int, last: int
    ) -> AbstractSet[int]:
        assert connection is not None, "asked within a transaction"
        return needed(connection, self._ledger, first=first, last=last)

    def resting(self, at: Instant, *, after: str) -> Sequence[StampedEvent]:
        with self._recorder.reading() as connection:
            return resting(connection, self._ledger, at=at, after=after)

    def rows(self) -> Iterator[BeliefRow]:
        with self._recorder.reading() as connection:
            for row in stored_rows(connection, self._ledger):
                try:
                    read = row_of(row)
                except (AssertionError, TypeError, ValueError) as error:
                    raise ProjectionError("timeline", row[7], str(error)) from error
                yield read

    def purge(self, subject_ref: str) -> int:
        with self._recorder.appending() as append:
            assert append.connection is not None, "an append of this recorder has one"
            gone = _PURGE.run(
                append.connection, ledger=self._ledger, subject_ref=subject_ref
            )
            return gone.rowcount

    def remaining(self, subject_ref: str) -> int:
        with self._recorder.reading() as connection:
            row = _COUNT.first(connection, ledger=self._ledger, subject_ref=subject_ref)
        assert row is not None, "a count has a row"
        return int(row[0])

    def scrub(self) -> bool:
        return scrub(self._recorder.engine, ("belief",))

    def rebuild(self) -> int:
        # One transaction under the lock: nobody appends meanwhile, and a reader sees
        # all of the old rows or all of the new ones.
        count = 0
        with self._recorder.appending() as append:
            connection = append.connection
            assert connection is not None, "an append of this recorder has a connection"
            _DELETE_ALL.run(connection, ledger=self._ledger)
            batch: list[tuple[object, ...]] = []
            for rows in self._fresh_rows(connection):
                batch.extend(values_of(self._ledger, row) for row in rows)
                if len(batch) >= _PAGE:
                    insert_rows(connection, tables.belief, batch)
                    count, batch = count + len(batch), []
            insert_rows(connection, tables.belief, batch)
        return count + len(batch)

    def fresh_rows(self) -> Iterator[list[BeliefRow]]:
        with self._recorder.reading() as connection:
            yield from self._fresh_rows(connection)

    def is_level(self) -> bool:
        with self._recorder.reading() as connection:
            events = (
                row for page in fact_events(connection, self._recorder) for row in page
            )
            expected = rows_expected(self._mapper, events)
            return agree(expected, stored_rows(connection, self._ledger))

    def _fresh_rows(self, connection: sa.Connection) -> Iterator[list[BeliefRow]]:
        events = (
            event
            for page in fact_events(connection, self._recorder)
            for event in self._mapper.opened_of_all(stamped(row) for row in page)
        )
        for _, stream in groupby(events, key=lambda each: each.stream):
            yield rows_of(list(stream))

    def _believed(self, rows: Sequence[Row]) -> list[Believed]:
        """Return the rectangles of *rows*, each with the event that said it."""
        said = self._recorder.whole([stamped(each[16:]) for each in rows])
        return [
            Believed(row=row_of(each[:16]), said=event)
            for each, event in zip(rows, said, strict=True)
        ]


def _close(
    connection: sa.Connection, ledger: str, closings: Sequence[Closing], position: int
) -> None:
    for each in closings:
        closed = _CLOSE.run(
            connection,
            this_ledger=ledger,
            this_fact=each.fact_id,
            this_valid_from=each.valid_from,
            recorded_to_us=each.recorded_to,
        )
        if closed.rowcount != 1:
            problem = f"fact {each.fact_id} has {closed.rowcount} rows to close, not one"
            raise ProjectionError("timeline", position, problem)


_c, _e = tables.belief.c, ledger_tables.event.c


def _int(name: str) -> sa.BindParameter[int]:
    return sa.bindparam(name, type_=sa.BigInteger)


def _text(name: str) -> sa.BindParameter[str]:
    return sa.bindparam(name, type_=sa.Text)


_SAID = (_e.ledger == _c.ledger) & (_e.position == _c.position)
_AS_OF = (
    (_c.ledger == _text("ledger"))
    & (_c.recorded_from_us <= _int("recorded_at"))
    & (_c.recorded_to_us > _int("recorded_at"))
    & (_c.valid_from_us <= _int("valid_at"))
    & (_c.valid_to_us > _int("valid_at"))
)
_SUBJECT_AS_OF = (
    sa.select(*ROW_COLUMNS, *EVENT_COLUMNS)
    .join_from(tables.belief, ledger_tables.event, _SAID)
    .where(
        _AS_OF,
        _c.subject_ref == _text("subject_ref"),
        _c.expires_at_us.is_(None) | (_c.expires_at_us > _int("expired_at")),
        sa.tuple_(_c.valid_from_us, _c.fact_id)
        > sa.tuple_(_int("after_from"), _text("after_id")),
    )
    .order_by(_c.valid_from_us, _c.fact_id)
    .limit(_int("most"))
)
_OF_SUBJECT = Prepared(_SUBJECT_AS_OF)
_OF_CATEGORY = Prepared(_SUBJECT_AS_OF.where(_c.category == _text("category")))
_OF_FACT = Prepared(
    sa.select(*ROW_COLUMNS, *EVENT_COLUMNS)
    .join_from(tables.belief, ledger_tables.event, _SAID)
    .where(_AS_OF, _c.fact_id == _text("fact_id"))
)
_OF_FACTS = among(sa.select(*ROW_COLUMNS).where(_c.ledger == _text("ledger")), _c.fact_id)
_MOVED = Prepared(
    sa.select(*ROW_COLUMNS)
    .where(
        _c.ledger == _text("ledger"),
        _c.subject_ref == _text("subject_ref"),
        _c.recorded_to_us > _int("after"),
        (_c.recorded_from_us > _int("after"))
        | (_c.recorded_to_us < sa.literal_column(str(FOREVER))),
    )
    .limit(_int("most"))
)
_REPEATED = (
    sa.select(_c.content_tag, _c.fact_id)
    .where(
        _c.ledger == _text("ledger"),
        _c.subject_ref == _text("subject_ref"),
        _c.recorded_to_us == sa.literal_column(str(FOREVER)),
    )
    .order_by(_c.fact_id)
)
_REPEATS = Prepared(
    _REPEATED.where(_c.content_tag == sa.bindparam("content_tag", type_=sa.LargeBinary))
)
_REPEATS_OF_ALL = Prepared(
    _REPEATED.where(
        _c.content_tag == sa.any_(sa.bindparam("tags", type_=sa.ARRAY(sa.LargeBinary)))
    )
)
_ASKED = (
    sa.func.unnest(
        sa.bindparam("refs", type_=sa.ARRAY(sa.Text)),
        sa.bindparam("tags", type_=sa.ARRAY(sa.LargeBinary)),
    )
    .table_valued(sa.column("ref", sa.Text), sa.column("tag", sa.LargeBinary))
    .render_derived(name="asked")
)
_SAYS_IT = (
    # In an order of its own it is not taken apart: each is found by the index.
    sa.select(_c.fact_id)
    .where(
        _c.ledger == _text("ledger"),
        _c.subject_ref == _ASKED.c.ref,
        _c.content_tag == _ASKED.c.tag,
        _c.recorded_to_us == sa.literal_column(str(FOREVER)),
    )
    .order_by(_c.fact_id)
    .lateral("found")
)
_REPEATS_OF_EACH = Prepared(
    sa.select(_ASKED.c.ref, _ASKED.c.tag, _SAYS_IT.c.fact_id).join_from(
        _ASKED, _SAYS_IT, sa.true()
    )
)
_TAGS = 100
_REPEATS_OF_SOME = Prepared(
    _REPEATED.where(
        _c.content_tag.in_(
            [sa.bindparam(f"tag_{each}", type_=sa.LargeBinary) for each in range(_TAGS)]
        )
    )
)
_DELETE_ALL = Prepared(sa.delete(tables.belief).where(_c.ledger == _text("ledger")))
_BLANK = Prepared(
    sa.update(tables.belief)
    .where(
        _c.ledger == _text("this_ledger"),
        _c.fact_id == _text("this_fact"),
        _c.version.between(_int("first"), _int("last")),
    )
    .values(content_tag=sa.null())
)
_PURGE = Prepared(
    sa.delete(tables.belief).where(
        _c.ledger == _text("ledger"), _c.subject_ref == _text("subject_ref")
    )
)
_COUNT = Prepared(
    sa.select(sa.func.count())
    .select_from(tables.belief)
    .where(_c.ledger == _text("ledger"), _c.subject_ref == _text("subject_ref"))
)
_CLOSE = Prepared(
    sa.update(tables.belief)
    .where(
        _c.ledger == _text("this_ledger"),
        _c.fact_id == _text("this_fact"),
        _c.valid_from_us == _int("this_valid_from"),
        _c.recorded_to_us == sa.literal_column(str(FOREVER)),
    )
    .values(recorded_to_us=_int("recorded_to_us"))
)
