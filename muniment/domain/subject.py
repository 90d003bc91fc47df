"""The life of one subject: frozen, held, erased. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import reduce
from typing import assert_never

from muniment.domain.commands import (
    DeferRedaction,
    DeferWordsRedaction,
    DiscloseSubject,
    EraseSubject,
    ExpireRecords,
    FreezeSubject,
    PlaceHold,
    ReleaseHold,
    SubjectCommand,
    ThawSubject,
)
from muniment.domain.events import (
    ErasureDeferred,
    HoldPlaced,
    HoldReleased,
    RecordsExpired,
    RedactionDeferred,
    RequestAnswered,
    SubjectDisclosed,
    SubjectErased,
    SubjectEvent,
    SubjectFrozen,
    SubjectThawed,
    SubjectThinned,
    WordsRedactionDeferred,
)
from muniment.domain.keeping import Records
from muniment.domain.time import Instant, Period
from muniment.errors import HoldTakenError, UnknownHoldError


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectState:
    """
    What binds a subject now.

    Attributes:
        frozen: Whether writes are refused.
        hidden: Whether it is frozen so that it is not used, either.
        holds: Holds in force, in the order they were placed.
        released: Holds that were released.
        deferred: Facts to be redacted, in the order that was asked for.
        deferred_words: Turns and sessions to be redacted, likewise.
        erasure_deferred: Whether the subject is to be erased.
        erased: Whether its keys were destroyed.
        thinned: Since when and until when its old history was thinned.
        expired: Until when records of a kind were made unreadable, as they were by rule.
    """

    frozen: bool = False
    hidden: bool = False
    holds: tuple[HoldPlaced, ...] = ()
    released: tuple[str, ...] = ()
    deferred: tuple[str, ...] = ()
    deferred_words: tuple[WordsRedactionDeferred, ...] = ()
    erasure_deferred: bool = False
    erased: bool = False
    thinned: Period | None = None
    expired: tuple[tuple[Records, Instant], ...] = ()

    @property
    def keeps_records(self) -> bool:
        """
        Whether a hold binds the records of the subject.

        Any does, also one of a single fact: what was asked, said or looked at may be
        about it, in words that nobody reads to decide that.
        """
        return bool(self.holds)

    def expired_until(self, records: Records) -> Instant:
        """Return before when records of a kind are unreadable; always 0 or later."""
        return max((at for kind, at in self.expired if kind is records), default=Instant(0))

    def holds_on(self, fact_id: str | None) -> tuple[str, ...]:
        """Return the ids of the holds on a fact, or, for none, on the subject at all."""
        return tuple(
            hold.hold_id
            for hold in self.holds
            if hold.fact_id is None or fact_id in (None, hold.fact_id)
        )

    def holds_on_words(self, fact_ids: Iterable[str]) -> tuple[str, ...]:
        """Return the ids of the holds on what was said, of which these facts were drawn."""
        drawn = {None, *fact_ids}
        return tuple(hold.hold_id for hold in self.holds if hold.fact_id in drawn)

    def withholds(self, session_id: str, number: int | None) -> bool:
        """Whether a turn, or all of a session, is stored and not used, likewise."""
        return self.is_unused or self.defers_words(session_id, number)

    def defers_words(self, session_id: str, number: int | None) -> bool:
        """Whether the redaction of a turn, or of all of a session, was put off."""
        return any(
            each.session_id == session_id and each.number in (None, number)
            for each in self.deferred_words
        )

    @property
    def is_unused(self) -> bool:
        """Whether all of it is stored and not used."""
        return self.hidden or self.erasure_deferred

    def restricts(self, fact_id: str) -> bool:
        """Whether a fact is stored and not used."""
        return self.is_unused or fact_id in self.deferred


def decide(command: SubjectCommand, subject: SubjectState) -> tuple[SubjectEvent, ...]:
    """
    Decide what happens when *command* meets *subject*.

    Returns:
        Events to append, in order; empty when the command changes nothing. The release
        of the last hold is followed by the erasure that waited for it.

    Raises:
        UnknownHoldError: If the hold to be released was never placed.
        HoldTakenError: If the name of a hold to be placed is that of another.
    """
    if subject.erased:
        return ()
    match command:
        case FreezeSubject() | ThawSubject():
            return _freeze(command, subject)
        case PlaceHold():
            return _place(command, subject)
        case ReleaseHold():
            return _release(command, subject)
        case DeferRedaction() | DeferWordsRedaction():
            return _defer(command, subject)
        case DiscloseSubject():
            made = SubjectDisclosed(
                disclosure_id=command.disclosure_id,
                form=command.form,
                matter=command.matter,
            )
            return (made,)
        case ExpireRecords(expired=expired):
            more = expired.until > subject.expired_until(expired.records)
            return (expired,) if more else ()
        case EraseSubject() if subject.holds:
            return () if subject.erasure_deferred else (ErasureDeferred(),)
        case EraseSubject():
            return (SubjectErased(),)
        case _:
            assert_never(command)


def redactions_due(subject: SubjectState) -> tuple[str, ...]:
    """Return the facts whose deferred redaction no hold stands against, in order."""
    return tuple(each for each in subject.deferred if not subject.holds_on(each))


def words_due(subject: SubjectState) -> tuple[WordsRedactionDeferred, ...]:
    """Return the turns and sessions no hold stands against any more, in order."""
    return tuple(
        each for each in subject.deferred_words if not subject.holds_on_words(each.fact_ids)
    )


def evolve(subject: SubjectState, event: SubjectEvent) -> SubjectState:
    """Return *subject* after *event*. Total: never raises."""
    match event:
        case SubjectFrozen():
            return replace(subject, frozen=True, hidden=event.hides)
        case SubjectThawed():
            return replace(subject, frozen=False, hidden=False)
        case HoldPlaced():
            return replace(subject, holds=(*subject.holds, event))
        case HoldReleased():
            kept = tuple(each for each in subject.holds if each.hold_id != event.hold_id)
            released = (*subject.released, event.hold_id)
            return replace(subject, holds=kept, released=released)
        case RedactionDeferred() | WordsRedactionDeferred():
            return _set_aside(subject, event)
        case ErasureDeferred():
            return replace(subject, erasure_deferred=True)
        case SubjectThinned() | RecordsExpired():
            return _lessened(subject, event)
        case SubjectErased():
            return SubjectState(erased=True)
        case SubjectDisclosed() | RequestAnswered():
            return subject
        case _:
            assert_never(event)


def fold(events: Iterable[SubjectEvent]) -> SubjectState:
    """Return the subject that *events*, oldest first, add up to."""
    return reduce(evolve, events, SubjectState())


def _freeze(
    command: FreezeSubject | ThawSubject, subject: SubjectState
) -> tuple[SubjectEvent, ...]:
    match command:
        case FreezeSubject(hides=hides):
            is_so = subject.frozen and hides in (False, subject.hidden)
            return () if is_so else (SubjectFrozen(hides=hides),)
        case ThawSubject():
            return (SubjectThawed(),) if subject.frozen else ()
        case _:
            assert_never(command)


def _defer(
    command: DeferRedaction | DeferWordsRedaction, subject: SubjectState
) -> tuple[SubjectEvent, ...]:
    match command:
        case DeferRedaction(fact_id=fact_id):
            asked = fact_id in subject.deferred
            return () if asked else (RedactionDeferred(fact_id=fact_id),)
        case DeferWordsRedaction():
            deferred = WordsRedactionDeferred(
                session_id=command.session_id,
                number=command.number,
                fact_ids=command.fact_ids,
            )
            return () if deferred in subject.deferred_words else (deferred,)
        case _:
            assert_never(command)


def _set_aside(
    subject: SubjectState, event: RedactionDeferred | WordsRedactionDeferred
) -> SubjectState:
    if isinstance(event, RedactionDeferred):
        return replace(subject, deferred=(*subject.deferred, event.fact_id))
    return replace(subject, deferred_words=(*subject.deferred_words, event))


def _lessened(
    subject: SubjectState, event: SubjectThinned | RecordsExpired
) -> SubjectState:
    match event:
        case SubjectThinned():
            return replace(subject, thinned=_joined(subject.thinned, event))
        case RecordsExpired(records=records, until=until):
            others = tuple(each for each in subject.expired if each[0] is not records)
            later = max(until, subject.expired_until(records))
            return replace(subject, expired=(*others, (records, later)))
        case _:
            assert_never(event)


def _joined(before: Period | None, event: SubjectThinned) -> Period | None:
    # An import may say what no ledger of ours does: this stays total.
    starts = [event.since, *([before.start] if before else [])]
    ends = [event.until, *([before.end] if before else [])]
    return Period(min(starts), max(ends)) if min(starts) < max(ends) else None


def _place(command: PlaceHold, subject: SubjectState) -> tuple[SubjectEvent, ...]:
    placed = HoldPlaced(
        hold_id=command.hold_id, fact_id=command.fact_id, matter=command.matter
    )
    if placed in subject.holds:
        return ()
    # Under a name that is taken it would bind something else than was asked for, or,
    # once that one is released, nothing that anybody could release again.
    if command.hold_id in (*subject.holds_on(None), *subject.released):
        raise HoldTakenError(command.hold_id)
    return (placed,)


def _release(command: ReleaseHold, subject: SubjectState) -> tuple[SubjectEvent, ...]:
    if command.hold_id not in subject.holds_on(None):
        if command.hold_id in subject.released:
            return ()
        raise UnknownHoldError(command.hold_id)
    released = HoldReleased(hold_id=command.hold_id)
    after = evolve(subject, released)
    if after.erasure_deferred and not after.holds:
        return released, SubjectErased()
    return (released,)
