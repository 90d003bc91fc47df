"""Which events the beliefs of today rest on."""

from collections.abc import Set as AbstractSet

import sqlalchemy as sa

from muniment.domain.time import FOREVER
from muniment.ledger import tables as ledger_tables
from muniment.ledger.prepared import Prepared
from muniment.ledger.records import FACT
from muniment.projections import tables


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
