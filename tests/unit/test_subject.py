import pytest

from muniment.domain.commands import (
    DeferRedaction,
    EraseSubject,
    FreezeSubject,
    PlaceHold,
    ReleaseHold,
    SubjectCommand,
    ThawSubject,
)
from muniment.domain.events import (
    ErasureDeferred,
    HoldPlaced,
    HoldReleased,
    RedactionDeferred,
    SubjectErased,
    SubjectEvent,
    SubjectFrozen,
    SubjectThawed,
)
from muniment.domain.subject import SubjectState, decide, fold, redactions_due
from muniment.errors import UnknownHoldError


WHOLE = HoldPlaced(hold_id="h-1", fact_id=None, matter="case")
ONE = HoldPlaced(hold_id="h-2", fact_id="f-1", matter=None)
PLACE = PlaceHold(hold_id="h-1", fact_id=None, matter="case")
RELEASE = ReleaseHold(hold_id="h-1")
RELEASE_ONE = ReleaseHold(hold_id="h-2")
FROZEN, HIDDEN = SubjectFrozen(hides=False), SubjectFrozen(hides=True)
DEFER = DeferRedaction(fact_id="f-1")
DEFERRED = RedactionDeferred(fact_id="f-1")
DEFERRED_TOO = RedactionDeferred(fact_id="f-2")


@pytest.mark.parametrize(
    ("given", "command", "events"),
    [
        ([], FreezeSubject(), [FROZEN]),
        ([FROZEN], FreezeSubject(), []),
        ([FROZEN], ThawSubject(), [SubjectThawed()]),
        ([FROZEN], FreezeSubject(hides=True), [HIDDEN]),
        ([HIDDEN], FreezeSubject(hides=True), []),
        ([HIDDEN], FreezeSubject(), []),
        ([HIDDEN, SubjectThawed()], FreezeSubject(), [FROZEN]),
        ([], ThawSubject(), []),
        ([FROZEN, SubjectThawed()], ThawSubject(), []),
        ([], PLACE, [WHOLE]),
        ([WHOLE], PLACE, []),
        ([ONE], PLACE, [WHOLE]),
        ([WHOLE], RELEASE, [HoldReleased(hold_id="h-1")]),
        ([WHOLE, HoldReleased(hold_id="h-1")], RELEASE, []),
        ([WHOLE], EraseSubject(), [ErasureDeferred()]),
        ([], EraseSubject(), [SubjectErased()]),
        ([WHOLE, DEFERRED], EraseSubject(), [ErasureDeferred()]),
        ([WHOLE, HoldReleased(hold_id="h-1")], EraseSubject(), [SubjectErased()]),
        ([ONE], EraseSubject(), [ErasureDeferred()]),
        ([WHOLE], DEFER, [DEFERRED]),
        ([WHOLE, DEFERRED_TOO], DEFER, [DEFERRED]),
        ([WHOLE, ErasureDeferred()], DEFER, [DEFERRED]),
        ([WHOLE, ONE, ErasureDeferred()], RELEASE, [HoldReleased(hold_id="h-1")]),
        ([SubjectErased()], EraseSubject(), []),
        ([SubjectErased()], DEFER, []),
        ([SubjectErased()], RELEASE, []),
        ([SubjectErased()], FreezeSubject(), []),
        ([SubjectErased()], PLACE, []),
    ],
)
def test_the_right_events_once_and_none_the_second_time(
    given: list[SubjectEvent], command: SubjectCommand, events: list[SubjectEvent]
) -> None:
    assert list(decide(command, fold(given))) == events
    assert decide(command, fold([*given, *events])) == ()


def test_a_hold_that_was_never_placed_cannot_be_released() -> None:
    with pytest.raises(UnknownHoldError):
        decide(RELEASE, fold([ONE]))


def test_what_waited_for_the_last_hold_is_done_when_it_is_released() -> None:
    events = decide(RELEASE, fold([WHOLE, ErasureDeferred()]))

    assert events == (HoldReleased(hold_id="h-1"), SubjectErased())


@pytest.mark.parametrize(
    ("fact_id", "binding"),
    [("f-1", ("h-1", "h-2")), ("f-2", ("h-1",)), (None, ("h-1", "h-2"))],
)
def test_a_fact_is_bound_by_its_own_holds_and_those_of_its_subject(
    fact_id: str | None, binding: tuple[str, ...]
) -> None:
    assert fold([WHOLE, ONE]).holds_on(fact_id) == binding


def test_a_released_hold_binds_no_more() -> None:
    assert fold([WHOLE, HoldReleased(hold_id="h-1")]).holds == ()


def test_a_subject_that_was_erased_is_neither_frozen_nor_held() -> None:
    assert fold([FROZEN, WHOLE, SubjectErased()]) == SubjectState(erased=True)


@pytest.mark.parametrize(
    ("given", "due"),
    [
        ([WHOLE, DEFERRED, DEFERRED_TOO], ()),
        ([ONE, DEFERRED, DEFERRED_TOO], ("f-2",)),
        ([WHOLE, DEFERRED_TOO, DEFERRED, HoldReleased(hold_id="h-1")], ("f-2", "f-1")),
        ([WHOLE, ONE, DEFERRED, HoldReleased(hold_id="h-1")], ()),
        ([WHOLE, ONE, DEFERRED, HoldReleased(hold_id="h-2")], ()),
        ([WHOLE, HoldReleased(hold_id="h-1")], ()),
    ],
)
def test_a_redaction_is_due_once_no_hold_stands_against_it_in_the_order_asked_for(
    given: list[SubjectEvent], due: tuple[str, ...]
) -> None:
    assert redactions_due(fold(given)) == due


def test_an_erasure_waits_for_the_last_of_the_holds() -> None:
    waiting: list[SubjectEvent] = [WHOLE, ONE, ErasureDeferred()]

    first = decide(RELEASE, fold(waiting))
    second = decide(RELEASE_ONE, fold([*waiting, *first]))

    assert first == (HoldReleased(hold_id="h-1"),)
    assert second == (HoldReleased(hold_id="h-2"), SubjectErased())


@pytest.mark.parametrize(
    ("given", "restricted"),
    [
        ([], ()),
        ([WHOLE], ()),
        ([WHOLE, DEFERRED], ("f-1",)),
        ([WHOLE, ErasureDeferred()], ("f-1", "f-2")),
        ([WHOLE, ErasureDeferred(), SubjectErased()], ()),
    ],
)
def test_what_is_to_be_forgotten_is_not_used(
    given: list[SubjectEvent], restricted: tuple[str, ...]
) -> None:
    state = fold(given)

    assert tuple(each for each in ("f-1", "f-2") if state.restricts(each)) == restricted
