"""
A store forgets what it is asked to, keeps what is held, and brings nothing back.

After each step every memory is what the model says, now and at recorded times before,
the ledger verifies, and no key that was destroyed is found in any file.
"""

from copy import deepcopy
from itertools import count
from pathlib import Path

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
)

from muniment import MemoryStore, RetentionRule
from muniment.api.certificates import ErasureStatus
from muniment.domain.keeping import DAY_US, Records
from muniment.domain.policy import YEAR_US
from muniment.domain.time import Instant
from muniment.errors import ArchiveAheadError, ThinnedError, UnknownFactError
from muniment.instants import moment
from tests import machines
from tests.forgetting.traces import Backup, said, traces, wrapped_keys
from tests.property.forgotten import FactModel, ForgettingModel, MemoryModel
from tests.stores import MEMORY, POSTGRESQL, SECOND, SQLITE, Backend, SettableClock
from tests.years import year, year_of


USERS = ("ann", "bob")
OLD = RetentionRule(older_than_us=20 * SECOND)
ALIKE = RetentionRule(merge_alike=1.0)
LONG_AGO = RetentionRule(thin_older_than_us=YEAR_US)
TURNS = RetentionRule(records=Records.TURN, older_than_us=DAY_US)
EXAMPLES = {MEMORY: 1 / 6, SQLITE: 1 / 12, POSTGRESQL: 1 / 40}
"""How many of the profile's examples are run at each place."""
STEPS_MAX = 15

users = st.sampled_from(USERS)
picks = st.integers(0, 5)


class ForgettingMachine(RuleBasedStateMachine):
    """A store at *place*, whose durable parts outlive its process."""

    def __init__(self, place: Backend) -> None:
        super().__init__()
        self.place = place
        self.clock = SettableClock()
        self.model = ForgettingModel({each: MemoryModel() for each in USERS})
        self.forgotten: list[str] = []
        self.backup: tuple[Backup, ForgettingModel] | None = None
        self.destroyed: set[bytes] = set()
        self.numbers = count()
        self.is_older = False
        self.open()

    def open(self) -> None:
        self.store = MemoryStore.open(self.place.settings(), clock=self.clock)

    def teardown(self) -> None:
        self.store.close()

    @property
    def is_durable(self) -> bool:
        return self.place.kind != MEMORY

    @property
    def facts(self) -> list[tuple[str, str]]:
        return [
            (user_id, fact_id)
            for user_id, memory in self.model.users.items()
            for fact_id in memory.facts
        ]

    @property
    def holds(self) -> list[tuple[str, str]]:
        return [
            (user_id, hold_id)
            for user_id, memory in self.model.users.items()
            for hold_id in memory.holds
        ]

    def tick(self) -> int:
        """Let a second pass; return the time at which something is written now."""
        self.clock.now += SECOND
        self.model.times.append(self.clock.now)
        return self.clock.now

    def picked(self, pick: int) -> tuple[str, str]:
        return self.facts[pick % len(self.facts)]

    @rule(user_id=users)
    def remember(self, user_id: str) -> None:
        now, content = self.tick(), f"CANARY {next(self.numbers)}"
        fact = self.store.remember(content, user_id=user_id)
        self.model.users[user_id].facts[fact.fact_id] = FactModel([(now, content)])

    @precondition(lambda self: self.facts)
    @rule(pick=picks)
    def update_or_retire(self, pick: int) -> None:
        user_id, fact_id = self.picked(pick)
        fact = self.model.users[user_id].facts[fact_id]
        if fact.content is None:
            return
        number = next(self.numbers)
        now, content = self.tick(), f"CANARY {number}" if number % 3 else None
        if content is None:
            self.store.forget(fact_id)
        elif fact.is_gone:
            with pytest.raises(ThinnedError):
                self.store.update(fact_id, content=content)
            return
        else:
            self.store.update(fact_id, content=content)
        fact.said.append((now, content))

    @precondition(lambda self: self.facts)
    @rule(pick=picks)
    def redact(self, pick: int) -> None:
        user_id, fact_id = self.picked(pick)
        now = self.tick()
        with Destroying(self):
            receipt = self.store.forget(fact_id, mode="redact")
        gone = fact_id in self.model.redacted
        deferred = self.model.redact(user_id, fact_id, now)
        assert receipt.deferred == (deferred and not gone)

    @precondition(lambda self: self.facts)
    @rule(pick=picks)
    def erase(self, pick: int) -> None:
        user_id, _ = self.picked(pick)
        self.tick()
        facts = list(self.model.users[user_id].facts)
        with Destroying(self):
            certificate = self.store.erase(user_id=user_id, reason="asked")
        deferred = self.model.erase(user_id)
        expected = ErasureStatus.DEFERRED if deferred else ErasureStatus.DONE
        assert certificate.status is expected
        self.forgotten += [] if deferred else facts

    @precondition(lambda self: self.facts and len(self.holds) < 3)
    @rule(pick=picks, whole=st.booleans())
    def hold(self, pick: int, *, whole: bool) -> None:
        user_id, fact_id = self.picked(pick)
        self.tick()
        name, bound = f"h-{next(self.numbers)}", None if whole else fact_id
        self.store.place_hold(
            user_id=user_id, fact_id=bound, matter="CANARY case", hold_id=name
        )
        self.model.users[user_id].holds[name] = bound

    @precondition(lambda self: self.holds)
    @rule(pick=picks)
    def release(self, pick: int) -> None:
        user_id, hold_id = self.holds[pick % len(self.holds)]
        now, facts = self.tick(), list(self.model.users[user_id].facts)
        life = self.model.users[user_id].life
        with Destroying(self):
            self.store.release_hold(hold_id, user_id=user_id)
        self.model.release(user_id, hold_id, now)
        if (user_id, life) in self.model.erased:
            self.forgotten += facts

    @precondition(lambda self: self.facts)
    @rule(later=st.sampled_from([5, 19, 20, 40]))
    def retain(self, later: int) -> None:
        self.clock.now += later * SECOND
        now, due = self.tick(), set()
        for memory in self.model.users.values():
            for fact_id, fact in memory.facts.items():
                is_old = now - fact.said[-1][0] >= 20 * SECOND
                if fact.content is not None and is_old and not memory.is_held(fact_id):
                    due.add(fact_id)
                    fact.said.append((now, None))
        receipts = self.store.retain([OLD])
        assert {each for receipt in receipts for each in receipt.fact_ids} == due
        # Each subject has a transaction of its own, a microsecond after the one before.
        self.clock.now += SECOND
        self.model.times[-1] = self.clock.now

    @precondition(lambda self: self.facts)
    @rule(picked=st.lists(picks, min_size=1, max_size=3))
    def merge(self, picked: list[int]) -> None:
        for pick in picked:
            self.say_alike(*self.picked(pick))
        now, into = self.tick(), dict[str, str]()
        for memory in self.model.users.values():
            into |= memory.merged()
            for fact_id in memory.merged():
                memory.facts[fact_id].said.append((now, None))
        receipts = self.store.retain([ALIKE])
        assert {each for receipt in receipts for each in receipt.fact_ids} == into.keys()
        for fact_id, survivor in into.items():
            last = self.store.get_fact_history(fact_id).versions[-1]
            assert (last.kind, last.survivor) == ("retired", survivor)
        self.clock.now += SECOND
        self.model.times[-1] = self.clock.now

    def say_alike(self, user_id: str, fact_id: str) -> None:
        """Remember what a fact says, with other marks at its end."""
        memory = self.model.users[user_id]
        fact = memory.facts[fact_id]
        if fact.content is None or fact.is_gone:
            return
        now, content = self.tick(), fact.content + "." * (next(self.numbers) + 1)
        again = self.store.remember(content, user_id=user_id)
        memory.facts[again.fact_id] = FactModel([(now, content)])

    @precondition(lambda self: self.facts)
    @rule(pick=picks, years=st.sampled_from([0, 1, 2]))
    def thin(self, pick: int, years: int) -> None:
        # What is said again before the years pass is what there is to be thinned.
        self.update_or_retire(pick)
        self.clock.now += years * YEAR_US
        now = self.tick()
        due = self.model.thin(year(year_of(now - YEAR_US)))
        with Destroying(self):
            receipts = self.store.retain([LONG_AGO])
        assert {each for receipt in receipts for each in receipt.fact_ids} == due
        self.clock.now += SECOND
        self.model.times[-1] = self.clock.now

    @rule(user_id=users)
    def say(self, user_id: str) -> None:
        memory, now, said = (
            self.model.users[user_id],
            self.tick(),
            f"CANARY {next(self.numbers)}",
        )
        if memory.session_id is None:
            memory.session_id = self.store.start_session(user_id=user_id).session_id
            now = self.tick()
        self.store.add_turn(memory.session_id, role="user", content=said)
        memory.turns.append((now, said))

    @precondition(lambda self: any(each.turns for each in self.model.users.values()))
    @rule(days=st.sampled_from([0, 1, 2]))
    def expire_turns(self, days: int) -> None:
        self.clock.now += days * DAY_US
        now = self.tick()
        due = self.model.expire((now - DAY_US) // DAY_US * DAY_US)
        with Destroying(self):
            receipts = self.store.retain([TURNS])
        assert len(receipts) == due
        self.clock.now += SECOND
        self.model.times[-1] = self.clock.now

    @precondition(lambda self: self.is_durable)
    @rule(reopen=st.booleans())
    def maintain(self, *, reopen: bool) -> None:
        if reopen:
            self.store.close()
            self.open()
        else:
            self.store.rotate_key()

    @rule()
    def rebuild(self) -> None:
        before = list(self.store._lookup.timeline.rows())
        self.store.rebuild()
        assert list(self.store._lookup.timeline.rows()) == before

    @precondition(lambda self: self.facts)
    @rule()
    def archive(self) -> None:
        try:
            self.store.archive()
        except ArchiveAheadError:
            # What the archive holds is not to be overwritten by an older ledger.
            assert self.is_older
        self.store.prune()

    @precondition(lambda self: self.is_durable and self.facts)
    @rule()
    def back_up(self) -> None:
        file = self.place.directory.with_name("backup.db")
        self.backup = Backup.of(self.place, file), deepcopy(self.model)

    @precondition(lambda self: self.backup is not None)
    @rule()
    def restore(self) -> None:
        assert self.backup is not None
        self.store.close()
        backup, model = self.backup
        self.clock.now += SECOND
        self.model = self.model.restored(deepcopy(model), self.clock.now)
        backup.restore()
        self.is_older = True
        self.open()

    @invariant()
    def every_memory_is_as_the_model_says(self) -> None:
        for user_id, memory in self.model.users.items():
            assert said(self.store, user_id=user_id) == memory.in_use()
            for fact_id, fact in memory.facts.items():
                history = self.store.get_fact_history(fact_id)
                told = [e.content for e in history if e.kind in ("asserted", "revised")]
                is_redacted = fact.redacted_at is not None
                assert told == fact.told
                assert (history.versions[-1].kind == "redacted") == is_redacted

    @invariant()
    def what_was_said_is_as_the_model_says(self) -> None:
        for memory in self.model.users.values():
            if memory.session_id is not None:
                turns = self.store.get_turns(memory.session_id)
                assert [each.content for each in turns] == self.model.told(memory)

    @invariant()
    def every_memory_was_as_the_model_says(self) -> None:
        times = self.model.times
        began = [year(year_of(each)) for each in times[-1:]]
        for at in {*times[-3:], *times[:1], *times[len(times) // 2 :][:1], *began}:
            for user_id, memory in self.model.users.items():
                assert self.known(user_id, at) == memory.at(at)

    def known(self, user_id: str, at: int) -> list[str | None] | None:
        """Return what was believed at a recorded time; ``None`` where it was thinned."""
        try:
            known = self.store.get_memory_as_of(
                user_id=user_id, timestamp=moment(Instant(at))
            )
        except ThinnedError:
            return None
        return sorted((each.content for each in known), key=str)

    @invariant()
    def nothing_of_the_erased_is_left(self) -> None:
        for fact_id in self.forgotten:
            with pytest.raises(UnknownFactError):
                self.store.get_fact_history(fact_id)
        if self.is_durable:
            keys = self.destroyed if self.place.kind == SQLITE else ()
            assert traces(self.place, "CANARY", *keys) == []
        assert self.store._lookup.timeline.is_level()
        assert not self.store.verify().findings


class Destroying:
    """Notes which of the wrapped keys that were in the vault are not there any more."""

    def __init__(self, machine: ForgettingMachine) -> None:
        self._machine = machine
        self._before: set[bytes] = set()

    def __enter__(self) -> None:
        self._before = self._keys()

    def __exit__(self, *_: object) -> None:
        self._machine.destroyed |= self._before - self._keys()

    def _keys(self) -> set[bytes]:
        machine = self._machine
        return set(wrapped_keys(machine.place)) if machine.is_durable else set()


def run(kind: str, fresh: machines.Fresh) -> None:
    machines.run(ForgettingMachine, fresh, share=EXAMPLES[kind], steps=STEPS_MAX)


def test_a_store_in_memory_forgets_as_the_model_does(tmp_path: Path) -> None:
    run(MEMORY, machines.in_memory(tmp_path))


def test_a_store_in_a_directory_forgets_as_the_model_does(
    tmp_path: Path, upgraded_directory: Path
) -> None:
    run(SQLITE, machines.in_directory(tmp_path / "store", upgraded_directory))


def test_a_store_on_postgresql_forgets_as_the_model_does(
    postgres_database: str, tmp_path: Path
) -> None:
    run(POSTGRESQL, machines.on_postgresql(postgres_database, tmp_path / "store"))
