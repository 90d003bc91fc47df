"""Which events the beliefs of today rest on, and those of a time before."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

import sqlalchemy as sa

from muniment.domain.time import FOREVER, Instant
from muniment.ledger import tables as ledger_tables
from muniment.ledger.prepared import Prepared
from muniment.ledger.records import FACT, StampedEvent, stamped
from muniment.ledger.statements import EVENT_COLUMNS
from muniment.projections import tables


def needed(
    connection: sa.Connection, ledger: str, *, first: int, last: int
) -> AbstractSet[int]:
    """Return which of the positions *first* to *last* a belief held now rests on."""
    rows = _NEEDED.rows(connection, ledger=ledger, first=first, last=last)
    return {int(position) for (position,) in rows}


def resting(
    connection: sa.Connection, ledger: str, *, at: Instant, after: str
) -> Sequence[StampedEvent]:
    """Return what `muniment.projections.beliefs.Timeline.resting` promises."""
    values = {"ledger": ledger, "at": at, "after": after}
    subjects = _SUBJECTS.rows(connection, **values, most=_SUBJECTS_MAX)
    if not subjects:
        return ()
    rows = _RESTING.rows(connection, **values, last=subjects[-1][0])
    return [stamped(row) for row in rows]


_SUBJECTS_MAX = 200
_c, _e = tables.belief.c, ledger_tables.event.c


def _int(name: str) -> sa.BindParameter[int]:
    return sa.bindparam(name, type_=sa.BigInteger)


def _text(name: str) -> sa.BindParameter[str]:
    return sa.bindparam(name, type_=sa.Text)


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

_OF_NEXT = sa.and_(
    _c.ledger == _text("ledger"),
    _c.subject_ref > _text("after"),
    _c.recorded_to_us > _int("at"),
    _c.recorded_from_us <= _int("at"),
)

_SUBJECTS = Prepared(
    sa.select(_c.subject_ref)
    .where(_OF_NEXT)
    .group_by(_c.subject_ref)
    .order_by(_c.subject_ref)
    .limit(_int("most"))
)

_held = (
    sa.select(_c.subject_ref, _c.position)
    .where(_OF_NEXT, _c.subject_ref <= _text("last"))
    .distinct()
    .subquery("held")
)
_RESTING = Prepared(
    sa.select(*EVENT_COLUMNS)
    .join_from(
        _held,
        ledger_tables.event,
        (_e.ledger == _text("ledger")) & (_e.position == _held.c.position),
    )
    .order_by(_e.subject_ref, _e.position)
)
