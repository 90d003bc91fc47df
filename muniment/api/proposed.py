"""What nobody does alone, as it is shown: a proposal, and what became of it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Final

from muniment.domain.scope import Scope
from muniment.domain.text import Json


SHARE: Final = "share"
"""The verb of a proposal to make a fact known to more; every other is a verb of a store."""


class ProposalState(StrEnum):
    """What became of a proposal."""

    OPEN = "open"
    """Not enough others agree so far."""

    APPROVED = "approved"
    """It may be done, once."""

    REJECTED = "rejected"
    DONE = "done"

    REDACTED = "redacted"
    """It was open, and what it says was made unreadable with the fact it is about."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """
    What somebody wants done, and what others say to it.

    Attributes:
        proposal_id: Names it.
        verb: What is to be done: ``share``, or a verb of the store.
        scope: Whose memory it is about.
        to: Whom a fact is to be shared with; ``None`` of what is no sharing.
        asked: The fields of the call.
        size: How many facts it is about.
        needed: How many others have to agree.
        approved_by: Who does, in that order.
        note: Why it was rejected, if it was.
        content: What is to be shared; ``None`` once the fact says something else. Of a
            contested change, what the fact is to say; ``None`` where that is unreadable,
            or while the fact is not used.
    """

    proposal_id: str
    verb: str
    scope: Scope
    to: Scope | None
    asked: Mapping[str, Json] = field(hash=False)
    reason: str | None
    proposed_by: str | None
    proposed_at: datetime
    size: int
    needed: int
    approved_by: tuple[str, ...]
    state: ProposalState
    note: str | None
    content: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalPage:
    """
    Part of the proposals about a memory or to it, the last made first.

    Attributes:
        next_cursor: Gives those made before; ``None`` at the beginning.
    """

    items: tuple[Proposal, ...]
    next_cursor: str | None

    def __iter__(self) -> Iterator[Proposal]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)
