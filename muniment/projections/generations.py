"""
Which generation of current facts a ledger uses: one row each, never changed after.

Another model needs other vectors, so it is built beside the old one and then used from a
recorded time on. The rows of those no longer used stay: a search as of then asks which
model it was.
"""

from collections.abc import Sequence
from dataclasses import replace
from threading import RLock

import sqlalchemy as sa

from muniment.domain.time import BEGINNING, Instant
from muniment.ledger.memory_recorder import MemoryRecorder
from muniment.ledger.prepared import Prepared, Row
from muniment.ledger.sql_recorder import SqlRecorder
from muniment.projections.ports import Generation
from muniment.projections.vector_tables import vector_generation


class SqlGenerations:
    """The `muniment.projections.ports.Generations` of a ledger in SQL."""

    def __init__(self, recorder: SqlRecorder) -> None:
        self._recorder = recorder

    def active(self) -> Generation | None:
        return latest(self.every())

    def at(self, recorded_at: Instant) -> Generation | None:
        return in_use(self.every(), recorded_at)

    def every(self) -> Sequence[Generation]:
        with self._recorder.reading() as connection:
            return self._every(connection)

    def begin(self, *, model: str, dimensions: int, lexicon: str) -> Generation:
        # Under the ledger's lock: of two processes that begin, one comes second.
        with self._recorder.appending() as append:
            begun = following(
                self._every(append.connection),
                Generation(
                    number=0,
                    model=model,
                    dimensions=dimensions,
                    lexicon=lexicon,
                    active_from=None,
                ),
            )
            _BEGIN.run(
                append.connection,
                ledger=self._recorder.ledger,
                number=begun.number,
                model=model,
                dimensions=dimensions,
                lexicon=lexicon,
                active_from_us=begun.active_from,
            )
        return begun

    def activate(self, number: int) -> Generation:
        with self._recorder.appending() as append:
            from_us = append.next_time()
            # Nothing that was answered for a time up to now may change.
            append.promise(from_us)
            _ACTIVATE.run(
                append.connection,
                this_ledger=self._recorder.ledger,
                this_number=number,
                active_from_us=from_us,
            )
            return named(self._every(append.connection), number)

    def _every(self, connection: sa.Connection | None) -> list[Generation]:
        assert connection is not None, "the ledger is in a database"
        rows = _EVERY.rows(connection, ledger=self._recorder.ledger)
        return [_generation(row) for row in rows]


class MemoryGenerations:
    """The `muniment.projections.ports.Generations` of a ledger in memory."""

    def __init__(self, recorder: MemoryRecorder) -> None:
        self._recorder = recorder
        self._lock = RLock()
        self._rows: list[Generation] = []

    def active(self) -> Generation | None:
        return latest(self.every())

    def at(self, recorded_at: Instant) -> Generation | None:
        return in_use(self.every(), recorded_at)

    def every(self) -> Sequence[Generation]:
        with self._lock:
            return list(self._rows)

    def begin(self, *, model: str, dimensions: int, lexicon: str) -> Generation:
        with self._lock:
            wanted = Generation(
                number=0,
                model=model,
                dimensions=dimensions,
                lexicon=lexicon,
                active_from=None,
            )
            self._rows.append(following(self._rows, wanted))
            return self._rows[-1]

    def activate(self, number: int) -> Generation:
        with self._recorder.appending() as append, self._lock:
            from_us = append.next_time()
            append.promise(from_us)
            self._rows = [
                replace(row, active_from=from_us)
                if row.number == number and row.active_from is None
                else row
                for row in self._rows
            ]
            return named(self._rows, number)


def latest(every: Sequence[Generation]) -> Generation | None:
    """Return the generation that came into use last."""
    used = [each for each in every if each.active_from is not None]
    return max(used, key=_since, default=None)


def in_use(every: Sequence[Generation], recorded_at: Instant) -> Generation | None:
    """Return the generation that was in use at *recorded_at*."""
    return latest([each for each in every if _since(each) <= recorded_at])


def named(every: Sequence[Generation], number: int) -> Generation:
    """Return one generation by its number."""
    return next(each for each in every if each.number == number)


def following(every: Sequence[Generation], wanted: Generation) -> Generation:
    """Return *wanted* as the next one; the first of all is in use from the beginning."""
    number = max((each.number for each in every), default=0) + 1
    active_from = wanted.active_from if every else BEGINNING
    return replace(wanted, number=number, active_from=active_from)


def _since(generation: Generation) -> int:
    return 2**63 if generation.active_from is None else generation.active_from


def _generation(row: Row) -> Generation:
    number, model, dimensions, lexicon, active_from = row
    return Generation(
        number=number,
        model=model,
        dimensions=dimensions,
        lexicon=lexicon,
        active_from=None if active_from is None else Instant(active_from),
    )


_c = vector_generation.c
_EVERY = Prepared(
    sa.select(_c.number, _c.model, _c.dimensions, _c.lexicon, _c.active_from_us)
    .where(_c.ledger == sa.bindparam("ledger", type_=sa.Text))
    .order_by(_c.number)
)
_BEGIN = Prepared(sa.insert(vector_generation))
_THIS = (_c.ledger == sa.bindparam("this_ledger", type_=sa.Text)) & (
    _c.number == sa.bindparam("this_number", type_=sa.BigInteger)
)
_UNUSED = _c.active_from_us.is_(None)
_ACTIVATE = Prepared(
    sa.update(vector_generation)
    .where(_THIS, _UNUSED)
    .values(active_from_us=sa.bindparam("active_from_us", type_=sa.BigInteger))
)
