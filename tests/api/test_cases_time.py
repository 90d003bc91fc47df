"""What went wrong with time in other systems, tried here."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from muniment import MemoryStore
from muniment.errors import FutureAsOfError, InvalidTimeError, InvalidValueError
from muniment.instants import Time, to_text
from tests.api.days import MICROSECOND, day, set_to
from tests.stores import NEW_YEAR, SECOND, Backend, SettableClock, SteppingClock
from tests.zones import in_zone


ZONES = ("PST8PDT,M3.2.0,M11.1.0", "CST-8", "<+1345>-13:45")


@pytest.fixture(params=ZONES)
def local_zone(request: pytest.FixtureRequest) -> Iterator[None]:
    """The time zone of this process."""
    with in_zone(request.param):
        yield


def test_the_row_that_retires_a_fact_has_a_time_and_sorts_last(
    store: MemoryStore, clock: SettableClock
) -> None:
    """M1 (mem0 #4467): rows of deletions had no time and sorted first."""
    set_to(clock, day(1))
    fact = store.remember("lives in Lyon", user_id="u")
    set_to(clock, day(2))
    store.update(fact.fact_id, content="lives in Nice")
    set_to(clock, day(3))
    store.forget(fact.fact_id)

    versions = store.get_fact_history(fact.fact_id).versions

    times = [each.recorded_at for each in versions]
    assert [each.kind for each in versions] == ["asserted", "revised", "retired"]
    assert times == [day(1), day(2), day(3)]
    assert all(each.tzinfo is UTC for each in times)
    assert times[-1] - times[0] == timedelta(days=2)


@pytest.mark.usefixtures("local_zone")
def test_the_zone_of_the_process_moves_no_instant(backend: Backend) -> None:
    """mem0 #4402: users outside of the Pacific time zone got the wrong calendar day."""
    written = datetime(2026, 3, 15, 2, tzinfo=UTC)
    clock = SettableClock()
    set_to(clock, written)
    spellings: tuple[Time, ...] = (
        "2026-03-15T02:00:00Z",
        "2026-03-15T10:00:00+08:00",
        written.astimezone(),
        written.astimezone(timezone(timedelta(hours=-7))),
    )
    with backend.open(clock=clock) as store:
        facts = [
            store.remember(f"fact {number}", user_id="u", valid_from=spelling)
            for number, spelling in enumerate(spellings)
        ]

        of_the_day = store.list_modified_facts(
            user_id="u", start="2026-03-15T00:00:00Z", end="2026-03-16T00:00:00Z"
        )
        of_the_day_before = store.list_modified_facts(
            user_id="u", start="2026-03-14T00:00:00Z", end="2026-03-15T00:00:00Z"
        )
        set_to(clock, day(100))
        read = [store.get(fact.fact_id) for fact in facts]

    assert [to_text(each.valid_from) for each in read] == [
        "2026-03-15T02:00:00.000000Z"
    ] * 4
    assert all(each.valid_from and each.valid_from.tzinfo is UTC for each in read)
    assert read[0].recorded_at == written
    assert {each.fact_id for each in of_the_day} == {each.fact_id for each in facts}
    assert of_the_day_before == ()


@pytest.mark.usefixtures("local_zone")
def test_no_zone_of_the_process_lends_its_offset_to_a_naive_time(
    store: MemoryStore,
) -> None:
    """mem0 #4402: a time without offset was read as local time."""
    naive = day(1).replace(tzinfo=None)

    with pytest.raises(InvalidTimeError, match="has no offset"):
        store.remember("fact", user_id="u", valid_from=naive)
    with pytest.raises(InvalidTimeError, match="has no offset"):
        store.remember("fact", user_id="u", valid_from="2026-01-02T00:00:00")


@pytest.mark.usefixtures("local_zone")
def test_the_clock_of_a_server_is_read_in_utc(backend: Backend) -> None:
    """mem0 #4402: stored instants depended on the zone they were written in."""
    with backend.open() as store:
        fact = store.remember("fact", user_id="u")

        assert fact.recorded_at.tzinfo is UTC
        # Within a minute of the operating system's own idea of UTC.
        now = time.clock_gettime(time.CLOCK_REALTIME)
        assert abs(fact.recorded_at.timestamp() - now) < 60


def test_every_way_of_reading_gives_one_time_for_one_field(
    store: MemoryStore, clock: SettableClock
) -> None:
    """M5 (mem0 #4463): one record had two formats of its times, by where it was read."""
    set_to(clock, day(10) + MICROSECOND)
    said = store.remember(
        "fact", user_id="u", valid_from=day(1), valid_to=day(90), expires_at=day(80)
    )
    set_to(clock, day(20))

    (listed,) = store.get_all(user_id="u")
    (then,) = store.get_memory_as_of(user_id="u", timestamp=day(20))
    (blamed,) = store.blame(user_id="u")
    (added,) = store.diff_memory(user_id="u", time_a=day(9), time_b=day(20)).added
    plan = store.plan_rollback(fact_id=said.fact_id, to_version=0)
    (version,) = store.get_fact_history(said.fact_id)
    (modified,) = store.list_modified_facts(user_id="u", start=day(9))

    facts = [listed, then, store.get(said.fact_id), blamed.fact, added.after]
    facts += [plan.diff.removed[0].before, plan.diff.removed[0].beliefs_before[0]]
    assert facts == [said] * len(facts)
    assert said.expires_at == day(80)
    recorded = {each.recorded_at for each in (said, version, blamed, modified.versions[0])}
    assert recorded == {day(10) + MICROSECOND}
    assert (version.valid_from, version.valid_to) == (day(1), day(90))
    assert added.causes == modified.versions == (version,)


def test_what_was_believed_and_what_was_true_are_two_questions(
    store: MemoryStore, clock: SettableClock
) -> None:
    """neotoma #2034: it could say what was believed, but not what was true."""
    set_to(clock, day(10))
    fact = store.remember("works at Acme", user_id="u", valid_from=day(0))
    set_to(clock, day(20))
    # Learned late: since day 5 it has been another employer.
    store.update(fact.fact_id, content="works at Bolt", valid_from=day(5))
    set_to(clock, day(30))
    store.correct(fact.fact_id, content="works at Acme Ltd", valid_from=day(1))

    def cell(known: float, about: float) -> list[str | None]:
        snapshot = store.get_memory_as_of(
            user_id="u", timestamp=day(known), valid_at=day(about)
        )
        return [each.content for each in snapshot]

    assert cell(known=10, about=3) == ["works at Acme"]
    assert cell(known=10, about=7) == ["works at Acme"]
    assert cell(known=20, about=3) == ["works at Acme"]
    assert cell(known=20, about=7) == ["works at Bolt"]
    assert cell(known=30, about=3) == ["works at Acme Ltd"]
    assert cell(known=30, about=7) == ["works at Bolt"]
    assert cell(known=30, about=-1) == cell(known=9, about=3) == []


def test_updates_within_one_tick_stay_apart(backend: Backend) -> None:
    """XTDB #1837: two updates within one tick of the clock became one in the history."""
    with backend.open(clock=SettableClock()) as store:
        fact = store.remember("0", user_id="u")
        for number in range(1, 4):
            store.update(fact.fact_id, content=str(number))

        versions = store.get_fact_history(fact.fact_id).versions

        assert [each.content for each in versions] == ["0", "1", "2", "3"]
        times = [each.recorded_at for each in versions]
        assert times == [day(0) + number * MICROSECOND for number in range(4)]
        for version in versions:
            (then,) = store.get_memory_as_of(user_id="u", timestamp=version.recorded_at)
            assert then.content == version.content


@pytest.mark.parametrize(
    "steps",
    [(0, 5, 2, -1, -1), (0, -3, -3, 0), (0, 0, 0, 0), (0, 31_536_000, 1, 2)],
    ids=["forth and back", "back", "standing still", "a leap of a year"],
)
def test_a_clock_that_steps_back_neither_turns_time_nor_stops_writes(
    backend: Backend, steps: tuple[int, ...]
) -> None:
    """XTDB #1917, #3864: later transactions had earlier times, or were aborted."""
    clock = SettableClock()
    with backend.open(clock=clock) as store:
        receipts = []
        for number, step in enumerate(steps):
            clock.now = NEW_YEAR + step * SECOND
            receipts.append(store.remember_many([f"fact {number}"], user_id="u"))

        times = [each.recorded_at for each in receipts]
        assert times == sorted(set(times))
        assert [each.tx_id for each in receipts] == list(range(1, len(steps) + 1))
        for number, receipt in enumerate(receipts, 1):
            then = store.get_memory_as_of(
                user_id="u",
                timestamp=receipt.recorded_at,
                valid_at=receipts[-1].recorded_at,
            )
            assert len(then) == number


@pytest.mark.parametrize("shown", [1_767_225_600.5, "2026-01-01T00:00:00Z", None])
def test_a_clock_that_gives_something_else_is_said_to(shown: Any) -> None:  # noqa: ANN401 - anything
    """`time.time` gives seconds, and as a fraction: no instant can be made of it."""
    problem = "what clock gives must be an aware datetime"
    with (
        MemoryStore.open("memory://", clock=lambda: shown) as store,
        pytest.raises(InvalidValueError, match=problem),
    ):
        store.remember("x", user_id="u")


def test_a_time_ahead_of_the_clock_is_answered_only_once_it_has_come(
    store: MemoryStore, clock: SettableClock
) -> None:
    """XTDB #546: a time ahead of the log was answered, and differently later."""
    store.remember("first", user_id="u")
    ahead = day(0) + timedelta(hours=1)

    with pytest.raises(FutureAsOfError):
        store.get_memory_as_of(user_id="u", timestamp=ahead)

    set_to(clock, ahead)
    answer = store.get_memory_as_of(user_id="u", timestamp=ahead)
    # The clock steps back, so that the next write would fall before the answer.
    set_to(clock, day(0))
    late = store.remember("second", user_id="u")
    set_to(clock, day(1))
    assert [each.content for each in answer] == ["first"]
    assert store.get_memory_as_of(user_id="u", timestamp=ahead) == answer
    assert late.recorded_at > ahead


def test_every_answer_about_a_time_ahead_is_refused(store: MemoryStore) -> None:
    """XTDB #546, on every verb that takes a recorded time."""
    fact = store.remember("fact", user_id="u")
    ahead = day(0) + MICROSECOND

    with pytest.raises(FutureAsOfError):
        store.get(fact.fact_id, as_of=ahead)
    with pytest.raises(FutureAsOfError):
        store.blame(user_id="u", as_of=ahead)
    with pytest.raises(FutureAsOfError):
        store.diff_memory(user_id="u", time_a=day(0), time_b=ahead)
    with pytest.raises(FutureAsOfError):
        store.diff_memory(user_id="u", time_a=ahead, time_b=day(0))
    with pytest.raises(FutureAsOfError):
        store.rollback_to_timestamp(user_id="u", rollback_to=ahead)
    with pytest.raises(FutureAsOfError):
        store.plan_rollback(user_id="u", to=ahead)
    session_id = store.start_session(user_id="u").session_id
    ahead += MICROSECOND
    for ask in (
        lambda: store.get_memory_as_of(user_id="nobody", timestamp=ahead),
        lambda: store.search("fact", user_id="u", as_of=ahead),
        lambda: store.build_context("fact", user_id="u", as_of=ahead),
        lambda: store.get_turns(session_id, as_of=ahead),
        lambda: store.get_turns_before(user_id="u", timestamp=ahead),
        lambda: store.get_summaries(session_id, as_of=ahead),
        lambda: store.get_config_as_of(ahead),
        lambda: store.reproduce_badcase(user_id="u", timestamp=ahead),
    ):
        with pytest.raises(FutureAsOfError):
            ask()


def test_what_changes_from_a_time_ahead_on_is_refused(store: MemoryStore) -> None:
    """XTDB #546: an empty list now, another list later."""
    store.remember("fact", user_id="u")

    with pytest.raises(FutureAsOfError):
        store.list_modified_facts(user_id="u", start=day(1))


def test_times_as_text_sort_like_the_transactions_they_belong_to(backend: Backend) -> None:
    """Dolt #9126: two views of the audit log had times of two precisions."""
    clock = SteppingClock(0, 0.1, 0.12, 0.123456, 1, 1.000001, 60)
    with backend.open(clock=clock) as store:
        for number in range(12):
            store.remember(f"fact {number}", user_id="u")

        modified = store.list_modified_facts(user_id="u", start=day(-1))
        versions = [version for each in modified for version in each.versions]
        texts = [to_text(each.recorded_at) or "" for each in versions]
        current = {
            fact.tx_id: to_text(fact.recorded_at) for fact in store.get_all(user_id="u")
        }

    assert all(len(text) == len("2026-01-01T00:00:00.000000Z") for text in texts)
    by_time = sorted(zip(texts, (each.tx_id for each in versions), strict=True))
    assert [tx_id for _, tx_id in by_time] == sorted(tx_id for _, tx_id in by_time)
    assert {tx_id: text for text, tx_id in by_time} == current


def test_a_time_and_the_transaction_it_names_give_one_answer(
    store: MemoryStore, clock: SettableClock
) -> None:
    """Iceberg #8565: looking up by time failed where looking up by id worked."""
    receipts = []
    for number in range(5):
        set_to(clock, day(number))
        receipts.append(store.remember_many([f"fact {number}"] * 2, user_id="u"))
    set_to(clock, day(9))

    for number, receipt in enumerate(receipts):
        then = store.get_memory_as_of(user_id="u", timestamp=receipt.recorded_at)
        before = store.get_memory_as_of(
            user_id="u", timestamp=receipt.recorded_at - MICROSECOND
        )
        assert then.position == receipt.position
        assert before.position == (receipts[number - 1].position if number else 0)
        assert {fact.tx_id for fact in then} == {
            each.tx_id for each in receipts[: number + 1]
        }


def test_a_backdated_fact_keeps_the_time_it_is_about(
    store: MemoryStore, clock: SettableClock
) -> None:
    """graphiti #1377: what was loaded later was stamped as if it held from now on."""
    set_to(clock, day(100))
    one = store.remember("one", user_id="u", valid_from=day(3))
    many = store.remember_many(
        [
            {"content": "two", "valid_from": "2026-01-04T08:00:00+08:00"},
            {"content": "three", "valid_from": day(3), "claimed_at": day(4)},
        ],
        user_id="u",
    )

    valid_from = {fact.valid_from for fact in (one, *many)}
    recorded_at = {fact.recorded_at for fact in (one, *many)}

    assert valid_from == {day(3)}
    assert min(recorded_at) == day(100)
