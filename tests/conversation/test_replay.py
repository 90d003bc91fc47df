"""
The moment of an answer, rebuilt, is what it was: whatever was written or maintained since.

After some steps every memory, conversation, configuration and receipt of some moments
before is compared with a model that keeps nothing but what was said, and when.
"""

from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
)

from muniment import MemoryStore
from muniment.domain.time import Instant
from muniment.instants import moment, to_instant
from tests import machines
from tests.stores import MEMORY, POSTGRESQL, SECOND, SQLITE, Backend, SettableClock


USERS = ("ann", "bob")
EXAMPLES = {MEMORY: 1 / 5, SQLITE: 1 / 15, POSTGRESQL: 1 / 30}
"""How many of the profile's examples are run at each place."""
STEPS_MAX = 20

users = st.sampled_from(USERS)
picks = st.integers(0, 5)
delays = st.none() | st.sampled_from([-1, 0, 1, 5, 40])
"""How long before it is recorded something is said; it cannot be said afterwards."""


@dataclass
class Life:
    """What happened to one user, each with the time at which it was recorded."""

    facts: dict[str, list[tuple[int, str | None]]] = field(default_factory=dict)
    turns: list[tuple[int, int, str]] = field(default_factory=list)
    receipts: list[tuple[int, str]] = field(default_factory=list)
    sessions: list[str] = field(default_factory=list)
    summaries: list[tuple[int, str, int]] = field(default_factory=list)
    withdrawn: list[tuple[int, str, int]] = field(default_factory=list)

    def memory(self, at: int) -> list[str]:
        last = (
            [content for then, content in said if then <= at]
            for said in self.facts.values()
        )
        return sorted(each[-1] for each in last if each and each[-1] is not None)

    def convo(self, at: int) -> list[str]:
        known = [
            (said, number, content)
            for number, (recorded, said, content) in enumerate(self.turns)
            if recorded <= at and said <= at
        ]
        return [content for _, _, content in sorted(known)]

    def summarised(self, session_id: str, at: int) -> list[int]:
        gone = {(s, version) for then, s, version in self.withdrawn if then <= at}
        return sorted(
            version
            for then, session, version in self.summaries
            if session == session_id and then <= at and (session, version) not in gone
        )

    def recalled(self, at: int) -> list[str]:
        return [query for then, query in self.receipts if then <= at]


class ReplayMachine(RuleBasedStateMachine):
    """A store at *place*, and what was said to it."""

    def __init__(self, place: Backend) -> None:
        super().__init__()
        self.place = place
        self.clock = SettableClock()
        self.lives = {user_id: Life() for user_id in USERS}
        self.config: list[tuple[int, str, object]] = []
        self.times = [self.clock.now]
        self.numbers = count()
        self.open()

    def open(self) -> None:
        changes = {"embedder": "none", "upkeep": False}
        self.store = MemoryStore.open(self.place.settings(**changes), clock=self.clock)

    def teardown(self) -> None:
        try:
            assert self.store.verify()
        finally:
            self.store.close()

    def tick(self) -> int:
        self.clock.now += SECOND
        self.times.append(self.clock.now)
        return self.clock.now

    def picked(self, user_id: str, pick: int) -> str | None:
        facts = [*self.lives[user_id].facts]
        return facts[pick % len(facts)] if facts else None

    @rule(user_id=users)
    def remember(self, user_id: str) -> None:
        now, content = self.tick(), f"fact {next(self.numbers)}"
        fact = self.store.remember(content, user_id=user_id)
        self.lives[user_id].facts[fact.fact_id] = [(now, content)]

    @rule(user_id=users, pick=picks, retire=st.booleans())
    def change(self, user_id: str, pick: int, *, retire: bool) -> None:
        fact_id = self.picked(user_id, pick)
        if fact_id is None or self.lives[user_id].facts[fact_id][-1][1] is None:
            return
        now, content = self.tick(), None if retire else f"fact {next(self.numbers)}"
        if content is None:
            self.store.forget(fact_id)
        else:
            self.store.correct(fact_id, content=content)
        self.lives[user_id].facts[fact_id].append((now, content))

    @rule(user_id=users, back=picks)
    def roll_back(self, user_id: str, back: int) -> None:
        then, now = self.times[-1 - back % len(self.times)], self.tick()
        self.store.rollback_to_timestamp(user_id=user_id, rollback_to=self.at(then))
        for said in self.lives[user_id].facts.values():
            known = [content for at, content in said if at <= then]
            said.append((now, known[-1] if known else None))

    @rule(user_id=users)
    def start(self, user_id: str) -> None:
        self.tick()
        session = self.store.start_session(user_id=user_id)
        self.lives[user_id].sessions.append(session.session_id)

    @rule(user_id=users, pick=picks, said=st.lists(delays, min_size=1, max_size=3))
    def say(self, user_id: str, pick: int, said: list[int | None]) -> None:
        life = self.lives[user_id]
        if not life.sessions:
            self.start(user_id)
        now, turns = self.tick(), list[dict[str, Any]]()
        for delay in said:
            content = f"turn {next(self.numbers)}"
            uttered = None if delay is None else self.at(now - delay * SECOND)
            turns.append({"role": "user", "content": content, "uttered_at": uttered})
            life.turns.append((now, now - max(0, delay or 0) * SECOND, content))
        session_id = life.sessions[pick % len(life.sessions)]
        self.store.add_turns(session_id, turns=turns)

    @precondition(lambda self: any(self.lives[each].turns for each in USERS))
    @rule(user_id=users, pick=picks)
    def summarise(self, user_id: str, pick: int) -> None:
        life = self.lives[user_id]
        if not life.sessions:
            return
        session_id = life.sessions[pick % len(life.sessions)]
        self.tick()
        made = self.store.summarize_session(
            session_id, every=2, keep=1, meta_every=1_000, force=True
        )
        # Each of them has a transaction of its own.
        life.summaries += [
            (to_instant(each.recorded_at), session_id, each.version) for each in made
        ]
        self.clock.now += SECOND

    @rule(user_id=users, pick=picks)
    def withdraw(self, user_id: str, pick: int) -> None:
        life = self.lives[user_id]
        used = [
            (session_id, version)
            for session_id in life.sessions
            for version in life.summarised(session_id, self.clock.now)
        ]
        if used:
            session_id, version = used[pick % len(used)]
            life.withdrawn.append((self.tick(), session_id, version))
            self.store.withdraw_summary(session_id, version=version)

    @rule(name=st.sampled_from(["prompt", "模型"]), value=st.sampled_from([None, 1, "二"]))
    def configure(self, name: str, value: Any) -> None:  # noqa: ANN401 - any JSON
        self.config.append((self.tick(), name, value))
        self.store.record_config(name, value)

    @rule(user_id=users)
    def recall(self, user_id: str) -> None:
        life = self.lives[user_id]
        now, query = self.tick(), f"fact {next(self.numbers)}"
        hits = self.store.search(query, user_id=user_id, limit=3)
        if life.facts or life.sessions or hits:
            life.receipts.append((now, query))
        # Its receipt is recorded now, so that no other time is given to it.
        self.store.flush_receipts()

    @precondition(lambda self: any(self.lives[each].turns for each in USERS))
    @rule(user_id=users)
    def erase(self, user_id: str) -> None:
        self.tick()
        self.store.erase(user_id=user_id, reason="asked")
        self.lives[user_id] = Life()

    @rule()
    def rebuild(self) -> None:
        before = list(self.store._conversation.rows())
        self.store.rebuild()
        assert list(self.store._conversation.rows()) == before

    @precondition(lambda self: self.place.kind != MEMORY)
    @rule()
    def reopen(self) -> None:
        self.store.close()
        self.open()

    @invariant()
    def every_moment_is_rebuilt_as_it_was(self) -> None:
        for at in {*self.times[-2:], *self.times[len(self.times) // 2 :][:1]}:
            for user_id, life in self.lives.items():
                case = self.store.reproduce_badcase(user_id=user_id, timestamp=self.at(at))
                assert sorted(f.content or "" for f in case.memory) == life.memory(at)
                assert [turn.content for turn in case.convo] == life.convo(at)
                assert case.config == self.configured(at)
                assert [each.query for each in case.receipts] == life.recalled(at)
                for session_id in life.sessions:
                    used = self.store.get_summaries(session_id, as_of=self.at(at))
                    versions = sorted(each.version for each in used)
                    assert versions == life.summarised(session_id, at)

    def configured(self, at: int) -> dict[str, object]:
        found = {name: value for then, name, value in self.config if then <= at}
        return {name: value for name, value in found.items() if value is not None}

    @staticmethod
    def at(us: int) -> Any:  # noqa: ANN401 - a datetime, for whoever takes one
        return moment(Instant(us))


def run(kind: str, fresh: machines.Fresh) -> None:
    machines.run(ReplayMachine, fresh, share=EXAMPLES[kind], steps=STEPS_MAX)


def test_a_store_in_memory_rebuilds_every_moment(tmp_path: Path) -> None:
    run(MEMORY, machines.in_memory(tmp_path))


def test_a_store_in_a_directory_rebuilds_every_moment(tmp_path: Path) -> None:
    run(SQLITE, machines.in_directory(tmp_path / "store"))


def test_a_store_on_postgresql_rebuilds_every_moment(
    postgres_database: str, tmp_path: Path
) -> None:
    run(POSTGRESQL, machines.on_postgresql(postgres_database, tmp_path / "store"))
