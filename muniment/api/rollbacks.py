"""Rollbacks: planned outside of the ledger's lock, applied if the subject stood still."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from muniment.api import inputs, showing
from muniment.api.answers import (
    DiffEntry,
    Fact,
    FactVersion,
    MemoryDiff,
    PlannedConflict,
    Receipt,
    RollbackPlan,
    SkippedFact,
)
from muniment.api.lookup import Lookup
from muniment.api.transacting import receipt
from muniment.domain import rollback
from muniment.domain.fact import Beliefs, touched
from muniment.domain.rollback import CausedBy, Move, Moves, StampedFact
from muniment.domain.scope import Scope
from muniment.domain.time import ALWAYS, Instant, Period
from muniment.errors import (
    FutureAsOfError,
    InvalidValueError,
    NothingToUndoError,
    PlanOutdatedError,
    RollbackConflictError,
    UnknownFactError,
    UnknownTransactionError,
)
from muniment.instants import Time, moment, to_instant
from muniment.ledger.ledger import Committed, Ledger
from muniment.ledger.records import Origin, RecordedEvent, fact_event
from muniment.ledger.transaction import Request, Transaction
from muniment.ledger.vault import Subject


OnConflict = Literal["abort", "skip", "force"]
"""What to do about facts on which others wrote on top."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """
    Whose writes a rollback takes back: those that match every field given.

    Attributes:
        session_id: Written in this session.
        source: Said to come from this source.
        actor: Written by this actor.
        trigger: Set off by this trigger.
        since: Recorded at or after.
        until: Recorded before.
    """

    session_id: str | None = None
    source: str | None = None
    actor: str | None = None
    trigger: str | None = None
    since: Time | None = None
    until: Time | None = None

    def in_ledger_time(self) -> CausedBy:
        """
        Return the same with its times as the ledger has them.

        Raises:
            InvalidValueError: If no field but the times is given.
            InvalidTimeError: If one of the times is none.
        """
        since = None if self.since is None else to_instant(self.since)
        until = None if self.until is None else to_instant(self.until)
        if since is not None and until is not None:
            Period(since, until)
        return CausedBy(
            session_id=inputs.name_or_none("session_id", self.session_id),
            source=inputs.name_or_none("source", self.source),
            actor=inputs.name_or_none("actor", self.actor),
            trigger=inputs.name_or_none("trigger", self.trigger),
            since=since,
            until=until,
        )


class Planner:
    """Plans rollbacks from what the ledger holds now, and applies them."""

    def __init__(self, lookup: Lookup) -> None:
        self._lookup = lookup
        self._ledger: Ledger = lookup.ledger

    def to_version(
        self, fact_id: str, version: int, *, scope: Scope | None = None
    ) -> RollbackPlan:
        """Plan to bring one fact back to a version; of *scope*, if that is said."""
        head = self._ledger.present().head
        subject, events = self._ledger.fact(fact_id)
        if scope not in (None, subject.scope):
            raise UnknownFactError(fact_id)
        streams = {fact_id: [each for each in events if each.position <= head.position]}
        facts = self._stamped(subject, streams)
        moves = rollback.to_version(fact_id, facts[fact_id], version)
        return self._plan(subject.scope, subject, streams, moves, position=head.position)

    def to_time(self, scope: Scope, recorded_at: Instant) -> RollbackPlan:
        """
        Plan to bring every fact of a subject back to a time.

        Raises:
            ThinnedError: If what was known then was thinned.
        """
        known = self._ledger.vault.find(scope)
        if known is not None:
            point = self._lookup.at(recorded_at, None)
            self._lookup.refuse_thinned(known, point)
        head, subject, streams = self._streams(scope)
        if subject is None:
            now = self._ledger.present().now
            if recorded_at > now:
                raise FutureAsOfError(recorded_at, now)
            return self._plan(scope, None, {}, Moves(), position=head)
        moves = rollback.to_time(self._stamped(subject, streams), recorded_at)
        return self._plan(scope, subject, streams, moves, position=head)

    def without(
        self, scope: Scope, cause: CausedBy, *, action: str = "rollback"
    ) -> RollbackPlan:
        """Plan to take back what a cause wrote."""
        head, subject, streams = self._streams(scope)
        if subject is None:
            return self._plan(scope, None, {}, Moves(), position=head)
        moves = rollback.without(self._stamped(subject, streams), cause)
        plan = self._plan(scope, subject, streams, moves, position=head)
        return replace(plan, action=action)

    def undo(self, tx_id: int) -> RollbackPlan:
        """
        Plan to take back one transaction.

        Raises:
            UnknownTransactionError: If there is none, or its subject was erased.
            NothingToUndoError: If it changed no fact.
        """
        row = self._ledger.recorder.transaction(tx_id)
        if row is not None and not row.subject_ref:
            raise NothingToUndoError(tx_id, row.action)
        subject = self._ledger.vault.subject(row.subject_ref) if row else None
        if row is None or subject is None:
            raise UnknownTransactionError(tx_id)
        written = self._ledger.subject_events(
            subject, after=row.first_position - 1, until=row.last_position
        )
        if not any(each.fact_id for each in written):
            raise NothingToUndoError(tx_id, row.action)
        return self.without(subject.scope, CausedBy(tx_id=tx_id), action="undo")

    def apply(
        self,
        plan: RollbackPlan,
        origin: Origin,
        *,
        on_conflict: OnConflict,
        asked: Mapping[str, object] | None = None,
    ) -> Receipt:
        """
        Append what *plan* says, in one transaction.

        Args:
            plan, origin, on_conflict: What to do, who asks for it, and how far to go.
            asked: What the caller asked for, where that was no plan: a repeat of it is
                answered as the first time, whatever would be planned now.

        Raises:
            RollbackConflictError: If there are conflicts, and none is decided.
            FactRedactedError: If all that an undo could bring back is unreadable.
            PlanOutdatedError: If the subject changed after the plan was made.
        """
        self._refuse_foreign(plan)
        moves = _chosen(plan, on_conflict)
        if self._ledger.vault.find(plan.scope) is None:
            return _nothing(plan)

        def work(transaction: Transaction) -> None:
            moved_at = transaction.moved_at()
            if moved_at > plan.position:
                raise PlanOutdatedError(plan.position, moved_at)
            # Here, since a repeat of what was done is in no conflict with what came after.
            if plan.conflicts and on_conflict == "abort":
                raise RollbackConflictError([each.fact_id for each in plan.conflicts])
            if plan.action == "undo":
                plan.moves.refuse_if_redacted()
            for move in moves:
                transaction.add(move.fact_id, move.events)

        planned = {"position": plan.position, "facts": [each.fact_id for each in moves]}
        committed = self._ledger.transact(
            Request(
                action=plan.action,
                origin=origin,
                scope=plan.scope,
                fact_id=None,
                body={**(asked or planned), "on_conflict": on_conflict},
                work=work,
            )
        )
        return self.receipt(committed)

    def _refuse_foreign(self, plan: RollbackPlan) -> None:
        ours = self._ledger.origin
        if plan.origin != ours:
            expected = f"made for {ours}, not for another ledger"
            raise InvalidValueError("plan", plan.origin, expected)

    def receipt(self, committed: Committed) -> Receipt:
        """Return what a rollback did, with the diff it made."""
        return replace(receipt(committed), diff=self._made(committed))

    def _made(self, committed: Committed) -> MemoryDiff:
        """Return the diff that a rollback made, from what it appended."""
        made = showing.by_fact(committed.events)
        origins = self._ledger.origins(committed.subject, committed.events)
        now = committed.recorded_at
        entries = []
        for fact_id, appended in sorted(made.items()):
            _, events = self._ledger.fact(fact_id)
            left = showing.state(events).left
            before = left[appended[0].version - 1]
            after = left[appended[-1].version]
            entries.append(
                DiffEntry(
                    fact_id=fact_id,
                    before=_shown(committed.subject, events, before, now),
                    after=_shown(committed.subject, events, after, now),
                    causes=tuple(showing.version(each, origins) for each in appended),
                    beliefs_before=showing.beliefs(committed.subject, events, before),
                    beliefs_after=showing.beliefs(committed.subject, events, after),
                )
            )
        first = committed.position - len(committed.events)
        return showing.diff_of(entries, first, committed.position)

    def _streams(
        self, scope: Scope
    ) -> tuple[int, Subject | None, dict[str, list[RecordedEvent]]]:
        """Return where the ledger stands, and the facts of a subject at that position."""
        head = self._ledger.present().head.position
        subject = self._ledger.vault.find(scope)
        if subject is None:
            return head, None, {}
        events = self._ledger.subject_events(subject, until=head)
        return head, subject, showing.by_fact(events)

    def _stamped(
        self, subject: Subject, streams: Mapping[str, Sequence[RecordedEvent]]
    ) -> dict[str, StampedFact]:
        every = [event for events in streams.values() for event in events]
        stamps = iter(self._ledger.stamps(subject, every))
        return {
            fact_id: StampedFact(
                state=showing.state(events), stamps=tuple(next(stamps) for _ in events)
            )
            for fact_id, events in streams.items()
        }

    def _plan(
        self,
        scope: Scope,
        subject: Subject | None,
        streams: Mapping[str, Sequence[RecordedEvent]],
        moves: Moves,
        *,
        position: int,
    ) -> RollbackPlan:
        shown = [*moves.moves, *(each.forced for each in moves.conflicts if each.forced)]
        entries = self._entries(subject, streams, shown) if subject else {}
        versions = self._clashing(subject, streams, moves) if subject else {}
        return RollbackPlan(
            diff=showing.diff_of(
                [entries[each.fact_id] for each in moves.moves], position, position
            ),
            skipped=tuple(SkippedFact(fact_id=e.fact_id, why=e.why) for e in moves.skipped),
            conflicts=tuple(
                PlannedConflict(
                    fact_id=each.fact_id,
                    versions=versions[each.fact_id],
                    forced=entries.get(each.fact_id),
                )
                for each in moves.conflicts
            ),
            position=position,
            recorded_at=moment(self._ledger.present().now),
            scope=scope,
            action="rollback",
            origin=self._ledger.origin,
            moves=moves,
        )

    def _entries(
        self,
        subject: Subject,
        streams: Mapping[str, Sequence[RecordedEvent]],
        moves: Sequence[Move],
    ) -> dict[str, DiffEntry]:
        now = self._ledger.present().now
        undone = {each.fact_id: _undone(streams[each.fact_id], each) for each in moves}
        every = [event for events in undone.values() for event in events]
        origins = self._ledger.origins(subject, every)
        entries = {}
        for move in moves:
            events = streams[move.fact_id]
            entries[move.fact_id] = DiffEntry(
                fact_id=move.fact_id,
                before=_shown(subject, events, move.before, now),
                after=_shown(subject, events, move.after, now),
                causes=tuple(
                    showing.version(each, origins) for each in undone[move.fact_id]
                ),
                beliefs_before=showing.beliefs(subject, events, move.before),
                beliefs_after=showing.beliefs(subject, events, move.after),
            )
        return entries

    def _clashing(
        self,
        subject: Subject,
        streams: Mapping[str, Sequence[RecordedEvent]],
        moves: Moves,
    ) -> dict[str, tuple[FactVersion, ...]]:
        return {
            each.fact_id: self._lookup.versions(
                subject, [streams[each.fact_id][version - 1] for version in each.versions]
            )
            for each in moves.conflicts
        }


def _nothing(plan: RollbackPlan) -> Receipt:
    """Return the receipt of a rollback of a memory that is empty."""
    return Receipt(
        tx_id=None,
        recorded_at=plan.recorded_at,
        position=plan.position,
        fact_ids=(),
        diff=plan.diff,
    )


def _chosen(plan: RollbackPlan, on_conflict: OnConflict) -> list[Move]:
    """Return what to do, by what the caller said of conflicts."""
    moves = list(plan.moves.moves)
    match on_conflict:
        case "abort" | "skip":
            return moves
        case "force":
            return moves + [each.forced for each in plan.moves.conflicts if each.forced]
        case _:
            raise InvalidValueError(
                "on_conflict", on_conflict, "'abort', 'skip' or 'force'"
            )


def _shown(
    subject: Subject, events: Sequence[RecordedEvent], beliefs: Beliefs, now: Instant
) -> Fact | None:
    """Return the belief that holds now, or else the last there is."""
    if not beliefs:
        return None
    held = next((each for each in beliefs if now in each.valid), beliefs[-1])
    (fact,) = showing.beliefs(subject, events, [held])
    return fact


def _undone(events: Sequence[RecordedEvent], move: Move) -> list[RecordedEvent]:
    """Return the events whose effect a move takes back."""
    first = move.events[0]
    if len(move.events) == 1 and first.within == ALWAYS:
        later = events[first.to_version :]
        return [each for each in later if touched(fact_event(each)) is not None]
    kept = {each.version for each in move.after}
    gone = sorted({each.version for each in move.before} - kept)
    return [events[version - 1] for version in gone]


def plan_fact(
    planner: Planner,
    fact_id: str | None,
    to_version: int | None,
    *,
    scope: Scope | None = None,
) -> RollbackPlan:
    """Return what bringing one fact back to a version would do."""
    if fact_id is None or to_version is None:
        raise InvalidValueError("the rollback", "this", "both of fact_id and to_version")
    inputs.name("fact_id", fact_id)
    inputs.count("to_version", to_version, least=0, most=2**31)
    return planner.to_version(fact_id, to_version, scope=scope)
