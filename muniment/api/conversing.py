"""Conversations: what was said, kept like facts, and read as of any time."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Unpack

from muniment.api import inputs, showing
from muniment.api.answers import FactVersion, Receipt
from muniment.api.entrusting import EntrustingStore
from muniment.api.fields import By, KeyedDeed, NewTurn
from muniment.api.talking import Talker, said_by, turns_added
from muniment.api.transacting import receipt
from muniment.api.turns import Session, Turn
from muniment.api.verbs import verb, write_verb
from muniment.domain.scope import Scope
from muniment.domain.session import Opening
from muniment.domain.text import Json
from muniment.domain.time import FOREVER, Period
from muniment.errors import InvalidValueError, UnknownSessionError, UnknownTurnError
from muniment.instants import Time, to_instant
from muniment.projections.conversation import NO_END, TurnQuery


TURNS_MAX = 10_000
"""Most turns kept in one transaction, and the highest limit of what is given back."""


class ConversingStore(EntrustingStore):
    """A store that keeps what was said, beside what is remembered of it."""

    @write_verb
    def start_session(
        self,
        *,
        user_id: str | None = None,
        scope: Scope | None = None,
        agent: str | None = None,
        metadata: Mapping[str, Json] | None = None,
        **by: Unpack[KeyedDeed],
    ) -> Session:
        """
        Begin a conversation.

        Args:
            user_id: Whose memory it belongs to; or *scope*.
            scope: Whose memory it belongs to; or *user_id*.
            agent: Who serves in it.
            metadata: The caller's own JSON, such as the name it has elsewhere.
            by: See `KeyedDeed`.

        Raises:
            SubjectFrozenError: If writes to the subject are refused for now.
        """
        whose = inputs.scope_of(user_id, scope)
        limit = self._settings.content_limit
        opening = Opening(
            agent=inputs.name_or_none("agent", agent),
            metadata=inputs.metadata(metadata or {}, limit=limit),
        )
        return self._talker.start(whose, opening, inputs.origin(by))

    @write_verb
    def add_turn(
        self, session_id: str, *, role: str, content: str, **fields: Unpack[NewTurn]
    ) -> Turn:
        """
        Keep what somebody said.

        Args:
            session_id: The conversation it was said in.
            role: ``user``, ``assistant``, ``tool`` or ``system``.
            content: The words; 1 byte of UTF-8 up to the content limit.
            fields: See `NewTurn`.

        Raises:
            UnknownSessionError: If there is no such session.
            SessionEndedError: If it has ended.
            SubjectFrozenError: If writes to the subject are refused for now.
        """
        said, by = _without_origin(fields)
        turn = {**said, "role": role, "content": content}
        return self._added(session_id, [turn], by, action="add_turn")[0]

    @write_verb
    def add_turns(
        self,
        session_id: str,
        *,
        turns: Iterable[Mapping[str, Any]],
        **by: Unpack[KeyedDeed],
    ) -> tuple[Turn, ...]:
        """
        Keep several turns of one session in one transaction: all of them, or none.

        Args:
            session_id: The conversation they were said in.
            turns: 1 to 10,000 mappings with ``role``, ``content`` and the fields of
                `NewTurn` that say what was said.
            by: See `KeyedDeed`.

        Raises:
            UnknownSessionError: If there is no such session.
            SessionEndedError: If it has ended.
            SubjectFrozenError: If writes to the subject are refused for now.
        """
        if isinstance(turns, str | Mapping) or not isinstance(turns, Iterable):
            raise InvalidValueError("turns", turns, "a list of mappings")
        return self._added(session_id, list(turns), by, action="add_turns")

    @write_verb
    def end_session(
        self,
        session_id: str,
        **by: Unpack[KeyedDeed],
    ) -> Receipt:
        """
        Say that nothing more is said in a session; ending it again changes nothing.

        Args:
            session_id: The session.
            by: See `KeyedDeed`.

        Raises:
            UnknownSessionError: If there is no such session.
            SubjectFrozenError: If writes to the subject are refused for now.
        """
        inputs.name("session_id", session_id)
        origin = inputs.origin({**by, "session_id": session_id})
        return receipt(self._talker.end(session_id, origin))

    @verb
    def get_session(
        self, session_id: str, *, as_of: Time | None = None, valid_at: Time | None = None
    ) -> Session:
        """
        Return a session, as it is now or was before.

        It begins and ends when that is recorded, so both times ask for the same: the
        earlier one counts.

        Args:
            session_id: The session.
            as_of: As it was known then; now if left out.
            valid_at: As it was then; *as_of* itself if left out.

        Raises:
            UnknownSessionError: If there is none, it had not begun then, or its subject
                was erased.
            FutureAsOfError: If *as_of* has not come.
        """
        inputs.name("session_id", session_id)
        until = self._lookup.point(as_of, valid_at).until
        found = self._talker.session(session_id, until=until, for_use=as_of is None)
        if found is None:
            raise UnknownSessionError(session_id)
        return found

    @verb
    def list_sessions(
        self,
        *,
        user_id: str | None = None,
        scope: Scope | None = None,
        as_of: Time | None = None,
        valid_at: Time | None = None,
    ) -> tuple[Session, ...]:
        """
        Return the sessions of a subject, the first begun first.

        Args:
            user_id: Whose; or *scope*.
            scope: Whose; or *user_id*.
            as_of: As they were known then; now if left out.
            valid_at: As they were then; see `get_session`.

        Raises:
            FutureAsOfError: If *as_of* has not come.
        """
        whose = inputs.scope_of(user_id, scope)
        until, for_use = self._lookup.point(as_of, valid_at).until, as_of is None
        subject = self._ledger.vault.find(whose)
        rows = self._conversation.sessions(subject.ref) if subject else ()
        found = (
            self._talker.session(row.session_id, until=until, for_use=for_use)
            for row in rows
        )
        return tuple(each for each in found if each is not None)

    @verb
    def get_turns(
        self,
        session_id: str,
        *,
        limit: int | None = None,
        before: str | None = None,
        as_of: Time | None = None,
        valid_at: Time | None = None,
    ) -> tuple[Turn, ...]:
        """
        Return what was said in a session, in the order in which it was said.

        Args:
            session_id: The session.
            limit: Only so many, the newest; all if left out.
            before: Only what comes before this turn, to page backwards.
            as_of: What was known then; now if left out.
            valid_at: What had been said by then; by *as_of* if left out.

        Raises:
            UnknownSessionError: If there is none, or its subject was erased.
            UnknownTurnError: If *before* names no turn of it.
            FutureAsOfError: If *as_of* has not come.
        """
        inputs.name("session_id", session_id)
        row = self._conversation.session(session_id)
        if row is None:
            raise UnknownSessionError(session_id)
        point = self._lookup.point(as_of, valid_at)
        query = TurnQuery(
            subject_ref=row.subject_ref,
            session_id=session_id,
            known_at=point.asked_at,
            said=said_by(point),
            before=None if before is None else self._talker.place(session_id, before),
            limit=_limit(limit),
            newest=True,
        )
        is_past = as_of is not None
        found = (self._talker.turns if is_past else self._talker.turns_for_use)(query)
        if found is None:
            raise UnknownSessionError(session_id)
        return found

    @verb
    def get_turns_before(
        self,
        *,
        timestamp: Time,
        user_id: str | None = None,
        scope: Scope | None = None,
        as_of: Time | None = None,
        limit: int | None = None,
    ) -> tuple[Turn, ...]:
        """
        Return what had been said to and by a subject up to a time, oldest first.

        Args:
            timestamp: What was said then or before …
            user_id: Whose conversations; or *scope*.
            scope: Whose conversations; or *user_id*.
            as_of: … as it was known at this recorded time; *timestamp* itself if left
                out, so that what was imported later is not in it.
            limit: Only so many, the newest; all if left out.

        Raises:
            FutureAsOfError: If *as_of* has not come.
        """
        whose, until = inputs.scope_of(user_id, scope), to_instant(timestamp)
        point = self._lookup.at(until if as_of is None else to_instant(as_of), until)
        subject = self._ledger.vault.find(whose)
        if subject is None:
            return ()
        query = TurnQuery(
            subject_ref=subject.ref,
            session_id=None,
            known_at=point.asked_at,
            said=said_by(point),
            limit=_limit(limit),
            newest=True,
        )
        return self._talker.turns(query) or ()

    @verb
    def get_turn(
        self, turn_id: str, *, as_of: Time | None = None, valid_at: Time | None = None
    ) -> Turn:
        """
        Return one turn.

        Args:
            turn_id: The turn.
            as_of: If it was known then; now if left out.
            valid_at: If it had been said by then; by *as_of* if left out.

        Raises:
            UnknownTurnError: If there is none, not by then, or its subject was erased.
            FutureAsOfError: If *as_of* has not come.
        """
        inputs.name("turn_id", turn_id)
        point = self._lookup.point(as_of, valid_at)
        found = self._talker.turn(turn_id, point, for_use=as_of is None)
        if found is None:
            raise UnknownTurnError(turn_id)
        return found

    @verb
    def get_source_turns(
        self, fact_id: str, *, as_of: Time | None = None, valid_at: Time | None = None
    ) -> tuple[Turn, ...]:
        """
        Return the turns a fact was drawn from, as far as they were said here, in order.

        Args:
            fact_id: The fact.
            as_of: Those of the versions that were known then; of all if left out.
            valid_at: What had been said by then; by *as_of* if left out.

        Raises:
            UnknownFactError: If it was never recorded, or its subject was erased.
            FutureAsOfError: If *as_of* has not come.
        """
        inputs.name("fact_id", fact_id)
        point = self._lookup.point(as_of, valid_at)
        subject, every = self._ledger.fact(fact_id)
        events = [each for each in every if each.position <= point.position]
        versions = self._lookup.versions(subject, events)
        names = dict.fromkeys(turn for each in versions for turn in each.source_turns)
        for_use = as_of is None
        found = (self._talker.turn(each, point, for_use=for_use) for each in names)
        return tuple(
            each for each in found if each is not None and each.scope == subject.scope
        )

    @verb
    def get_facts_of_turn(
        self, turn_id: str, *, as_of: Time | None = None, valid_at: Time | None = None
    ) -> tuple[FactVersion, ...]:
        """
        Return the versions of facts that were drawn from a turn, in order.

        Args:
            turn_id: The turn.
            as_of: Those that were known then; all there are now if left out.
            valid_at: As of `get_turn`.

        Raises:
            UnknownTurnError: If there is no such turn, not by then, or its subject was
                erased.
            FutureAsOfError: If *as_of* has not come.
        """
        inputs.name("turn_id", turn_id)
        point = self._lookup.point(as_of, valid_at)
        turn = self._talker.turn(turn_id, point, for_use=as_of is None)
        subject = self._ledger.vault.find(turn.scope) if turn else None
        if subject is None:
            raise UnknownTurnError(turn_id)
        every = self._ledger.subject_events(subject, until=point.position)
        events = [each for some in showing.by_fact(every).values() for each in some]
        versions = self._lookup.versions(subject, events)
        drawn = [each for each in versions if turn_id in each.source_turns]
        return tuple(sorted(drawn, key=lambda each: each.position))

    def turns_of(self, scope: Scope, said: Period = NO_END) -> tuple[Turn, ...]:
        """Return all that was said to and by a subject within a period, oldest first."""
        subject = self._ledger.vault.find(scope)
        if subject is None:
            return ()
        query = TurnQuery(
            subject_ref=subject.ref, session_id=None, known_at=FOREVER, said=said
        )
        return self._talker.turns(query) or ()

    @property
    def _talker(self) -> Talker:
        return Talker(self._lookup.ledger, self._conversation)

    def _added(
        self,
        session_id: str,
        turns: Sequence[object],
        by: Mapping[str, Any],
        *,
        action: str,
    ) -> tuple[Turn, ...]:
        inputs.name("session_id", session_id)
        inputs.count("the number of turns", len(turns), least=1, most=TURNS_MAX)
        said = turns_added(turns, limit=self._settings.content_limit)
        origin = inputs.origin({**by, "session_id": session_id})
        return self._talker.add(session_id, said, origin, action=action)


def _without_origin(fields: NewTurn) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the fields that say what was said, and those that say who keeps it."""
    said = {name: each for name, each in fields.items() if name not in By.__annotations__}
    by = {name: each for name, each in fields.items() if name in By.__annotations__}
    return said, by


def _limit(limit: int | None) -> int | None:
    if limit is None:
        return None
    return inputs.count("limit", limit, least=1, most=TURNS_MAX)
