"""Real conversations: every answer about the past is the oracle's."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest

from benchmarks import shared_data
from muniment import Fact, MemoryStore
from muniment.domain.time import AsOf, Instant
from muniment.instants import moment, to_datetime
from tests import oracle
from tests.real.locomo import Script, sessions
from tests.stores import MEMORY, SQLITE, SettableClock, backend_at


pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not shared_data.LOCOMO.is_file(), reason=shared_data.ABSENT),
]


@dataclass(frozen=True)
class Loaded:
    """
    All conversations in one store, and the script that loaded them.

    Attributes:
        end: After the last session, when every question is asked.
    """

    store: MemoryStore
    script: Script
    end: Instant

    def at(self, user: str) -> list[Instant]:
        """Return every boundary of a user's sessions: when one ended, and just before."""
        ends = self.script.boundaries[user]
        return sorted({instant for end in ends for instant in (end, Instant(end - 1))})

    def events_of(self, user: str) -> list[oracle.Recorded]:
        return [each for each in self.script.ledger if each.subject == user]


@pytest.fixture(scope="module", params=[MEMORY, SQLITE])
def loaded(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Loaded]:
    place: Path = tmp_path_factory.mktemp("real") / "store"
    backend = backend_at(request.param, directory=place, postgres_url=None)
    clock = SettableClock()
    with backend.open(clock=clock) as store:
        script = Script(store, clock)
        for session in sessions():
            script.play(session)
        clock.now += 86_400_000_000
        yield Loaded(store, script, Instant(clock.now))


Belief = tuple[str, int, str | None, object, object, object, int, int]


def expected(seen: oracle.Seen) -> Belief:
    """Return what a reader should be given for *seen*."""
    content = seen.statement.content
    return (
        seen.said.fact_id,
        seen.said.version,
        None if content is None else content.text,
        to_datetime(seen.valid.start),
        to_datetime(seen.valid.end),
        moment(seen.said.recorded_at),
        seen.said.position,
        seen.said.tx_id,
    )


def given(fact: Fact) -> Belief:
    """Return what a reader was given."""
    return (
        fact.fact_id,
        fact.version,
        fact.content,
        fact.valid_from,
        fact.valid_to,
        fact.recorded_at,
        fact.position,
        fact.tx_id,
    )


def test_the_ledger_is_what_the_script_says(loaded: Loaded) -> None:
    script = loaded.script
    kinds = {type(each.event).__name__ for each in script.ledger}

    stored = loaded.store._ledger.recorder.read(limit=100_000)

    assert len(script.boundaries) == 4
    assert sum(map(len, script.boundaries.values())) == 97
    assert len(script.ledger) > 1_100
    assert kinds == {
        "FactAsserted",
        "FactRevised",
        "FactEnded",
        "FactRetired",
        "FactRestored",
    }
    assert [
        (each.position, each.tx_id, each.recorded_at, each.sealed.originator_version)
        for each in stored
    ] == [
        (each.position, each.tx_id, each.recorded_at, each.version)
        for each in script.ledger
    ]


def test_every_state_at_every_boundary_is_the_oracles(loaded: Loaded) -> None:
    asked = 0
    for user in loaded.script.boundaries:
        events = loaded.events_of(user)
        for at in loaded.at(user):
            for about in {at, loaded.end}:
                snapshot = loaded.store.get_memory_as_of(
                    user_id=user, timestamp=moment(at), valid_at=moment(about)
                )

                seen = oracle.snapshot(events, user, AsOf(recorded_at=at, valid_at=about))
                assert [given(each) for each in snapshot] == [
                    expected(each) for each in seen
                ]
                asked += 1
    assert asked == 97 * 2 * 2


def test_every_difference_between_boundaries_is_the_oracles(loaded: Loaded) -> None:
    changed = 0
    for user, ends in loaded.script.boundaries.items():
        events = loaded.events_of(user)
        everything = [(first, second) for first in ends for second in ends]
        # Each boundary with the next, and of all pairs every thirty-seventh.
        for first, second in [*pairwise(ends), *everything[::37]]:
            diff = loaded.store.diff_memory(
                user_id=user, time_a=moment(first), time_b=moment(second)
            )

            differing = oracle.diff(
                events,
                user,
                AsOf(recorded_at=first, valid_at=first),
                AsOf(recorded_at=second, valid_at=second),
            )
            entries = [*diff.added, *diff.removed, *diff.changed]
            assert {
                each.fact_id: (
                    each.before and given(each.before),
                    each.after and given(each.after),
                )
                for each in entries
            } == {
                fact_id: (
                    each.before and expected(each.before),
                    each.after and expected(each.after),
                )
                for fact_id, each in differing.items()
            }
            assert all(each.before is None for each in diff.added)
            assert all(each.after is None for each in diff.removed)
            assert all(each.causes for each in entries)
            changed += len(entries)
    assert changed > 2_000


def spans(facts: tuple[Fact, ...]) -> set[tuple[object, object, int]]:
    return {(each.valid_from, each.valid_to, each.version) for each in facts}


def spans_of(held: oracle.Held) -> set[tuple[object, object, int]]:
    return {
        (to_datetime(period.start), to_datetime(period.end), version)
        for period, version in held
    }


def test_every_plan_to_roll_back_to_a_boundary_is_the_oracles(loaded: Loaded) -> None:
    for user, ends in loaded.script.boundaries.items():
        facts = oracle.of_subject(loaded.events_of(user), user)
        now = {
            fact_id: oracle.held(oracle.happened(each)) for fact_id, each in facts.items()
        }
        for end in ends:
            plan = loaded.store.plan_rollback(user_id=user, to=moment(end))

            then = {
                fact_id: oracle.held(oracle.happened(oracle.known(fact, end)))
                for fact_id, fact in facts.items()
            }
            entries = [*plan.diff.added, *plan.diff.removed, *plan.diff.changed]
            assert {
                each.fact_id: (spans(each.beliefs_before), spans(each.beliefs_after))
                for each in entries
            } == {
                fact_id: (spans_of(now[fact_id]), spans_of(then[fact_id]))
                for fact_id in facts
                if now[fact_id] != then[fact_id]
            }
            assert (plan.skipped, plan.conflicts) == ((), ())


def test_a_rollback_to_a_boundary_brings_its_beliefs_back_and_can_be_undone(
    loaded: Loaded,
) -> None:
    for user, ends in loaded.script.boundaries.items():
        events = loaded.events_of(user)
        times = ends[:: len(ends) // 4]

        def believed(user: str = user, times: list[Instant] = times) -> list[list[Belief]]:
            """What is believed from now on about each of some times."""
            now = loaded.store.get_all(user_id=user, limit=1).recorded_at
            return [
                [
                    given(each)
                    for each in loaded.store.get_memory_as_of(
                        user_id=user, timestamp=now, valid_at=moment(about)
                    )
                ]
                for about in times
            ]

        before = believed()
        for end in (ends[1], ends[len(ends) // 2], ends[-2]):
            receipt = loaded.store.rollback_to_timestamp(
                user_id=user, rollback_to=moment(end)
            )

            assert believed() == [
                [
                    expected(each)
                    for each in oracle.snapshot(
                        events, user, AsOf(recorded_at=end, valid_at=about)
                    )
                ]
                for about in times
            ]
            assert receipt.tx_id is not None
            loaded.store.undo(receipt.tx_id)
            assert believed() == before


def test_what_was_answered_before_the_rollbacks_is_answered_so_still(
    loaded: Loaded,
) -> None:
    for user, ends in loaded.script.boundaries.items():
        events = loaded.events_of(user)
        for at in ends[::5]:
            snapshot = loaded.store.get_memory_as_of(user_id=user, timestamp=moment(at))

            seen = oracle.snapshot(events, user, AsOf(recorded_at=at, valid_at=at))
            assert [given(each) for each in snapshot] == [expected(each) for each in seen]


def test_the_timeline_of_real_conversations_is_rebuilt_row_by_row(loaded: Loaded) -> None:
    timeline = loaded.store._lookup.timeline
    rows = list(timeline.rows())

    count = loaded.store.rebuild()

    assert count == len(rows) > len(loaded.script.ledger)
    assert list(timeline.rows()) == rows
