"""What happens when a command meets a fact. Pure."""

from dataclasses import replace
from functools import reduce
from typing import TypeVar, assert_never

from muniment.domain.commands import (
    Changes,
    CorroborateFact,
    EndFact,
    FactCommand,
    RedactFact,
    RememberFact,
    RestoreFact,
    RetireFact,
    ReviseFact,
    RollBackFact,
)
from muniment.domain.events import (
    Content,
    Evidence,
    FactAsserted,
    FactCorroborated,
    FactEnded,
    FactEvent,
    FactRedacted,
    FactRestored,
    FactRetired,
    FactRevised,
    FactRolledBack,
    RevisionCause,
    Traits,
)
from muniment.domain.fact import Belief, FactState, Statement, evolve, refuse_thinned
from muniment.domain.time import BEGINNING, FOREVER, Instant, Period
from muniment.errors import (
    FactNotCurrentError,
    FactRedactedError,
    ThinnedError,
    UnknownFactError,
    VersionBeyondHeadError,
    VersionConflictError,
)


T = TypeVar("T")


def decide(
    command: FactCommand, fact_id: str, fact: FactState, *, recorded_at: Instant
) -> tuple[FactEvent, ...]:
    """
    Decide what happens when *command* meets *fact*.

    Args:
        command: What is asked for.
        fact_id: Names the fact in errors.
        fact: The fact after all its events, with readable content.
        recorded_at: When the ledger will have learned it.

    Returns:
        Events to append, in order. Empty when the command changes nothing, so that a
        retry after a lost reply is harmless.

    Raises:
        UnknownFactError: If there is nothing to change.
        FactRedactedError: If its content was made unreadable.
        VersionConflictError: If it changed after the version the caller decided on.
        FactNotCurrentError: If there is no belief left to revise, or it has expired.
        VersionBeyondHeadError: If a rollback names a version it never had.
        InvalidPeriodError: If the times of the command make no period.
        ThinnedError: If it would go on from what was thinned, or bring it back.
    """
    _check(command, fact_id, fact)
    match command:
        case RememberFact():
            return _remember(command, recorded_at)
        case CorroborateFact():
            return (
                _corroborated(command.confidence, command.importance, command.evidence),
            )
        case ReviseFact():
            return _revise(command, fact_id, fact, recorded_at)
        case EndFact():
            valid_to = recorded_at if command.valid_to is None else command.valid_to
            return _if_it_changes(fact, FactEnded(valid_to=valid_to))
        case RetireFact():
            return _if_it_changes(
                fact, FactRetired(cause=command.cause, survivor=command.survivor)
            )
        case RestoreFact() | RollBackFact():
            return _bring_back(command, fact_id, fact)
        case RedactFact():
            return () if fact.redacted else (FactRedacted(),)
        case _:
            assert_never(command)


def repeated(
    command: RememberFact, fact: FactState, *, recorded_at: Instant
) -> Belief | None:
    """
    Return the belief that already says all of *command*, if one does.

    The same content for the same period is a repeat. A period left open by the caller
    is the same if the belief holds now and its end is open too.
    """
    for belief in fact.beliefs:
        said = fact.said(belief.version)
        if (
            said.content is not None
            and said.content.text == command.content.text
            and _same_kind(said.traits, command.traits)
            and _same_period(belief.valid, command, recorded_at)
        ):
            return belief
    return None


def revised(
    command: ReviseFact, fact_id: str, fact: FactState, *, recorded_at: Instant
) -> Belief:
    """
    Return the belief a revision starts from: of then, of now, or the last there was.

    Raises:
        FactNotCurrentError: If nothing is believed of the fact.
    """
    then = None if command.valid_from is None else fact.at(command.valid_from)
    base = then or fact.at(recorded_at) or (fact.beliefs[-1] if fact.beliefs else None)
    if base is None:
        raise FactNotCurrentError(fact_id, "nothing is left to revise, restore it first")
    return base


def _check(command: FactCommand, fact_id: str, fact: FactState) -> None:
    """Refuse what can be refused without looking at the times."""
    if isinstance(command, RememberFact):
        assert fact.head == 0, "a fact is remembered once"
        return
    if fact.head == 0:
        raise UnknownFactError(fact_id)
    if fact.redacted and not isinstance(command, RedactFact):
        raise FactRedactedError(fact_id)
    is_decided_on = ReviseFact | EndFact | RetireFact | RestoreFact | RedactFact
    if isinstance(command, is_decided_on) and not fact.redacted:
        _check_version(command.expected_version, fact_id, fact)
    if isinstance(command, RollBackFact) and not 0 <= command.to_version <= fact.head:
        raise VersionBeyondHeadError(fact_id, command.to_version, fact.head)


def _check_version(expected: int | None, fact_id: str, fact: FactState) -> None:
    # Corroboration and rollback move the version on and may leave the very beliefs
    # the caller has read: what counts is that nothing it read has changed.
    if expected is None or expected == fact.head:
        return
    if not 0 < expected < fact.head or fact.left[expected] != fact.beliefs:
        raise VersionConflictError(fact_id, expected, fact.head)


def _remember(command: RememberFact, recorded_at: Instant) -> tuple[FactEvent, ...]:
    valid = _period_of(command, recorded_at)
    return (FactAsserted(valid=valid, traits=command.traits, content=command.content),)


def _period_of(command: RememberFact, recorded_at: Instant) -> Period:
    valid_to = FOREVER if command.valid_to is None else command.valid_to
    if command.valid_from is not None:
        return Period(command.valid_from, valid_to)
    # What ended before it was heard of began at a time nobody said.
    return Period(recorded_at if recorded_at < valid_to else BEGINNING, valid_to)


def _same_period(believed: Period, command: RememberFact, recorded_at: Instant) -> bool:
    if command.valid_from is None and command.valid_to is None:
        return recorded_at in believed and believed.end == FOREVER
    return believed == _period_of(command, recorded_at)


def _same_kind(said: Traits, again: Traits) -> bool:
    """Whether two statements differ at most in how sure and how important they are."""
    return said == replace(again, confidence=said.confidence, importance=said.importance)


def _revise(
    command: ReviseFact, fact_id: str, fact: FactState, recorded_at: Instant
) -> tuple[FactEvent, ...]:
    base = revised(command, fact_id, fact, recorded_at=recorded_at)
    said = fact.said(base.version)
    _refuse_expired(command, fact_id, said.traits, recorded_at)
    valid = _revised_period(command, base, recorded_at)
    if said.content is None:
        raise ThinnedError(f"fact {fact_id}", version=base.version)
    traits = _traits_after(said.traits, command.changes)
    content = _content_after(said.content, command)
    if base.valid.covers(valid) and _says_the_same(said, traits, content):
        return (_corroborated(traits.confidence, traits.importance, content.evidence),)
    return (FactRevised(valid=valid, traits=traits, content=content, cause=command.cause),)


def _refuse_expired(
    command: ReviseFact, fact_id: str, before: Traits, recorded_at: Instant
) -> None:
    """Refuse to say what changed of what is over: nobody would ever be shown it."""
    changes = command.changes
    is_renewed = changes.expires_at is not None or "expires_at" in changes.cleared
    if command.cause is not RevisionCause.CHANGED or is_renewed:
        return
    if before.expires_at is not None and before.expires_at <= recorded_at:
        raise FactNotCurrentError(fact_id, "it has expired, give expires_at or clear it")


def _revised_period(command: ReviseFact, base: Belief, recorded_at: Instant) -> Period:
    match command.cause:
        case RevisionCause.CHANGED:
            start, end = recorded_at, FOREVER
        case RevisionCause.CORRECTED:
            start, end = base.valid.start, base.valid.end
        case _:
            assert_never(command.cause)
    return Period(
        start if command.valid_from is None else command.valid_from,
        end if command.valid_to is None else command.valid_to,
    )


def _traits_after(before: Traits, changes: Changes) -> Traits:
    def left(field: str, value: T) -> T | None:
        return None if field in changes.cleared else value

    return Traits(
        category=_or(changes.category, left("category", before.category)),
        attribute=_or(changes.attribute, left("attribute", before.attribute)),
        status=_or(changes.status, before.status),
        confidence=_or(changes.confidence, before.confidence),
        importance=_or(changes.importance, before.importance),
        core=_or(changes.core, before.core),
        expires_at=_or(changes.expires_at, left("expires_at", before.expires_at)),
    )


def _content_after(before: Content, command: ReviseFact) -> Content:
    """Return the new content; who said it and where is never carried over."""
    changes = command.changes
    return Content(
        text=_or(changes.text, before.text),
        evidence=Evidence(
            source=command.source,
            source_turns=command.source_turns,
            entities=_or(changes.entities, before.evidence.entities),
            metadata=_or(changes.metadata, before.evidence.metadata),
            claimed_at=None,
        ),
    )


def _says_the_same(said: Statement, traits: Traits, content: Content) -> bool:
    before = said.content
    return (
        before is not None
        and before.text == content.text
        and before.evidence.entities == content.evidence.entities
        and before.evidence.metadata == content.evidence.metadata
        and said.traits == traits
    )


def _restore(fact: FactState) -> tuple[FactEvent, ...]:
    if fact.beliefs:
        return ()
    held = [version for version, beliefs in enumerate(fact.left) if beliefs]
    return (FactRestored(to_version=held[-1]),) if held else ()


def _bring_back(
    command: RestoreFact | RollBackFact, fact_id: str, fact: FactState
) -> tuple[FactEvent, ...]:
    if isinstance(command, RestoreFact):
        events = _restore(fact)
    else:
        back = FactRolledBack(to_version=command.to_version)
        events = _if_it_changes(fact, back)
    refuse_thinned(fact_id, fact, reduce(evolve, events, fact))
    return events


def _if_it_changes(fact: FactState, event: FactEvent) -> tuple[FactEvent, ...]:
    return (event,) if evolve(fact, event).beliefs != fact.beliefs else ()


def _corroborated(confidence: float, importance: float, evidence: Evidence) -> FactEvent:
    return FactCorroborated(confidence=confidence, importance=importance, evidence=evidence)


def _or(new: T | None, old: T) -> T:
    return old if new is None else new
