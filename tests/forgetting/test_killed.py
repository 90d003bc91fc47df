"""
Killed between any two steps, an erasure goes on at the next opening and ends certified.

Every step is tried once on each database. Besides, processes are killed at moments drawn
at random: few in the gate, more when asked for, such as
``MUNIMENT_KILLS=200 pytest tests/forgetting/test_killed.py -k moment``.
"""

import multiprocessing
import os
import random
import signal
from pathlib import Path

import pytest

from muniment import MemoryStore, Scope
from muniment.ledger.destruction import Destruction, Step
from tests.forgetting.conftest import Sharing
from tests.forgetting.eraser import (
    COMMITTED,
    ERASE,
    LONG_AGO,
    REDACT,
    THIN,
    TO_REDACT,
    UNSAY,
    USER,
    YEARS_LATER,
    deaths,
    forget,
)
from tests.forgetting.traces import said, traces
from tests.stores import (
    DURABLE,
    NEW_YEAR,
    POSTGRESQL,
    SECOND,
    SQLITE,
    Backend,
    SettableClock,
    backend_at,
)


KILLS = int(os.environ.get("MUNIMENT_KILLS", "6"))
MOMENT_MAX_US = 60_000
SECONDS_MAX = 60
SEED = 7


@pytest.fixture(params=DURABLE)
def lasting(request: pytest.FixtureRequest, tmp_path: Path) -> Backend:
    """Each place that outlives its process; what is opened there is empty."""
    if request.param == SQLITE:
        return backend_at(SQLITE, directory=tmp_path / "store", postgres_url=None)
    url, directory = request.getfixturevalue("shared_place")
    return Sharing(POSTGRESQL, url, directory, f"ledger-{random.randbytes(8).hex()}")  # noqa: S311


@pytest.fixture(scope="module")
def processes() -> multiprocessing.context.ForkServerContext:
    """Processes that have imported all they need: hundreds are started."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.forgetting.eraser"])
    return context


def killed(
    processes: multiprocessing.context.ForkServerContext,
    place: Backend,
    verb: str,
    death: str,
) -> int | None:
    """Let a process do *verb* until it dies; return how it ended."""
    settings = place.settings().model_dump_json(exclude={"key"})
    process = processes.Process(target=forget, args=(settings, verb, death))
    process.start()
    process.join(SECONDS_MAX)
    return process.exitcode


def lived(place: Backend) -> None:
    with place.open() as store:
        store.remember("CANARY", user_id=USER)
        session_id = store.start_session(user_id=USER).session_id
        turn = store.add_turn(session_id, role="user", content="CANARY")
        store.remember(TO_REDACT, user_id=USER, source_turns=[turn.turn_id])
        store.remember("stays", user_id="bob")


def destructions(store: MemoryStore) -> list[Destruction]:
    return list(store._ledger.vault.destructions.all())


def uttered(store: MemoryStore) -> list[str | None]:
    """Return what the user says in the sessions there are."""
    sessions = [each.session_id for each in store.list_sessions(user_id=USER)]
    return [turn.content for each in sessions for turn in store.get_turns(each)]


def check_all_or_nothing(place: Backend, verb: str, *, happened: bool | None) -> bool:
    """Check that it is done, or was never asked for; return which."""
    with place.open() as store:
        found = destructions(store)
        if happened is not None:
            assert bool(found) == happened
        assert {each.step for each in found} <= {Step.DONE}
        left = [] if verb == ERASE else ["CANARY"]
        assert said(store, user_id=USER) == (left if found else ["CANARY", TO_REDACT])
        words = {ERASE: [], REDACT: ["CANARY"], UNSAY: [None]}[verb]
        assert uttered(store) == (words if found else ["CANARY"])
        assert said(store, user_id="bob") == ["stays"]
        if found and verb == ERASE:
            assert "status DONE" in str(found[0].certificate)
            assert store._ledger.vault.find(Scope.user(USER)) is None
        assert store.verify()
        rows = list(store._lookup.timeline.rows())
        store.rebuild()
        assert list(store._lookup.timeline.rows()) == rows
        assert traces(place, "CANARY") == []
    return bool(found)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("verb", "death"),
    [(verb, death) for verb in (ERASE, REDACT, UNSAY) for death in deaths(verb)],
)
def test_what_is_killed_at_any_step_is_done_whole_or_not_at_all(
    lasting: Backend,
    processes: multiprocessing.context.ForkServerContext,
    verb: str,
    death: str,
) -> None:
    lived(lasting)

    assert killed(processes, lasting, verb, death) == -signal.SIGKILL

    order = deaths(verb)
    happened = order.index(death) >= order.index(COMMITTED)
    check_all_or_nothing(lasting, verb, happened=happened)
    # Asked for again, it comes to the same end, whatever became of the first time.
    with lasting.open() as store:
        if verb == ERASE:
            store.erase(user_id=USER, reason="asked again")
        elif verb == UNSAY:
            (session,) = store.list_sessions(user_id=USER)
            (turn,) = store.get_turns(session.session_id)
            store.redact_turn(turn.turn_id)
        else:
            for fact in store.get_all(user_id=USER):
                if fact.content == TO_REDACT:
                    store.forget(fact.fact_id, mode="redact")
    check_all_or_nothing(lasting, verb, happened=True)


@pytest.mark.slow
@pytest.mark.parametrize("death", deaths(THIN))
def test_a_thinning_killed_at_any_step_is_done_whole_or_not_at_all(
    lasting: Backend, processes: multiprocessing.context.ForkServerContext, death: str
) -> None:
    clock = SettableClock(NEW_YEAR + SECOND)
    with lasting.open(clock=clock) as store:
        facts = [store.remember(f"CANARY {n}", user_id=USER).fact_id for n in range(2)]
        clock.now += SECOND
        for fact_id in facts:
            store.update(fact_id, content="stays")
    clock.now = YEARS_LATER

    assert killed(processes, lasting, THIN, death) == -signal.SIGKILL

    order = deaths(THIN)
    is_said = order.index(death) >= order.index(COMMITTED)
    for _ in range(2):
        with lasting.open(clock=clock) as store:
            for fact_id in facts:
                first, second, *rest = store.get_fact_history(fact_id)
                assert (first.content is None, len(rest)) == (is_said, is_said)
                assert second.content == "stays"
            found = store._ledger.vault.thinnings.all()
            assert [each.step for each in found] == [Step.DONE] * 2 * is_said
            assert store.verify()
            assert bool(store.retain([LONG_AGO])) != is_said
        is_said = True


@pytest.mark.slow
def test_an_erasure_killed_at_any_moment_is_done_whole_or_not_at_all(
    lasting: Backend, processes: multiprocessing.context.ForkServerContext
) -> None:
    chance = random.Random(SEED)  # noqa: S311 - nothing secret

    ends = set()
    for number in range(KILLS):
        verb = chance.choice([ERASE, ERASE, REDACT, UNSAY])
        place = _other(lasting, number)
        lived(place)
        # It may be killed again while it goes on where the first one died.
        for _ in range(chance.randint(1, 3)):
            moment = str(chance.randint(1, MOMENT_MAX_US))
            ends.add(killed(processes, place, verb, moment))
            with place.open() as store:
                if destructions(store):
                    break
        check_all_or_nothing(place, verb, happened=None)

    assert -signal.SIGALRM in ends
    assert ends <= {-signal.SIGALRM, 0}


def _other(place: Backend, number: int) -> Backend:
    """Return a place like *place* for an empty ledger."""
    if isinstance(place, Sharing):
        name = f"{place.ledger_name}-{number}"
        return Sharing(POSTGRESQL, place.database_url, place.directory, name)
    directory = place.directory.with_name(f"store-{number}")
    return backend_at(SQLITE, directory=directory, postgres_url=None)
