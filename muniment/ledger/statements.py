"""The statements of the ledger in SQL, on SQLAlchemy Core."""

import sqlalchemy as sa

from muniment.ledger import tables
from muniment.ledger.prepared import Prepared, among
from muniment.ledger.records import FACT


_tx, _event = tables.transaction.c, tables.event.c
_LEDGER = sa.bindparam("ledger", type_=sa.Text)

EVENT_COLUMNS = tuple(
    column for column in tables.event.columns if column.name not in ("ledger", "leaf")
)
"""In this order `stamped` takes them."""

_TX_COLUMNS = tuple(each for each in tables.transaction.columns if each.name != "ledger")


def _present_query(now: sa.ColumnElement[int], *, lateral: bool) -> Prepared:
    """
    Return where a ledger stands, and the time.

    PostgreSQL finds the last transaction by a lateral join; joined like on SQLite it
    would hash all of them.
    """
    latest = tables.transaction.alias("latest")
    ours = latest.c.ledger == tables.ledger.c.ledger
    columns: tuple[sa.ColumnElement[int], ...]
    columns = latest.c.tx_id, latest.c.last_position, latest.c.recorded_at_us
    if lateral:
        last = sa.select(*columns).where(ours).order_by(latest.c.tx_id.desc())
        found = last.limit(sa.literal_column("1")).lateral("last")
        joined = tables.ledger.outerjoin(found, sa.true())
        columns = found.c.tx_id, found.c.last_position, found.c.recorded_at_us
    else:
        every = tables.transaction.alias("every")
        highest = sa.select(sa.func.max(every.c.tx_id)).where(
            every.c.ledger == tables.ledger.c.ledger
        )
        joined = tables.ledger.outerjoin(
            latest, ours & (latest.c.tx_id == highest.scalar_subquery())
        )
    query = sa.select(now, tables.ledger.c.horizon_us, *columns).select_from(joined)
    return Prepared(query.where(tables.ledger.c.ledger == _LEDGER))


PRESENT = {
    "sqlite": _present_query(sa.literal_column("NULL", sa.BigInteger), lateral=False),
    "postgresql": _present_query(
        sa.literal_column(
            "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint", sa.BigInteger
        ),
        lateral=True,
    ),
}
HEAD_AT = Prepared(
    sa.select(_tx.tx_id, _tx.last_position, _tx.recorded_at_us)
    .where(
        _tx.ledger == _LEDGER,
        _tx.recorded_at_us <= sa.bindparam("recorded_at_us", type_=sa.BigInteger),
    )
    .order_by(_tx.recorded_at_us.desc())
    .limit(sa.literal_column("1"))
)


def _settled_query(*, lateral: bool) -> Prepared:
    """Return where a ledger stood at a time; no row if that can still change."""
    at = sa.bindparam("recorded_at_us", type_=sa.BigInteger)
    last, latest = tables.transaction.alias("last"), tables.transaction.alias("latest")
    ours = last.c.ledger == tables.ledger.c.ledger
    columns: tuple[sa.ColumnElement[int], ...]
    columns = last.c.tx_id, last.c.last_position, last.c.recorded_at_us
    if lateral:
        then = sa.select(*columns).where(ours, last.c.recorded_at_us <= at)
        first = then.order_by(last.c.recorded_at_us.desc()).limit(sa.literal_column("1"))
        found = first.lateral("found")
        joined = tables.ledger.outerjoin(found, sa.true())
        columns = found.c.tx_id, found.c.last_position, found.c.recorded_at_us
    else:
        every = tables.transaction.alias("every")
        by_then = sa.select(sa.func.max(every.c.recorded_at_us)).where(
            every.c.ledger == tables.ledger.c.ledger, every.c.recorded_at_us <= at
        )
        joined = tables.ledger.outerjoin(
            last, ours & (last.c.recorded_at_us == by_then.scalar_subquery())
        )
    newest = sa.select(sa.func.max(latest.c.recorded_at_us)).where(
        latest.c.ledger == tables.ledger.c.ledger
    )
    is_settled = (tables.ledger.c.horizon_us >= at) | (newest.scalar_subquery() >= at)
    query = sa.select(*columns).select_from(joined)
    return Prepared(query.where(tables.ledger.c.ledger == _LEDGER, is_settled))


SETTLED_AT = {
    "sqlite": _settled_query(lateral=False),
    "postgresql": _settled_query(lateral=True),
}
READ = Prepared(
    sa.select(*EVENT_COLUMNS)
    .where(
        _event.ledger == _LEDGER,
        _event.position > sa.bindparam("after", type_=sa.BigInteger),
        _event.position <= sa.bindparam("until", type_=sa.BigInteger),
    )
    .order_by(_event.position)
)
READ_AT = among(
    sa.select(*EVENT_COLUMNS).where(_event.ledger == _LEDGER).order_by(_event.position),
    _event.position,
)
_OF_FACTS = sa.literal_column(f"substr(stream, 1, {len(FACT)}) = '{FACT}'", sa.Boolean)
SOME_FACT = among(
    sa.select(_event.position)
    .where(
        _event.ledger == _LEDGER,
        _event.position > sa.bindparam("after", type_=sa.BigInteger),
        _event.position <= sa.bindparam("until", type_=sa.BigInteger),
        _OF_FACTS,
    )
    .limit(sa.literal_column("1")),
    _event.subject_ref,
)
READ_STREAM = Prepared(
    sa.select(*EVENT_COLUMNS)
    .where(_event.ledger == _LEDGER, _event.stream == sa.bindparam("stream", type_=sa.Text))
    .order_by(_event.version)
)
STREAM_END = Prepared(
    sa.select(*EVENT_COLUMNS)
    .where(_event.ledger == _LEDGER, _event.stream == sa.bindparam("stream", type_=sa.Text))
    .order_by(_event.version.desc())
    .limit(sa.literal_column("1"))
)
READ_STREAMS = among(
    sa.select(*EVENT_COLUMNS)
    .where(_event.ledger == _LEDGER)
    .order_by(_event.stream, _event.version),
    _event.stream,
)
READ_SUBJECT = Prepared(
    sa.select(*EVENT_COLUMNS)
    .where(
        _event.ledger == _LEDGER,
        _event.subject_ref == sa.bindparam("subject_ref", type_=sa.Text),
        _event.position > sa.bindparam("after", type_=sa.BigInteger),
        _event.position <= sa.bindparam("until", type_=sa.BigInteger),
    )
    .order_by(_event.position)
)
MOVED_AT = Prepared(
    sa.select(sa.func.max(_event.position)).where(
        _event.ledger == _LEDGER,
        _event.subject_ref == sa.bindparam("subject_ref", type_=sa.Text),
        _OF_FACTS,
    )
)
_PREFIX = sa.select(*EVENT_COLUMNS).where(
    _event.ledger == _LEDGER,
    _event.stream > sa.bindparam("prefix", type_=sa.Text),
    _event.stream < sa.bindparam("before", type_=sa.Text),
)
_NEWEST_FIRST = (_event.stream.desc(), _event.version)
_MOST = sa.bindparam("most", type_=sa.BigInteger)
READ_PREFIX = Prepared(_PREFIX.order_by(*_NEWEST_FIRST).limit(_MOST))
READ_PREFIX_OF_SUBJECT = Prepared(
    _PREFIX.where(_event.subject_ref == sa.bindparam("subject_ref", type_=sa.Text))
    .order_by(*_NEWEST_FIRST)
    .limit(_MOST)
)
TRANSACTION = Prepared(
    sa.select(*_TX_COLUMNS).where(
        _tx.ledger == _LEDGER, _tx.tx_id == sa.bindparam("tx_id", type_=sa.BigInteger)
    )
)
TRANSACTIONS = among(
    sa.select(*_TX_COLUMNS).where(_tx.ledger == _LEDGER).order_by(_tx.tx_id), _tx.tx_id
)

REQUEST = Prepared(
    sa.select(*_TX_COLUMNS).where(
        _tx.ledger == _LEDGER,
        _tx.idempotency_tag == sa.bindparam("idempotency_tag", type_=sa.LargeBinary),
    )
)
MARK_KEY = Prepared(
    sa.update(tables.ledger)
    .where(
        tables.ledger.c.ledger == sa.bindparam("this_ledger", type_=sa.Text),
        tables.ledger.c.key_mark < sa.bindparam("key_mark", type_=sa.BigInteger),
    )
    .values(key_mark=sa.bindparam("key_mark", type_=sa.BigInteger))
)
PROMISE = Prepared(
    sa.update(tables.ledger)
    .where(tables.ledger.c.ledger == sa.bindparam("this_ledger", type_=sa.Text))
    .values(horizon_us=sa.bindparam("horizon_us", type_=sa.BigInteger))
)
CHECKPOINT = Prepared(
    sa.select(tables.checkpoint.c.position).where(
        tables.checkpoint.c.ledger == _LEDGER,
        tables.checkpoint.c.projection == sa.bindparam("projection", type_=sa.Text),
    )
)
NEW_CHECKPOINT = Prepared(sa.insert(tables.checkpoint))
MOVE_CHECKPOINT = Prepared(
    sa.update(tables.checkpoint)
    .where(
        tables.checkpoint.c.ledger == sa.bindparam("this_ledger", type_=sa.Text),
        tables.checkpoint.c.projection == sa.bindparam("this_projection", type_=sa.Text),
    )
    .values(position=sa.bindparam("position", type_=sa.BigInteger))
)
READ_WITH_LEAVES = Prepared(
    sa.select(*EVENT_COLUMNS, _event.leaf)
    .where(
        _event.ledger == _LEDGER,
        _event.position > sa.bindparam("after", type_=sa.BigInteger),
    )
    .order_by(_event.position)
    .limit(sa.bindparam("most", type_=sa.BigInteger))
)
LEAVES = Prepared(
    sa.select(_event.leaf)
    .where(
        _event.ledger == _LEDGER,
        _event.position > sa.bindparam("after", type_=sa.BigInteger),
        _event.position <= sa.bindparam("until", type_=sa.BigInteger),
    )
    .order_by(_event.position)
)
_tile = tables.tile.c
NEW_TILE = Prepared(sa.insert(tables.tile))
TILE = Prepared(
    sa.select(_tile.root, _tile.hashes).where(
        _tile.ledger == _LEDGER,
        _tile.level == sa.bindparam("level", type_=sa.BigInteger),
        _tile.number == sa.bindparam("number", type_=sa.BigInteger),
    )
)
TILE_ROOTS = Prepared(
    sa.select(_tile.root)
    .where(
        _tile.ledger == _LEDGER,
        _tile.level == sa.bindparam("level", type_=sa.BigInteger),
        _tile.number >= sa.bindparam("first", type_=sa.BigInteger),
        _tile.number < sa.bindparam("end", type_=sa.BigInteger),
    )
    .order_by(_tile.number)
)
_head = tables.tree_head.c
NEW_TREE_HEAD = Prepared(sa.insert(tables.tree_head))
TREE_HEADS = Prepared(
    sa.select(_head.size, _head.note)
    .where(
        _head.ledger == _LEDGER, _head.size >= sa.bindparam("least", type_=sa.BigInteger)
    )
    .order_by(_head.size)
)
LAST_TREE_HEAD = Prepared(
    sa.select(_head.size, _head.note)
    .where(_head.ledger == _LEDGER)
    .order_by(_head.size.desc())
    .limit(sa.literal_column("1"))
)
TRANSACTIONS_AFTER = Prepared(
    sa.select(*_TX_COLUMNS)
    .where(_tx.ledger == _LEDGER, _tx.tx_id > sa.bindparam("after", type_=sa.BigInteger))
    .order_by(_tx.tx_id)
    .limit(sa.bindparam("most", type_=sa.BigInteger))
)
LIST_MAX = 500
"""Most values that one statement lists."""

STREAM_LENGTHS = (
    sa.select(_event.stream, sa.func.count())
    .where(
        _event.ledger == _LEDGER,
        _event.stream.in_(sa.bindparam("streams", expanding=True)),
        _event.position <= sa.bindparam("until", type_=sa.BigInteger),
    )
    .group_by(_event.stream)
)
_segment = tables.segment.c
NEW_SEGMENT = Prepared(sa.insert(tables.segment))
SEGMENTS = Prepared(
    sa.select(*(each for each in tables.segment.columns if each.name != "ledger"))
    .where(_segment.ledger == _LEDGER)
    .order_by(_segment.first_tx)
)
_SPAN = (
    _event.ledger == _LEDGER,
    _event.position >= sa.bindparam("first", type_=sa.BigInteger),
    _event.position <= sa.bindparam("last", type_=sa.BigInteger),
)
PAYLOAD_BYTES = Prepared(
    sa.select(
        sa.func.coalesce(sa.func.sum(sa.func.length(_event.state)), sa.literal_column("0"))
    ).where(*_SPAN)
)
DROPPABLE = Prepared(
    sa.select(_event.position)
    .where(
        *_SPAN,
        _event.stream >= sa.literal_column(f"'{FACT}'"),
        _event.stream < sa.literal_column(f"'{FACT}~'"),
        sa.func.length(_event.state) > sa.literal_column("0"),
    )
    .order_by(_event.position)
)
DROP_PAYLOAD = Prepared(
    sa.update(tables.event)
    .where(
        _event.ledger == sa.bindparam("this_ledger", type_=sa.Text),
        _event.position == sa.bindparam("this_position", type_=sa.BigInteger),
    )
    .values(state=sa.bindparam("nothing", type_=sa.LargeBinary))
)
