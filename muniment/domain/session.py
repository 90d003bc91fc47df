"""
What can happen in a conversation, and its life: begun, ended. Pure.

Stored forever: rename nothing, only add and upcast.

A session has three streams: its own, which is short; its turns, of which nothing but the
last is ever read to add one; its summaries. All of them belong to one subject, so that
no summary outlives what it was made of.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import reduce
from typing import assert_never

from muniment.domain.text import Json
from muniment.domain.time import Instant
from muniment.errors import SessionEndedError


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


SessionEvent = SessionStarted | SessionEnded
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


SessionCommand = StartSession | EndSession | AddTurns


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionState:
    """A session after all its events."""

    started: bool = False
    ended: bool = False


def decide(
    command: SessionCommand, session_id: str, session: SessionState
) -> tuple[TalkEvent, ...]:
    """
    Decide what happens when *command* meets *session*.

    Returns:
        Events to append, in order; empty when the command changes nothing.

    Raises:
        SessionEndedError: If something is to be said in a session that ended.
    """
    match command:
        case StartSession():
            return () if session.started else (SessionStarted(opening=command.opening),)
        case EndSession():
            return () if session.ended else (SessionEnded(),)
        case AddTurns():
            if session.ended:
                raise SessionEndedError(session_id)
            return command.turns
        case _:
            assert_never(command)


def evolve(session: SessionState, event: SessionEvent) -> SessionState:
    """Return *session* after *event*. Total: never raises."""
    match event:
        case SessionStarted():
            return replace(session, started=True)
        case SessionEnded():
            return replace(session, ended=True)
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
) -> dict[int, SummaryMade]:
    """
    Return by version the summaries of a session that may be used, of all levels.

    One that was made of a withdrawn one goes with it; one of the same level that covers
    the same turns anew replaces the one before, with what was made of that.
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
    return used


def _overlap(one: SummaryMade, other: SummaryMade) -> bool:
    return one.first_turn <= other.last_turn and other.first_turn <= one.last_turn


def _drop(used: dict[int, SummaryMade], version: int) -> None:
    """Remove a summary and, level by level, what was made of it."""
    used.pop(version, None)
    for each in [each for each, made in used.items() if version in made.sources]:
        _drop(used, each)
