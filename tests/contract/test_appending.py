"""What every recorder promises about what is appended, and when."""

import itertools

import pytest
from eventsourcing.persistence import IntegrityError

from muniment.domain.time import BEGINNING, Instant
from muniment.ledger import sql_append
from muniment.ledger.recorder import LedgerRecorder
from muniment.ledger.records import Head
from tests.stores import (
    NEW_YEAR,
    SECOND,
    Backend,
    SettableClock,
    SteppingClock,
    append_once,
    insert,
    plain_event,
)


YEAR = 365 * 24 * 3600
EMPTY = Head(0, 0, BEGINNING)


class StoppedError(Exception):
    """Something went wrong while the lock was held."""


def stopped_after(
    recorder: LedgerRecorder, *streams: str, promised: int | None = None
) -> None:
    """Append to each of *streams* in a transaction of its own, and fail before the end."""
    with recorder.appending() as append:
        for stream in streams:
            insert(append, plain_event(stream, 1))
        if promised is not None:
            append.promise(Instant(promised))
        raise StoppedError


def rows(recorder: LedgerRecorder) -> list[tuple[int, int, str, int]]:
    """Return position, transaction, stream and version of each event."""
    return [
        (
            each.position,
            each.tx_id,
            str(each.sealed.originator_id),
            each.sealed.originator_version,
        )
        for each in recorder.read(limit=10_000)
    ]


def test_an_empty_ledger_stands_at_nothing(backend: Backend) -> None:
    with backend.recorder() as recorder:
        assert recorder.present().head == EMPTY
        assert recorder.head_at(Instant(NEW_YEAR)) == EMPTY
        assert rows(recorder) == []
        assert recorder.transaction(1) is None
        assert recorder.max_notification_id() is None


def test_positions_and_transactions_are_gapless(backend: Backend) -> None:
    with backend.recorder() as recorder:
        append_once(recorder, plain_event("a", 1), plain_event("a", 2))
        append_once(recorder, plain_event("b", 1))
        append_once(recorder, plain_event("a", 3), plain_event("b", 2), plain_event("c", 1))

        assert rows(recorder) == [
            (1, 1, "a", 1),
            (2, 1, "a", 2),
            (3, 2, "b", 1),
            (4, 3, "a", 3),
            (5, 3, "b", 2),
            (6, 3, "c", 1),
        ]
        assert recorder.present().head.position == 6
        assert recorder.present().head.tx_id == 3


def test_an_interrupted_append_leaves_nothing_and_no_gap(backend: Backend) -> None:
    with backend.recorder() as recorder:
        append_once(recorder, plain_event("a", 1))

        with pytest.raises(StoppedError):
            stopped_after(recorder, "b", "c")
        append_once(recorder, plain_event("b", 1))

        assert rows(recorder) == [(1, 1, "a", 1), (2, 2, "b", 1)]
        assert recorder.read_stream("b")[0].tx_id == 2


@pytest.mark.parametrize("count", [1, 250])  # below and above the use of COPY
def test_a_stale_append_writes_nothing(backend: Backend, count: int) -> None:
    fresh = [plain_event(f"fresh-{number}", 1) for number in range(count)]
    with backend.recorder() as recorder:
        append_once(recorder, plain_event("a", 1))

        with pytest.raises(IntegrityError):
            append_once(recorder, *fresh, plain_event("a", 1))

        assert rows(recorder) == [(1, 1, "a", 1)]
        assert recorder.transaction(2) is None


def test_many_events_in_one_transaction_are_all_there(backend: Backend) -> None:
    events = [
        plain_event("a", version, state=b"\x00\xff%\\\t\n") for version in range(1, 702)
    ]
    with backend.recorder() as recorder:
        append_once(recorder, *events)

        assert [each.sealed for each in recorder.read_stream("a")] == events


def test_transactions_of_one_append_are_committed_together(backend: Backend) -> None:
    with backend.recorder() as recorder:
        with pytest.raises(StoppedError):
            stopped_after(recorder, "a", "b")

        with recorder.appending() as append:
            insert(append, plain_event("a", 1))
            insert(append, plain_event("b", 1))

        assert rows(recorder) == [(1, 1, "a", 1), (2, 2, "b", 1)]


def test_what_is_appended_is_seen_within_the_append(backend: Backend) -> None:
    with backend.recorder() as recorder:
        append_once(recorder, plain_event("fact-a", 1, subject_ref="s"))

        with recorder.appending() as append:
            insert(
                append,
                plain_event("fact-a", 2, subject_ref="s"),
                idempotency_tag=b"once",
                subject_ref="s",
            )
            stream = append.read_stream("fact-a")
            second = append.read(first=2, last=2)
            found = append.find_request(b"once")
            moved_at, elsewhere = append.subject_moved_at("s"), append.subject_moved_at("t")

        assert [each.position for each in stream] == [1, 2]
        assert [each.position for each in second] == [2]
        assert found == recorder.transaction(2)
        assert (moved_at, elsewhere) == (2, 0)


@pytest.mark.parametrize("waiting_max", [1, 2, 128])
def test_a_tile_has_all_its_leaves_whenever_what_waits_is_inserted(
    durable: Backend, monkeypatch: pytest.MonkeyPatch, waiting_max: int
) -> None:
    monkeypatch.setattr(sql_append, "_WAITING_MAX", waiting_max)
    with durable.recorder() as recorder:
        with recorder.appending() as append:
            for number in range(300):
                insert(append, plain_event(f"fact-{number}", 1))

        with recorder.appending() as append:
            tile, leaves = append.tree.tile(0, 0), append.tree.leaves(0, 256)

    assert tile is not None
    assert tile.hashes == tuple(leaves)


@pytest.mark.parametrize(
    "steps",
    [
        pytest.param((5, 2, -1, -1, -1), id="five ahead, three back twice, equal"),
        pytest.param((0, YEAR, 0, YEAR, 0), id="a leap of a year back and forth"),
        pytest.param((7, 7, 7, 7), id="standing still"),
    ],
)
def test_recorded_time_rises_strictly_whatever_the_clock_does(
    backend: Backend, steps: tuple[int, ...]
) -> None:
    clock = SettableClock()
    with backend.recorder(clock=clock) as recorder:
        for version, step in enumerate(steps, 1):
            clock.now = NEW_YEAR + step * SECOND
            append_once(recorder, plain_event("a", version))
        times = [each.recorded_at for each in recorder.read_stream("a")]

    assert len(times) == len(steps)
    assert all(earlier < later for earlier, later in itertools.pairwise(times))
    # max(clock, last + 1 µs), and nothing else.
    expected = [NEW_YEAR + steps[0] * SECOND]
    for step in steps[1:]:
        expected.append(max(NEW_YEAR + step * SECOND, expected[-1] + 1))
    assert times == expected


def test_transactions_of_one_append_have_times_of_their_own(backend: Backend) -> None:
    with backend.recorder(clock=SteppingClock(0)) as recorder:
        with recorder.appending() as append:
            for version in (1, 2, 3):
                insert(append, plain_event("a", version))

        times = [each.recorded_at for each in recorder.read_stream("a")]

    assert times == [NEW_YEAR, NEW_YEAR + 1, NEW_YEAR + 2]


def test_the_present_is_never_before_the_last_recorded_time(backend: Backend) -> None:
    clock = SettableClock(NEW_YEAR)
    with backend.recorder(clock=clock) as recorder:
        append_once(recorder, plain_event("a", 1))
        clock.now = NEW_YEAR - YEAR * SECOND

        present = recorder.present()
        with recorder.appending() as append:
            now = append.now

    assert present.now == NEW_YEAR
    assert now == NEW_YEAR


def test_a_promise_pushes_every_later_transaction_past_it(backend: Backend) -> None:
    with backend.recorder(clock=SteppingClock(0)) as recorder:
        with recorder.appending() as append:
            append.promise(Instant(NEW_YEAR + 10))
            append.promise(Instant(NEW_YEAR + 4))  # asked for earlier: nothing is lost
            (within,) = insert(append, plain_event("a", 1))
        (after,) = append_once(recorder, plain_event("a", 2))

        assert within.recorded_at == NEW_YEAR + 11
        assert after.recorded_at == NEW_YEAR + 12
        assert recorder.present().horizon == NEW_YEAR + 10


def test_a_promise_of_an_append_that_failed_binds_nobody(backend: Backend) -> None:
    with backend.recorder(clock=SteppingClock(0)) as recorder:
        with pytest.raises(StoppedError):
            stopped_after(recorder, promised=NEW_YEAR + 10)

        (event,) = append_once(recorder, plain_event("a", 1))

        assert event.recorded_at == NEW_YEAR
        assert recorder.present().horizon == BEGINNING


def test_a_promise_survives_reopening(durable: Backend) -> None:
    with durable.recorder(clock=SteppingClock(0)) as recorder:
        append_once(recorder, plain_event("a", 1))
        with recorder.appending() as append:
            append.promise(Instant(NEW_YEAR + 10))

    with durable.recorder(clock=SteppingClock(-YEAR)) as recorder:
        (event,) = append_once(recorder, plain_event("a", 2))

        assert event.recorded_at == NEW_YEAR + 11


def test_a_durable_ledger_is_the_same_when_it_is_opened_again(durable: Backend) -> None:
    with durable.recorder() as recorder:
        append_once(recorder, plain_event("a", 1), plain_event("b", 1))
        append_once(recorder, plain_event("a", 2))
        before = recorder.read(limit=10), recorder.present().head, recorder.transaction(2)

    with durable.recorder() as recorder:
        after = recorder.read(limit=10), recorder.present().head, recorder.transaction(2)

    assert after == before
