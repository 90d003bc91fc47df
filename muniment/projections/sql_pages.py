"""All that a timeline in SQL is made of, and all that it holds: in order, in pages."""

from collections.abc import Iterator, Sequence

import sqlalchemy as sa

from muniment.ledger import tables as ledger_tables
from muniment.ledger.codec import ERASED
from muniment.ledger.prepared import Prepared, Row
from muniment.ledger.records import FACT, event_row, stamped
from muniment.ledger.sql_recorder import SqlRecorder
from muniment.ledger.statements import EVENT_COLUMNS
from muniment.projections import tables
from muniment.projections.rectangles import ROW_COLUMNS


_PAGE = 5_000


def fact_events(
    connection: sa.Connection, recorder: SqlRecorder
) -> Iterator[Sequence[Row]]:
    """
    Yield the events of all facts of a ledger, fact by fact, but for erased subjects'.

    Yields:
        Pages of rows of `EVENT_COLUMNS`, each with its payload, wherever that is.
    """
    ledger = recorder.ledger
    erased = erased_subjects(connection, ledger)
    stream, version = FACT, 0
    while True:
        page = _STREAMS.rows(
            connection, ledger=ledger, stream=stream, version=version, most=_PAGE
        )
        yield _whole(recorder, [row for row in page if row[6] not in erased])
        if len(page) < _PAGE:
            return
        stream, version = page[-1][3], page[-1][4]


def erased_subjects(connection: sa.Connection, ledger: str) -> frozenset[str]:
    """Return the subjects of which nothing is to be derived any more."""
    return frozenset(row[0] for row in _ERASED.rows(connection, ledger=ledger))


def stored_rows(connection: sa.Connection, ledger: str) -> Iterator[Row]:
    """Yield every row of `ROW_COLUMNS`, by fact, recorded start and valid start."""
    page = _FIRST_ROWS.rows(connection, ledger=ledger, most=_PAGE)
    while page:
        yield from page
        fact_id, recorded_from, valid_from = page[-1][:3]
        page = _ROWS_AFTER.rows(
            connection,
            ledger=ledger,
            fact_id=fact_id,
            recorded_from=recorded_from,
            valid_from=valid_from,
            most=_PAGE,
        )


def _whole(recorder: SqlRecorder, events: Sequence[Row]) -> Sequence[Row]:
    """Return *events* with the payloads that the archive has."""
    if all(row[-1] for row in events):
        return events
    return [event_row(each) for each in recorder.whole([stamped(row) for row in events])]


_c, _e = tables.belief.c, ledger_tables.event.c
_LEDGER = sa.bindparam("ledger", type_=sa.Text)
_MOST = sa.bindparam("most", type_=sa.BigInteger)
_ERASED = Prepared(
    sa.select(_e.subject_ref).where(
        _e.ledger == _LEDGER, _e.topic == sa.literal_column(f"'{ERASED}'")
    )
)
_STREAMS = Prepared(
    sa.select(*EVENT_COLUMNS)
    .where(
        _e.ledger == _LEDGER,
        sa.tuple_(_e.stream, _e.version)
        > sa.tuple_(
            sa.bindparam("stream", type_=sa.Text),
            sa.bindparam("version", type_=sa.BigInteger),
        ),
        _e.stream < sa.literal_column(f"'{FACT}~'"),
    )
    .order_by(_e.stream, _e.version)
    .limit(_MOST)
)
_KEY = (_c.fact_id, _c.recorded_from_us, _c.valid_from_us)
_EVERY = sa.select(*ROW_COLUMNS).where(_c.ledger == _LEDGER).order_by(*_KEY).limit(_MOST)
# Without a bound: whatever somebody put before the first is to be seen.
_FIRST_ROWS = Prepared(_EVERY)
_ROWS_AFTER = Prepared(
    _EVERY.where(
        sa.tuple_(*_KEY)
        > sa.tuple_(
            sa.bindparam("fact_id", type_=sa.Text),
            sa.bindparam("recorded_from", type_=sa.BigInteger),
            sa.bindparam("valid_from", type_=sa.BigInteger),
        )
    )
)
