"""
The moment of an answer, rebuilt, is what it was: whatever was written or maintained since.

After every step some moments before are rebuilt, and what they hold is what the oracle
says: memory, conversation, configuration, receipts, summaries, and tokens in the place
of what nobody can read any more. A search of then, asked again, finds what it found.
"""

from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
)

from muniment import Badcase, MemoryStore, RetentionRule, SearchHits
from muniment.api.turns import EXPIRED
from muniment.domain.keeping import DAY_US, LEAST_DAYS, Records
from muniment.domain.time import Instant
from muniment.instants import moment
from tests import machines
from tests.conversation import oracle
from tests.conversation.life import USERS, Life
from tests.stores import MEMORY, POSTGRESQL, SECOND, SQLITE, Backend, SettableClock


EXAMPLES = {MEMORY: 1 / 8, SQLITE: 1 / 20, POSTGRESQL: 1 / 50}
"""How many of the profile's examples are run at each place."""
STEPS_MAX = 25
LONG_US = LEAST_DAYS[Records.RECEIPT] * DAY_US

users = st.sampled_from([*USERS, USERS[0]])
picks = st.integers(0, 5)
delays = st.none() | st.sampled_from([-1, 0, 1, 5, 40])
"""How long before it is recorded something is said; it cannot be said afterwards."""


class ReplayMachine(RuleBasedStateMachine):
    """A store at *place*, and what was said to it."""

    def __init__(self, place: Backend) -> None:
        super().__init__()
        self.place = place
        self.clock = SettableClock()
        self.life = Life()
        self.times = [Instant(self.clock.now)]
        self.searched: list[tuple[str, str, SearchHits]] = []
        self.embedder = "hashing"
        self.open()

    def open(self) -> None:
        changes = {"embedder": self.embedder, "upkeep": False}
        self.store = MemoryStore.open(self.place.settings(**changes), clock=self.clock)

    def teardown(self) -> None:
        try:
            assert self.store.verify()
        finally:
            self.store.close()

    def tick(self) -> Instant:
        self.clock.now += SECOND
        self.times.append(Instant(self.clock.now))
        return self.times[-1]

    @rule(user=users, pick=picks, from_a_turn=st.booleans())
    def remember(self, user: str, pick: int, *, from_a_turn: bool) -> None:
        now, content = self.tick(), self.life.new_text("fact")
        readable = self.life.turns(user, readable=True)
        turns = readable[pick:][:1] if from_a_turn else []
        fact = self.store.remember(content, user_id=user, source_turns=turns)
        self.life.asserted(user, fact.fact_id, now, content, turns)

    @rule(user=users, pick=picks, how=st.sampled_from(["update", "correct", "retire"]))
    def change(self, user: str, pick: int, how: str) -> None:
        fact_id = self.life.believed(user, self.times[-1], pick)
        if fact_id is None:
            return
        now, content = self.tick(), self.life.new_text("fact")
        if how == "retire":
            self.store.forget(fact_id)
            self.life.retired(user, fact_id, now)
        else:
            getattr(self.store, how)(fact_id, content=content)
            self.life.revised(user, fact_id, now, content, is_new=how == "update")

    @rule(user=users, back=picks, undo=st.booleans())
    def roll_back(self, user: str, back: int, *, undo: bool) -> None:
        then, now = self.times[-1 - back % len(self.times)], self.tick()
        receipt = self.store.rollback_to_timestamp(user_id=user, rollback_to=moment(then))
        self.life.rolled_back(user, then, now)
        if undo and receipt.tx_id is not None:
            before, now = Instant(now - 1), self.tick()
            self.store.undo(receipt.tx_id)
            self.life.rolled_back(user, before, now)

    @rule(user=users, pick=picks)
    def redact_a_fact(self, user: str, pick: int) -> None:
        fact_id = self.life.unredacted(user, pick)
        if fact_id is not None:
            now = self.tick()
            self.store.forget(fact_id, mode="redact")
            self.life.redacted(user, fact_id, now)

    @rule(user=users, pick=picks, said=st.lists(delays, min_size=1, max_size=3))
    def say(self, user: str, pick: int, said: list[int | None]) -> None:
        sessions = self.life.sessions(user)
        if len(sessions) <= pick % 3:
            self.tick()
            sessions.append(self.store.start_session(user_id=user).session_id)
            self.life.started(user, sessions[-1], self.times[-1])
        session_id = sessions[pick % len(sessions)]
        now, turns = self.tick(), list[dict[str, Any]]()
        for delay in said:
            uttered = None if delay is None else Instant(now - delay * SECOND)
            content = self.life.new_text("turn")
            at = None if uttered is None else moment(uttered)
            turns.append({"role": "user", "content": content, "uttered_at": at})
            self.life.said(user, session_id, now, uttered, content)
        self.store.add_turns(session_id, turns=turns)

    @rule(user=users, pick=picks, whole=st.sampled_from([False, False, True]))
    def redact_what_was_said(self, user: str, pick: int, *, whole: bool) -> None:
        turns = self.life.turns(user)
        if not turns:
            return
        turn_id, now = turns[pick % len(turns)], self.tick()
        session_id = turn_id.rpartition(".")[0]
        if whole:
            self.store.redact_session(session_id)
        else:
            self.store.redact_turn(turn_id)
        self.life.unsaid(user, session_id, None if whole else turn_id, now)

    @rule(user=users, records=st.sampled_from([Records.RECEIPT, Records.TURN]))
    def keep_no_longer(self, user: str, records: Records) -> None:
        self.clock.now += LONG_US + DAY_US
        now, kept = self.tick(), RetentionRule(records=records, older_than_us=LONG_US)
        self.store.retain([kept], user_id=user)
        assert self.store.plan_retention([kept], user_id=user) == ()
        self.life.expired(user, records, now)

    @rule(user=users, pick=picks)
    def summarise(self, user: str, pick: int) -> None:
        sessions = self.life.sessions(user)
        if not sessions:
            return
        session_id = sessions[pick % len(sessions)]
        self.tick()
        made = self.store.summarize_session(
            session_id, every=2, keep=1, meta_every=1_000, force=True
        )
        for each in made:
            self.life.summarised(user, each)
        # Each of them has a transaction of its own.
        self.tick()

    @rule(user=users, pick=picks)
    def withdraw(self, user: str, pick: int) -> None:
        for session_id in self.life.sessions(user):
            used = sorted(oracle.summarised(self.life.ledger, session_id, self.times[-1]))
            if used:
                version, now = used[pick % len(used)], self.tick()
                self.store.withdraw_summary(session_id, version=version)
                self.life.withdrawn(user, session_id, version, now)
                return

    @rule(name=st.sampled_from(["prompt", "模型"]), value=st.sampled_from([None, 1, "二"]))
    def configure(self, name: str, value: Any) -> None:  # noqa: ANN401 - any JSON
        now = self.tick()
        self.store.record_config(name, value)
        self.life.configured(name, value, now)

    @rule(user=users)
    def recall(self, user: str) -> None:
        now, query = self.tick(), self.life.new_text("fact")
        hits = self.store.search(query, user_id=user, limit=3)
        # Its receipt is recorded now, so that no other time is given to it.
        self.store.flush_receipts()
        served = tuple((each.fact_id, each.fact.version) for each in hits)
        self.life.recalled(user, query, now, served)
        self.searched.append((user, query, hits))

    @precondition(lambda self: len(self.life.ledger) % 7 == 6)
    @rule(user=users)
    def erase(self, user: str) -> None:
        now = self.tick()
        self.store.erase(user_id=user, reason="asked")
        self.life.erased(user, now)

    @rule(what=st.sampled_from(["rebuild", "archive", "reindex", "reopen"]))
    def maintain(self, what: str) -> None:
        before = list(self.store._conversation.rows())
        match what:
            case "rebuild":
                self.store.rebuild()
            case "archive":
                self.store.archive()
                self.store.prune()
            case "reindex":
                self.embedder = "none" if self.embedder == "hashing" else "hashing"
                self.store.reindex(embedder=self.embedder)  # type: ignore[arg-type]
            case _ if self.place.kind != MEMORY:
                self.store.close()
                self.open()
            case _:
                pass
        assert list(self.store._conversation.rows()) == before

    @invariant()
    def every_moment_is_rebuilt_as_it_was(self) -> None:
        for at in {*self.times[-2:], *self.times[len(self.times) // 2 :][:1]}:
            for user in USERS:
                case = self.store.reproduce_badcase(user_id=user, timestamp=moment(at))
                self.check(case, user, at)
                for session_id in self.life.every_session(user):
                    used = self.store.get_summaries(session_id, as_of=moment(at))
                    shown = {
                        e.version: (e.first_turn, e.last_turn, e.content is not None)
                        for e in used
                    }
                    expected = oracle.summarised(self.life.ledger, session_id, at)
                    assert shown == expected

    def check(self, case: Badcase, user: str, at: Instant) -> None:
        ledger = self.life.ledger
        memory = oracle.remembered(ledger, user, at)
        convo = oracle.said(ledger, user, at)
        receipts = oracle.recalled(ledger, user, at)
        shown = [(each.fact_id, each.content) for each in case.memory]
        token = self.life.token
        assert shown == [(name, text or token(name)) for name, text in memory]
        told = [(each.turn_id, each.content) for each in case.convo]
        assert told == [(name, text or token(name)) for name, text in convo]
        assert case.config == oracle.configured(ledger, at)
        asked = [oracle.asked(ledger, user, each) for each in receipts]
        assert [each.query for each in case.receipts] == asked
        assert [each.token is None for each in case.receipts] == list(map(bool, asked))
        had = {fact_id for each in receipts for fact_id, _ in each.served}
        gone = {name for name, text in (*memory, *convo) if text is None}
        gone |= had & self.life.all_redacted()
        gone |= {str(e.position) for e in case.receipts if e.token == EXPIRED}
        assert {each.name for each in case.gone} == gone
        assert all(each.since for each in case.gone if each.token == EXPIRED)

    @invariant()
    def a_search_of_then_finds_what_it_found(self) -> None:
        for user, query, found in self.searched[-1:] + self.searched[:1]:
            if self.life.moved_on(user, found):
                continue
            again = self.store.search(query, user_id=user, limit=3, as_of=found.recorded_at)
            assert [(e.fact_id, e.fact.version) for e in again] == [
                (e.fact_id, e.fact.version) for e in found
            ]
            assert again.model == found.model


def run(kind: str, fresh: machines.Fresh) -> None:
    machines.run(ReplayMachine, fresh, share=EXAMPLES[kind], steps=STEPS_MAX)


def test_a_store_in_memory_rebuilds_every_moment(tmp_path: Path) -> None:
    run(MEMORY, machines.in_memory(tmp_path))


def test_a_store_in_a_directory_rebuilds_every_moment(
    tmp_path: Path, upgraded_directory: Path
) -> None:
    run(SQLITE, machines.in_directory(tmp_path / "store", upgraded_directory))


def test_a_store_on_postgresql_rebuilds_every_moment(
    postgres_database: str, tmp_path: Path
) -> None:
    run(POSTGRESQL, machines.on_postgresql(postgres_database, tmp_path / "store"))
