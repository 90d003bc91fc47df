"""Short spellings of commands and events, so that a test fits on a line or two."""

from dataclasses import replace

from muniment.domain.commands import Changes, RememberFact, ReviseFact
from muniment.domain.events import (
    Content,
    Evidence,
    FactAsserted,
    FactCorroborated,
    FactEvent,
    FactRetired,
    FactRevised,
    RetireCause,
    RevisionCause,
    Status,
    Traits,
)
from muniment.domain.fact import Beliefs, fold
from muniment.domain.time import FOREVER, Instant, Period


TRAITS = Traits(
    category=None,
    attribute=None,
    status=Status.ACTIVE,
    confidence=1.0,
    importance=0.5,
    core=False,
    expires_at=None,
)
EVIDENCE = Evidence(
    source="user_explicit",
    source_turns=("t-1",),
    entities=("Ann",),
    metadata={"k": 1},
    claimed_at=Instant(3),
)
RETIRED = FactRetired(cause=RetireCause.ASKED, survivor=None)
CORROBORATED = FactCorroborated(confidence=1.0, importance=0.5, evidence=EVIDENCE)


def content(text: str) -> Content:
    return Content(text=text, evidence=EVIDENCE)


def period(start: int, end: int | None = None) -> Period:
    return Period(Instant(start), FOREVER if end is None else Instant(end))


def asserted(text: str, valid: Period, traits: Traits = TRAITS) -> FactAsserted:
    return FactAsserted(valid=valid, traits=traits, content=content(text))


def revised(text: str, valid: Period) -> FactRevised:
    return FactRevised(
        valid=valid, traits=TRAITS, content=content(text), cause=RevisionCause.CHANGED
    )


def remember(
    text: str, start: int | None = None, end: int | None = None, **traits: str
) -> RememberFact:
    return RememberFact(
        valid_from=None if start is None else Instant(start),
        valid_to=None if end is None else Instant(end),
        traits=replace(TRAITS, category=traits.get("category")),
        content=content(text),
    )


def revise(
    cause: RevisionCause,
    text: str | None,
    start: int | None = None,
    end: int | None = None,
    expected_version: int | None = None,
) -> ReviseFact:
    return ReviseFact(
        cause=cause,
        changes=Changes(text=text),
        source="chat",
        source_turns=("t-9",),
        valid_from=None if start is None else Instant(start),
        valid_to=None if end is None else Instant(end),
        expected_version=expected_version,
    )


def believed(*events: FactEvent) -> list[tuple[int, int | None, int]]:
    """Return what *events* leave believed: from, to (``None`` for ever), version."""
    return shown(fold(events).beliefs)


def shown(beliefs: Beliefs) -> list[tuple[int, int | None, int]]:
    return [
        (
            each.valid.start,
            None if each.valid.end == FOREVER else each.valid.end,
            each.version,
        )
        for each in beliefs
    ]
