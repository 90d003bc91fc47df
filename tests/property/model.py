"""
What the verbs of a store mean, over a plain list of events, by the oracle alone.

A verb is answered with what it must append, or with the error it must raise. Which of
several facts that say the same is corroborated is left to the store.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from muniment.domain.events import (
    Content,
    Event,
    Evidence,
    FactAsserted,
    FactCorroborated,
    FactEnded,
    FactEvent,
    FactRestored,
    FactRetired,
    FactRevised,
    RetireCause,
    RevisionCause,
    SubjectFrozen,
    SubjectThawed,
    Traits,
)
from muniment.domain.text import Json
from muniment.domain.time import BEGINNING, FOREVER, Instant, Period
from muniment.errors import (
    FactNotCurrentError,
    InvalidPeriodError,
    MunimentError,
    NothingToUndoError,
    UnknownTransactionError,
    VersionBeyondHeadError,
)
from tests import oracle
from tests.oracle import Culprit, Held, Ledger, Recorded
from tests.unit.facts import TRAITS


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """What a caller says of a fact; what is ``None`` is left out."""

    content: str | None = None
    category: str | None = None
    valid_from: Instant | None = None
    valid_to: Instant | None = None
    source: str | None = None
    confidence: float | None = None
    metadata: Mapping[str, Json] | None = None
    expires_at: Instant | None = None

    @property
    def is_inverted(self) -> bool:
        if self.valid_from is None or self.valid_to is None:
            return False
        return self.valid_from >= self.valid_to


@dataclass(frozen=True, slots=True)
class Appended:
    """An event to be appended to one of some facts, or to a new one, named for now."""

    fact_ids: frozenset[str]
    event: Event
    new: str = ""


Answer = list[Appended] | type[MunimentError]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rollback:
    """
    What a rollback must lead to.

    Attributes:
        wanted: By fact, what must be believed afterwards; only where it is not now.
        clashing: By fact that is a conflict, what others said on top.
        forced: By such a fact, what must be believed if it is taken back by force.
    """

    wanted: Mapping[str, Held]
    clashing: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    forced: Mapping[str, Held] = field(default_factory=dict)


class Model:
    """
    A ledger as a list.

    Attributes:
        ledger: Everything recorded.
        clock: What the injected clock says.
        asked: The latest recorded time that was asked about.
        last_tx: The last transaction.
        last: When it was recorded.
    """

    def __init__(self, clock: Instant) -> None:
        self.ledger: list[Recorded] = []
        self.clock = clock
        self.asked = BEGINNING
        self.last_tx = 0
        self.last = BEGINNING

    @property
    def now(self) -> Instant:
        return max(self.clock, self.last)

    @property
    def next_time(self) -> Instant:
        """When the next transaction is recorded: after all that is, or was asked about."""
        return Instant(max(self.clock, self.last + 1, self.asked + 1))

    @property
    def fact_ids(self) -> list[str]:
        return list(dict.fromkeys(each.fact_id for each in self.ledger if each.fact_id))

    def fact(self, fact_id: str) -> list[Recorded]:
        return oracle.of_fact(self.ledger, fact_id)

    def happened(self, fact_id: str) -> list[FactEvent]:
        return oracle.happened(self.fact(fact_id))

    def held(self, fact_id: str) -> Held:
        return oracle.held(self.happened(fact_id))

    def subject_of(self, fact_id: str) -> str:
        return self.fact(fact_id)[0].subject

    def moved_at(self, subject: str) -> int:
        """Return where a fact of *subject* changed last: a freeze changes none."""
        facts = [e for e in self.ledger if e.subject == subject and e.fact_id]
        return max((each.position for each in facts), default=0)

    def remember(self, subject: str, items: Sequence[Item]) -> Answer:
        """Say each of *items*, or corroborate a fact that says it already."""
        now, answer = self.next_time, list[Appended]()
        facts = dict(oracle.of_subject(self.ledger, subject))
        for item in items:
            start, end = _period(item, now)
            if start >= end:
                return InvalidPeriodError
            said = _asserted(item, Period(start, end))
            open_now = now if item.valid_from is None and item.valid_to is None else None
            same = frozenset(_facts_that_say(said, facts, open_now=open_now))
            if same:
                answer.append(Appended(same, _corroborated(said)))
            else:
                new = f"new-{len(answer)}"
                answer.append(Appended(frozenset(), said, new))
                facts[new] = [_pending(subject, said)]
        return answer

    def revise(self, fact_id: str, cause: RevisionCause, item: Item) -> Answer:
        """Say something else, by default from now on, or for the whole of a belief."""
        now, base = self.next_time, self.base(fact_id, item)
        if base is None:
            return FactNotCurrentError
        valid, version = base
        before = self.happened(fact_id)[version - 1]
        assert isinstance(before, FactAsserted | FactRevised)
        assert before.content is not None
        expires_at = before.traits.expires_at
        is_over = expires_at is not None and expires_at <= now
        if is_over and cause is RevisionCause.CHANGED and item.expires_at is None:
            return FactNotCurrentError
        start, end = (
            (now, FOREVER) if cause is RevisionCause.CHANGED else (valid.start, valid.end)
        )
        start = start if item.valid_from is None else item.valid_from
        end = end if item.valid_to is None else item.valid_to
        if start >= end:
            return InvalidPeriodError
        said = FactRevised(
            valid=Period(start, end),
            traits=_traits(item, before.traits),
            content=_content(item, before.content),
            cause=cause,
        )
        says_it = (said.traits, _heard(said)) == (before.traits, _heard(before))
        if says_it and valid.start <= start and end <= valid.end:
            return [Appended(frozenset([fact_id]), _corroborated(said))]
        return [Appended(frozenset([fact_id]), said)]

    def base(self, fact_id: str, item: Item) -> tuple[Period, int] | None:
        """Return the belief that a revision starts from, if there is one."""
        pieces = sorted(self.held(fact_id))
        about = [at for at in (item.valid_from, self.next_time) if at is not None]
        chosen = [piece for at in about for piece in pieces if at in piece[0]]
        return next(iter([*chosen, *reversed(pieces)]), None)

    def end(self, fact_id: str, valid_to: Instant | None) -> Answer:
        ended = FactEnded(valid_to=self.next_time if valid_to is None else valid_to)
        return self._unless_it_changes_nothing(fact_id, ended)

    def retire(self, fact_id: str) -> Answer:
        return self._unless_it_changes_nothing(
            fact_id, FactRetired(cause=RetireCause.ASKED, survivor=None)
        )

    def restore(self, fact_id: str) -> Answer:
        """Bring back what was believed last, if nothing is."""
        if self.held(fact_id):
            return []
        fact = self.fact(fact_id)
        version = max(n for n in range(len(fact)) if oracle.at_version(fact, n))
        return [Appended(frozenset([fact_id]), FactRestored(to_version=version))]

    def freeze(self, subject: str) -> Answer:
        return (
            []
            if self.is_frozen(subject)
            else [Appended(frozenset(), SubjectFrozen(hides=False))]
        )

    def thaw(self, subject: str) -> Answer:
        return [Appended(frozenset(), SubjectThawed())] if self.is_frozen(subject) else []

    def is_frozen(self, subject: str) -> bool:
        told = [each.event for each in self.ledger if each.subject == subject]
        said = [each for each in told if isinstance(each, SubjectFrozen | SubjectThawed)]
        return bool(said) and isinstance(said[-1], SubjectFrozen)

    def is_current(self, fact_id: str, expected_version: int) -> bool:
        """Whether what was believed right after that version is what is believed now."""
        fact = self.fact(fact_id)
        known = 0 < expected_version <= len(fact)
        return known and oracle.at_version(fact, expected_version) == self.held(fact_id)

    def to_version(self, fact_id: str, version: int) -> Rollback | type[MunimentError]:
        fact = self.fact(fact_id)
        if version > len(fact):
            return VersionBeyondHeadError
        return self._changing({fact_id: oracle.at_version(fact, version)})

    def to_time(self, subject: str, recorded_at: Instant) -> Rollback:
        facts = oracle.of_subject(self.ledger, subject)
        return self._changing(
            {each: oracle.held_at(self.ledger, each, recorded_at) for each in facts}
        )

    def without(self, subject: str, culprit: Culprit) -> Rollback:
        """Take back what one cause wrote, where nobody said something on top of it."""
        wanted, clashing, forced = {}, {}, {}
        for fact_id, fact in oracle.of_subject(self.ledger, subject).items():
            on_top = oracle.clashing(fact, culprit.wrote)
            if on_top:
                clashing[fact_id] = on_top
                forced[fact_id] = oracle.taken_back(fact, culprit.wrote)
            else:
                wanted[fact_id] = oracle.had_it_not(fact, culprit.wrote)
        return Rollback(
            wanted=self._changing(wanted).wanted,
            clashing=clashing,
            forced=self._changing(forced).wanted,
        )

    def undo(self, tx_id: int) -> Rollback | type[MunimentError]:
        written = [each for each in self.ledger if each.tx_id == tx_id]
        if not 1 <= tx_id <= self.last_tx:
            return UnknownTransactionError
        if not any(each.fact_id for each in written):
            return NothingToUndoError
        return self.without(written[0].subject, Culprit(tx_id=tx_id))

    def _changing(self, wanted: Mapping[str, Held]) -> Rollback:
        return Rollback(
            wanted={
                fact_id: held
                for fact_id, held in wanted.items()
                if held != self.held(fact_id)
            }
        )

    def _unless_it_changes_nothing(self, fact_id: str, event: FactEvent) -> Answer:
        after = oracle.held([*self.happened(fact_id), event])
        return (
            [] if after == self.held(fact_id) else [Appended(frozenset([fact_id]), event)]
        )


def _facts_that_say(
    said: FactAsserted, facts: Mapping[str, Ledger], *, open_now: Instant | None
) -> Iterable[str]:
    """Yield the facts that say it for the same period; or now and for ever, if asked."""
    for fact_id, fact in facts.items():
        events = oracle.happened(fact)
        for valid, version in oracle.held(events):
            before = events[version - 1]
            assert isinstance(before, FactAsserted | FactRevised)
            same_period = (
                valid == said.valid
                if open_now is None
                else open_now in valid and valid.end == FOREVER
            )
            if same_period and _kind(before) == _kind(said):
                yield fact_id


def _period(item: Item, now: Instant) -> tuple[Instant, Instant]:
    end = FOREVER if item.valid_to is None else item.valid_to
    if item.valid_from is not None:
        return item.valid_from, end
    return (now if now < end else BEGINNING), end


def _asserted(item: Item, valid: Period) -> FactAsserted:
    empty = Evidence(
        source="user_explicit", source_turns=(), entities=(), metadata={}, claimed_at=None
    )
    content = _content(item, Content(text="", evidence=empty))
    return FactAsserted(valid=valid, traits=_traits(item, TRAITS), content=content)


def _traits(item: Item, before: Traits) -> Traits:
    return replace(
        before,
        category=before.category if item.category is None else item.category,
        confidence=before.confidence if item.confidence is None else item.confidence,
        expires_at=before.expires_at if item.expires_at is None else item.expires_at,
    )


def _content(item: Item, before: Content) -> Content:
    """Return what is said now; who says it is never carried over."""
    kept = before.evidence
    return Content(
        text=before.text if item.content is None else item.content,
        evidence=Evidence(
            source=item.source or "user_explicit",
            source_turns=(),
            entities=kept.entities,
            metadata=kept.metadata if item.metadata is None else item.metadata,
            claimed_at=None,
        ),
    )


def _corroborated(said: FactAsserted | FactRevised) -> FactCorroborated:
    assert said.content is not None
    return FactCorroborated(
        confidence=said.traits.confidence,
        importance=said.traits.importance,
        evidence=said.content.evidence,
    )


def _heard(said: FactAsserted | FactRevised) -> object:
    assert said.content is not None
    evidence = said.content.evidence
    return said.content.text, evidence.entities, evidence.metadata


def _kind(said: FactAsserted | FactRevised) -> object:
    """Return what two statements must share to say the same."""
    assert said.content is not None
    return said.content.text, replace(said.traits, confidence=0.0, importance=0.0)


def _pending(subject: str, event: Event) -> Recorded:
    return Recorded(
        position=0,
        tx_id=0,
        recorded_at=FOREVER,
        subject=subject,
        fact_id="not named yet",
        version=1,
        event=event,
    )
