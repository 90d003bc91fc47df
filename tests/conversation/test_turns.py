"""What was said is kept, found as of any time, and forgotten like everything else."""

from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
import sqlalchemy as sa

from muniment import MemoryStore, Scope, Turn
from muniment.api.certificates import ErasureStatus
from muniment.api.turns import WITHHELD
from muniment.domain.time import Instant
from muniment.errors import (
    InvalidInput,
    MunimentError,
    SessionEndedError,
    SubjectFrozenError,
    UnknownSessionError,
    UnknownTurnError,
)
from muniment.instants import moment
from tests.forgetting.traces import traces
from tests.stores import MEMORY, NEW_YEAR, SECOND, Backend, SettableClock


CANARY = "canary 金丝雀 7731"
SHANGHAI = ZoneInfo("Asia/Shanghai")


def contents(turns: tuple[Turn, ...]) -> list[str | None]:
    return [turn.content for turn in turns]


def at(seconds: float) -> datetime:
    return moment(Instant(NEW_YEAR + int(seconds * SECOND)))


def session(store: MemoryStore, user_id: str = "ann") -> str:
    return store.start_session(user_id=user_id).session_id


def test_a_turn_keeps_what_was_said_of_it(backend: Backend) -> None:
    said_at = datetime(2026, 3, 1, 9, 30, tzinfo=SHANGHAI)
    with backend.open() as store:
        begun = store.start_session(user_id="ann", agent="客服", metadata={"thread": 7})
        added = store.add_turn(
            begun.session_id,
            role="tool",
            content='{"weather": "雨"}',
            uttered_at=said_at,
            agent="planner",
            tool="weather",
            entities=["北京"],
            metadata={"call": 1},
        )
    with backend.open() as store:
        if backend.kind == MEMORY:
            return
        (turn,) = store.get_turns(begun.session_id)

        assert turn == added == store.get_turn(added.turn_id)
        assert store.get_session(begun.session_id) == begun
        assert (begun.agent, begun.metadata) == ("客服", {"thread": 7})
        assert (turn.turn_id, turn.number) == (f"{begun.session_id}.1", 1)
        assert (turn.role, turn.content) == ("tool", '{"weather": "雨"}')
        assert (turn.agent, turn.tool) == ("planner", "weather")
        assert (turn.entities, turn.metadata) == (("北京",), {"call": 1})
        assert turn.uttered_at == said_at
        assert turn.uttered_at.tzinfo is UTC
        assert (turn.utc_offset, turn.zone) == (timedelta(hours=8), "Asia/Shanghai")
        assert turn.local_time.isoformat() == "2026-03-01T09:30:00+08:00"


@pytest.mark.parametrize(
    ("uttered_at", "shown"),
    [
        ("2026-03-29T02:30:00+02:00", "2026-03-29T02:30:00+02:00"),
        ("2026-03-29T00:30:00Z", "2026-03-29T00:30:00+00:00"),
        ("2026-03-28T15:00:00-09:30", "2026-03-28T15:00:00-09:30"),
        (
            datetime(2026, 3, 29, 3, 30, tzinfo=ZoneInfo("Europe/Berlin")),
            "2026-03-29T03:30:00+02:00",
        ),
        (
            datetime(2026, 3, 28, tzinfo=timezone(timedelta(hours=5, minutes=45))),
            "2026-03-28T00:00:00+05:45",
        ),
    ],
)
def test_the_speakers_clock_is_kept_and_instants_compare(
    uttered_at: datetime | str, shown: str
) -> None:
    with MemoryStore.open("memory://") as store:
        turn = store.add_turn(
            session(store), role="user", content="hi", uttered_at=uttered_at
        )

    assert turn.local_time.isoformat() == shown
    assert turn.uttered_at == turn.local_time


# M33 (graphiti#1724: "latest" returns old).
def test_turns_are_ordered_by_when_they_were_said(backend: Backend) -> None:
    clock = SettableClock()
    with backend.open(clock=clock) as store:
        ours = session(store)
        for number, said in enumerate([50, 10, 30, 10, 999]):
            clock.now = NEW_YEAR + (100 + number) * SECOND
            store.add_turn(ours, role="user", content=f"turn {number}", uttered_at=at(said))

        every = store.get_turns(ours)

        # One that says it was said after it was recorded counts as said when recorded.
        order = ["turn 1", "turn 3", "turn 2", "turn 0", "turn 4"]
        assert contents(every) == order
        assert every[-1].uttered_at == at(999)
        assert contents(store.get_turns(ours, limit=2)) == order[-2:]
        pages = [
            contents(store.get_turns(ours, limit=2, before=every[n].turn_id))
            for n in (3, 1, 0)
        ]
        assert pages == [["turn 3", "turn 2"], ["turn 1"], []]
        store.add_turn(ours, role="user", content="late", uttered_at=at(5))
        again = store.get_turns(ours, limit=2, before=every[3].turn_id)
        assert contents(again) == pages[0]


def test_what_was_said_before_a_time_is_what_was_known_of_it_then(
    backend: Backend,
) -> None:
    clock = SettableClock()
    with backend.open(clock=clock) as store:
        first, second = session(store), session(store)
        others = session(store, "bob")
        for number, where in enumerate([first, second, others, first]):
            clock.now = NEW_YEAR + 10 * (number + 1) * SECOND
            store.add_turn(where, role="user", content=f"turn {number}")
        clock.now = NEW_YEAR + 100 * SECOND
        store.add_turns(
            second,
            turns=[{"role": "user", "content": "imported", "uttered_at": at(15)}],
        )
        clock.now = NEW_YEAR + 200 * SECOND

        def before(seconds: float, as_of: float | None = None) -> list[str | None]:
            return contents(
                store.get_turns_before(
                    user_id="ann",
                    timestamp=at(seconds),
                    as_of=None if as_of is None else at(as_of),
                )
            )

        assert before(9) == []
        assert before(10) == ["turn 0"]
        assert before(45) == ["turn 0", "turn 1", "turn 3"]
        assert before(45, as_of=150) == ["turn 0", "imported", "turn 1", "turn 3"]
        assert before(150) == ["turn 0", "imported", "turn 1", "turn 3"]
        assert contents(store.get_turns(second, as_of=at(50))) == ["turn 1"]
        assert store.get_turns_before(user_id="nobody", timestamp=at(150)) == ()
        assert contents(store.turns_of(Scope.user("bob"))) == ["turn 2"]


def test_an_ended_session_takes_no_more_turns(backend: Backend) -> None:
    with backend.open() as store:
        ours = session(store)
        store.add_turn(ours, role="user", content="bye")
        ended = store.end_session(ours, reason="done")

        again = store.end_session(ours)

        assert (ended.tx_id, again.tx_id) == (3, None)
        assert store.get_session(ours).ended_at == ended.recorded_at
        with pytest.raises(SessionEndedError):
            store.add_turn(ours, role="user", content="wait")
        assert contents(store.get_turns(ours)) == ["bye"]


def test_a_retry_with_its_key_says_nothing_twice(backend: Backend) -> None:
    with backend.open() as store:
        begun = store.start_session(user_id="ann", idempotency_key="begin")
        added = store.add_turn(
            begun.session_id, role="user", content="hi", idempotency_key="one"
        )

        assert store.start_session(user_id="ann", idempotency_key="begin") == begun
        again = store.add_turn(
            begun.session_id, role="user", content="hi", idempotency_key="one"
        )

        assert again == added
        assert len(store.get_turns(begun.session_id)) == 1
        assert store.list_sessions(user_id="ann") == (begun,)


def test_facts_and_turns_point_at_each_other(backend: Backend) -> None:
    with backend.open() as store:
        ours, theirs = session(store), session(store, "bob")
        one = store.add_turn(ours, role="user", content="我搬到北京了")
        two = store.add_turn(ours, role="user", content="真的")
        alien = store.add_turn(theirs, role="user", content="secret of bob")
        fact = store.remember(
            "住在北京", user_id="ann", source_turns=[one.turn_id, "elsewhere", "x.0"]
        )
        store.remember("住在北京", user_id="ann", source_turns=[two.turn_id])
        store.correct(fact.fact_id, content="家在北京", source_turns=[alien.turn_id])

        assert store.get_source_turns(fact.fact_id) == (one, two)
        drawn = store.get_facts_of_turn(one.turn_id)
        assert [(each.fact_id, each.version) for each in drawn] == [(fact.fact_id, 1)]
        assert [e.kind for e in store.get_facts_of_turn(two.turn_id)] == ["corroborated"]
        assert store.get_facts_of_turn(alien.turn_id) == ()


def test_a_frozen_subject_refuses_turns_and_a_hold_keeps_them(backend: Backend) -> None:
    with backend.open() as store:
        ours = session(store)
        store.add_turn(ours, role="user", content="before")
        store.freeze(user_id="ann")

        for refused in (
            lambda: store.add_turn(ours, role="user", content="frozen"),
            lambda: store.end_session(ours),
            lambda: session(store),
        ):
            with pytest.raises(SubjectFrozenError):
                refused()
        store.thaw(user_id="ann")
        hold = store.place_hold(user_id="ann", matter="case 7").hold_id
        assert hold is not None
        deferred = store.erase(user_id="ann", reason="asked")

        assert deferred.status is ErasureStatus.DEFERRED
        assert [each.token for each in store.get_turns(ours)] == [WITHHELD]
        now = store.get_all(user_id="ann").recorded_at
        assert contents(store.get_turns(ours, as_of=now)) == ["before"]
        store.release_hold(hold, user_id="ann")
        with pytest.raises(UnknownSessionError):
            store.get_turns(ours)


def test_an_erased_user_said_nothing_anywhere(backend: Backend) -> None:
    with backend.open() as store:
        begun = store.start_session(user_id="ann", agent=CANARY, metadata={"note": CANARY})
        ours, theirs = begun.session_id, session(store, "bob")
        said = store.add_turn(ours, role="user", content=CANARY, entities=[CANARY])
        kept = store.add_turn(theirs, role="user", content="kept")
        then = said.recorded_at

        certificate = store.erase(user_id="ann", reason="asked")

        assert certificate.status is ErasureStatus.DONE
        removed = {each.store: each.removed for each in certificate.stores}
        assert removed["conversation"] == 2
        gone = (
            lambda: store.get_turns(ours),
            lambda: store.get_session(ours),
            lambda: store.add_turn(ours, role="user", content="again"),
        )
        for each in gone:
            with pytest.raises(UnknownSessionError):
                each()
        with pytest.raises(UnknownTurnError):
            store.get_turn(said.turn_id)
        assert store.get_turns_before(user_id="ann", timestamp=then) == ()
        assert store.list_sessions(user_id="ann") == ()
        assert store.get_turns(theirs) == (kept,)
        assert store.verify()
        before = list(store._conversation.rows())
        store.rebuild()
        assert list(store._conversation.rows()) == before
    assert traces(backend, CANARY) == []


def test_a_row_that_does_not_follow_from_the_ledger_is_found(durable: Backend) -> None:
    with durable.open() as store:
        ours = session(store)
        store.add_turns(
            ours, turns=[{"role": "user", "content": f"turn {n}"} for n in range(3)]
        )
        with durable.sql() as connection:
            connection.execute(
                sa.text("UPDATE conversation_turn SET role = 'system' WHERE number = 2")
            )

        findings = store.verify().findings

        assert {each.position for each in findings} == {3}
        assert all("turn" in each.problem for each in findings)
        store.rebuild()
        assert store.verify()


@pytest.mark.parametrize(
    "fields",
    [
        {"role": "boss", "content": "x"},
        {"role": "user", "content": ""},
        {"role": "user", "content": "x" * 100},
        {"role": "user", "content": "x", "uttered_at": "2026-03-01T09:00:00"},
        {"role": "user", "content": "x", "zone": "Asia/Shanghai"},
        {"role": "user", "content": "x", "entities": "北京"},
        {"role": "user", "content": "x", "metadata": {"fact_id": 1}},
        {"role": "user"},
        "user: hi",
    ],
)
def test_a_turn_that_is_not_as_documented_is_refused_with_all_others(
    fields: object,
) -> None:
    with MemoryStore.open("memory://", create=True) as plain:
        settings = plain.settings.model_copy(update={"content_limit": 50})
    with MemoryStore.open(settings) as store:
        ours = session(store)

        with pytest.raises(InvalidInput):
            store.add_turns(ours, turns=[{"role": "user", "content": "fine"}, fields])  # type: ignore[list-item]

        assert store.get_turns(ours) == ()


@pytest.mark.parametrize("session_id", ["", "nobody", "x" * 300, "fact-\n"])
def test_a_session_that_is_not_there_is_not_made(session_id: str) -> None:
    with MemoryStore.open("memory://") as store:
        with pytest.raises(MunimentError):
            store.add_turn(session_id, role="user", content="hi")

        assert store._ledger.present().head.position == 0


def test_many_facts_of_one_call_point_at_the_turns_that_it_names() -> None:
    with MemoryStore.open("memory://") as store:
        session = store.start_session(user_id="u")
        turn, other = (
            store.add_turn(session_id=session.session_id, role="user", content=said).turn_id
            for said in ("喝茶", "not coffee")
        )

        made = store.remember_many(
            ["喝茶", {"content": "no coffee", "source_turns": [other]}],
            user_id="u",
            source_turns=[turn],
        )

        assert [each.source_turns for each in made] == [(turn,), (other,)]
        store.redact_turn(turn)
        histories = [store.get_fact_history(each.fact_id).versions[0] for each in made]
        assert [each.content for each in histories] == [None, "no coffee"]
