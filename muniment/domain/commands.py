"""What a caller may ask for. A command may be refused; an event has happened."""

from collections.abc import Mapping
from dataclasses import dataclass

from muniment.domain.events import (
    Content,
    Evidence,
    RecordsExpired,
    RetireCause,
    RevisionCause,
    Status,
    Traits,
)
from muniment.domain.text import Json
from muniment.domain.time import Instant
from muniment.domain.values import quickly_made


@quickly_made
@dataclass(frozen=True, slots=True, kw_only=True)
class RememberFact:
    """
    Believe *content* from *valid_from* to *valid_to*.

    Attributes:
        valid_from: ``None`` for the recorded time, or, where *valid_to* is not after
            that, for a start nobody knows.
        valid_to: ``None`` for an open end.
    """

    valid_from: Instant | None
    valid_to: Instant | None
    traits: Traits
    content: Content


@dataclass(frozen=True, slots=True, kw_only=True)
class CorroborateFact:
    """Keep that another source said the same."""

    confidence: float
    importance: float
    evidence: Evidence


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """
    What a revision says anew; a field that is ``None`` stays as it was.

    Attributes:
        cleared: Which of ``category``, ``attribute`` and ``expires_at`` have no value
            any more.
    """

    text: str | None = None
    category: str | None = None
    attribute: str | None = None
    status: Status | None = None
    confidence: float | None = None
    importance: float | None = None
    core: bool | None = None
    entities: tuple[str, ...] | None = None
    metadata: Mapping[str, Json] | None = None
    expires_at: Instant | None = None
    cleared: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviseFact:
    """
    Say something else for a period.

    Attributes:
        cause: Whether the world changed or we were wrong.
        changes: What is said anew.
        source: Who says so.
        source_turns: The turns of conversation it was drawn from.
        valid_from: ``None`` for the recorded time (changed), or for the start of the
            belief that is corrected.
        valid_to: ``None`` for an open end (changed), or for the end of the belief
            that is corrected.
        expected_version: The version the caller decided on, or ``None``.
    """

    cause: RevisionCause
    changes: Changes
    source: str
    source_turns: tuple[str, ...]
    valid_from: Instant | None
    valid_to: Instant | None
    expected_version: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class EndFact:
    """Say that it stopped being true at *valid_to*; ``None`` for the recorded time."""

    valid_to: Instant | None
    expected_version: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RetireFact:
    """Stop believing and using it."""

    cause: RetireCause
    expected_version: int | None
    survivor: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreFact:
    """Believe again what was believed last."""

    expected_version: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RollBackFact:
    """Believe again what was believed right after *to_version*; 0 is nothing."""

    to_version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RedactFact:
    """Make its content unreadable at every as-of."""

    expected_version: int | None


FactCommand = (
    RememberFact
    | CorroborateFact
    | ReviseFact
    | EndFact
    | RetireFact
    | RestoreFact
    | RollBackFact
    | RedactFact
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FreezeSubject:
    """Refuse writes to the subject; where that is said, do not use its memory, either."""

    hides: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ThawSubject:
    """Accept writes to the subject again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceHold:
    """Bind the subject, or one fact of it, by a legal hold."""

    hold_id: str
    fact_id: str | None
    matter: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseHold:
    """End one legal hold."""

    hold_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DeferRedaction:
    """Redact a fact once no hold binds it, and, if it is a copy, no freeze."""

    fact_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DeferWordsRedaction:
    """Redact what was said in a turn, or in all of a session, once no hold binds it."""

    session_id: str
    number: int | None
    fact_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class EraseSubject:
    """Make the subject unreadable and unfindable at every as-of, once no hold binds it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpireRecords:
    """Make records of a kind unreadable, unless they are so already."""

    expired: RecordsExpired


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscloseSubject:
    """Say that a copy of what is remembered of the subject is made for somebody."""

    disclosure_id: str
    form: str
    matter: str


SubjectCommand = (
    FreezeSubject
    | ThawSubject
    | PlaceHold
    | ReleaseHold
    | DeferRedaction
    | DeferWordsRedaction
    | DiscloseSubject
    | ExpireRecords
    | EraseSubject
)
