"""Retention by rule: planned subject by subject, applied in one transaction each."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

import msgspec

from muniment.api import showing
from muniment.api.destroying import Destroyer
from muniment.api.due_records import Due, DueRecords
from muniment.api.expiring import RecordExpirer
from muniment.api.lookup import Lookup
from muniment.api.merging import Merging, Streams
from muniment.api.thinning import Thinner
from muniment.domain.commands import RetireFact
from muniment.domain.decision import decide
from muniment.domain.events import FactAsserted, FactRevised, RetireCause
from muniment.domain.keeping import Records
from muniment.domain.policy import (
    THINNED,
    RetainedFact,
    RetentionRule,
    retirement,
    thinned_until,
)
from muniment.domain.scope import Scope
from muniment.domain.subject import SubjectState
from muniment.domain.thinning import Runs, going
from muniment.domain.time import Instant
from muniment.instants import moment, to_instant
from muniment.ledger.ledger import Committed, Ledger
from muniment.ledger.payload import is_of_first_format
from muniment.ledger.records import FACT, Origin, RecordedEvent
from muniment.ledger.transaction import Request, Transaction
from muniment.ledger.vault import Subject
from muniment.projections.conversation import Conversation


@dataclass(frozen=True, slots=True, kw_only=True)
class Retirement:
    """
    A fact that rules retire, merge or thin, or records they make unreadable, and why.

    Attributes:
        fact_id: The fact; ``None`` where it is about records.
        cause: Why it is retired, or ``thinned``; ``expired`` of records.
        survivor: The fact that says the same, where it is merged into one.
        until: If it is thinned: what was known from then on is kept in full. Of records:
            those recorded before then go for good.
        versions: Of what is thinned, whose content goes for good, and of turns, their
            numbers: the first and the last of each run.
        records: Of which kind, see `muniment.domain.keeping.Records`; ``None`` of a fact.
        session_id: In which the turns were said; of turns alone.
        count: How many facts or records.
        holds: The legal holds that it waits for; those that are due have none.
    """

    fact_id: str | None
    scope: Scope
    cause: str
    survivor: str | None = None
    until: datetime | None = None
    versions: Runs = ()
    records: Records | None = None
    session_id: str | None = None
    count: int = 1
    holds: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Found:
    """
    What is due of one subject, and of records what the ledger is told of them.

    Attributes:
        heads: By fact it was decided on, the version of then.
    """

    retirement: Retirement
    records: Due | None = None
    heads: Mapping[str, int] = field(default_factory=dict)


class Retainer:
    """Finds what rules retire, thin and make unreadable, and does it."""

    def __init__(
        self, lookup: Lookup, conversation: Conversation, rules: Sequence[RetentionRule]
    ) -> None:
        self._lookup = lookup
        self._thinner = Thinner(lookup)
        self._expirer = RecordExpirer(lookup.ledger)
        self._merging = Merging(lookup, rules)
        self._records = DueRecords(lookup.ledger, conversation, rules)
        self._ledger: Ledger = lookup.ledger
        self._last_use = lookup.last_use
        self._rules = rules

    def due(self, scope: Scope | None) -> Iterator[Retirement]:
        """Yield what is to be done now, of one subject or of all."""
        for subject in self._subjects(scope):
            yield from (each.retirement for each in self._due(subject, held=False))

    def held(self, scope: Scope | None) -> Iterator[Retirement]:
        """Yield what would be due if no hold bound it, each with those that do."""
        for subject in self._subjects(scope):
            yield from (each.retirement for each in self._due(subject, held=True))

    def retain(self, scope: Scope | None, origin: Origin) -> Iterator[Committed]:
        """Do what is due, subject by subject, unless a hold or a write comes first."""
        # Each is found before the first is written to: of a subject all is done at once.
        found = {each.ref: each for each in self._subjects(scope)}
        for subject in found.values():
            if due := list(self._due(subject, held=False)):
                yield self.retire(subject, due, origin)

    def retire(self, subject: Subject, due: Sequence[_Found], origin: Origin) -> Committed:
        """Do what is *due* of one subject, unless a hold or a write came first."""
        named = [each.retirement for each in due]
        facts = [each.fact_id for each in named if each.fact_id is not None]
        records = [msgspec.to_builtins(each.records) for each in due if each.records]
        committed = self._ledger.transact(
            Request(
                action="retain",
                origin=replace(origin, trigger=origin.trigger or "retention"),
                scope=subject.scope,
                fact_id=None,
                body={"facts": facts, **({"records": records} if records else {})},
                work=self._work(due),
            )
        )
        self._thinner.resume()
        Destroyer(self._lookup).resume()
        return committed

    def _work(self, due: Sequence[_Found]) -> Callable[[Transaction], None]:
        records = [(e.records.expired, e.records.count) for e in due if e.records]
        thinned: dict[str, Instant] = {}
        retired: list[_Found] = []
        for each in due:
            named = each.retirement
            if named.fact_id is not None and named.until is not None:
                thinned[named.fact_id] = to_instant(named.until)
            elif named.fact_id is not None:
                retired.append(each)

        def work(transaction: Transaction) -> None:
            self._thinner.thin(transaction, thinned)
            for found in retired:
                _retire(transaction, found)
            self._expirer.expire(transaction, records)

        return work

    def _subjects(self, scope: Scope | None) -> Iterator[Subject]:
        if scope is None:
            yield from self._ledger.vault.subjects()
            return
        subject = self._ledger.vault.find(scope)
        if subject is not None:
            yield subject

    def _due(self, subject: Subject, *, held: bool) -> Iterator[_Found]:
        """Yield what is due of one subject: what holds bind, or what they do not."""
        now = self._ledger.present().now
        state = self._ledger.subject_state(subject)
        if state.frozen or state.erased:
            return
        streams = showing.by_fact(self._ledger.subject_events(subject))
        used = self._used(list(streams))
        left = dict(streams)
        for fact_id, events in streams.items():
            holds = state.holds_on(fact_id)
            if bool(holds) is held:
                for each in self._of_fact(subject, events, now, used.get(fact_id)):
                    left.pop(fact_id, None)
                    heads = {} if each.until else {fact_id: len(events)}
                    yield _Found(replace(each, holds=holds), heads=heads)
        yield from self._merged(subject, left, state, now, held=held)
        if state.keeps_records is held:
            holds = state.holds_on(None)
            for due in self._records.of(subject.ref, state, now):
                yield _Found(_of_records(subject.scope, due, holds), due)

    def _merged(
        self,
        subject: Subject,
        streams: Streams,
        state: SubjectState,
        now: Instant,
        *,
        held: bool,
    ) -> Iterator[_Found]:
        """Yield what is merged of one subject: what holds bind, or what they do not."""
        free = {
            fact_id: events
            for fact_id, events in streams.items()
            if held or not (state.holds_on(fact_id) or state.restricts(fact_id))
        }
        for merge in self._merging.of(subject, free, now):
            bound = (*state.holds_on(merge.goes), *state.holds_on(merge.survivor))
            if held and not bound:
                continue
            yield _Found(
                Retirement(
                    fact_id=merge.goes,
                    scope=subject.scope,
                    cause=RetireCause.MERGED.value,
                    survivor=merge.survivor,
                    holds=tuple(dict.fromkeys(bound)),
                ),
                heads={each: len(free[each]) for each in (merge.goes, merge.survivor)},
            )

    def _of_fact(
        self,
        subject: Subject,
        events: Sequence[RecordedEvent],
        now: Instant,
        used_at: Instant | None,
    ) -> Iterator[Retirement]:
        """Yield what is due of one fact, whatever binds it."""
        fact_id = events[0].fact_id
        yield from self._thinned(subject, fact_id, events, now)
        fact = _retained(fact_id, events, now)
        if fact is None:
            return
        last = max(fact.used_at, used_at or fact.used_at)
        cause = retirement(replace(fact, used_at=last), self._rules, now=now)
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


def _retire(transaction: Transaction, found: _Found) -> None:
    """Collect that a fact is not used any more, unless a hold or a write came first."""
    state, named = transaction.state, found.retirement
    for fact_id, head in found.heads.items():
        if state.holds_on(fact_id) or state.restricts(fact_id):
            return
        if transaction.fact(fact_id).head != head:
            # What was decided on is not what there is; the next run looks again.
            return
    assert named.fact_id is not None, "records are not retired"
    command = RetireFact(
        cause=RetireCause(named.cause), expected_version=None, survivor=named.survivor
    )
    fact = transaction.fact(named.fact_id)
    events = decide(command, named.fact_id, fact, recorded_at=transaction.recorded_at)
    transaction.add(named.fact_id, events)


def _of_records(scope: Scope, due: Due, holds: tuple[str, ...]) -> Retirement:
    expired = due.expired
    numbers = range(due.first, expired.last_turn + 1) if due.first else ()
    return Retirement(
        fact_id=None,
        scope=scope,
        cause=RetireCause.EXPIRED.value,
        until=moment(expired.until),
        versions=((numbers[0], numbers[-1]),) if numbers else (),
        records=expired.records,
        session_id=expired.session_id or None,
        count=due.count,
        holds=holds,
    )


def _retained(
    fact_id: str, events: Sequence[RecordedEvent], now: Instant
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
        # Who asks has told apart already what holds bind, to say what they keep.
        held=False,
    )
