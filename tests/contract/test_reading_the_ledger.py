"""What every recorder promises to whoever reads it."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from muniment.domain.time import BEGINNING, Instant
from muniment.ledger.recorder import LedgerRecorder
from muniment.ledger.records import Head
from tests.stores import (
    NEW_YEAR,
    SECOND,
    Backend,
    SettableClock,
    append_once,
    insert,
    plain_event,
)


WRITERS = 8
WRITES = 25


@pytest.fixture
def filled(backend: Backend) -> Iterator[LedgerRecorder]:
    """Nine events in three transactions a second apart, of the subjects s, t and s."""
    clock = SettableClock()
    with backend.recorder(clock=clock) as recorder:
        for number, subject in enumerate(("s", "t", "s")):
            clock.now = NEW_YEAR + number * SECOND
            events = [
                plain_event(f"{subject}-{stream}", number + 1, subject_ref=subject)
                for stream in "abc"
            ]
            with recorder.appending() as append:
                insert(
                    append,
                    *events,
                    idempotency_tag=f"key-{number}".encode(),
                    subject_ref=subject,
                )
        yield recorder


def test_the_head_at_a_time_is_the_last_transaction_recorded_by_then(
    filled: LedgerRecorder,
) -> None:
    first = Head(1, 3, Instant(NEW_YEAR))
    second = Head(2, 6, Instant(NEW_YEAR + SECOND))
    third = Head(3, 9, Instant(NEW_YEAR + 2 * SECOND))
    expected = {
        -1: Head(0, 0, BEGINNING),
        0: first,
        1: first,
        SECOND - 1: first,
        SECOND: second,
        2 * SECOND: third,
        900 * SECOND: third,
    }

    found = {later: filled.head_at(Instant(NEW_YEAR + later)) for later in expected}

    assert found == expected


def test_a_time_is_settled_once_something_was_recorded_since_or_promised(
    filled: LedgerRecorder,
) -> None:
    times = (-1, 0, SECOND - 1, 2 * SECOND, 2 * SECOND + 1, 3 * SECOND)
    before = {later: filled.settled_at(Instant(NEW_YEAR + later)) for later in times}
    with filled.appending() as append:
        append.promise(Instant(NEW_YEAR + 3 * SECOND - 1))
    after = {later: filled.settled_at(Instant(NEW_YEAR + later)) for later in times}

    stood = {later: filled.head_at(Instant(NEW_YEAR + later)) for later in times}
    assert before == {
        later: head if later <= 2 * SECOND else None for later, head in stood.items()
    }
    assert after == {
        later: head if later < 3 * SECOND else None for later, head in stood.items()
    }


def test_reading_page_by_page_gives_every_event_once(filled: LedgerRecorder) -> None:
    for limit in (1, 2, 4, 9, 100):
        read: list[int] = []

        while page := filled.read(after=read[-1] if read else 0, limit=limit):
            assert len(page) <= limit
            read.extend(each.position for each in page)

        assert read == list(range(1, 10))


def test_how_large_payloads_are_is_told_without_reading_them(
    filled: LedgerRecorder,
) -> None:
    sizes = [len(row[8]) for row in filled.read_rows(after=0, limit=9)]

    assert filled.payload_bytes(first=1, last=9) == sum(sizes) > 0
    assert filled.payload_bytes(first=2, last=4) == sum(sizes[1:4])
    assert filled.payload_bytes(first=10, last=9) == 0


def test_a_page_starts_after_and_ends_with(filled: LedgerRecorder) -> None:
    expected: dict[tuple[int, int | None, int], list[int]] = {
        (0, 4, 100): [1, 2, 3, 4],
        (2, 4, 100): [3, 4],
        (2, None, 3): [3, 4, 5],
        (2, 8, 3): [3, 4, 5],
        (4, 4, 100): [],
        (9, None, 100): [],
        (900, None, 100): [],
        (0, 900, 100): list(range(1, 10)),
        (0, None, 0): [],
    }

    found = {
        (after, until, limit): [
            each.position for each in filled.read(after=after, until=until, limit=limit)
        ]
        for after, until, limit in expected
    }

    assert found == expected


def test_a_subject_is_read_without_its_neighbours(filled: LedgerRecorder) -> None:
    expected: dict[tuple[int, int | None], list[int]] = {
        (0, None): [1, 2, 3, 7, 8, 9],
        (2, 8): [3, 7, 8],
        (3, 6): [],
        (9, None): [],
    }

    found = {
        (after, until): [
            each.position for each in filled.read_subject("s", after=after, until=until)
        ]
        for after, until in expected
    }

    assert found == expected


def test_an_unknown_subject_or_stream_is_empty(filled: LedgerRecorder) -> None:
    assert filled.read_subject("s%") == []
    assert filled.read_subject("") == []
    assert filled.read_stream("s-") == []


def test_a_stream_comes_by_version_and_complete(filled: LedgerRecorder) -> None:
    stream = filled.read_stream("s-b")

    assert [(each.position, each.sealed.originator_version) for each in stream] == [
        (2, 1),
        (8, 3),
    ]
    assert [each.recorded_at for each in stream] == [NEW_YEAR, NEW_YEAR + 2 * SECOND]


def test_streams_come_one_after_the_other_as_far_as_there_are(
    filled: LedgerRecorder,
) -> None:
    found = filled.read_streams(["s-b", "s-", "s-a", "s-b"])

    assert found == [*filled.read_stream("s-a"), *filled.read_stream("s-b")]
    assert filled.read_streams([]) == []


def test_a_request_is_found_by_its_key_alone(filled: LedgerRecorder) -> None:
    with filled.appending() as append:
        found = append.find_request(b"key-1")
        unknown = append.find_request(b"key-")

    assert found is not None
    assert (found.tx_id, found.first_position, found.last_position) == (2, 4, 6)
    assert unknown is None


def test_transactions_come_by_their_numbers_as_far_as_there_are(
    filled: LedgerRecorder,
) -> None:
    found = filled.transactions([3, 1, 900, 0, 3])

    assert [each.tx_id for each in found] == [1, 3]
    assert found[0] == filled.transaction(1)
    assert filled.transactions([]) == []
    assert filled.transaction(0) is None
    assert filled.transaction(4) is None


def test_a_reader_at_the_tail_never_sees_a_gap(backend: Backend) -> None:
    with backend.recorder() as recorder:
        writing_ended = threading.Event()

        def write(writer: int) -> None:
            for version in range(1, WRITES + 1):
                several = range(1 + (writer + version) % 3)
                append_once(
                    recorder,
                    *(plain_event(f"{writer}-{version}-{each}", 1) for each in several),
                )

        def follow() -> list[int]:
            seen: list[int] = []
            ended = False
            while not ended:
                ended = writing_ended.is_set()
                for each in recorder.read(after=seen[-1] if seen else 0, limit=50):
                    # Strictly the next one: what is skipped now is skipped for ever.
                    assert each.position == len(seen) + 1
                    seen.append(each.position)
            seen.extend(
                each.position for each in recorder.read(after=len(seen), limit=9_999)
            )
            return seen

        with ThreadPoolExecutor(WRITERS + 1) as pool:
            following = pool.submit(follow)
            for done in [pool.submit(write, writer) for writer in range(WRITERS)]:
                done.result()
            writing_ended.set()
            seen = following.result()

        assert seen == list(range(1, recorder.present().head.position + 1))
        assert recorder.present().head.tx_id == WRITERS * WRITES


def test_events_are_read_by_their_positions_in_one_go(filled: LedgerRecorder) -> None:
    every = filled.read(limit=9)

    assert filled.read_at([]) == []
    assert filled.read_at([0, 10]) == []
    assert filled.read_at([7, 2, 2, 99, -1, 9]) == [every[1], every[6], every[8]]


@pytest.mark.parametrize(
    ("after", "until", "subject_refs", "found"),
    [
        (0, 6, ("s",), True),
        (1, 5, ("s",), False),
        (1, 5, ("s", "t"), False),
        (1, 6, ("t", "s"), True),
        (5, 6, ("s", "nobody"), True),
        (0, 9, ("nobody",), False),
        (0, 9, (), False),
        (6, 9, ("s", "t"), False),
    ],
)
def test_whether_something_is_of_facts_is_asked_of_all_subjects_at_once(
    backend: Backend, after: int, until: int, subject_refs: tuple[str, ...], *, found: bool
) -> None:
    with backend.recorder() as recorder:
        with recorder.appending() as append:
            insert(append, plain_event("fact-1", 1, subject_ref="s"), subject_ref="s")
            others = [plain_event("session-1", each, subject_ref="t") for each in (1, 2, 3)]
            insert(append, *others, subject_ref="t")
            insert(append, plain_event("facts", 1, subject_ref="s"), subject_ref="s")
            insert(append, plain_event("fact-2", 1, subject_ref="s"), subject_ref="s")
            insert(append, plain_event("subject-s", 1, subject_ref="s"), subject_ref="s")

        assert recorder.has_facts(subject_refs, after=after, until=until) is found
