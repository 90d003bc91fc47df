"""Events as a fold of the timeline reads them: fact by fact, and which of them it needs."""

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet

import sqlalchemy as sa

from muniment.domain.time import FOREVER
from muniment.ledger import tables as ledger_tables
from muniment.ledger.prepared import Prepared
from muniment.ledger.records import FACT, StampedEvent
from muniment.ledger.sql_recorder import stamped
from muniment.ledger.statements import EVENT_COLUMNS
from muniment.projections import tables


_PAGE = 5_000


def fact_streams(
    connection: sa.Connection, ledger: str
) -> Iterator[Sequence[StampedEvent]]:
    """Yield the events of each fact of a ledger."""
    gathered: list[StampedEvent] = []
    after: tuple[str, int] = (FACT, 0)
    while True:
        page = [
            stamped(row)
            for row in _STREAMS.rows(
                connection, ledger=ledger, stream=after[0], version=after[1], most=_PAGE
            )
        ]
        for event in page:
            name = event.sealed.originator_id
            if gathered and gathered[0].sealed.originator_id != name:
                yield gathered
                gathered = []
            gathered.append(event)
        if len(page) < _PAGE:
            break
        last = page[-1].sealed
        after = (str(last.originator_id), last.originator_version)
    if gathered:
        yield gathered


def needed(
    connection: sa.Connection, ledger: str, *, first: int, last: int
) -> AbstractSet[int]:
    """Return which of the positions *first* to *last* a belief held now rests on."""
    rows = _NEEDED.rows(connection, ledger=ledger, first=first, last=last)
    return {int(position) for (position,) in rows}


_c, _e = tables.belief.c, ledger_tables.event.c


def _int(name: str) -> sa.BindParameter[int]:
    return sa.bindparam(name, type_=sa.BigInteger)


def _text(name: str) -> sa.BindParameter[str]:
    return sa.bindparam(name, type_=sa.Text)


_STREAMS = Prepared(
    sa.select(*EVENT_COLUMNS)
    .where(
        _e.ledger == _text("ledger"),
        sa.tuple_(_e.stream, _e.version) > sa.tuple_(_text("stream"), _int("version")),
        _e.stream < sa.literal_column(f"'{FACT}~'"),
    )
    .order_by(_e.stream, _e.version)
    .limit(_int("most"))
)
_NEEDED = Prepared(
    sa.select(_c.position)
    .join_from(
        ledger_tables.event,
        tables.belief,
        # By fact, for which there is an index, and not by position.
        (_e.ledger == _c.ledger)
        & (_e.position == _c.position)
        & (_c.fact_id == sa.func.substr(_e.stream, len(FACT) + 1)),
    )
    .where(
        _e.ledger == _text("ledger"),
        _c.recorded_to_us == sa.literal_column(str(FOREVER)),
        _e.position >= _int("first"),
        _e.position <= _int("last"),
    )
)
