"""A store in which everything happened that can, and everything it answers."""

from dataclasses import dataclass
from pathlib import Path

from muniment import MemoryStore
from muniment.api.shapes import document
from muniment.domain.time import Instant
from muniment.instants import moment
from tests.stores import POSTGRESQL, SECOND, SQLITE, Backend, SettableClock


DAY = 86_400 * SECOND
USERS = ("ann", "bob")


@dataclass
class Told:
    """A store and the clock it goes by, with the facts that it was told, by user."""

    backend: Backend
    clock: SettableClock
    store: MemoryStore
    facts: dict[str, list[str]]
    times: list[int]

    @property
    def place(self) -> Path:
        """Where its archive is."""
        assert self.store._archive_place is not None
        return Path(self.store._archive_place)

    def reopen(self) -> None:
        self.store.close()
        self.store = self.backend.open(clock=self.clock)

    def pass_time(self, by: int = SECOND) -> None:
        self.clock.now += by
        self.times.append(self.clock.now)

    def answers(self, users: tuple[str, ...] = USERS) -> dict[str, str]:
        """Return everything it answers about the past, as text."""
        store, found = self.store, dict[str, str]()
        for user_id in users:
            for at in self.times:
                then = store.get_memory_as_of(user_id=user_id, timestamp=instant(at))
                found[f"{user_id} at {at}"] = document(then)
                blamed = store.blame(user_id=user_id, as_of=instant(at))
                found[f"{user_id} blame {at}"] = document(list(blamed))
            first, last = instant(self.times[0]), instant(self.times[-1])
            differing = store.diff_memory(user_id=user_id, time_a=first, time_b=last)
            found[f"{user_id} diff"] = document(differing)
            for fact_id in self.facts[user_id]:
                found[fact_id] = document(store.get_fact_history(fact_id))
        return found


def instant(at: int) -> str:
    """Return microseconds as RFC 3339."""
    return f"{moment(Instant(at)):%Y-%m-%dT%H:%M:%S.%fZ}"


def told(backend: Backend) -> Told:
    """Return a store at *backend* after a story over two months."""
    clock = SettableClock()
    store = backend.open(clock=clock)
    story = Told(backend, clock, store, {each: [] for each in USERS}, [clock.now])
    for user_id in USERS:
        for number in range(4):
            story.pass_time()
            fact = store.remember(
                f"CANARY {user_id} 喜欢 {number}",
                user_id=user_id,
                category="taste",
                metadata={"number": number},
                actor="agent",
                reason=f"CANARY said by {user_id}",
                session_id="chat-1",
            )
            story.facts[user_id].append(fact.fact_id)
    for user_id in USERS:
        first, second, third, _ = story.facts[user_id]
        story.pass_time(DAY)
        store.correct(first, content=f"CANARY {user_id} 不喜欢", actor="ann")
        story.pass_time(20 * DAY)
        store.update(second, content=f"CANARY {user_id} moved")
        story.pass_time()
        store.forget(third, reason="CANARY no longer")
        story.pass_time()
        store.correct(second, content=f"CANARY {user_id} moved far")
        story.pass_time()
        store.rollback_fact(second, to_version=2)
    story.pass_time()
    store.remember_many([{"content": f"CANARY {n}"} for n in range(3)], user_id="bob")
    story.pass_time()
    return story


def lose_ledger(story: Told) -> None:
    """Lose the database; vault, key and archive are left."""
    story.store.close()
    if story.backend.kind == SQLITE:
        for file in story.backend.directory.glob("ledger.db*"):
            file.unlink()
        return
    assert story.backend.kind == POSTGRESQL
    with story.backend.sql() as connection:
        connection.exec_driver_sql("DROP SCHEMA public CASCADE")
        connection.exec_driver_sql("CREATE SCHEMA public")
