"""Retention by rule: planned subject by subject, applied in one transaction each."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from muniment.api import showing
from muniment.api.lookup import Lookup
from muniment.api.thinning import Thinner
from muniment.domain.commands import RetireFact
from muniment.domain.decision import decide
from muniment.domain.events import FactAsserted, FactRevised, RetireCause
from muniment.domain.policy import (
    THINNED,
    RetainedFact,
    RetentionRule,
    retirement,
    thinned_until,
)
from muniment.domain.scope import Scope
from muniment.domain.thinning import Runs, going
from muniment.domain.time import Instant
from muniment.instants import moment, to_instant
from muniment.ledger.ledger import Committed, Ledger
from muniment.ledger.payload import is_of_first_format
from muniment.ledger.records import FACT, Origin, RecordedEvent
from muniment.ledger.transaction import Request, Transaction
from muniment.ledger.vault import Subject


@dataclass(frozen=True, slots=True, kw_only=True)
class Retirement:
    """
    A fact that rules retire or thin, and why.

    Attributes:
        cause: Why it is retired, or ``thinned``.
        until: If it is thinned: what was known from then on is kept in full.
        versions: Likewise, whose content goes for good; the first and the last of each run.
    """

    fact_id: str
    scope: Scope
    cause: str
    until: datetime | None = None
    versions: Runs = ()


class Retainer:
    """Finds what rules retire and thin, and does it."""

    def __init__(self, lookup: Lookup, rules: Sequence[RetentionRule]) -> None:
        self._thinner = Thinner(lookup)
        self._ledger: Ledger = lookup.ledger
        self._last_use = lookup.last_use
        self._rules = rules

    def due(self, scope: Scope | None) -> Iterator[Retirement]:
        """Yield what is to be retired or thinned now, of one subject or of all."""
        for subject in self._subjects(scope):
            yield from self._due(subject, self._ledger.present().now)

    def retire(self, scope: Scope, due: Sequence[Retirement], origin: Origin) -> Committed:
        """Do what is *due* of one subject, unless a hold or a write came first."""
        thinned = {
            each.fact_id: to_instant(each.until) for each in due if each.until is not None
        }
        retired = [each for each in due if each.until is None]

        def work(transaction: Transaction) -> None:
            self._thinner.thin(transaction, thinned)
            for each in retired:
                if transaction.state.holds_on(each.fact_id):
                    continue
                command = RetireFact(cause=RetireCause(each.cause), expected_version=None)
                fact = transaction.fact(each.fact_id)
                if fact.redacted:
                    continue
                events = decide(
                    command, each.fact_id, fact, recorded_at=transaction.recorded_at
                )
                transaction.add(each.fact_id, events)

        committed = self._ledger.transact(
            Request(
                action="retain",
                origin=replace(origin, trigger=origin.trigger or "retention"),
                scope=scope,
                fact_id=None,
                body={"facts": [each.fact_id for each in due]},
                work=work,
            )
        )
        self._thinner.resume()
        return committed

    def _subjects(self, scope: Scope | None) -> Iterator[Subject]:
        if scope is None:
            yield from self._ledger.vault.subjects()
            return
        subject = self._ledger.vault.find(scope)
        if subject is not None:
            yield subject

    def _due(self, subject: Subject, now: Instant) -> Iterator[Retirement]:
        state = self._ledger.subject_state(subject)
        if state.frozen or state.erased:
            return
        streams = showing.by_fact(self._ledger.subject_events(subject))
        used = self._used(list(streams))
        for fact_id, events in streams.items():
            held = bool(state.holds_on(fact_id))
            if not held:
                yield from self._thinned(subject, fact_id, events, now)
            fact = _retained(fact_id, events, now, held=held)
            if fact is None:
                continue
            used_at = max(fact.used_at, used.get(fact_id, fact.used_at))
            cause = retirement(replace(fact, used_at=used_at), self._rules, now=now)
            if cause is not None:
                yield Retirement(fact_id=fact_id, scope=subject.scope, cause=cause.value)

    def _thinned(
        self, subject: Subject, fact_id: str, events: Sequence[RecordedEvent], now: Instant
    ) -> Iterator[Retirement]:
        """Yield what of the old history of one fact goes now, if anything does."""
        said = (each.event for each in reversed(events))
        last = next(each for each in said if isinstance(each, FactAsserted | FactRevised))
        until = thinned_until(
            category=last.traits.category, core=last.traits.core, rules=self._rules, now=now
        )
        if until is None or events[0].recorded_at >= until:
            return
        runs = going(showing.state(events), [each.recorded_at for each in events], until)
        if runs and self._can_be_thinned(fact_id):
            yield Retirement(
                fact_id=fact_id,
                scope=subject.scope,
                cause=THINNED,
                until=moment(until),
                versions=runs,
            )

    def _can_be_thinned(self, fact_id: str) -> bool:
        """Whether each payload of a fact has a key of its own, by which it can be kept."""
        stored = self._ledger.recorder.read_stream(FACT + fact_id)
        return not any(is_of_first_format(each.sealed.state) for each in stored)

    def _used(self, fact_ids: Sequence[str]) -> Mapping[str, Instant]:
        """Return when facts were last used, as whoever knows of it says; the latest."""
        found: dict[str, Instant] = {}
        if all(rule.unused_for_us is None for rule in self._rules):
            return found
        for each in self._last_use:
            for fact_id, used_at in each.last_used(fact_ids).items():
                found[fact_id] = max(used_at, found.get(fact_id, used_at))
        return found


def _retained(
    fact_id: str, events: Sequence[RecordedEvent], now: Instant, *, held: bool
) -> RetainedFact | None:
    """Return what rules look at, if anything is believed of the fact."""
    fact = showing.state(events)
    if not fact.beliefs:
        return None
    belief = fact.at(now) or fact.beliefs[-1]
    traits = fact.said(belief.version).traits
    return RetainedFact(
        fact_id=fact_id,
        category=traits.category,
        importance=traits.importance,
        core=traits.core,
        said_at=events[belief.version - 1].recorded_at,
        used_at=events[-1].recorded_at,
        expires_at=traits.expires_at,
        held=held,
    )
