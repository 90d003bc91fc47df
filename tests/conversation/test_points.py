"""What was said, and what was given, asked for on both clocks; against the plain rule."""

from collections.abc import Iterator
from datetime import datetime
from itertools import product
from typing import Any

import pytest

from muniment import MemoryStore, Scope, Session, Turn
from muniment.domain.time import Instant
from muniment.errors import NotFound, UnknownSessionError, UnknownTurnError
from muniment.instants import moment
from tests.stores import NEW_YEAR, SECOND, Backend, SettableClock


TEAM = Scope.team("客服")


def at(seconds: float) -> datetime:
    return moment(Instant(NEW_YEAR + int(seconds * SECOND)))


KNOWN = [at(each) for each in (5, 25, 35, 45, 60)]
ABOUT = [at(each) for each in (4, 15, 30, 37, 65)]
"""Between what is recorded, at 10, 20 …, and between what was said, at 5, 20 and 35."""

POINTS: list[tuple[datetime, datetime | None]] = [
    *((known, None) for known in KNOWN),
    *product(KNOWN, ABOUT),
]


def told(store: MemoryStore, clock: SettableClock) -> tuple[str, str]:
    """
    Tell a conversation in which what was said first comes last; return it and a fact.

    Begun at 10; turns recorded at 20, 30, 40, said at 20, 5 and 35; a fact drawn from the
    first two at 40, its other version from the third; summarised and ended at 50.
    """
    clock.now = NEW_YEAR + 10 * SECOND
    session_id = store.start_session(scope=TEAM, agent="客服").session_id
    names = []
    for recorded, said, words in (
        (20, None, "喜欢茶"),
        (30, 5, "lives in Ulm"),
        (40, 35, "no"),
    ):
        clock.now = NEW_YEAR + recorded * SECOND
        uttered_at = None if said is None else at(said)
        turn = store.add_turn(session_id, role="user", content=words, uttered_at=uttered_at)
        names.append(turn.turn_id)
    fact = store.remember(
        "likes tea 喜欢茶", scope=TEAM, source_turns=names[:2], metadata={"owner": "u-1"}
    )
    store.search("tea", scope=TEAM)
    store.flush_receipts()
    clock.now = NEW_YEAR + 50 * SECOND
    store.correct(fact.fact_id, content="likes coffee 咖啡", source_turns=names[2:])
    store.summarize_session(session_id, force=True, keep=1)
    store.end_session(session_id)
    clock.now = NEW_YEAR + 70 * SECOND
    return session_id, fact.fact_id


def found(ask: Any, *args: object, **fields: object) -> Any:  # noqa: ANN401
    """Return what a verb answers; nothing where it says that there is nothing."""
    try:
        return ask(*args, **fields)
    except NotFound:
        return None


def session_at(session: Session, until: datetime) -> Session | None:
    if session.started_at > until:
        return None
    assert session.ended_at is not None
    ended_at = session.ended_at if session.ended_at <= until else None
    return Session(
        **{name: getattr(session, name) for name in session.__dataclass_fields__}
        | {"ended_at": ended_at}
    )


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock()


@pytest.fixture
def store(backend: Backend, clock: SettableClock) -> Iterator[MemoryStore]:
    with backend.open(clock=clock, embedder="none", upkeep=False) as store:
        yield store


def test_what_is_read_of_a_conversation_is_what_was_known_and_had_been_said(
    store: MemoryStore, clock: SettableClock
) -> None:
    session_id, fact_id = told(store, clock)
    session, turns = store.get_session(session_id), store.get_turns(session_id)
    versions = store.get_fact_history(fact_id).versions
    (used_at,) = store.get_uses(fact_id)
    receipt = store.get_receipts(scope=TEAM)[0]
    (summary,) = store.get_summaries(session_id)

    for known, about in POINTS:
        point: dict[str, Any] = {"as_of": known, "valid_at": about}
        said_by = known if about is None else about

        def was_said(turn: Turn, known: datetime = known, by: datetime = said_by) -> bool:
            return (
                turn.recorded_at <= known and min(turn.uttered_at, turn.recorded_at) <= by
            )

        heard = tuple(filter(was_said, turns))
        by_id = {turn.turn_id: turn for turn in heard}
        then = session_at(session, min(known, said_by))
        known_versions = tuple(each for each in versions if each.recorded_at <= known)
        sources = [name for each in known_versions for name in each.source_turns]
        covered = [turn for turn in turns if turn.number <= summary.last_turn]
        is_summed = summary.recorded_at <= known and all(map(was_said, covered))

        assert store.get_turns(session_id, **point) == heard
        assert store.get_turns_before(scope=TEAM, timestamp=said_by, as_of=known) == heard
        assert found(store.get_session, session_id, **point) == then
        assert store.list_sessions(scope=TEAM, **point) == ((then,) if then else ())
        assert store.get_summaries(session_id, **point) == ((summary,) if is_summed else ())
        assert store.get_source_turns(fact_id, **point) == tuple(
            by_id[name] for name in sources if name in by_id
        )
        assert store.get_uses(fact_id, **point) == (
            (used_at,) if receipt.recorded_at <= known and used_at <= said_by else ()
        )
        for turn in turns:
            was = turn if turn in heard else None
            drawn = [each for each in known_versions if turn.turn_id in each.source_turns]
            assert found(store.get_turn, turn.turn_id, **point) == was
            assert found(store.get_facts_of_turn, turn.turn_id, **point) == (
                None if was is None else tuple(drawn)
            )


def test_what_is_shared_then_is_what_was_believed_then_with_its_owner(
    store: MemoryStore, clock: SettableClock
) -> None:
    _, fact_id = told(store, clock)
    clock.now = NEW_YEAR + 80 * SECOND
    store.entrust(fact_id, owner="u-2", review_at=at(85))
    clock.now = NEW_YEAR + 90 * SECOND
    owners: set[tuple[str | None, bool]] = set()

    for known, about in [*POINTS, (at(82), None), (at(82), at(45)), (at(86), None)]:
        asked: dict[str, Any] = {"scope": TEAM, "valid_at": about}
        snapshot = store.get_memory_as_of(timestamp=known, **asked)
        shared = store.list_shared(as_of=known, **asked)
        owners.update((each.owner, each.overdue) for each in shared)

        assert tuple(each.fact for each in shared) == snapshot.facts
        assert store.get_all(as_of=known, **asked).items == snapshot.facts
        history = found(store.get_fact_history, fact_id, as_of=known, valid_at=about)
        said = [each.content for each in snapshot.facts]
        assert [history.current_content] == (said or [None]) if history else not said
        versions = history.versions if history else ()
        assert all(each.recorded_at <= known for each in versions)

    assert owners == {("u-1", False), ("u-2", False), ("u-2", True)}


def test_a_memory_in_the_past_is_not_what_may_be_used_now(store: MemoryStore) -> None:
    """What is withheld now was said then: as of facts, so of turns and sessions."""
    session_id = store.start_session(user_id="u-1").session_id
    turn = store.add_turn(session_id, role="user", content="我住在杭州")
    store.place_hold(user_id="u-1", matter="case 4711", hold_id="h-1")
    store.redact_session(session_id)

    then = {"as_of": turn.recorded_at}
    assert store.get_turn(turn.turn_id).content is None
    assert store.get_turn(turn.turn_id, **then) == turn
    assert store.get_session(session_id).token is not None
    assert store.get_session(session_id, **then).token is None
    with pytest.raises(UnknownSessionError):
        store.get_session(session_id, valid_at=at(-1))
    with pytest.raises(UnknownTurnError):
        store.get_turn(turn.turn_id, valid_at=at(-1))
