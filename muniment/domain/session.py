"""
What can happen in a conversation, and its life: begun, ended, made unreadable. Pure.

Stored forever: rename nothing, only add and upcast.

A session has three streams: its own, which is short; its turns, of which nothing but the
last is ever read to add one; its summaries. All of them belong to one subject, so that
no summary outlives what it was made of.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import reduce
from typing import assert_never

from muniment.domain.text import Json
from muniment.domain.time import Instant
from muniment.errors import SessionEndedError, SessionRedactedError


class Role(StrEnum):
    """Who speaks in a turn."""

    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"
    SYSTEM = "system"


class SummaryTrigger(StrEnum):
    """Why a summary was made."""

    ASKED = "asked"
    COUNT = "count"
    """So many turns were not summarised yet."""

    TOKENS = "tokens"
    """What was not summarised yet took its share of the budget."""

    TOPIC = "topic"
    """The conversation turned to something else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """
    What is said of a session when it begins. Sealed.

    Attributes:
        agent: Who serves in it, or ``None``.
        metadata: The caller's own fields, kept as they are.
    """

    agent: str | None
    metadata: Mapping[str, Json]


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """
    What was said in a turn. Sealed.

    Attributes:
        text: The words.
        agent: Which agent spoke, or ``None``.
        tool: Which tool answered or was called, or ``None``.
        utc_offset_s: How far the speaker's clock was ahead of UTC, in seconds; ``None``
            where nobody said.
        zone: Name of the speaker's time zone, where it was said.
        entities: Names it mentions, in order.
        metadata: The caller's own fields, kept as they are.
    """

    text: str
    agent: str | None
    tool: str | None
    utc_offset_s: int | None
    zone: str | None
    entities: tuple[str, ...]
    metadata: Mapping[str, Json]


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionStarted:
    """A conversation with the subject began."""

    opening: Opening | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionEnded:
    """Nothing more is said in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnRedacted:
    """
    What was said in one turn was made unreadable at every as-of, in summaries, too.

    Attributes:
        number: Of the turn.
    """

    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRedacted:
    """All that was said in it was made unreadable; nothing more is said in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnsExpired:
    """
    What was said long ago was kept as long as a rule says, and became unreadable.

    With it every summary in which words of it may be.

    Attributes:
        last_turn: Number of the last turn that did; every one before it did, too.
        whole: Whether nothing else had been said in the session by then: what was said
            of it itself became unreadable, too.
        until: Turns recorded before then.
        older_than_us: The time to live that the rule gives them.
        count: How many turns became unreadable by it, that were not before.
    """

    last_turn: int
    whole: bool
    until: Instant
    older_than_us: int
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnAdded:
    """
    Somebody said something.

    Attributes:
        uttered_at: When, as the caller says; ``None`` for when it was recorded.
    """

    role: Role
    uttered_at: Instant | None
    words: Words | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryMade:
    """
    Turns, or summaries of turns, were put in fewer words.

    Attributes:
        level: 1 for a summary of turns, 2 for one of summaries, and so on.
        first_turn: Number of the first turn it covers.
        last_turn: Number of the last turn it covers.
        sources: The summaries it was made of, by version; none on level 1.
        maker: What made it: ``extractive``, or the name of a model.
        trigger: Why it was made.
        summary: The words. Sealed.
    """

    level: int
    first_turn: int
    last_turn: int
    sources: tuple[int, ...]
    maker: str
    trigger: SummaryTrigger
    summary: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryWithdrawn:
    """A summary is no longer used, nor is what was made of it; history keeps both."""

    summary_version: int


SessionEvent = SessionStarted | SessionEnded | TurnRedacted | SessionRedacted | TurnsExpired
TalkEvent = SessionEvent | TurnAdded | SummaryMade | SummaryWithdrawn


@dataclass(frozen=True, slots=True, kw_only=True)
class StartSession:
    """Begin a conversation."""

    opening: Opening


@dataclass(frozen=True, slots=True, kw_only=True)
class EndSession:
    """End it; ending it again changes nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AddTurns:
    """Keep what was said, in this order."""

    turns: tuple[TurnAdded, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RedactTurn:
    """Make what was said in one turn unreadable; doing so again changes nothing."""

    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RedactSession:
    """Make all that was said in it unreadable; doing so again changes nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpireTurns:
    """Make what was said long ago unreadable, unless it is so already."""

    expired: TurnsExpired


SessionCommand = (
    StartSession | EndSession | AddTurns | RedactTurn | RedactSession | ExpireTurns
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionState:
    """
    A session after all its events.

    Attributes:
        redacted_turns: Numbers of the turns that were made unreadable one by one.
        redacted: Whether all that was said in it was.
        last_expired: Number of the last turn that became unreadable by rule; 0 for none.
        opening_expired: Whether what was said of the session itself did.
    """

    started: bool = False
    ended: bool = False
    redacted_turns: frozenset[int] = frozenset()
    redacted: bool = False
    last_expired: int = 0
    opening_expired: bool = False

    def unreadable(self, number: int) -> bool:
        """Whether a turn was made unreadable."""
        asked = self.redacted or number in self.redacted_turns
        return asked or number <= self.last_expired

    def expired(self, number: int) -> bool:
        """Whether a turn became unreadable by rule, and nobody asked for it."""
        asked = self.redacted or number in self.redacted_turns
        return number <= self.last_expired and not asked


def decide(
    command: SessionCommand, session_id: str, session: SessionState
) -> tuple[TalkEvent, ...]:
    """
    Decide what happens when *command* meets *session*.

    Returns:
        Events to append, in order; empty when the command changes nothing.

    Raises:
        SessionEndedError: If something is to be said in a session that ended.
        SessionRedactedError: If it is in one that was made unreadable.
    """
    match command:
        case StartSession():
            return () if session.started else (SessionStarted(opening=command.opening),)
        case EndSession():
            return () if session.ended else (SessionEnded(),)
        case AddTurns():
            if session.redacted:
                raise SessionRedactedError(session_id)
            if session.ended:
                raise SessionEndedError(session_id)
            return command.turns
        case RedactTurn(number=number):
            gone = session.unreadable(number)
            return () if gone else (TurnRedacted(number=number),)
        case RedactSession():
            return () if session.redacted else (SessionRedacted(),)
        case ExpireTurns(expired=expired):
            more = expired.last_turn > session.last_expired
            more |= expired.whole and not session.opening_expired
            return (expired,) if more and not session.redacted else ()
        case _:
            assert_never(command)


def evolve(session: SessionState, event: SessionEvent) -> SessionState:
    """Return *session* after *event*. Total: never raises."""
    match event:
        case SessionStarted():
            return replace(session, started=True)
        case SessionEnded():
            return replace(session, ended=True)
        case TurnRedacted(number=number):
            return replace(session, redacted_turns=session.redacted_turns | {number})
        case SessionRedacted():
            return replace(session, redacted=True)
        case TurnsExpired(last_turn=last_turn, whole=whole):
            return replace(
                session,
                last_expired=max(session.last_expired, last_turn),
                opening_expired=session.opening_expired or whole,
            )
        case _:
            assert_never(event)


def fold(events: Iterable[SessionEvent]) -> SessionState:
    """Return the session that *events*, oldest first, add up to."""
    return reduce(evolve, events, SessionState())


def said_at(uttered_at: Instant | None, recorded_at: Instant) -> Instant:
    """
    Return when a turn counts as said: when it was uttered, and never after it was recorded.

    A clock that runs ahead must not hide what was said from who asks right afterwards.
    """
    return recorded_at if uttered_at is None else min(uttered_at, recorded_at)


def summaries_in_use(
    events: Iterable[tuple[int, SummaryMade | SummaryWithdrawn]],
    *,
    withheld: Callable[[int], bool] = lambda _number: False,
) -> dict[int, SummaryMade]:
    """
    Return by version the summaries of a session that may be used, of all levels.

    One that was made of a withdrawn one goes with it; one of the same level that covers
    the same turns anew replaces the one before, with what was made of that.

    Args:
        events: Of the session's summaries, each with its version.
        withheld: Whether a turn may not be used now, nor then what was made of it.
    """
    used: dict[int, SummaryMade] = {}
    for version, event in events:
        match event:
            case SummaryMade():
                for old, known in list(used.items()):
                    if known.level == event.level and _overlap(known, event):
                        _drop(used, old)
                used[version] = event
            case SummaryWithdrawn():
                _drop(used, event.summary_version)
            case _:
                assert_never(event)
    for version, made in list(used.items()):
        if made.level == 1 and any(withheld(each) for each in _turns(made)):
            _drop(used, version)
    return used


def summaries_of(
    events: Iterable[tuple[int, SummaryMade | SummaryWithdrawn]], numbers: range
) -> frozenset[int]:
    """Return the versions of all summaries in which words of turns may be, used or not."""
    found: set[int] = set()
    for version, event in events:
        if isinstance(event, SummaryMade) and (
            found.intersection(event.sources)
            or (event.level == 1 and any(each in numbers for each in _turns(event)))
        ):
            found.add(version)
    return frozenset(found)


def _turns(made: SummaryMade) -> range:
    return range(made.first_turn, made.last_turn + 1)


def _overlap(one: SummaryMade, other: SummaryMade) -> bool:
    return one.first_turn <= other.last_turn and other.first_turn <= one.last_turn


def _drop(used: dict[int, SummaryMade], version: int) -> None:
    """Remove a summary and, level by level, what was made of it."""
    used.pop(version, None)
    for each in [each for each, made in used.items() if version in made.sources]:
        _drop(used, each)
