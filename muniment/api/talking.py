"""Keeping and finding what was said: turns checked, appended under the lock, opened."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from muniment.api import inputs
from muniment.api.points import Point
from muniment.api.transacting import request_body
from muniment.api.turns import Session, Turn, named_turn, session_of, turn_of
from muniment.domain import session as sessions
from muniment.domain.events import Event
from muniment.domain.scope import Scope
from muniment.domain.session import (
    AddTurns,
    EndSession,
    Opening,
    Role,
    SessionEvent,
    SessionStarted,
    SessionState,
    StartSession,
    TurnAdded,
    Words,
)
from muniment.domain.subject import SubjectState
from muniment.domain.time import FOREVER, Instant, Period
from muniment.errors import InvalidInput, InvalidValueError, UnknownTurnError
from muniment.instants import offset_of, to_instant
from muniment.ledger.ids import new_fact_ids
from muniment.ledger.ledger import Committed, Ledger
from muniment.ledger.records import SESSION, TURNS, Origin, RecordedEvent
from muniment.ledger.transaction import Request, Transaction
from muniment.projections.conversation import (
    NO_END,
    Conversation,
    SessionRow,
    TurnQuery,
    TurnRow,
)


_ROLES = tuple(each.value for each in Role)
_FIELDS: dict[str, Any] = {
    "role": None,
    "content": None,
    "uttered_at": None,
    "agent": None,
    "tool": None,
    "entities": (),
    "metadata": None,
}
"""The fields of a turn, and what they are when left out."""


@dataclass(frozen=True, slots=True)
class Talker:
    """Keeps what is said, and finds it again."""

    ledger: Ledger
    conversation: Conversation

    def start(self, scope: Scope, opening: Opening, origin: Origin) -> Session:
        """Begin a session of *scope*."""

        def work(transaction: Transaction) -> None:
            session_id = next(new_fact_ids(transaction.recorded_at))
            new = SessionState()
            events = sessions.decide(StartSession(opening=opening), session_id, new)
            transaction.add_at_end(SESSION + session_id, events)

        committed = self.ledger.transact(
            Request(
                action="start_session",
                origin=origin,
                scope=scope,
                fact_id=None,
                body=request_body(origin, opening=opening),
                work=work,
            )
        )
        (started,) = committed.events
        row = SessionRow(
            session_id=started.session_id,
            subject_ref=started.subject_ref,
            position=started.position,
            started_at=started.recorded_at,
            ended_at=None,
        )
        return session_of(committed.subject, row, opening)

    def add(
        self, session_id: str, turns: tuple[TurnAdded, ...], origin: Origin, *, action: str
    ) -> tuple[Turn, ...]:
        """Keep *turns* in a session."""
        command = AddTurns(turns=turns)

        def work(transaction: Transaction) -> None:
            state = transaction.session(session_id)
            transaction.add_at_end(
                TURNS + session_id, sessions.decide(command, session_id, state)
            )

        committed = self._of_session(session_id, origin, work, action, {"turns": turns})
        fresh = SessionState()
        return tuple(turn_of(committed.subject, each, fresh) for each in committed.events)

    def end(self, session_id: str, origin: Origin) -> Committed:
        """End a session."""

        def work(transaction: Transaction) -> None:
            state = transaction.session(session_id)
            events = sessions.decide(EndSession(), session_id, state)
            transaction.add_at_end(SESSION + session_id, events)

        return self._of_session(session_id, origin, work, "end_session", {})

    def session(
        self, session_id: str, *, until: Instant = FOREVER, for_use: bool = True
    ) -> Session | None:
        """
        Return a session as it was by *until*, if it had begun.

        What was redacted is marked; so is, *for_use* now, what is withheld.
        """
        row = as_by(self.conversation.session(session_id), until)
        subject = self.ledger.vault.subject(row.subject_ref) if row else None
        if row is None or subject is None:
            return None
        stamped = self.ledger.recorder.read_stream(SESSION + session_id)
        events = [each.event for each in self.ledger.mapper.opened(stamped, subject)]
        started = events[0]
        assert isinstance(started, SessionStarted), "a session begins with its start"
        if started.opening is None and self.ledger.was_erased(subject):
            return None
        state = self.ledger.subject_state(subject)
        withheld = for_use and state.withholds(session_id, None)
        return session_of(
            subject,
            row,
            started.opening,
            withheld=withheld,
            expired=_state(events).opening_expired,
        )

    def turn(
        self, turn_id: str, point: Point | None = None, *, for_use: bool = True
    ) -> Turn | None:
        """
        Return a turn, if it had been said, and was known, at *point*.

        What was redacted is marked; so is, *for_use* now, what is withheld.
        """
        named = named_turn(turn_id)
        found = self.conversation.turn(*named) if named else None
        if found is not None and point is not None and not _was_said(found.row, point):
            return None
        subject = self.ledger.vault.subject(found.row.subject_ref) if found else None
        if found is None or subject is None:
            return None
        (said,) = self.ledger.mapper.opened([found.event], subject)
        state = self.ledger.subject_state(subject)
        withheld = for_use and state.withholds(said.session_id, said.version)
        session = self._states([said])[said.session_id]
        turn = turn_of(subject, said, session, withheld=withheld)
        is_gone = turn.content is None and self.ledger.was_erased(subject)
        return None if is_gone else turn

    def turns(
        self, query: TurnQuery, *, binds: SubjectState | None = None
    ) -> tuple[Turn, ...] | None:
        """
        Return what *query* asks for; ``None`` where its subject was erased meanwhile.

        What was redacted is marked; so is, for use now, what is withheld by what *binds*.
        """
        subject = self.ledger.vault.subject(query.subject_ref)
        if subject is None:
            return None
        found = self.conversation.turns(query)
        said = self.ledger.mapper.opened([each.event for each in found], subject)
        state = binds or SubjectState()
        known = self._states(said)
        turns = tuple(
            turn_of(
                subject,
                each,
                known[each.session_id],
                withheld=state.withholds(each.session_id, each.version),
            )
            for each in said
        )
        if any(each.content is None for each in turns) and self.ledger.was_erased(subject):
            # The keys of an erased subject go before its rows.
            return None
        return turns

    def turns_for_use(self, query: TurnQuery) -> tuple[Turn, ...] | None:
        """Return what `turns` does, what is withheld now marked."""
        subject = self.ledger.vault.subject(query.subject_ref)
        if subject is None:
            return None
        return self.turns(query, binds=self.ledger.subject_state(subject))

    def said_later(self, session_id: str, point: Point) -> frozenset[int]:
        """Return the numbers of the turns that had not been said at *point*."""
        if point.as_of.valid_at >= point.asked_at:
            # Nothing is said later than it is recorded.
            return frozenset()
        row = self.conversation.session(session_id)
        if row is None:
            # Erased since whoever asks found it.
            return frozenset()
        query = TurnQuery(
            subject_ref=row.subject_ref,
            session_id=session_id,
            known_at=FOREVER,
            said=Period(said_by(point).end),
        )
        return frozenset(each.row.number for each in self.conversation.turns(query))

    def place(self, session_id: str, turn_id: str) -> tuple[Instant, int]:
        """Return where a turn of a session stands among the others."""
        named = named_turn(inputs.name("before", turn_id))
        found = self.conversation.turn(*named) if named else None
        if found is None or found.row.session_id != session_id:
            raise UnknownTurnError(turn_id)
        return found.row.said_at, found.row.position

    def _states(self, said: Sequence[RecordedEvent]) -> Mapping[str, SessionState]:
        """Return by id the sessions of turns; looked up where some cannot be read."""
        known = {each.session_id: SessionState() for each in said}
        gone = {
            each.session_id
            for each in said
            if isinstance(each.event, TurnAdded) and each.event.words is None
        }
        return {**known, **{each: session_state(self.ledger, each) for each in gone}}

    def _of_session(
        self,
        session_id: str,
        origin: Origin,
        work: Callable[[Transaction], None],
        action: str,
        asked: Mapping[str, object],
    ) -> Committed:
        return self.ledger.transact(
            Request(
                action=action,
                origin=origin,
                scope=None,
                fact_id=None,
                body=request_body(origin, **asked),
                work=work,
                session_id=session_id,
            )
        )


def as_by(row: SessionRow | None, until: Instant) -> SessionRow | None:
    """Return a session as it was by *until*; ``None`` where it had not begun."""
    if row is None or row.started_at > until:
        return None
    went_on = row.ended_at is not None and row.ended_at > until
    return replace(row, ended_at=None) if went_on else row


def said_by(point: Point) -> Period:
    """Return when what was said by the valid time of *point* was said."""
    return Period(NO_END.start, Instant(point.as_of.valid_at + 1))


def _was_said(row: TurnRow, point: Point) -> bool:
    return row.recorded_at <= point.asked_at and row.said_at in said_by(point)


def session_state(ledger: Ledger, session_id: str) -> SessionState:
    """Return a session after all its events; one that is not there has not begun."""
    stamped = ledger.recorder.read_stream(SESSION + session_id)
    return _state(each.event for each in ledger.mapper.opened(stamped, None))


def _state(events: Iterable[Event]) -> SessionState:
    return sessions.fold(each for each in events if isinstance(each, SessionEvent))


def turns_added(turns: Sequence[object], *, limit: int) -> tuple[TurnAdded, ...]:
    """
    Return what is to be kept of *turns*.

    Raises:
        InvalidInput: If a field is not as documented, or not one of them.
    """
    added = []
    for number, each in enumerate(turns, 1):
        try:
            added.append(_turn_added(each, limit=limit))
        except InvalidInput as error:
            if len(turns) > 1:
                error.add_note(f"it is in turn {number:,} of {len(turns):,}")
            raise
    return tuple(added)


def _turn_added(turn: object, *, limit: int) -> TurnAdded:
    if not isinstance(turn, Mapping):
        raise InvalidValueError("a turn", turn, "a mapping of fields")
    inputs.known_fields(turn, tuple(_FIELDS))
    fields = {**_FIELDS, **turn}
    role, uttered_at = fields["role"], fields["uttered_at"]
    if role not in _ROLES:
        raise InvalidValueError("role", role, f"one of {', '.join(_ROLES)}")
    at = None if uttered_at is None else to_instant(uttered_at)
    offset, zone = (None, None) if uttered_at is None else offset_of(uttered_at)
    return TurnAdded(
        role=Role(role),
        uttered_at=at,
        words=Words(
            text=inputs.text("content", fields["content"], limit=limit),
            agent=inputs.name_or_none("agent", fields["agent"]),
            tool=inputs.name_or_none("tool", fields["tool"]),
            utc_offset_s=offset,
            zone=zone,
            entities=inputs.names("entities", fields["entities"]),
            metadata=inputs.metadata(fields["metadata"] or {}, limit=limit),
        ),
    )
