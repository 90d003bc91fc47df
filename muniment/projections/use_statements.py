"""How often facts were used, and when: the queries, by dialect."""

from typing import Any

import sqlalchemy as sa

from muniment.ledger.prepared import about_each, among
from muniment.projections import conversation_tables as tables
from muniment.projections.conversation import USES_MAX


_u = tables.use.c
_OURS = _u.ledger == sa.bindparam("ledger", type_=sa.Text)


def _int(name: str) -> sa.BindParameter[int]:
    return sa.bindparam(name, type_=sa.BigInteger)


USES = among(
    sa.select(_u.fact_id, _u.used_at_us)
    .where(_OURS, _u.used_at_us <= _int("until"), _u.position <= _int("position"))
    .order_by(_u.used_at_us),
    _u.fact_id,
)
LAST_USED = among(
    sa.select(_u.fact_id, sa.func.max(_u.used_at_us)).where(_OURS).group_by(_u.fact_id),
    _u.fact_id,
)


def _counted(fact_id: sa.ColumnElement[str]) -> sa.Select[Any]:
    """Return how often a fact was used; one of every day is not counted through."""
    some = (
        sa.select(_u.position)
        .where(_OURS, _u.fact_id == fact_id, _u.position <= _int("position"))
        .limit(sa.literal_column(str(USES_MAX)))
        .correlate(sa.inspect(fact_id).table)
        .subquery()
    )
    return sa.select(
        fact_id, sa.select(sa.func.count()).select_from(some).scalar_subquery()
    )


USE_COUNTS = about_each(_counted)
