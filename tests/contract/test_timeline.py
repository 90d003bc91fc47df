"""The timeline in SQL says what its twin in memory says, and what a fresh fold says."""

import itertools
import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import sqlalchemy as sa
from msgspec.structs import replace

from muniment import MemoryStore, MunimentError
from muniment.api import transacting
from muniment.domain.time import Instant
from muniment.errors import ProjectionError
from muniment.instants import moment
from muniment.projections.beliefs import BeliefRow
from tests.stores import MEMORY, NEW_YEAR, SECOND, Backend, SettableClock


HOUR = 3600 * SECOND
INSTANTS = [NEW_YEAR + step * HOUR for step in range(-4, 5)]
CONTENTS = ("one", "two", "three")
USERS = ("alice", "bob")
STEPS = 60

Said = tuple[str, str | None, int, str | None, object, object]


class Life:
    """One life of a store: the same for the same seed, on whatever it is lived."""

    def __init__(self, store: MemoryStore, clock: SettableClock, seed: int) -> None:
        self.store, self.clock = store, clock
        self.chance = random.Random(seed)  # noqa: S311 - nothing secret
        self.facts: list[str] = []
        self.outcomes: list[str] = []

    def live(self) -> None:
        actions: list[Callable[[], object]] = [
            self.remember,
            self.remember,
            self.update,
            self.correct,
            self.end,
            self.forget,
            self.restore,
            self.roll_back,
            self.roll_back_to_time,
        ]
        self.remember()
        for _ in range(STEPS):
            self.clock.now += self.chance.choice((-SECOND, 0, SECOND, HOUR // 20))
            action = self.chance.choice(actions)
            try:
                action()
            except MunimentError as error:
                self.outcomes.append(type(error).__name__)
            else:
                self.outcomes.append(action.__name__)

    def remember(self) -> None:
        user_id, count = self.chance.choice(USERS), self.chance.choice((1, 1, 3))
        items = [{"content": self.chance.choice(CONTENTS), **self.period()}] * count
        facts = self.store.remember_many(items, user_id=user_id)
        self.facts += [each for each in facts.fact_ids if each not in self.facts]

    def update(self) -> None:
        self.store.update(self.fact(), **self.said())

    def correct(self) -> None:
        self.store.correct(self.fact(), **self.said())

    def end(self) -> None:
        self.store.end(self.fact(), valid_to=moment(Instant(self.chance.choice(INSTANTS))))

    def forget(self) -> None:
        self.store.forget(self.fact())

    def restore(self) -> None:
        self.store.restore(self.fact())

    def roll_back(self) -> None:
        self.store.rollback_fact(self.fact(), to_version=self.chance.randrange(4))

    def roll_back_to_time(self) -> None:
        user_id, at = (
            self.chance.choice(USERS),
            self.clock.now - self.chance.randrange(HOUR),
        )
        self.store.rollback_to_timestamp(user_id=user_id, rollback_to=moment(Instant(at)))

    def fact(self) -> str:
        return self.chance.choice(self.facts or ["none"])

    def said(self) -> dict[str, Any]:
        return {"content": self.chance.choice(CONTENTS), **self.period()}

    def period(self) -> dict[str, Any]:
        start, end = sorted(self.chance.sample(INSTANTS, 2))
        whole = {"valid_from": moment(Instant(start)), "valid_to": moment(Instant(end))}
        return {
            name: whole[name]
            for name in self.chance.choice(
                ((), ("valid_from",), ("valid_to",), ("valid_from", "valid_to"))
            )
        }


@pytest.fixture
def counted_ids(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Give facts names that count up; the function it returns starts them anew."""
    numbers: Iterator[int] = itertools.count()

    def start() -> None:
        nonlocal numbers
        numbers = itertools.count(1)

    def names(_: Instant) -> Iterator[str]:
        return (f"f{number:05}" for number in numbers)

    monkeypatch.setattr(transacting, "new_fact_ids", names)
    return start


def rows(store: MemoryStore) -> list[BeliefRow]:
    return list(store._lookup.timeline.rows())


def comparable(store: MemoryStore) -> list[BeliefRow]:
    """Return the rows without what is drawn at random: names and keys of subjects."""
    vault = store._ledger.vault
    found = []
    for row in rows(store):
        subject = vault.subject(row.subject_ref)
        assert subject is not None
        found.append(replace(row, subject_ref=str(subject.scope), content_tag=None))
    return found


def grid(store: MemoryStore) -> list[list[Said]]:
    """Ask about each user at a grid of points on both axes."""
    times = [each.recorded_at for each in store._ledger.recorder.read(limit=10_000)]
    asked = [NEW_YEAR - HOUR, *times[:: max(1, len(times) // 10)], times[-1]]
    answers: list[list[Said]] = []
    for user_id, at, about in itertools.product(USERS, asked, INSTANTS):
        snapshot = store.get_memory_as_of(
            user_id=user_id,
            timestamp=moment(Instant(at)),
            valid_at=moment(Instant(about)),
        )
        answers.append(
            [
                (
                    fact.fact_id,
                    fact.content,
                    fact.version,
                    fact.source,
                    fact.valid_from,
                    fact.valid_to,
                )
                for fact in snapshot
            ]
        )
    return answers


@pytest.mark.parametrize("seed", range(3))
def test_the_timeline_in_sql_is_the_one_in_memory(
    durable: Backend, counted_ids: Callable[[], None], seed: int
) -> None:
    lived = []
    for backend in (Backend(MEMORY, "memory://", durable.directory), durable):
        counted_ids()
        clock = SettableClock()
        with backend.open(clock=clock) as store:
            life = Life(store, clock, seed)
            life.live()
            lived.append((life.outcomes, comparable(store), grid(store)))

    in_memory, in_sql = lived
    assert in_sql[0] == in_memory[0]
    assert in_sql[1] == in_memory[1]
    assert in_sql[2] == in_memory[2]
    assert len(in_sql[1]) > STEPS // 4
    assert any(in_sql[2])


@pytest.mark.parametrize("seed", range(3))
def test_a_rebuild_gives_the_same_rows_and_answers(backend: Backend, seed: int) -> None:
    clock = SettableClock()
    with backend.open(clock=clock) as store:
        Life(store, clock, seed).live()
        before, answers = rows(store), grid(store)

        count = store.rebuild()

        assert count == len(before) > 0
        assert rows(store) == before
        assert grid(store) == answers


def test_rectangles_of_one_fact_never_overlap_and_are_never_empty(
    backend: Backend,
) -> None:
    clock = SettableClock()
    with backend.open(clock=clock) as store:
        Life(store, clock, seed=7).live()
        found = rows(store)

    for one, other in itertools.combinations(found, 2):
        if one.fact_id == other.fact_id:
            assert not (
                one.recorded.overlaps(other.recorded) and one.valid.overlaps(other.valid)
            )
    assert all(each.recorded.start < each.recorded.end for each in found)
    assert all(each.valid.start < each.valid.end for each in found)


def test_a_rebuild_repairs_rows_that_were_lost_or_edited(durable: Backend) -> None:
    clock = SettableClock()
    with durable.open(clock=clock) as store:
        Life(store, clock, seed=1).live()
        before = rows(store)
        with durable.sql() as connection:
            first = "SELECT min(fact_id) FROM belief"
            connection.execute(sa.text(f"DELETE FROM belief WHERE fact_id = ({first})"))
            connection.execute(sa.text("UPDATE belief SET confidence = 0, version = 9"))
        assert rows(store) != before

        store.rebuild()

        assert rows(store) == before


def test_a_rebuild_of_one_ledger_leaves_the_others_alone(durable: Backend) -> None:
    with durable.open(ledger="one") as one, durable.open(ledger="two") as two:
        one.remember("mine", user_id="alice")
        two.remember("theirs", user_id="alice")
        before = rows(two)

        assert one.rebuild() == 1

        assert rows(two) == before


@pytest.mark.parametrize("axis", ["recorded", "valid"])
@pytest.mark.parametrize("length", [0, -1])
def test_the_database_refuses_a_rectangle_that_is_empty(
    durable: Backend, axis: str, length: int
) -> None:
    with durable.open() as store:
        store.remember("one", user_id="alice")

    with pytest.raises(sa.exc.IntegrityError), durable.sql() as connection:
        connection.execute(
            sa.text(f"UPDATE belief SET {axis}_to_us = {axis}_from_us + :length"),
            {"length": length},
        )


def test_a_timeline_that_does_not_follow_from_the_ledger_stops_the_write(
    durable: Backend,
) -> None:
    with durable.open() as store:
        fact = store.remember("one", user_id="alice")
        with durable.sql() as connection:
            connection.execute(sa.text("DELETE FROM belief"))
        before = store._ledger.present().head

        with pytest.raises(ProjectionError, match=fact.fact_id):
            store.correct(fact.fact_id, content="two")

        assert store._ledger.present().head == before
        store.rebuild()
        assert store.correct(fact.fact_id, content="two").content == "two"


def test_pages_miss_and_repeat_nothing_while_others_write(backend: Backend) -> None:
    with backend.open() as store:
        receipt = store.remember_many(
            [{"content": f"fact {each}"} for each in range(234)], user_id="alice"
        )
        said = set(receipt.fact_ids)
        found: list[str] = []
        cursor: str | None = None

        while True:
            page = store.get_all(user_id="alice", limit=10, cursor=cursor)
            found += [each.fact_id for each in page.items]
            store.remember(f"while reading {len(found)}", user_id="alice")
            store.forget(receipt.fact_ids[len(found) % 234])
            cursor = page.next_cursor
            if cursor is None:
                break

        assert len(found) == 234
        assert set(found) == said
        assert page.position == receipt.position
