"""Writing to a store: commands decided under the ledger's lock."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, assert_never

import msgspec

from muniment.api import showing
from muniment.api.answers import Fact, Receipt
from muniment.api.redacting import newly_drawn_from, refuse_redacted
from muniment.domain import subject as subjects
from muniment.domain.access_events import FactShared
from muniment.domain.commands import (
    CorroborateFact,
    FactCommand,
    RememberFact,
    RetireFact,
    ReviseFact,
    SubjectCommand,
)
from muniment.domain.decision import decide, repeated, revised
from muniment.domain.events import (
    FactAsserted,
    FactRedacted,
    FactRevised,
    RetireCause,
    Status,
    Traits,
)
from muniment.domain.fact import FactState
from muniment.domain.scope import Scope, ScopeKind
from muniment.domain.time import Instant
from muniment.errors import FactNotCurrentError, InvalidValueError, UnknownFactError
from muniment.instants import moment
from muniment.ledger.ids import new_fact_ids
from muniment.ledger.ledger import Committed, Ledger
from muniment.ledger.records import FACT, SHARE, SUBJECT, Origin, RecordedEvent
from muniment.ledger.transaction import Request, Transaction, state_of
from muniment.projections.beliefs import Timeline


@dataclass(frozen=True, slots=True)
class Transactor:
    """
    Carries out commands, each in one transaction.

    Attributes:
        ledger: Where the events go.
        timeline: Asked for facts that say the same already.
    """

    ledger: Ledger
    timeline: Timeline

    def remember(
        self, scope: Scope, commands: Sequence[RememberFact], origin: Origin, *, action: str
    ) -> tuple[Committed, tuple[Fact, ...]]:
        """
        Remember each of *commands*, or keep that it was said again.

        Raises:
            WordsRedactedError: If turns it is drawn from are redacted, or wait to be.
        """
        turns = [e.content.evidence.source_turns for e in commands]

        def work(transaction: Transaction) -> None:
            refuse_redacted(transaction, {*chain(*turns), *origin.source_turns})
            tags = [transaction.tag_of(each.content.text, each.traits) for each in commands]
            said = self._said_already(transaction, tags)
            names = new_fact_ids(transaction.recorded_at)
            for command, tag in zip(commands, tags, strict=True):
                same = said.setdefault(tag, [])
                if not _corroborated(transaction, command, same):
                    same.append(_asserted(transaction, command, next(names)))

        committed = self.ledger.transact(
            Request(
                action=action,
                origin=origin,
                scope=scope,
                fact_id=None,
                body=request_body(origin, items=commands),
                work=work,
                says=_said(commands[0]) if len(commands) == 1 else None,
            )
        )
        facts = zip(committed.events, commands, strict=True)
        return committed, tuple(self.fact(committed, *each) for each in facts)

    def share(
        self, scope: Scope, command: RememberFact, origin: Origin, *, source: FactShared
    ) -> Fact:
        """
        Remember a copy of a fact for others, as a fact of its own though they know it.

        It is to go with what it is a copy of, and nobody's own word with it.

        Raises:
            UnknownFactError: If that was made unreadable meanwhile, or is to be.
        """

        def work(transaction: Transaction) -> None:
            _refuse_what_goes(transaction, source)
            copy_id = next(new_fact_ids(transaction.recorded_at))
            _asserted(transaction, command, copy_id)
            transaction.open_stream(SHARE + copy_id, source)

        committed = self.ledger.transact(
            Request(
                action="share",
                origin=origin,
                scope=scope,
                fact_id=None,
                body={"source": source.source_fact_id},
                work=work,
            )
        )
        return self.fact(committed, committed.events[0], command)

    def change(
        self,
        fact_id: str,
        command: FactCommand,
        origin: Origin,
        *,
        action: str,
        upon: int | None = None,
    ) -> Committed:
        """
        Carry out *command* on one fact.

        Args:
            fact_id: The fact.
            command: What was asked for; a repeated key is compared with it.
            origin: Who asks, and why.
            action: The verb.
            upon: The version a revision was decided on, where that was looked up.

        Raises:
            WordsRedactedError: If it is drawn from turns that are redacted, or wait to be.
        """

        def work(transaction: Transaction) -> None:
            fact = transaction.fact(fact_id)
            recorded_at = transaction.recorded_at
            if isinstance(command, ReviseFact):
                says = command.changes.text is not None
                drawn = newly_drawn_from(fact, command.source_turns, says=says)
                refuse_redacted(transaction, drawn)
            asked = _still_entrusted(transaction, fact_id, fact, command)
            if upon is not None and isinstance(asked, ReviseFact):
                asked = replace(asked, expected_version=upon)
            transaction.add(fact_id, decide(asked, fact_id, fact, recorded_at=recorded_at))

        return self.ledger.transact(
            Request(
                action=action,
                origin=origin,
                scope=None,
                fact_id=fact_id,
                body=request_body(origin, command=command),
                work=work,
            )
        )

    def merge(self, fact_id: str, survivor: str, origin: Origin) -> Committed:
        """Retire one fact in favour of another of the same subject."""
        command = RetireFact(
            cause=RetireCause.MERGED, expected_version=None, survivor=survivor
        )

        def work(transaction: Transaction) -> None:
            stays, fact = transaction.fact(survivor), transaction.fact(fact_id)
            recorded_at = transaction.recorded_at
            events = decide(command, fact_id, fact, recorded_at=recorded_at)
            if events:
                if survivor in transaction.state.deferred:
                    raise FactNotCurrentError(survivor, "it is to be forgotten")
                _check_it_speaks(survivor, stays, recorded_at)
                _check_it_is_relied_on(survivor, stays, fact, recorded_at)
            transaction.add(fact_id, events)

        return self.ledger.transact(
            Request(
                action="merge",
                origin=origin,
                scope=None,
                fact_id=fact_id,
                body=request_body(origin, command=command),
                work=work,
            )
        )

    def bind(
        self, scope: Scope, command: SubjectCommand, origin: Origin, *, action: str
    ) -> Committed:
        """Carry out *command* on a subject, frozen or not."""

        def work(transaction: Transaction) -> None:
            transaction.add_to_subject(subjects.decide(command, transaction.state))

        return self.ledger.transact(
            Request(
                action=action,
                origin=origin,
                scope=scope,
                fact_id=None,
                body=request_body(origin, command=command),
                work=work,
                passes_freeze=True,
            )
        )

    def fact(
        self,
        committed: Committed,
        event: RecordedEvent,
        command: RememberFact | ReviseFact,
    ) -> Fact:
        """Return the belief that *event* made of *command*, or that it vouches for."""
        if isinstance(event.event, FactAsserted | FactRevised):
            return showing.fact(committed.subject, event, event.event.valid)
        subject, events = self.ledger.fact(event.fact_id)
        known = [each for each in events if each.position <= event.position]
        fact, recorded_at = showing.state(known), committed.recorded_at
        match command:
            case RememberFact():
                belief = repeated(command, fact, recorded_at=recorded_at)
            case ReviseFact():
                belief = revised(command, event.fact_id, fact, recorded_at=recorded_at)
            case _:
                assert_never(command)
        assert belief is not None, "what is vouched for is believed"
        return showing.fact(subject, known[belief.version - 1], belief.valid)

    def _said_already(
        self, transaction: Transaction, tags: Sequence[bytes]
    ) -> dict[bytes, list[str]]:
        """Return by tag the facts of the subject that may say the same."""
        found = transaction.repeats
        if not found.keys() >= set(tags):
            subject_ref = transaction.subject.ref
            found = self.timeline.repeats(transaction.connection, subject_ref, tags)
        return {tag: list(fact_ids) for tag, fact_ids in found.items()}


def _said(command: RememberFact) -> tuple[str, Traits]:
    return command.content.text, command.traits


def receipt(committed: Committed, facts: tuple[Fact, ...] = ()) -> Receipt:
    """Return what a write did."""
    touched = [each.fact_id for each in committed.events if each.fact_id]
    return Receipt(
        tx_id=committed.tx_id,
        recorded_at=moment(committed.recorded_at),
        position=committed.position,
        fact_ids=tuple(dict.fromkeys(touched)),
        facts=facts,
    )


def _check_it_speaks(survivor: str, fact: FactState, now: Instant) -> None:
    """Refuse what is not used now: what is merged into it would be in no answer."""
    belief = fact.at(now)
    if belief is None:
        raise FactNotCurrentError(survivor, "it cannot stand for another")
    expires_at = fact.said(belief.version).traits.expires_at
    if expires_at is not None and expires_at <= now:
        raise FactNotCurrentError(survivor, "it has expired")


def _check_it_is_relied_on(
    survivor: str, stays: FactState, goes: FactState, now: Instant
) -> None:
    """Refuse to merge what is relied on into what is not: no answer would have either."""
    statuses = {goes.said(each.version).traits.status for each in goes.beliefs}
    belief = stays.at(now)
    assert belief is not None, "it speaks"
    status = stays.said(belief.version).traits.status
    if Status.ACTIVE in statuses and status is not Status.ACTIVE:
        expected = f"active, as the fact that goes, not {status.value}: correct it first"
        raise InvalidValueError("into", survivor, expected)


def _corroborated(
    transaction: Transaction, command: RememberFact, fact_ids: Sequence[str]
) -> bool:
    """Keep that one of the facts was said again, if one says all of *command*."""
    recorded_at = transaction.recorded_at
    for fact_id in fact_ids:
        if transaction.stream(SHARE + fact_id):
            # A copy goes with what it is a copy of, and what is said here must not.
            continue
        fact = transaction.fact(fact_id)
        if repeated(command, fact, recorded_at=recorded_at):
            again = CorroborateFact(
                confidence=command.traits.confidence,
                importance=command.traits.importance,
                evidence=command.content.evidence,
            )
            transaction.add(fact_id, decide(again, fact_id, fact, recorded_at=recorded_at))
            return True
    return False


def _asserted(transaction: Transaction, command: RememberFact, fact_id: str) -> str:
    """Collect a new fact and return its name."""
    recorded_at = transaction.recorded_at
    (event,) = decide(command, fact_id, _NEW, recorded_at=recorded_at)
    transaction.add_new(fact_id, event)
    return fact_id


def _refuse_what_goes(transaction: Transaction, source: FactShared) -> None:
    """
    Refuse to copy what is unreadable, or waits to be, or is a copy of such.

    Whoever makes that unreadable may have looked for its copies before this one.
    """
    above: FactShared | None = source
    while above is not None:
        fact_id = above.source_fact_id
        state = state_of(transaction.headers(SUBJECT + above.source_ref))
        if state.erased or state.erasure_deferred or fact_id in state.deferred:
            raise UnknownFactError(source.source_fact_id)
        if any(
            isinstance(e.event, FactRedacted) for e in transaction.headers(FACT + fact_id)
        ):
            raise UnknownFactError(source.source_fact_id)
        copied = (each.event for each in transaction.headers(SHARE + fact_id))
        above = next((each for each in copied if isinstance(each, FactShared)), None)


def _still_entrusted(
    transaction: Transaction, fact_id: str, fact: FactState, command: FactCommand
) -> FactCommand:
    """Return *command*, by which a shared fact does not forget who answers for it."""
    if not isinstance(command, ReviseFact) or command.changes.metadata is None:
        return command
    if transaction.subject.scope.kind is ScopeKind.USER or not fact.beliefs:
        return command
    base = revised(command, fact_id, fact, recorded_at=transaction.recorded_at)
    content = fact.said(base.version).content
    if content is None:
        return command
    known = content.evidence.metadata
    is_copy = bool(transaction.stream(SHARE + fact_id))
    names = (*_ENTRUSTED, "shared_from") if is_copy else _ENTRUSTED
    kept = {name: known[name] for name in names if name in known}
    changes = replace(command.changes, metadata={**kept, **command.changes.metadata})
    return replace(command, changes=changes)


_ENTRUSTED = ("owner", "review_at")
"""What the metadata of a shared fact say of whom it is entrusted to."""

_NEW = showing.state(())


def request_body(origin: Origin, **asked: object) -> Mapping[str, object]:
    """Return all of a request as JSON types, where a key may have to find it again."""
    if origin.idempotency_key is None:
        return {}
    body: dict[str, Any] = msgspec.to_builtins({"origin": origin, **asked})
    # No caller says it, and keys were compared without it before there was such a field.
    del body["origin"]["claimed_at"]
    if origin.on_behalf_of is None:
        del body["origin"]["on_behalf_of"]
    return body
