"""
Every recorder is a recorder of the `eventsourcing` library.

The library's own cases are inherited and run on each of ours. What they print, speeds
mostly, is captured with the rest of a test's output.
"""

import itertools
import unittest
from collections.abc import Iterator, Sequence
from uuid import UUID

import pytest
from eventsourcing.persistence import AggregateRecorder, StoredEvent
from eventsourcing.tests import persistence as cases  # with what conftest puts in place

from muniment.ledger.recorder import LedgerRecorder
from tests.stores import Backend


class OurCase(unittest.TestCase):
    """What the library asks of whoever inherits a case; and ours name streams by text."""

    __test__ = False  # run by the test below, which has a recorder for them
    recorder: LedgerRecorder
    numbers: Iterator[int]

    def create_recorder(self) -> LedgerRecorder:
        return self.recorder

    def new_originator_id(self) -> str:
        return f"stream-{next(self.numbers)}"


class WithoutPositions(AggregateRecorder):
    """
    A recorder whose insertions return nothing.

    That is what the case for recorders of aggregates expects. Ours record an application
    as well, whose case expects the positions instead.
    """

    def __init__(self, recorder: LedgerRecorder) -> None:
        self._recorder = recorder

    def insert_events(self, stored_events: Sequence[StoredEvent], **kwargs: object) -> None:
        self._recorder.insert_events(stored_events, **kwargs)

    def select_events(
        self,
        originator_id: UUID | str,
        *,
        gt: int | None = None,
        lte: int | None = None,
        desc: bool = False,
        limit: int | None = None,
    ) -> Sequence[StoredEvent]:
        return self._recorder.select_events(
            originator_id, gt=gt, lte=lte, desc=desc, limit=limit
        )


class AggregateCases(OurCase, cases.AggregateRecorderTestCase):
    def create_recorder(self) -> AggregateRecorder:  # type: ignore[override]
        return WithoutPositions(self.recorder)


class ApplicationCases(OurCase, cases.ApplicationRecorderTestCase):
    def test_insert_subscribe(self) -> None:
        self.optional_test_insert_subscribe()


class TrackingCases(OurCase, cases.TrackingRecorderTestCase):
    pass


class ProcessCases(OurCase, cases.ProcessRecorderTestCase):
    pass


class NonInterleavingCases(OurCase, cases.NonInterleavingNotificationIDsBaseCase):
    pass


EVERY_CASE: list[tuple[type[OurCase], str]] = [
    (case, name)
    for case in (
        AggregateCases,
        ApplicationCases,
        TrackingCases,
        ProcessCases,
        NonInterleavingCases,
    )
    for name in unittest.TestLoader().getTestCaseNames(case)
]


@pytest.mark.parametrize(
    ("case", "name"),
    EVERY_CASE,
    ids=[f"{case.__name__}-{name}" for case, name in EVERY_CASE],
)
def test_a_recorder_passes_the_cases_of_the_library(
    backend: Backend, case: type[OurCase], name: str
) -> None:
    test = case(name)
    test.numbers = itertools.count(1)

    with backend.recorder() as test.recorder:
        test.debug()  # runs it, and lets what it raises through
