"""
What can happen besides facts: who looked, by whose leave, with which key.

Stored forever, as `muniment.domain.events`.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from muniment.domain.text import Json
from muniment.domain.time import Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class Inquiry:
    """
    What somebody wanted to know, and what they were shown. Sealed.

    Attributes:
        reason: Why, in words.
        matter: The case it is for, or ``None``.
        query: The fields of the question, as they were asked.
        returned: Id and version of every fact in the answer, in its order.
    """

    reason: str
    matter: str | None
    query: Mapping[str, Json]
    returned: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessRecorded:
    """
    Somebody looked; recorded before they were answered.

    Attributes:
        verb: What they called.
        standing: What allowed it: a role, or what they are to the memory.
        count: How many facts the answer had.
        glass_broken: Whether they had no right but that of an emergency.
    """

    verb: str
    standing: str
    count: int
    glass_broken: bool
    inquiry: Inquiry | None


@dataclass(frozen=True, slots=True, kw_only=True)
class GlassBroken:
    """
    Somebody looked in an emergency; the officers are to review it.

    Attributes:
        access_id: The access that was recorded with it.
    """

    access_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GlassReviewed:
    """
    An officer looked into an emergency access; the same person may have another.

    Attributes:
        note: What came of it. Sealed.
    """

    note: str | None


AccessEvent = AccessRecorded | GlassBroken | GlassReviewed


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyHolder:
    """Whom an API key stands for: the fields of a `Principal`. Sealed."""

    id: str
    kind: str
    roles: tuple[str, ...]
    memberships: tuple[str, ...]
    user_id: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKeyIssued:
    """
    An API key was made; only its holder has it.

    Attributes:
        digest: SHA-256 of its secret part, in hexadecimal.
        verbs: What it may be used for, or ``None`` for all its holder may do.
        expires_at: From then on it opens nothing, or ``None``.
    """

    digest: str
    verbs: tuple[str, ...] | None
    expires_at: Instant | None
    holder: KeyHolder | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKeyRevoked:
    """
    An API key ends.

    Attributes:
        ends_at: From then on it opens nothing.
    """

    ends_at: Instant


ApiKeyEvent = ApiKeyIssued | ApiKeyRevoked


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposed:
    """
    What somebody wants done, and may not do alone. Sealed.

    Attributes:
        reason: Why, in words.
        asked: The fields of the call it is about.
    """

    reason: str | None
    asked: Mapping[str, Json]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalMade:
    """
    Somebody wants done what needs others to agree.

    Attributes:
        verb: What is to be done.
        size: How many facts it is about.
        needed: How many others have to agree.
    """

    verb: str
    size: int
    needed: int
    proposal: Proposed | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalApproved:
    """
    Somebody else agrees.

    Attributes:
        approver: Keyed digest of who does, so that nobody counts twice.
    """

    approver: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalRejected:
    """
    Somebody else does not: it is over.

    Attributes:
        note: Why not. Sealed.
    """

    note: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalCarriedOut:
    """What enough others agreed to is done; it cannot be done on their word again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FactShared:
    """
    A copy of a fact came into this memory; what it was a copy of stays readable.

    Its stream is named after the copy. Whoever has to make the one unreadable finds the
    other by it, also once every key of the first is gone.

    Attributes:
        source_ref: Whose memory it was copied from, as the ledger names them.
        source_fact_id: The fact it is a copy of.
    """

    source_ref: str
    source_fact_id: str


ProposalEvent = ProposalMade | ProposalApproved | ProposalRejected | ProposalCarriedOut
