"""The timeline in memory: the twin that the timeline in SQL is tested against."""

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import cast

import sqlalchemy as sa
from msgspec.structs import replace

from muniment.domain.thinning import Runs, is_among
from muniment.domain.time import FOREVER, AsOf, Instant, Period
from muniment.ledger.codec import ERASED
from muniment.ledger.mapper import SealingMapper
from muniment.ledger.memory_recorder import MemoryRecorder
from muniment.ledger.recorder import Append
from muniment.ledger.records import FACT, RecordedEvent, StampedEvent
from muniment.ledger.transaction import FactChange
from muniment.projections.beliefs import (
    BeliefQuery,
    BeliefRow,
    Believed,
    Closing,
    differences,
    rows_after,
    rows_of,
    without_digest,
)


_Rows = dict[tuple[str, Instant, Instant], BeliefRow]


class MemoryTimeline:
    """A `muniment.projections.beliefs.Timeline` over a ledger in memory."""

    name = "timeline"

    def __init__(self, recorder: MemoryRecorder) -> None:
        self._recorder = recorder

    @property
    def _rows(self) -> _Rows:
        return cast("_Rows", self._recorder.read_models.get("timeline", {}))

    @_rows.setter
    def _rows(self, rows: _Rows) -> None:
        self._recorder.read_models["timeline"] = rows

    def bind(self, mapper: SealingMapper) -> None:
        """Say by what the events of the ledger are opened."""
        self._mapper = mapper

    def apply(self, append: Append, changes: Sequence[FactChange]) -> None:
        rows = dict(self._rows)
        for change in changes:
            closed, opened = rows_after(change)
            for closing in closed:
                _close(rows, closing)
            rows.update((_key(row), row) for row in opened)
            _blank(rows, change.fact_id, without_digest(change))
        self._rows = rows

    def foresee(self, append: Append, said: Sequence[tuple[str, bytes]]) -> None:
        pass

    def of_subject(self, query: BeliefQuery) -> Sequence[Believed]:
        found = [row for row in self._rows.values() if _answers(row, query)]
        found.sort(key=_place)
        if query.after is not None:
            found = [row for row in found if _place(row) > query.after]
        return [self._believed(row) for row in found[: query.limit]]

    def of_fact(self, fact_id: str, as_of: AsOf) -> Believed | None:
        for row in self._rows.values():
            if row.fact_id == fact_id and _holds(row, as_of):
                return self._believed(row)
        return None

    def moved(self, subject_ref: str, *, after: Instant, limit: int) -> list[BeliefRow]:
        found = [
            row
            for row in self._rows.values()
            if row.subject_ref == subject_ref
            and (row.recorded.start > after or after < row.recorded.end < FOREVER)
        ]
        return found[:limit]

    def of_facts(self, fact_ids: Sequence[str]) -> Sequence[BeliefRow]:
        wanted = set(fact_ids)
        return [row for row in self._rows.values() if row.fact_id in wanted]

    def repeats(
        self,
        connection: sa.Connection | None,
        subject_ref: str,
        content_tags: Sequence[bytes],
    ) -> Mapping[bytes, Sequence[str]]:
        found: dict[bytes, list[str]] = {}
        for row in self.rows():
            tag = row.content_tag
            ours = row.subject_ref == subject_ref and row.recorded.end == FOREVER
            if ours and tag is not None and tag in content_tags:
                found.setdefault(tag, []).append(row.fact_id)
        return found

    def needed(
        self, connection: sa.Connection | None, *, first: int, last: int
    ) -> AbstractSet[int]:
        held = (row for row in self._rows.values() if row.recorded.end == FOREVER)
        return {row.position for row in held if first <= row.position <= last}

    def resting(self, at: Instant, *, after: str) -> Sequence[StampedEvent]:
        held = [e for e in self._rows.values() if e.recorded.start <= at < e.recorded.end]
        subject_ref = min(
            (e.subject_ref for e in held if e.subject_ref > after), default=""
        )
        mine = sorted({e.position for e in held if e.subject_ref == subject_ref})
        return [self._recorder.read(after=each - 1, limit=1)[0] for each in mine]

    def rows(self) -> Iterator[BeliefRow]:
        return iter([self._rows[key] for key in sorted(self._rows)])

    def purge(self, subject_ref: str) -> int:
        kept = {
            key: row for key, row in self._rows.items() if row.subject_ref != subject_ref
        }
        gone = len(self._rows) - len(kept)
        self._rows = kept
        return gone

    def remaining(self, subject_ref: str) -> int:
        return sum(row.subject_ref == subject_ref for row in self._rows.values())

    def scrub(self) -> bool:
        return True

    def fresh_rows(self) -> Iterator[list[BeliefRow]]:
        head = self._recorder.present().head
        events = self._recorder.read(limit=head.position)
        erased = {e.sealed.subject_ref for e in events if e.sealed.topic == ERASED}
        streams = {
            str(each.sealed.originator_id)
            for each in events
            if each.sealed.subject_ref not in erased
        }
        for stream in sorted(each for each in streams if each.startswith(FACT)):
            yield rows_of(self._opened(stream))

    def is_level(self) -> bool:
        return not list(differences(self.fresh_rows(), self.rows()))

    def rebuild(self) -> int:
        with self._recorder.appending():
            self._rows = {_key(row): row for rows in self.fresh_rows() for row in rows}
        return len(self._rows)

    def _opened(self, stream: str) -> Sequence[RecordedEvent]:
        stamped = self._recorder.read_stream(stream)
        subject = self._mapper.subject(stamped[0].sealed.subject_ref)
        return self._mapper.opened(stamped, subject)

    def _believed(self, row: BeliefRow) -> Believed:
        (said,) = self._recorder.read(after=row.position - 1, limit=1)
        return Believed(row=row, said=said)


def _key(row: BeliefRow) -> tuple[str, Instant, Instant]:
    return row.fact_id, row.recorded.start, row.valid.start


def _close(rows: _Rows, closing: Closing) -> None:
    for key, row in rows.items():
        if (
            row.fact_id == closing.fact_id
            and row.valid.start == closing.valid_from
            and row.recorded.end == FOREVER
        ):
            rows[key] = replace(
                row, recorded=Period(row.recorded.start, closing.recorded_to)
            )


def _blank(rows: _Rows, fact_id: str, runs: Runs) -> None:
    for key, row in rows.items() if runs else ():
        if row.fact_id == fact_id and is_among(row.version, runs):
            rows[key] = replace(row, content_tag=None)


def _answers(row: BeliefRow, query: BeliefQuery) -> bool:
    expires_at = row.traits.expires_at
    return (
        row.subject_ref == query.subject_ref
        and _holds(row, query.as_of)
        and query.category in (None, row.traits.category)
        and (expires_at is None or query.expired_at < expires_at)
    )


def _holds(row: BeliefRow, as_of: AsOf) -> bool:
    return as_of.recorded_at in row.recorded and as_of.valid_at in row.valid


def _place(row: BeliefRow) -> tuple[Instant, str]:
    return row.valid.start, row.fact_id
