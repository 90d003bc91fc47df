"""
How often a fact was of use: how often it was said again, or given to an agent.

What somebody says twice, in other words or from another source, is what they come back
to; what agents are given again and again is what answers. Counted up to a position of
the ledger, so that it is exact as of any moment.
"""

from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping, Sequence
from threading import Lock
from typing import Final, NamedTuple, Protocol

import sqlalchemy as sa

from muniment.domain.events import FactCorroborated
from muniment.ledger import tables
from muniment.ledger.codec import topic_of
from muniment.ledger.memory_recorder import MemoryRecorder
from muniment.ledger.prepared import Prepared
from muniment.ledger.records import FACT
from muniment.ledger.sql_recorder import SqlRecorder
from muniment.projections.conversation import Conversation


_SUBJECTS_MAX: Final = 20_000
_REPEATED: Final = topic_of(FactCorroborated)


class UseCounts(Protocol):
    """How often facts were of use. Safe to use from many threads."""

    def uses(
        self, subject_ref: str, fact_ids: Sequence[str], *, position: int
    ) -> Mapping[str, int]:
        """
        Return how often each of *fact_ids* was of use up to *position*.

        The answer for a position is the same for ever after. One that never was of use may
        be left out.
        """


Happened = tuple[int, str, str]
"""Position, stream and topic of an event of a subject."""

Tail = Callable[[str, int], Sequence[Happened]]
"""Gives the events of a subject past a position, oldest first."""


class _Known(NamedTuple):
    """The last position looked at, and at which one which fact was said again."""

    position: int
    repeats: tuple[tuple[int, str], ...]


class Uses:
    """
    The `UseCounts` of a ledger.

    Args:
        tail: Reads the ledger; what was read before is kept in memory.
        conversation: Tells what its receipts say was given to agents.
    """

    def __init__(self, tail: Tail, conversation: Conversation) -> None:
        self._tail = tail
        self._conversation = conversation
        self._lock = Lock()
        self._known: OrderedDict[str, _Known] = OrderedDict()

    def uses(
        self, subject_ref: str, fact_ids: Sequence[str], *, position: int
    ) -> Mapping[str, int]:
        repeats = self._brought_up(subject_ref).repeats
        counts = Counter(fact_id for at, fact_id in repeats if at <= position)
        counts.update(self._conversation.use_counts(fact_ids, position=position))
        return {each: counts[each] for each in fact_ids if each in counts}

    def _brought_up(self, ref: str) -> _Known:
        known = self._known.get(ref, _Known(position=0, repeats=()))
        new = self._tail(ref, known.position)
        if new:
            again = [
                (at, stream.removeprefix(FACT))
                for at, stream, topic in new
                if topic == _REPEATED
            ]
            known = _Known(new[-1][0], (*known.repeats, *again))
        with self._lock:
            self._known[ref] = known
            self._known.move_to_end(ref)
            if len(self._known) > _SUBJECTS_MAX:
                self._known.popitem(last=False)
        return known


def uses_in(recorder: SqlRecorder | MemoryRecorder, conversation: Conversation) -> Uses:
    """Return the uses that a ledger tells of."""
    if isinstance(recorder, MemoryRecorder):
        return Uses(lambda ref, after: _in_memory(recorder, ref, after), conversation)
    return Uses(lambda ref, after: _in_sql(recorder, ref, after), conversation)


def _in_sql(recorder: SqlRecorder, ref: str, after: int) -> Sequence[Happened]:
    with recorder.reading() as connection:
        rows = _TAIL.rows(connection, ledger=recorder.ledger, subject_ref=ref, after=after)
    return [(row[0], row[1], row[2]) for row in rows]


def _in_memory(recorder: MemoryRecorder, ref: str, after: int) -> Sequence[Happened]:
    return [
        (each.position, str(each.sealed.originator_id), each.sealed.topic)
        for each in recorder.read_subject(ref, after=after)
    ]


_e = tables.event.c
_TAIL = Prepared(
    sa.select(_e.position, _e.stream, _e.topic)
    .where(
        _e.ledger == sa.bindparam("ledger", type_=sa.Text),
        _e.subject_ref == sa.bindparam("subject_ref", type_=sa.Text),
        _e.position > sa.bindparam("after", type_=sa.BigInteger),
    )
    .order_by(_e.position)
)
