"""Given what happened to a fact, when something is asked of it, then what follows."""

from dataclasses import replace

import pytest

from muniment.domain.commands import (
    Changes,
    CorroborateFact,
    EndFact,
    FactCommand,
    RedactFact,
    RestoreFact,
    RetireFact,
    RollBackFact,
)
from muniment.domain.decision import decide, repeated
from muniment.domain.events import (
    FactCorroborated,
    FactEnded,
    FactEvent,
    FactRedacted,
    FactRestored,
    FactRevised,
    FactRolledBack,
    RetireCause,
    RevisionCause,
)
from muniment.domain.fact import fold
from muniment.domain.time import BEGINNING, FOREVER, Instant, Period
from muniment.errors import (
    FactNotCurrentError,
    FactRedactedError,
    InvalidPeriodError,
    MunimentError,
    UnknownFactError,
    VersionBeyondHeadError,
    VersionConflictError,
)
from tests.unit.facts import (
    CORROBORATED,
    EVIDENCE,
    RETIRED,
    TRAITS,
    asserted,
    content,
    period,
    remember,
    revise,
    revised,
)


NOW = Instant(100)
TEA = asserted("tea", period(0))
WATER = revised("water", period(50))
RETIRE = RetireFact(cause=RetireCause.ASKED, expected_version=None)
RESTORE = RestoreFact(expected_version=None)
END = EndFact(valid_to=None, expected_version=None)
CHANGED, CORRECTED = RevisionCause.CHANGED, RevisionCause.CORRECTED


def decided(given: list[FactEvent], command: FactCommand) -> list[FactEvent]:
    return list(decide(command, "f", fold(given), recorded_at=NOW))


@pytest.mark.parametrize(
    ("start", "end", "valid"),
    [
        (None, None, Period(NOW)),
        (7, None, period(7)),
        (7, 9, period(7, 9)),
        (None, 101, period(100, 101)),
        (None, 100, Period(BEGINNING, NOW)),
        (None, 3, Period(BEGINNING, Instant(3))),
        (200, None, period(200)),
    ],
)
def test_what_is_remembered_holds_when_it_is_recorded_unless_said(
    start: int | None, end: int | None, valid: Period
) -> None:
    assert decided([], remember("tea", start, end)) == [asserted("tea", valid)]


@pytest.mark.parametrize(
    ("cause", "start", "end", "valid"),
    [
        (CHANGED, None, None, period(100)),
        (CHANGED, 7, None, period(7)),
        (CHANGED, None, 130, period(100, 130)),
        (CORRECTED, None, None, period(50)),
        (CORRECTED, 20, None, period(20, 50)),
        (CORRECTED, 20, 30, period(20, 30)),
        (CORRECTED, None, 70, period(50, 70)),
    ],
)
def test_what_changes_changes_from_now_on_and_what_is_corrected_all_along(
    cause: RevisionCause, start: int | None, end: int | None, valid: Period
) -> None:
    (event,) = decided([TEA, WATER], revise(cause, "wine", start, end))

    assert isinstance(event, FactRevised)
    assert (event.valid, event.cause) == (valid, cause)


def test_a_revision_keeps_what_it_does_not_say_but_never_who_said_it() -> None:
    (event,) = decided([TEA], revise(CHANGED, "wine"))

    assert isinstance(event, FactRevised)
    assert event.traits == TRAITS
    assert event.content == replace(
        content("wine"),
        evidence=replace(EVIDENCE, source="chat", source_turns=("t-9",), claimed_at=None),
    )


def test_a_revision_says_each_field_anew_that_it_names() -> None:
    changes = Changes(
        category="c",
        attribute="a",
        confidence=0.1,
        importance=0.2,
        core=True,
        entities=(),
        metadata={},
        expires_at=Instant(999),
    )

    (event,) = decided([TEA], replace(revise(CHANGED, None), changes=changes))

    assert isinstance(event, FactRevised)
    assert event.content is not None
    for field in (
        "category",
        "attribute",
        "confidence",
        "importance",
        "core",
        "expires_at",
    ):
        assert getattr(event.traits, field) == getattr(changes, field)
    assert event.content.text == "tea"
    assert (event.content.evidence.entities, event.content.evidence.metadata) == ((), {})


@pytest.mark.parametrize("cause", [CHANGED, CORRECTED])
def test_a_revision_that_says_the_same_is_kept_as_corroboration(
    cause: RevisionCause,
) -> None:
    (event,) = decided([TEA], revise(cause, "tea"))

    assert isinstance(event, FactCorroborated)
    assert event.evidence is not None
    assert event.evidence.source == "chat"


def test_the_same_said_of_a_longer_time_is_a_revision() -> None:
    (event,) = decided([asserted("tea", period(50, 150))], revise(CHANGED, "tea"))

    assert isinstance(event, FactRevised)


@pytest.mark.parametrize(
    ("given", "command", "events"),
    [
        ([TEA], END, [FactEnded(valid_to=NOW)]),
        ([TEA], EndFact(valid_to=Instant(9), expected_version=None),
         [FactEnded(valid_to=Instant(9))]),
        ([asserted("tea", period(0, 9))], END, []),
        ([TEA, RETIRED], END, []),
        ([TEA], EndFact(valid_to=FOREVER, expected_version=None), []),
        ([TEA], RETIRE, [RETIRED]),
        ([TEA, RETIRED], RETIRE, []),
        ([TEA], RESTORE, []),
        ([TEA, RETIRED], RESTORE, [FactRestored(to_version=1)]),
        ([TEA, WATER, RETIRED], RESTORE, [FactRestored(to_version=2)]),
        ([TEA, FactEnded(valid_to=Instant(0))], RESTORE, [FactRestored(to_version=1)]),
        ([TEA, FactRolledBack(to_version=0)], RESTORE, [FactRestored(to_version=1)]),
        ([TEA], RollBackFact(to_version=1), []),
        ([TEA, WATER], RollBackFact(to_version=1), [FactRolledBack(to_version=1)]),
        ([TEA, CORROBORATED], RollBackFact(to_version=1), []),
        ([TEA], RollBackFact(to_version=0), [FactRolledBack(to_version=0)]),
        ([TEA], RedactFact(expected_version=None), [FactRedacted()]),
        ([TEA, RETIRED], RedactFact(expected_version=None), [FactRedacted()]),
        ([TEA, FactRedacted()], RedactFact(expected_version=None), []),
        ([TEA], CorroborateFact(confidence=1.0, importance=0.5, evidence=EVIDENCE),
         [CORROBORATED]),
    ],
)  # fmt: skip
def test_the_right_events_and_none_where_nothing_changes(
    given: list[FactEvent], command: FactCommand, events: list[FactEvent]
) -> None:
    assert decided(given, command) == events


@pytest.mark.parametrize(
    ("given", "command", "error"),
    [
        ([], RETIRE, UnknownFactError),
        ([], RedactFact(expected_version=None), UnknownFactError),
        ([], revise(CHANGED, "x"), UnknownFactError),
        ([TEA, FactRedacted()], RETIRE, FactRedactedError),
        ([TEA, FactRedacted()], RESTORE, FactRedactedError),
        ([TEA, FactRedacted()], revise(CHANGED, "x"), FactRedactedError),
        ([TEA, FactRedacted()], RollBackFact(to_version=1), FactRedactedError),
        ([TEA, RETIRED], revise(CORRECTED, "x"), FactNotCurrentError),
        ([TEA], RollBackFact(to_version=2), VersionBeyondHeadError),
        ([TEA], RollBackFact(to_version=-1), VersionBeyondHeadError),
        ([TEA], revise(CHANGED, "x", None, 100), InvalidPeriodError),
        ([TEA], revise(CORRECTED, "x", None, 0), InvalidPeriodError),
        ([TEA, WATER], revise(CHANGED, "x", expected_version=1), VersionConflictError),
        ([TEA], revise(CHANGED, "x", expected_version=2), VersionConflictError),
        ([TEA], revise(CHANGED, "x", expected_version=0), VersionConflictError),
        ([TEA, WATER], replace(RETIRE, expected_version=1), VersionConflictError),
    ],
)
def test_what_cannot_be_done_is_refused(
    given: list[FactEvent], command: FactCommand, error: type[MunimentError]
) -> None:
    with pytest.raises(error):
        decided(given, command)


@pytest.mark.parametrize(
    "given",
    [
        [TEA],
        [TEA, CORROBORATED],
        [TEA, WATER, FactRolledBack(to_version=1)],
        [TEA, RETIRED, FactRestored(to_version=1)],
    ],
)
def test_an_expected_version_holds_while_nothing_it_left_has_changed(
    given: list[FactEvent],
) -> None:
    assert decided(given, revise(CHANGED, "wine", expected_version=1))


@pytest.mark.parametrize(
    ("text", "start", "end", "category", "version"),
    [
        ("tea", None, None, None, None),
        ("water", None, None, None, 2),
        ("tea", 0, 50, None, 1),
        ("tea", 0, None, None, None),
        ("water", 50, None, None, 2),
        ("water", 51, None, None, None),
        ("water", None, None, "drink", None),
        ("Water", None, None, None, None),
    ],
)
def test_a_repeat_says_the_same_for_the_same_period(
    text: str, start: int | None, end: int | None, category: str | None, version: int | None
) -> None:
    traits = {} if category is None else {"category": category}
    command = remember(text, start, end, **traits)

    belief = repeated(command, fold([TEA, WATER]), recorded_at=NOW)

    assert (belief.version if belief else None) == version


def test_what_has_ended_is_not_repeated_but_said_anew() -> None:
    ended = fold([TEA, FactEnded(valid_to=Instant(60))])

    assert repeated(remember("tea"), ended, recorded_at=NOW) is None


def test_how_sure_one_is_does_not_make_it_another_statement() -> None:
    command = replace(remember("tea"), traits=replace(TRAITS, confidence=0.1))

    belief = repeated(command, fold([TEA]), recorded_at=NOW)

    assert belief is not None
    assert belief.version == 1
