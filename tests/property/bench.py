"""A store and the model of it side by side: every write and every answer is compared."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa

from muniment import (
    Fact,
    MemorySnapshot,
    MemoryStore,
    MunimentError,
    Receipt,
    Scope,
    Settings,
)
from muniment.domain.events import FactRevised, FactRolledBack, RequestAnswered
from muniment.domain.time import FOREVER, AsOf, Instant, Period
from muniment.errors import (
    FutureAsOfError,
    InvalidPeriodError,
    PlanOutdatedError,
    RollbackConflictError,
    SubjectFrozenError,
)
from muniment.instants import moment
from muniment.ledger import tables
from muniment.ledger.records import FACT, RecordedEvent
from muniment.ledger.sql_recorder import SqlRecorder
from muniment.projections.beliefs import BeliefRow
from tests import oracle
from tests.oracle import Held, Recorded, Seen
from tests.property import shown
from tests.property.model import Answer, Appended, Item, Model, Rollback
from tests.property.rollbacks import check_receipt
from tests.stores import unguarded


By = Mapping[str, str | None]
"""Who writes and why, as callers pass it."""

REASKED_PER_STEP = 4
"""How many earlier answers are asked for again after each step; all are, in turn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """
    Where a store is.

    Attributes:
        settings: Gives those of a new, empty ledger.
        durable: Whether it is still there once the store is closed.
    """

    settings: Callable[[], Settings]
    durable: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """
    One write of a caller.

    Attributes:
        subject: Whose memory it is about.
        action: The verb, as history tells it.
        by: Who does it and why.
        call: Does it.
        malformed: Whether it can be refused without a look at any fact.
    """

    subject: str
    action: str
    by: By
    call: Callable[[], Any]
    malformed: bool = False


@dataclass(slots=True)
class Bench:
    """A store, its model, and the answers that it has given."""

    place: Place
    model: Model
    settings: Settings = field(init=False)
    store: MemoryStore = field(init=False)
    answers: list[tuple[str, AsOf, MemorySnapshot]] = field(default_factory=list)
    keyed: list[tuple[Write, object]] = field(default_factory=list)
    reasked: int = 0
    folded: dict[tuple[str, int], Held] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.settings = self.place.settings()
        self.open()

    def open(self) -> None:
        self.store = MemoryStore.open(self.settings, clock=lambda: self.model.clock)

    def write(self, write: Write, answer: Answer) -> object:
        """Do *write*, which must append what *answer* says, or be refused as it says."""
        frozen = self.model.is_frozen(write.subject)
        if write.malformed:
            answer = InvalidPeriodError
        elif frozen and write.action not in {"freeze", "thaw"}:
            answer = SubjectFrozenError
        if not isinstance(answer, list):
            assert refusal(write.call) is answer
            assert self.new_events() == []
            return None
        at = self.model.next_time
        result = write.call()
        events = self._record(write, at)
        assert len(events) == len(answer)
        named: dict[str, str] = {}
        for expected, event in zip(answer, events, strict=True):
            check_appended(expected, event, named)
        self._keep(write, result, at)
        return result

    def roll_back(
        self,
        write: Write,
        answer: Rollback | type[MunimentError],
        on_conflict: str,
        *,
        planned_at: int | None = None,
    ) -> None:
        """Do *write*, a rollback, which must leave believed what *answer* says."""
        moved_at = self.model.moved_at(write.subject)
        if isinstance(answer, Rollback):
            if self.model.is_frozen(write.subject):
                answer = SubjectFrozenError
            elif planned_at is not None and planned_at < moved_at:
                answer = PlanOutdatedError
            elif answer.clashing and on_conflict == "abort":
                answer = RollbackConflictError
        if not isinstance(answer, Rollback):
            assert refusal(write.call) is answer
            assert self.new_events() == []
            return
        forced = answer.forced if on_conflict == "force" else {}
        wanted = {**answer.wanted, **forced}
        facts = oracle.of_subject(self.model.ledger, write.subject)
        before = {fact_id: self.model.held(fact_id) for fact_id in facts}
        at = self.model.next_time
        receipt: Receipt = write.call()
        events = self._record(write, at)
        assert all(isinstance(each.event, FactRolledBack) for each in events)
        assert {each.fact_id for each in events} == set(wanted)
        for fact_id in facts:
            assert self.model.held(fact_id) == wanted.get(fact_id, before[fact_id])
        did_something = self.model.last == at
        assert receipt.tx_id == (self.model.last_tx if did_something else None)
        check_receipt(self.model, receipt, events, before)
        self._keep(write, receipt, at)

    def to_time(self, subject: str, at: Instant) -> Rollback | type[MunimentError]:
        """Return what a rollback to a time must lead to; that time is then asked about."""
        if at > self.latest:
            return FutureAsOfError
        self.model.asked = max(self.model.asked, at)
        return self.model.to_time(subject, at)

    def check_remembered(self, fact: Fact, item: Item) -> None:
        """Check that what is given back is believed now, and says what was said."""
        held = self.model.held(fact.fact_id)
        assert fact in shown.pieces(self.model.fact(fact.fact_id), held)
        assert fact.content == item.content
        assert fact.category == item.category
        if item.valid_from is not None:
            assert fact.valid_from == moment(item.valid_from)
        if item.valid_to is not None:
            assert fact.valid_to == moment(item.valid_to)

    def check_revised(self, fact: Fact, base: tuple[Period, int] | None) -> None:
        """Check that what is given back is what was said, or was said before already."""
        history = self.model.fact(fact.fact_id)
        event = history[-1].event
        if isinstance(event, FactRevised):
            assert fact == shown.fact(Seen(valid=event.valid, said=history[-1]))
        else:
            assert base is not None
            valid, version = base
            assert fact == shown.fact(Seen(valid=valid, said=history[version - 1]))

    def repeat(self, write: Write, result: object) -> None:
        """Do again what was done with an idempotency key: nothing, with the same answer."""
        assert write.call() == result
        assert self.new_events() == []

    @property
    def latest(self) -> Instant:
        """The latest recorded time one may ask about: now, or what was answered for."""
        return max(self.model.now, self.model.asked)

    def ask(self, subject: str, recorded_at: Instant, valid_at: Instant) -> None:
        """Ask what was known at a point, and remember the answer."""
        as_of = AsOf(recorded_at=recorded_at, valid_at=valid_at)
        if recorded_at > self.latest:
            assert refusal(lambda: self.asked(subject, as_of)) is FutureAsOfError
            return
        answer = self.asked(subject, as_of)
        self.model.asked = max(self.model.asked, recorded_at)
        known = oracle.known(self.model.ledger, recorded_at)
        assert answer.facts == shown.facts(
            oracle.snapshot(self.model.ledger, subject, as_of)
        )
        assert answer.position == len(known)
        assert answer.recorded_at == moment(recorded_at)
        assert answer.valid_at == moment(valid_at)
        self.answers.append((subject, as_of, answer))

    def asked(self, subject: str, as_of: AsOf) -> MemorySnapshot:
        return self.store.get_memory_as_of(
            scope=Scope.parse(subject),
            timestamp=moment(as_of.recorded_at),
            valid_at=moment(as_of.valid_at),
        )

    def ask_again(self, count: int) -> None:
        """Ask for *count* of the earlier answers once more, those next in turn."""
        for _ in range(min(count, len(self.answers))):
            subject, as_of, answer = self.answers[self.reasked % len(self.answers)]
            assert self.asked(subject, as_of) == answer
            self.reasked += 1

    def check_rows(self) -> None:
        """Check every rectangle of the timeline, at every recorded time."""
        assert self.store._lookup.timeline.is_level()
        rows = list(self.store._lookup.timeline.rows())
        times = sorted({each.recorded_at for each in self.model.ledger})
        for row in rows:
            assert row.recorded.start in times
            assert row.recorded.end in {*times, FOREVER}
            said = self.model.fact(row.fact_id)[row.version - 1]
            assert row.position == said.position
        for at in times:
            for fact_id in self.model.fact_ids:
                assert _known(rows, fact_id, at) == self._held_at(fact_id, at)

    def rebuild(self) -> None:
        """Rebuild the timeline; it must be, row by row, what it was."""
        before = list(self.store._lookup.timeline.rows())

        count = self.store.rebuild()

        assert list(self.store._lookup.timeline.rows()) == before
        assert count == len(before)

    def restore(self) -> None:
        """Lose the ledger, and make it anew from its archive."""
        recorder = self.store._ledger.recorder
        assert isinstance(recorder, SqlRecorder)
        with recorder.engine.begin() as connection, unguarded(connection):
            for table in tables.metadata.sorted_tables:
                ours = table.c.ledger == self.settings.ledger
                connection.execute(sa.delete(table).where(ours))
        self.store.close()
        MemoryStore.rebuild_from_archive(self.settings, clock=lambda: self.model.clock)
        self.open()

    def check_history(self, fact_id: str) -> None:
        history, fact = self.store.get_fact_history(fact_id), self.model.fact(fact_id)
        assert history.versions == shown.versions(fact)
        assert history.current_version == len(fact)
        seen = self.seen_now(fact_id)
        assert history.current_content == (seen.content if seen else None)

    def seen_now(self, fact_id: str) -> Fact | None:
        """Return what a reader sees of a fact now, if anything."""
        now = AsOf(recorded_at=self.model.now, valid_at=self.model.now)
        subject = self.model.subject_of(fact_id)
        seen = oracle.snapshot(self.model.ledger, subject, now)
        mine = [shown.fact(each) for each in seen if each.said.fact_id == fact_id]
        return mine[0] if mine else None

    def _held_at(self, fact_id: str, at: Instant) -> Held:
        # A fact never changes but by its events, so what they add up to is kept.
        events = oracle.happened(oracle.known(self.model.fact(fact_id), at))
        key = fact_id, len(events)
        if key not in self.folded:
            self.folded[key] = oracle.held(events)
        return self.folded[key]

    def _record(self, write: Write, at: Instant) -> list[Recorded]:
        """
        Add to the model what the ledger recorded since, checking its stamp.

        Returns:
            What was done; not that a request with a key had nothing to do.
        """
        found, model = self.new_events(), self.model
        tx_id, added = model.last_tx + 1, list[Recorded]()
        for event in found:
            is_fact = event.stream.startswith(FACT)
            mine = [
                each
                for each in model.ledger
                if each.fact_id == event.fact_id and each.subject == write.subject
            ]
            assert event.position == len(model.ledger) + 1
            assert event.tx_id == tx_id
            assert event.recorded_at == at
            assert event.version == len(mine) + 1
            recorded = Recorded(
                position=event.position,
                tx_id=event.tx_id,
                recorded_at=event.recorded_at,
                subject=write.subject,
                fact_id=event.fact_id if is_fact else "",
                version=event.version,
                event=event.event,
                action=write.action,
                actor=write.by.get("actor"),
                reason=write.by.get("reason"),
                trigger=write.by.get("trigger", "user_explicit"),
                session_id=write.by.get("session_id"),
            )
            model.ledger.append(recorded)
            added.append(recorded)
        self._check_head(write, at, has_events=bool(added))
        if any(isinstance(each.event, RequestAnswered) for each in added):
            assert len(added) == 1
            assert "idempotency_key" in write.by
            return []
        return added

    def _check_head(self, write: Write, at: Instant, *, has_events: bool) -> None:
        """Check where the ledger stands; what did nothing is there if it had a key."""
        head, model = self.store._lookup.ledger.present().head, self.model
        known = any(each.subject == write.subject for each in model.ledger)
        assert has_events or not known or "idempotency_key" not in write.by
        if has_events:
            model.last_tx, model.last = model.last_tx + 1, at
        assert (head.tx_id, head.recorded_at) == (model.last_tx, model.last)
        assert head.position == len(model.ledger)

    def new_events(self) -> list[RecordedEvent]:
        """Return what the ledger holds beyond the model."""
        ledger = self.store._lookup.ledger
        stamped = ledger.recorder.read(after=len(self.model.ledger), limit=100)
        return [
            event
            for each in stamped
            for event in ledger.mapper.opened(
                [each], ledger.vault.subject(each.sealed.subject_ref)
            )
        ]

    def _keep(self, write: Write, result: object, at: Instant) -> None:
        if "idempotency_key" in write.by and self.model.last == at:
            self.keyed.append((write, result))
            self.repeat(write, result)


def refusal(call: Callable[[], object]) -> type[MunimentError] | None:
    """Return how *call* is refused; ``None`` when it is not."""
    try:
        call()
    except MunimentError as error:
        return type(error)
    return None


def check_appended(expected: Appended, event: Recorded, named: dict[str, str]) -> None:
    """Check one event against what was to be appended; *named* has the new facts."""
    assert event.event == expected.event
    if not event.fact_id:
        return
    if expected.fact_ids:
        assert event.fact_id in {named.get(each, each) for each in expected.fact_ids}
    else:
        assert event.version == 1
        named[expected.new] = event.fact_id


def _known(rows: list[BeliefRow], fact_id: str, at: Instant) -> Held:
    return frozenset(
        (row.valid, row.version)
        for row in rows
        if row.fact_id == fact_id and at in row.recorded
    )
