"""The statements of the vault in SQL, on SQLAlchemy Core."""

from collections.abc import Sequence
from functools import cache

import sqlalchemy as sa

from muniment.ledger import vault_tables as tables
from muniment.ledger.prepared import Prepared, among, insert_of


_v, _l = tables.vault.c, tables.ledger_key.c
_s, _k = tables.subject_key.c, tables.stream_key.c
EPOCH = Prepared(sa.select(_v.epoch))
NEXT_KEY_ID = Prepared(sa.select(_v.next_key_id))
VAULT = Prepared(sa.select(_v.vault_id, _v.kek_id))
NEW_VAULT = Prepared(sa.insert(tables.vault))
TAKE_KEY_IDS = Prepared(
    sa.update(tables.vault)
    .values(next_key_id=_v.next_key_id + sa.bindparam("count", type_=sa.BigInteger))
    .returning(_v.next_key_id),
    waits=True,
)
LEDGER_KEY = Prepared(
    sa.select(_l.kek_id, _l.wrapped).where(_l.ledger == sa.bindparam("ledger"))
)
NEW_LEDGER_KEY = Prepared(sa.insert(tables.ledger_key))
_SUBJECT = sa.select(
    _s.subject_ref,
    _s.kek_id,
    _s.wrapped,
    _s.scope_sealed,
).where(_s.ledger == sa.bindparam("ledger"))
BY_SCOPE = Prepared(_SUBJECT.where(_s.scope_tag == sa.bindparam("scope_tag")))
TAGS_AT_ONCE = 500
"""Fewer than SQLite's smallest limit of parameters, in whatever build."""
_TAGS = [sa.bindparam(f"tag_{each}", type_=sa.LargeBinary) for each in range(TAGS_AT_ONCE)]
_KNOWN_TAGS = Prepared(
    sa.select(_s.scope_tag).where(
        _s.ledger == sa.bindparam("ledger"), _s.scope_tag.in_(_TAGS)
    )
)
BY_REF = Prepared(_SUBJECT.where(_s.subject_ref == sa.bindparam("subject_ref")))
ALL_SUBJECTS = Prepared(_SUBJECT.order_by(_s.subject_ref))
_STREAM_KEYS = sa.select(_k.key_id, _k.subject_ref, _k.wrapped).where(
    _k.ledger == sa.bindparam("ledger")
)
KEY = Prepared(_STREAM_KEYS.where(_k.key_id == sa.bindparam("key_id")))
KEYS = among(_STREAM_KEYS, _k.key_id)
_d = tables.destruction.c
ANNOUNCED = Prepared(
    sa.select(_d.position)
    .where(
        _d.ledger == sa.bindparam("ledger"),
        _d.subject_ref == sa.bindparam("subject_ref"),
        _d.step == sa.bindparam("step"),
    )
    .limit(1)
)

_KINDS_OF_WORDS = ("fact-", "session-", "turns-")
"""How `muniment.ledger.records` names the streams of facts, and of what was said."""
LAST_OF_WORDS = Prepared(
    sa.select(sa.func.max(_d.position)).where(
        _d.ledger == sa.bindparam("ledger"),
        _d.subject_ref == sa.bindparam("subject_ref"),
        _d.position <= sa.bindparam("until"),
        sa.or_(*(_d.stream.startswith(kind) for kind in _KINDS_OF_WORDS)),
    )
)


def known_tags(
    connection: sa.Connection, tags: Sequence[bytes], *, ledger: str
) -> set[bytes]:
    """Return those of at most `TAGS_AT_ONCE` *tags*, and at least one, that have a row."""
    # One statement for every length: the first stands again in the places left over.
    places = {f"tag_{each}": tags[0] for each in range(len(tags), TAGS_AT_ONCE)}
    places |= {f"tag_{place}": tag for place, tag in enumerate(tags)}
    rows = _KNOWN_TAGS.rows(connection, ledger=ledger, **places)
    return {bytes(tag) for (tag,) in rows}


@cache
def new_subject(dialect: str) -> Prepared:
    """Return the statement that adds a subject, unless there is one of its scope."""
    insert = insert_of(dialect)(tables.subject_key)
    return Prepared(insert.on_conflict_do_nothing(), waits=True)
