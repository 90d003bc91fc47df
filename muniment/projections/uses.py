"""
How often a fact was of use: how often it was said again.

What somebody says twice, in other words or from another source, is what they come back
to. Counted from the ledger itself, so that it is exact as of any moment.
"""

from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping, Sequence
from threading import Lock
from typing import Final, NamedTuple

import sqlalchemy as sa

from muniment.domain.events import FactCorroborated
from muniment.domain.time import Instant
from muniment.ledger import tables
from muniment.ledger.codec import topic_of
from muniment.ledger.memory_recorder import MemoryRecorder
from muniment.ledger.prepared import Prepared
from muniment.ledger.records import FACT
from muniment.ledger.sql_recorder import SqlRecorder


_SUBJECTS_MAX: Final = 20_000
_REPEATED: Final = topic_of(FactCorroborated)


Happened = tuple[int, Instant, str, str]
"""Position, recorded time, stream and topic of an event of a subject."""

Tail = Callable[[str, int], Sequence[Happened]]
"""Gives the events of a subject past a position, oldest first."""


class _Known(NamedTuple):
    """The last position looked at, and when which fact was said again."""

    position: int
    repeats: tuple[tuple[Instant, str], ...]


class Repeats:
    """
    The `muniment.projections.ports.UseCounts` that the ledger alone tells of.

    Args:
        tail: Reads the ledger; what was read before is kept in memory.
    """

    def __init__(self, tail: Tail) -> None:
        self._tail = tail
        self._lock = Lock()
        self._known: OrderedDict[str, _Known] = OrderedDict()

    def uses(
        self, subject_ref: str, fact_ids: Sequence[str], *, recorded_at: Instant
    ) -> Mapping[str, int]:
        repeats = self._brought_up(subject_ref).repeats
        if not repeats:
            return {}
        counts = Counter(fact_id for at, fact_id in repeats if at <= recorded_at)
        return {each: counts[each] for each in fact_ids if each in counts}

    def _brought_up(self, ref: str) -> _Known:
        known = self._known.get(ref, _Known(position=0, repeats=()))
        new = self._tail(ref, known.position)
        if new:
            again = [
                (recorded_at, stream.removeprefix(FACT))
                for _, recorded_at, stream, topic in new
                if topic == _REPEATED
            ]
            known = _Known(new[-1][0], (*known.repeats, *again))
        with self._lock:
            self._known[ref] = known
            self._known.move_to_end(ref)
            if len(self._known) > _SUBJECTS_MAX:
                self._known.popitem(last=False)
        return known


def repeats_in(recorder: SqlRecorder | MemoryRecorder) -> Repeats:
    """Return the repeats that a ledger tells of."""
    if isinstance(recorder, MemoryRecorder):
        return Repeats(lambda ref, after: _in_memory(recorder, ref, after))
    return Repeats(lambda ref, after: _in_sql(recorder, ref, after))


def _in_sql(recorder: SqlRecorder, ref: str, after: int) -> Sequence[Happened]:
    with recorder.reading() as connection:
        rows = _TAIL.rows(connection, ledger=recorder.ledger, subject_ref=ref, after=after)
    return [(row[0], row[1], row[2], row[3]) for row in rows]


def _in_memory(recorder: MemoryRecorder, ref: str, after: int) -> Sequence[Happened]:
    return [
        (
            each.position,
            each.recorded_at,
            str(each.sealed.originator_id),
            each.sealed.topic,
        )
        for each in recorder.read_subject(ref, after=after)
    ]


_e = tables.event.c
_TAIL = Prepared(
    sa.select(_e.position, _e.recorded_at_us, _e.stream, _e.topic)
    .where(
        _e.ledger == sa.bindparam("ledger", type_=sa.Text),
        _e.subject_ref == sa.bindparam("subject_ref", type_=sa.Text),
        _e.position > sa.bindparam("after", type_=sa.BigInteger),
    )
    .order_by(_e.position)
)
