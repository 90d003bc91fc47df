"""
The rules by which the state machine writes: everything a caller can do to a memory.

Instants are microseconds, and recorded and valid times are drawn from the same few, so
that they collide.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from muniment import Cause, Fact, MemoryStore, Receipt, RollbackPlan, Scope
from muniment.api.rollbacks import OnConflict
from muniment.domain.events import RevisionCause
from muniment.domain.time import Instant
from muniment.errors import (
    MunimentError,
    SubjectFrozenError,
    VersionConflictError,
)
from muniment.instants import moment
from tests.oracle import Culprit
from tests.property import shown
from tests.property.bench import Bench, By, Place, Write
from tests.property.model import Answer, Item, Model, Rollback
from tests.property.rollbacks import check_plan
from tests.strategies import CONTENTS, sources


SUBJECTS = ["user:ann", "user:ann", "user:ann", "team:ann"]
"""Two subjects of one name, which must never see each other's memory; one is busier."""

FACTS_MAX = 3
"""New facts are made up to this many, so that the steps meet on the same ones."""

times = st.integers(0, 23).map(Instant)
maybe = st.none() | times
seldom = st.none() | st.none() | st.none() | times
subjects = st.sampled_from(SUBJECTS)
picks = st.integers(0, FACTS_MAX - 1)
moments = st.tuples(st.integers(0, 30), st.sampled_from([-1, 0, 0, 0, 1]))
"""One of the recorded times there are, or right before or after it."""
backs = st.none() | st.none() | st.none() | st.integers(-1, 3)
"""A version that a caller has read, so far back; now and then one there is not yet."""
modes: st.SearchStrategy[OnConflict] = st.sampled_from(["abort", "skip", "force"])
optional = {
    "actor": st.sampled_from(["ann", "agent"]),
    "reason": st.just("because"),
    "idempotency_key": st.just("numbered when used"),
}
bys = st.fixed_dictionaries(
    {},
    optional={
        **optional,
        "session_id": st.sampled_from(["s-1", "s-2"]),
        "trigger": st.sampled_from(["user_explicit", "tool_result"]),
    },
)
excuses = st.fixed_dictionaries({}, optional=optional)


def said(contents: st.SearchStrategy[str | None]) -> st.SearchStrategy[Item]:
    """Draw what is said of a fact; most of it is left out most of the time."""
    return st.builds(
        Item,
        content=contents,
        category=st.sampled_from([None, None, "drink"]),
        valid_from=maybe,
        valid_to=seldom,
        source=st.none() | sources,
        confidence=st.sampled_from([None, 0.5]),
        metadata=st.sampled_from([None, None, {"key": "深"}]),
        expires_at=seldom,
    )


new = said(st.sampled_from(CONTENTS))
revised = said(st.none() | st.sampled_from(CONTENTS))
culprits = st.builds(
    Culprit,
    session_id=st.sampled_from([None, "s-1", "s-2"]),
    actor=st.sampled_from([None, None, "ann", "agent"]),
    source=st.sampled_from([None, None, "tool"]),
    trigger=st.sampled_from([None, None, "tool_result"]),
    since=seldom,
    until=seldom,
).filter(lambda each: names_somebody(each) and not is_inverted(each))


def names_somebody(culprit: Culprit) -> bool:
    return any((culprit.session_id, culprit.actor, culprit.source, culprit.trigger))


def is_inverted(culprit: Culprit) -> bool:
    if culprit.since is None or culprit.until is None:
        return False
    return culprit.since >= culprit.until


with_facts = precondition(lambda machine: bool(machine.model.fact_ids))
with_room = precondition(lambda machine: len(machine.model.fact_ids) < FACTS_MAX)


Moment = tuple[int, int]


class WritingMachine(RuleBasedStateMachine):
    """A store at *place*, each write compared with what it means."""

    def __init__(self, place: Place) -> None:
        super().__init__()
        self.model = Model(Instant(5))
        self.bench = Bench(place, self.model)
        self.plans: list[tuple[RollbackPlan, str, Rollback]] = []
        self.keys = 0

    @property
    def store(self) -> MemoryStore:
        return self.bench.store

    def teardown(self) -> None:
        try:
            self.bench.ask_again(len(self.bench.answers))
        finally:
            self.store.close()

    @with_room
    @rule(subject=subjects, item=new, by=bys)
    def remember(self, subject: str, item: Item, by: By) -> None:
        given: Any = shown.given(item)
        write = self.writing(
            subject,
            "remember",
            by,
            lambda by: self.store.remember(scope=Scope.parse(subject), **given, **by),
        )
        write = replace(write, malformed=item.is_inverted)
        fact = self.bench.write(write, self.model.remember(subject, [item]))
        if isinstance(fact, Fact):
            self.bench.check_remembered(fact, item)

    @with_room
    @rule(subject=subjects, items=st.lists(new, min_size=1, max_size=3), by=bys)
    def remember_many(self, subject: str, items: list[Item], by: By) -> None:
        given = [shown.given(item) for item in items]
        write = self.writing(
            subject,
            "remember_many",
            by,
            lambda by: self.store.remember_many(given, scope=Scope.parse(subject), **by),
        )
        write = replace(write, malformed=any(item.is_inverted for item in items))
        receipt = self.bench.write(write, self.model.remember(subject, items))
        if isinstance(receipt, Receipt):
            assert len(receipt) == len(items)
            for fact, item in zip(receipt, items, strict=True):
                self.bench.check_remembered(fact, item)

    @with_facts
    @rule(pick=picks, item=revised, back=backs, by=bys)
    def update(self, pick: int, item: Item, back: int | None, by: By) -> None:
        self.revise(RevisionCause.CHANGED, pick, item, back, by)

    @with_facts
    @rule(pick=picks, item=revised, back=backs, by=bys)
    def correct(self, pick: int, item: Item, back: int | None, by: By) -> None:
        self.revise(RevisionCause.CORRECTED, pick, item, back, by)

    def revise(
        self, cause: RevisionCause, pick: int, item: Item, back: int | None, by: By
    ) -> None:
        fact_id = self.picked(pick)
        base = self.model.base(fact_id, item)
        answer = self.model.revise(fact_id, cause, item)
        verb = "update" if cause is RevisionCause.CHANGED else "correct"
        meant = answer, shown.given(item)
        fact = self.change(verb, fact_id, back, by, meant, malformed=item.is_inverted)
        if isinstance(fact, Fact):
            self.bench.check_revised(fact, base)

    @with_facts
    @rule(pick=picks, valid_to=maybe, back=backs, by=bys)
    def end(self, pick: int, valid_to: Instant | None, back: int | None, by: By) -> None:
        fact_id = self.picked(pick)
        given = {} if valid_to is None else {"valid_to": moment(valid_to)}
        self.change("end", fact_id, back, by, (self.model.end(fact_id, valid_to), given))

    @with_facts
    @rule(pick=picks, back=backs, by=bys)
    def retire_or_restore(self, pick: int, back: int | None, by: By) -> None:
        fact_id = self.picked(pick)
        if self.model.held(fact_id):
            self.change("forget", fact_id, back, by, (self.model.retire(fact_id), {}))
        else:
            self.change("restore", fact_id, back, by, (self.model.restore(fact_id), {}))

    @with_facts
    @rule(pick=picks, by=bys)
    def ask_for_what_is_so_already(self, pick: int, by: By) -> None:
        fact_id = self.picked(pick)
        verb = "restore" if self.model.held(fact_id) else "forget"
        self.change(verb, fact_id, None, by, ([], {}))

    def change(
        self,
        verb: str,
        fact_id: str,
        back: int | None,
        by: By,
        meant: tuple[Answer, Mapping[str, object]],
        *,
        malformed: bool = False,
    ) -> object:
        """Do what one fact is changed by; *meant* is the answer, and what is passed."""
        answer, given = meant
        if back is not None:
            version = max(1, len(self.model.fact(fact_id)) - back)
            given = {**given, "expected_version": version}
            if not self.model.is_current(fact_id, version):
                answer = VersionConflictError
        write = self.writing(
            self.model.subject_of(fact_id),
            verb,
            by,
            lambda by: getattr(self.store, verb)(fact_id, **given, **by),
        )
        return self.bench.write(replace(write, malformed=malformed), answer)

    # What is frozen refuses nearly everything, so it is done seldom and seldom stays so.
    @precondition(lambda self: len(self.model.ledger) % 4 == 3)
    @rule(subject=subjects, by=bys, stay=st.booleans())
    def freeze(self, subject: str, by: By, *, stay: bool) -> None:
        scope = Scope.parse(subject)
        freezing = self.writing(
            subject, "freeze", by, lambda by: self.store.freeze(scope=scope, **by)
        )
        self.bench.write(freezing, self.model.freeze(subject))
        if not stay:
            self.thaw(subject, by)

    @precondition(lambda self: any(self.model.is_frozen(each) for each in SUBJECTS))
    @rule(subject=subjects, by=bys)
    def thaw(self, subject: str, by: By) -> None:
        scope = Scope.parse(subject)
        write = self.writing(
            subject, "thaw", by, lambda by: self.store.thaw(scope=scope, **by)
        )
        self.bench.write(write, self.model.thaw(subject))

    @with_facts
    @rule(pick=picks, number=st.integers(0, 9), by=bys)
    def rollback_fact(self, pick: int, number: int, by: By) -> None:
        fact_id, version = self.picked(pick), self.version(pick, number)
        write = self.writing(
            self.model.subject_of(fact_id),
            "rollback",
            by,
            lambda by: self.store.rollback_fact(fact_id, to_version=version, **by),
        )
        answer = self.model.to_version(fact_id, version)
        if self.model.is_frozen(write.subject):
            # This one is decided under the lock, where that is looked at first.
            answer = SubjectFrozenError
        self.bench.roll_back(write, answer, "abort")

    @with_facts
    @rule(subject=subjects, when=moments, by=bys)
    def rollback_to_timestamp(self, subject: str, when: Moment, by: By) -> None:
        at = self.recorded(when)
        write = self.writing(
            subject,
            "rollback",
            by,
            lambda by: self.store.rollback_to_timestamp(
                scope=Scope.parse(subject), rollback_to=moment(at), **by
            ),
        )
        self.bench.roll_back(write, self.bench.to_time(subject, at), "abort")

    @with_facts
    @rule(subject=subjects, culprit=culprits, mode=modes, by=excuses)
    def rollback_where(
        self, subject: str, culprit: Culprit, mode: OnConflict, by: By
    ) -> None:
        named: Any = shown.given(culprit)
        write = self.writing(
            subject,
            "rollback",
            by,
            lambda by: self.store.rollback_where(
                scope=Scope.parse(subject),
                on_conflict=mode,
                by_actor=by.get("actor"),
                reason=by.get("reason"),
                idempotency_key=by.get("idempotency_key"),
                **named,
            ),
        )
        self.bench.roll_back(write, self.model.without(subject, culprit), mode)

    @with_facts
    @rule(back=st.integers(-1, 5), mode=modes, by=bys)
    def undo(self, back: int, mode: OnConflict, by: By) -> None:
        tx_id = max(1, self.model.last_tx - back)
        touched = [each.subject for each in self.model.ledger if each.tx_id == tx_id]
        write = self.writing(
            touched[0] if touched else SUBJECTS[0],
            "undo",
            by,
            lambda by: self.store.undo(tx_id, on_conflict=mode, **by),
        )
        self.bench.roll_back(write, self.model.undo(tx_id), mode)

    @with_facts
    @rule(subject=subjects, pick=picks, when=moments, culprit=st.none() | culprits)
    def plan(self, subject: str, pick: int, when: Moment, culprit: Culprit | None) -> None:
        scope, at = Scope.parse(subject), self.recorded(when)
        fact_id, version = self.picked(pick), self.version(pick, when[0])
        named: Any = shown.given(culprit or Culprit())
        if culprit is not None:
            plan = self.store.plan_rollback(scope=scope, where=Cause(**named))
            self.keep_plan(plan, subject, self.model.without(subject, culprit))
        elif when[1] and at <= self.bench.latest:
            plan = self.store.plan_rollback(scope=scope, to=moment(at))
            self.keep_plan(plan, subject, self.bench.to_time(subject, at))
        elif version <= len(self.model.fact(fact_id)):
            plan = self.store.plan_rollback(fact_id=fact_id, to_version=version)
            answer = self.model.to_version(fact_id, version)
            self.keep_plan(plan, self.model.subject_of(fact_id), answer)

    def keep_plan(
        self, plan: RollbackPlan, subject: str, answer: Rollback | type[MunimentError]
    ) -> None:
        assert isinstance(answer, Rollback)
        assert self.bench.new_events() == []
        check_plan(self.model, plan, subject, answer)
        self.plans.append((plan, subject, answer))

    @precondition(lambda self: self.plans)
    @rule(back=st.integers(0, 2), mode=modes, by=bys)
    def apply(self, back: int, mode: OnConflict, by: By) -> None:
        plan, subject, answer = self.plans[-1 - back % len(self.plans)]
        write = self.writing(
            subject,
            "rollback",
            by,
            lambda by: self.store.apply(plan, on_conflict=mode, **by),
        )
        self.bench.roll_back(write, answer, mode, planned_at=plan.position)

    def picked(self, pick: int) -> str:
        """Return one of the facts there are."""
        fact_ids = self.model.fact_ids
        return fact_ids[pick % len(fact_ids)]

    def version(self, pick: int, number: int) -> int:
        """Return one of the versions of a fact, 0, or now and then one beyond the last."""
        return number % (len(self.model.fact(self.picked(pick))) + 2)

    def recorded(self, when: Moment) -> Instant:
        """Return one of the recorded times there are, or right before or after it."""
        pick, offset = when
        recorded = [each.recorded_at for each in self.model.ledger] or [Instant(1)]
        return Instant(recorded[-1 - pick % len(recorded)] + offset)

    def writing(
        self, subject: str, action: str, by: By, call: Callable[[Any], object]
    ) -> Write:
        """Return a write, its idempotency key, if it has one, never used before."""
        if "idempotency_key" in by:
            self.keys += 1
            by = {**by, "idempotency_key": f"key {self.keys}"}
        return Write(subject=subject, action=action, by=by, call=lambda: call(by))
