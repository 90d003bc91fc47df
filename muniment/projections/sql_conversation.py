"""Conversations and receipts in SQL, applied with the events themselves."""

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

import sqlalchemy as sa

from muniment.domain.session import Role, SessionEnded
from muniment.domain.time import FOREVER, Instant, Period
from muniment.ledger import tables as ledger_tables
from muniment.ledger.database import scrub
from muniment.ledger.prepared import Prepared, Row, rows_among
from muniment.ledger.recorder import Append
from muniment.ledger.records import RecordedEvent, StampedEvent, stamped
from muniment.ledger.sql_append import SqlAppend
from muniment.ledger.sql_recorder import SqlRecorder
from muniment.ledger.statements import EVENT_COLUMNS
from muniment.projections import conversation_tables as tables
from muniment.projections import use_statements
from muniment.projections.conversation import (
    TOPICS,
    AccountRow,
    ReceiptRow,
    SaidTurn,
    SessionRow,
    TurnQuery,
    TurnRow,
    UseRow,
    fresh_rows,
    order,
    rows_of,
)
from muniment.projections.sql_pages import erased_subjects


_PAGE = 5_000
_NO_LIMIT = 2**31 - 1
_BEFORE_ALL = -(2**63)

R = TypeVar("R")


class SqlConversation:
    """A `muniment.projections.conversation.Conversation` in the ledger's own database."""

    name = "conversation"

    def __init__(self, recorder: SqlRecorder) -> None:
        self._recorder = recorder
        self._ledger = recorder.ledger

    def apply(self, append: Append, events: Sequence[RecordedEvent]) -> None:
        assert isinstance(append, SqlAppend), "the ledger is in the same database"
        self._insert(append, [row for each in events for row in rows_of(each)])
        for each in events:
            if isinstance(each.event, SessionEnded):
                _END.run(
                    append.connection,
                    this_ledger=self._ledger,
                    this_session=each.session_id,
                    ended_at_us=each.recorded_at,
                )

    def session(self, session_id: str) -> SessionRow | None:
        found = self._rows(_SESSION, _session, session_id=session_id)
        return found[0] if found else None

    def sessions(self, subject_ref: str) -> Sequence[SessionRow]:
        return self._rows(_SESSIONS, _session, subject_ref=subject_ref)

    def turn(self, session_id: str, number: int) -> SaidTurn | None:
        found = self._rows(_ONE_TURN, _said, session_id=session_id, number=number)
        return found[0] if found else None

    def turns(self, query: TurnQuery) -> Sequence[SaidTurn]:
        before = query.before or (FOREVER, 0)
        values: dict[str, object] = {
            "subject_ref": query.subject_ref,
            "known_at": query.known_at,
            "said_from": query.said.start,
            "said_to": query.said.end,
            "before_at": before[0],
            "before_position": before[1],
            "most": _NO_LIMIT if query.limit is None else query.limit,
        }
        if query.session_id is not None:
            values["session_id"] = query.session_id
        statement = _TURNS[query.session_id is not None, query.newest]
        found = self._rows(statement, _said, **values)
        return found[::-1] if query.newest else found

    def receipts(
        self, subject_ref: str, asked: Period, *, limit: int | None
    ) -> Sequence[StampedEvent]:
        found = self._rows(
            _RECEIPTS,
            stamped,
            subject_ref=subject_ref,
            asked_from=asked.start,
            asked_to=asked.end,
            most=limit or _NO_LIMIT,
        )
        return found[::-1]

    def uses(
        self, fact_ids: Sequence[str], until: Instant, *, position: int
    ) -> Mapping[str, Sequence[Instant]]:
        found: dict[str, list[Instant]] = {}
        bounds = {"until": until, "position": position}
        for fact_id, used_at in self._of_facts(use_statements.USES, fact_ids, **bounds):
            found.setdefault(fact_id, []).append(Instant(used_at))
        return found

    def use_counts(self, fact_ids: Sequence[str], *, position: int) -> Mapping[str, int]:
        found = self._of_facts(use_statements.USE_COUNTS, fact_ids, position=position)
        return {fact_id: count for fact_id, count in found if count}

    def last_used(self, fact_ids: Sequence[str]) -> Mapping[str, Instant]:
        found = self._of_facts(use_statements.LAST_USED, fact_ids)
        return {fact_id: Instant(used_at) for fact_id, used_at in found}

    def rows(self) -> Iterator[AccountRow]:
        with self._recorder.reading() as connection:
            ours = {"ledger": self._ledger}
            others: tuple[Iterable[TurnRow | ReceiptRow | UseRow], ...] = (
                map(_turn, _ALL_TURNS.run(connection, **ours)),
                map(_receipt, _ALL_RECEIPTS.run(connection, **ours)),
                map(_use, _ALL_USES.run(connection, **ours)),
            )
            yield from heapq.merge(*others, key=order)
            yield from map(_session, _ALL_SESSIONS.run(connection, **ours))

    def fresh_rows(self) -> Iterator[AccountRow]:
        with self._recorder.reading() as connection:
            erased = erased_subjects(connection, self._ledger)
        return fresh_rows(self._events(), erased)

    def rebuild(self) -> int:
        count, batch = 0, list[AccountRow]()
        with self._recorder.appending() as append:
            for delete in _DELETE_ALL:
                delete.run(append.connection, ledger=self._ledger)
            for row in self.fresh_rows():
                batch.append(row)
                if len(batch) == _PAGE:
                    self._insert(append, batch)
                    count, batch = count + len(batch), []
            self._insert(append, batch)
        return count + len(batch)

    def purge(self, subject_ref: str) -> int:
        with self._recorder.appending() as append:
            key = {"ledger": self._ledger, "subject_ref": subject_ref}
            return sum(each.run(append.connection, **key).rowcount for each in _PURGE)

    def remaining(self, subject_ref: str) -> int:
        with self._recorder.reading() as connection:
            key = {"ledger": self._ledger, "subject_ref": subject_ref}
            return sum(int(each.rows(connection, **key)[0][0]) for each in _COUNT)

    def scrub(self) -> bool:
        return scrub(self._recorder.engine, tuple(each.name for each in tables.EVERY))

    def _rows(
        self, statement: Prepared, make: Callable[[Row], R], **values: object
    ) -> list[R]:
        with self._recorder.reading() as connection:
            rows = statement.rows(connection, ledger=self._ledger, **values)
        return [make(row) for row in rows]

    def _of_facts(
        self, query: Mapping[str, Prepared], fact_ids: Sequence[str], **values: int
    ) -> Sequence[Row]:
        with self._recorder.reading() as connection:
            wanted = list(fact_ids)  # the driver takes a tuple for a row
            return rows_among(connection, query, wanted, ledger=self._ledger, **values)

    def _events(self) -> Iterator[StampedEvent]:
        """Yield the events that rows come from."""
        after = _BEFORE_ALL
        while page := self._rows(_TALK, stamped, after=after, most=_PAGE):
            yield from self._recorder.whole(page)
            after = page[-1].position

    def _insert(self, append: SqlAppend, rows: Sequence[AccountRow]) -> None:
        kinds = (SessionRow, TurnRow, ReceiptRow, UseRow)
        for kind, table in zip(kinds, tables.EVERY, strict=True):
            mine = [each for each in rows if type(each) is kind]
            append.insert_rows(table, [_values(self._ledger, table, e) for e in mine])


def _values(ledger: str, table: sa.Table, row: AccountRow) -> tuple[object, ...]:
    """Return *row* in the order of the table's columns, which are named like its fields."""
    names = [column.name.removesuffix("_us") for column in table.columns][1:]
    return (ledger, *(getattr(row, name) for name in names))


def _session(values: Row) -> SessionRow:
    session_id, subject_ref, position, started_at, ended_at = values
    return SessionRow(
        session_id=session_id,
        subject_ref=subject_ref,
        position=position,
        started_at=started_at,
        ended_at=ended_at,
    )


def _turn(values: Row) -> TurnRow:
    subject_ref, said_at, position, session_id, number, recorded_at, role = values
    return TurnRow(
        session_id=session_id,
        subject_ref=subject_ref,
        number=number,
        position=position,
        recorded_at=recorded_at,
        said_at=said_at,
        role=Role(role),
    )


def _said(values: Row) -> SaidTurn:
    return SaidTurn(row=_turn(values[:_TURN_WIDTH]), event=stamped(values[_TURN_WIDTH:]))


def _receipt(values: Row) -> ReceiptRow:
    subject_ref, asked_at, position = values
    return ReceiptRow(subject_ref=subject_ref, position=position, asked_at=asked_at)


def _use(values: Row) -> UseRow:
    fact_id, position, subject_ref, version, used_at = values
    return UseRow(
        fact_id=fact_id,
        subject_ref=subject_ref,
        version=version,
        position=position,
        used_at=used_at,
    )


_e = ledger_tables.event.c
_s, _t, _r, _u = (table.c for table in tables.EVERY)


def _int(name: str) -> sa.BindParameter[int]:
    return sa.bindparam(name, type_=sa.BigInteger)


def _text(name: str) -> sa.BindParameter[str]:
    return sa.bindparam(name, type_=sa.Text)


def _columns(table: sa.Table) -> tuple[sa.Column[object], ...]:
    return tuple(column for column in table.columns if column.name != "ledger")


_TURN_WIDTH = len(_columns(tables.turn))
_ours = {table: table.c.ledger == _text("ledger") for table in tables.EVERY}


_SAID = (
    sa.select(*_columns(tables.turn), *EVENT_COLUMNS)
    .join_from(
        tables.turn,
        ledger_tables.event,
        (_e.ledger == _t.ledger) & (_e.position == _t.position),
    )
    .where(_ours[tables.turn])
)
# In the order of its index, or SQLite goes by the key and reads every turn of a ledger.
_ONE_TURN = Prepared(
    _SAID.where(_t.session_id == _text("session_id"), _t.number == _int("number")).order_by(
        _t.said_at_us, _t.position
    )
)


def _turns(*, of_session: bool, newest: bool) -> Prepared:
    query = _SAID.where(
        _t.subject_ref == _text("subject_ref"),
        _t.recorded_at_us <= _int("known_at"),
        _t.said_at_us >= _int("said_from"),
        _t.said_at_us < _int("said_to"),
        sa.tuple_(_t.said_at_us, _t.position)
        < sa.tuple_(_int("before_at"), _int("before_position")),
    )
    if of_session:
        query = query.where(_t.session_id == _text("session_id"))
    by = (
        (_t.said_at_us.desc(), _t.position.desc())
        if newest
        else (_t.said_at_us, _t.position)
    )
    return Prepared(query.order_by(*by).limit(_int("most")))


_TURNS = {
    (of_session, newest): _turns(of_session=of_session, newest=newest)
    for of_session in (False, True)
    for newest in (False, True)
}
_SESSION = Prepared(
    sa.select(*_columns(tables.session)).where(
        _ours[tables.session], _s.session_id == _text("session_id")
    )
)
_SESSIONS = Prepared(
    sa.select(*_columns(tables.session))
    .where(_ours[tables.session], _s.subject_ref == _text("subject_ref"))
    .order_by(_s.position)
)
_RECEIPTS = Prepared(
    sa.select(*EVENT_COLUMNS)
    .join_from(
        tables.receipt,
        ledger_tables.event,
        (_e.ledger == _r.ledger) & (_e.position == _r.position),
    )
    .where(
        _ours[tables.receipt],
        _r.subject_ref == _text("subject_ref"),
        _r.asked_at_us >= _int("asked_from"),
        _r.asked_at_us < _int("asked_to"),
    )
    .order_by(_r.asked_at_us.desc(), _r.position.desc())
    .limit(_int("most"))
)
_END = Prepared(
    sa.update(tables.session)
    .where(_s.ledger == _text("this_ledger"), _s.session_id == _text("this_session"))
    .values(ended_at_us=_int("ended_at_us"))
)


# Most events are of facts: they are not even fetched.
_TALK = Prepared(
    sa.select(*EVENT_COLUMNS)
    .where(
        _e.ledger == _text("ledger"),
        _e.position > _int("after"),
        _e.topic.in_([sa.literal_column(f"'{each}'") for each in sorted(TOPICS)]),
    )
    .order_by(_e.position)
    .limit(_int("most"))
)


def _every(table: sa.Table, *by: str) -> Prepared:
    order_by = [table.c[name] for name in by]
    return Prepared(sa.select(*_columns(table)).where(_ours[table]).order_by(*order_by))


_ALL_SESSIONS = _every(tables.session, "position")
_ALL_TURNS = _every(tables.turn, "position")
_ALL_RECEIPTS = _every(tables.receipt, "position")
_ALL_USES = _every(tables.use, "position", "fact_id")
_DELETE_ALL = [Prepared(sa.delete(table).where(_ours[table])) for table in tables.EVERY]
_PURGE = [
    Prepared(
        sa.delete(table).where(_ours[table], table.c.subject_ref == _text("subject_ref"))
    )
    for table in tables.EVERY
]
_COUNT = [
    Prepared(
        sa.select(sa.func.count())
        .select_from(table)
        .where(_ours[table], table.c.subject_ref == _text("subject_ref"))
    )
    for table in tables.EVERY
]
