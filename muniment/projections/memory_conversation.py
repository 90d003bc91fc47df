"""Conversations in memory: the twin that the ones in SQL are tested against."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import cast

from muniment.domain.session import SessionEnded
from muniment.domain.time import FOREVER, Instant, Period
from muniment.ledger.codec import ERASED
from muniment.ledger.memory_recorder import MemoryRecorder
from muniment.ledger.recorder import Append
from muniment.ledger.records import RecordedEvent, StampedEvent
from muniment.projections.conversation import (
    USES_MAX,
    AccountRow,
    ReceiptRow,
    SaidTurn,
    SessionRow,
    TurnQuery,
    TurnRow,
    UseRow,
    fresh_rows,
    order,
    rows_of,
)


class MemoryConversation:
    """A `muniment.projections.conversation.Conversation` over a ledger in memory."""

    name = "conversation"

    def __init__(self, recorder: MemoryRecorder) -> None:
        self._recorder = recorder

    @property
    def _rows(self) -> tuple[AccountRow, ...]:
        found = self._recorder.read_models.get("conversation", ())
        return cast("tuple[AccountRow, ...]", found)

    @_rows.setter
    def _rows(self, rows: tuple[AccountRow, ...]) -> None:
        self._recorder.read_models["conversation"] = rows

    def apply(self, append: Append, events: Sequence[RecordedEvent]) -> None:
        for event in events:
            if isinstance(event.event, SessionEnded):
                self._rows = tuple(_ended(row, event) for row in self._rows)
            self._rows = (*self._rows, *rows_of(event))

    def session(self, session_id: str) -> SessionRow | None:
        for row in self._rows:
            if isinstance(row, SessionRow) and row.session_id == session_id:
                return row
        return None

    def sessions(self, subject_ref: str) -> Sequence[SessionRow]:
        mine = [row for row in self._rows if row.subject_ref == subject_ref]
        return [row for row in mine if isinstance(row, SessionRow)]

    def turn(self, session_id: str, number: int) -> SaidTurn | None:
        for row in self._rows:
            if isinstance(row, TurnRow) and (row.session_id, row.number) == (
                session_id,
                number,
            ):
                return SaidTurn(row=row, event=self._event(row))
        return None

    def turns(self, query: TurnQuery) -> Sequence[SaidTurn]:
        found = [
            row for row in self._rows if isinstance(row, TurnRow) and _asked(row, query)
        ]
        found.sort(key=lambda row: (row.said_at, row.position))
        if query.limit is not None:
            found = found[-query.limit :] if query.newest else found[: query.limit]
        return [SaidTurn(row=row, event=self._event(row)) for row in found]

    def receipts(
        self, subject_ref: str, asked: Period, *, limit: int | None
    ) -> Sequence[StampedEvent]:
        found = [
            row
            for row in self._rows
            if isinstance(row, ReceiptRow)
            and row.subject_ref == subject_ref
            and row.asked_at in asked
        ]
        found.sort(key=lambda row: (row.asked_at, row.position))
        return [self._event(row) for row in (found[-limit:] if limit else found)]

    def uses(
        self, fact_ids: Sequence[str], until: Instant, *, position: int
    ) -> Mapping[str, Sequence[Instant]]:
        found: dict[str, list[Instant]] = {}
        for row in self._rows:
            if (
                isinstance(row, UseRow)
                and row.fact_id in fact_ids
                and row.used_at <= until
                and row.position <= position
            ):
                found.setdefault(row.fact_id, []).append(row.used_at)
        return {fact_id: sorted(times) for fact_id, times in found.items()}

    def use_counts(self, fact_ids: Sequence[str], *, position: int) -> Mapping[str, int]:
        counts = Counter(
            row.fact_id
            for row in self._rows
            if isinstance(row, UseRow)
            and row.fact_id in fact_ids
            and row.position <= position
        )
        return {fact_id: min(count, USES_MAX) for fact_id, count in counts.items()}

    def last_used(self, fact_ids: Sequence[str]) -> Mapping[str, Instant]:
        found = self.uses(fact_ids, FOREVER, position=FOREVER)
        return {each: times[-1] for each, times in found.items()}

    def rows(self) -> Iterator[AccountRow]:
        others = [row for row in self._rows if not isinstance(row, SessionRow)]
        yield from sorted(others, key=order)
        sessions = [row for row in self._rows if isinstance(row, SessionRow)]
        yield from sorted(sessions, key=lambda row: row.position)

    def fresh_rows(self) -> Iterator[AccountRow]:
        head = self._recorder.present().head
        events = self._recorder.read(limit=head.position)
        erased = {e.sealed.subject_ref for e in events if e.sealed.topic == ERASED}
        return fresh_rows(events, frozenset(erased))

    def rebuild(self) -> int:
        with self._recorder.appending():
            self._rows = tuple(self.fresh_rows())
        return len(self._rows)

    def purge(self, subject_ref: str) -> int:
        before = len(self._rows)
        self._rows = tuple(row for row in self._rows if row.subject_ref != subject_ref)
        return before - len(self._rows)

    def remaining(self, subject_ref: str) -> int:
        return sum(row.subject_ref == subject_ref for row in self._rows)

    def scrub(self) -> bool:
        return True

    def _event(self, row: TurnRow | ReceiptRow) -> StampedEvent:
        (event,) = self._recorder.read(after=row.position - 1, limit=1)
        return event


def _ended(row: AccountRow, event: RecordedEvent) -> AccountRow:
    if isinstance(row, SessionRow) and row.session_id == event.session_id:
        return replace(row, ended_at=event.recorded_at)
    return row


def _asked(row: TurnRow, query: TurnQuery) -> bool:
    return (
        row.subject_ref == query.subject_ref
        and query.session_id in (None, row.session_id)
        and row.recorded_at <= query.known_at
        and row.said_at in query.said
        and (query.before is None or (row.said_at, row.position) < query.before)
    )
