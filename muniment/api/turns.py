"""What was said, as the store gives it back: sessions and turns."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import Final

from muniment.domain.scope import Scope
from muniment.domain.session import Opening, SessionState, TurnAdded
from muniment.domain.text import Json, copied
from muniment.instants import moment, to_datetime, to_text
from muniment.ledger.records import RecordedEvent
from muniment.ledger.vault import Subject
from muniment.projections.conversation import SessionRow


REDACTED: Final = "[redacted]"
EXPIRED: Final = "[expired]"
WITHHELD: Final = "[withheld]"
"""What stands in the place of words that nobody can read, or may use for now."""

_DIGITS_MAX: Final = 18
"""No turn has a number of more digits: a database could not store it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """
    A conversation.

    Attributes:
        scope: Whose memory it belongs to.
        started_at: When its beginning was recorded.
        ended_at: When its end was; ``None`` while it goes on.
        agent: Who serves in it, where it was said.
        metadata: The caller's own fields.
        position: Of the event that began it.
        token: What stands in the place of agent and metadata, where they cannot be read,
            as of a turn.
    """

    session_id: str
    scope: Scope
    started_at: datetime
    ended_at: datetime | None
    agent: str | None
    metadata: Mapping[str, Json] = field(hash=False)
    position: int
    token: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Turn:
    """
    What somebody said.

    Attributes:
        turn_id: Session and number, with a dot between; facts name it as their source.
        number: Place in its session as recorded, 1 for the first.
        role: ``user``, ``assistant``, ``tool`` or ``system``.
        content: The words; ``None`` where they cannot be read.
        agent: Which agent spoke.
        tool: Which tool answered, or was called.
        uttered_at: When it was said; when it was recorded where nobody told.
        utc_offset: How far the speaker's clock was ahead of UTC, where it was told.
        zone: Name of the speaker's time zone, where it was told.
        recorded_at: When the ledger learned it.
        token: What stands in the place of words that cannot be read: ``[redacted]``;
            ``[expired]`` where they were kept as long as a rule says; ``[withheld]`` where
            they are to be redacted and a legal hold keeps them. ``None`` where they can.
    """

    turn_id: str
    session_id: str
    scope: Scope
    number: int
    role: str
    content: str | None
    agent: str | None
    tool: str | None
    uttered_at: datetime
    utc_offset: timedelta | None
    zone: str | None
    recorded_at: datetime
    position: int
    tx_id: int
    entities: tuple[str, ...]
    metadata: Mapping[str, Json] = field(hash=False)
    token: str | None = None

    @property
    def local_time(self) -> datetime:
        """When it was said by the speaker's own clock; in UTC where that is not known."""
        if self.utc_offset is None:
            return self.uttered_at
        return self.uttered_at.astimezone(timezone(self.utc_offset))

    def __repr__(self) -> str:
        return (
            f"<Turn {self.turn_id} of {self.scope}, {self.role} at "
            f"{to_text(self.uttered_at)}: {self.content!r}>"
        )


def turn_of(
    subject: Subject, said: RecordedEvent, session: SessionState, *, withheld: bool = False
) -> Turn:
    """Return the turn that *said* is; without its words where it is *withheld*."""
    event = said.event
    assert isinstance(event, TurnAdded), "the stream of turns holds turns"
    words = None if withheld else event.words
    uttered_at = said.recorded_at if event.uttered_at is None else event.uttered_at
    offset = words.utc_offset_s if words else None
    return Turn(
        turn_id=turn_name(said.session_id, said.version),
        session_id=said.session_id,
        scope=subject.scope,
        number=said.version,
        role=event.role.value,
        content=words.text if words else None,
        agent=words.agent if words else None,
        tool=words.tool if words else None,
        uttered_at=moment(uttered_at),
        utc_offset=None if offset is None else timedelta(seconds=offset),
        zone=words.zone if words else None,
        recorded_at=moment(said.recorded_at),
        position=said.position,
        tx_id=said.tx_id,
        entities=words.entities if words else (),
        metadata=copied(words.metadata) if words else {},
        token=None
        if words
        else WITHHELD
        if withheld and event.words
        else unreadable(expired=session.expired(said.version)),
    )


def unreadable(*, expired: bool) -> str:
    """Return the token for words that nobody can read any more."""
    return EXPIRED if expired else REDACTED


def session_of(
    subject: Subject,
    row: SessionRow,
    opening: Opening | None,
    *,
    withheld: bool = False,
    expired: bool = False,
) -> Session:
    """Return the session of *row*, as it was opened; without that if it is *withheld*."""
    shown = None if withheld else opening
    return Session(
        session_id=row.session_id,
        scope=subject.scope,
        started_at=moment(row.started_at),
        ended_at=None if row.ended_at is None else to_datetime(row.ended_at),
        agent=shown.agent if shown else None,
        metadata=shown.metadata if shown else {},
        position=row.position,
        token=None
        if shown
        else WITHHELD
        if withheld and opening
        else unreadable(expired=expired),
    )


def turn_name(session_id: str, number: int) -> str:
    """Return the id of a turn."""
    return f"{session_id}.{number}"


def named_turn(turn_id: str) -> tuple[str, int] | None:
    """Return the session and the number that the id of a turn says, if it is one."""
    session_id, dot, number = turn_id.rpartition(".")
    if not dot or not number.isascii() or not number.isdecimal() or number[0] == "0":
        return None
    if len(number) > _DIGITS_MAX:
        return None
    return session_id, int(number)
