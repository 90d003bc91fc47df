"""
Whose turn it is, where several processes keep up one index.

Nothing depends on it for being right: points are compared and set, and whoever was slower
agrees with whoever was faster. It saves every process from embedding everything.
"""

import hashlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import sqlalchemy as sa

from muniment.ledger.prepared import Prepared
from muniment.ledger.sql_recorder import SqlRecorder


Turn = Callable[[str], AbstractContextManager[bool]]
"""Gives whether it is this process's turn at some work, until the block ends."""


@contextmanager
def always(_work: str) -> Iterator[bool]:
    """Give every turn: to whoever alone holds the engine, or to who does not mind."""
    yield True


def turns_of(recorder: SqlRecorder) -> Turn:
    """Return the turns of the processes that use one ledger on PostgreSQL."""

    @contextmanager
    def turn(work: str) -> Iterator[bool]:
        digest = hashlib.sha256(f"muniment/{recorder.ledger}/{work}".encode()).digest()
        key = int.from_bytes(digest[:8], "big", signed=True)
        # Of the session, so that nothing stays open in the database meanwhile.
        with recorder.reading() as connection:
            row = _TRY.first(connection, turn_key=key)
            is_ours = bool(row and row[0])
            try:
                yield is_ours
            finally:
                if is_ours:
                    _END.run(connection, turn_key=key)

    return turn


_KEY = sa.bindparam("turn_key", type_=sa.BigInteger)
_TRY = Prepared(sa.select(sa.func.pg_try_advisory_lock(_KEY)))
_END = Prepared(sa.select(sa.func.pg_advisory_unlock(_KEY)))
