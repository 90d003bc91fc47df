"""
What can happen to a fact and to a subject; the rest is in `session` and `receipt`.

Stored forever: rename nothing, only add and upcast.

An event never says when it was recorded, by whom or why: the ledger stamps that on
the transaction. A field whose value is sealed with the stream's key is ``None`` once
that key is destroyed; everything else stays readable, so that a projection can be
rebuilt without any key.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from muniment.domain.access_events import (
    AccessEvent,
    ApiKeyEvent,
    FactShared,
    ProposalEvent,
)
from muniment.domain.keeping import Records
from muniment.domain.receipt import AccountEvent
from muniment.domain.session import TalkEvent
from muniment.domain.text import Json
from muniment.domain.time import ALWAYS, Instant, Period
from muniment.domain.values import quickly_made


class Status(StrEnum):
    """How far a fact may be relied on."""

    ACTIVE = "active"
    """As far as its confidence says."""

    UNVERIFIED = "unverified"
    """Not yet: nobody has vouched for it; a search finds it only if it asks for such."""


class RevisionCause(StrEnum):
    """Why a fact says something else now."""

    CHANGED = "changed"
    """The world changed; what was said before held until then."""

    CORRECTED = "corrected"
    """We were wrong; what was said before never held."""


class RetireCause(StrEnum):
    """Why a fact is no longer used."""

    ASKED = "asked"
    """Somebody said so."""

    EXPIRED = "expired"
    """Its time to live is over."""

    UNUSED = "unused"
    """It was not used for long."""

    UNIMPORTANT = "unimportant"
    """Its importance is below what is kept."""

    MERGED = "merged"
    """Another fact says the same."""


@quickly_made
@dataclass(frozen=True, slots=True, kw_only=True)
class Traits:
    """
    What is known of a belief without opening its content. Holds no personal content.

    Attributes:
        category: Kind of fact, or ``None``.
        attribute: What it is about within its category, or ``None``.
        status: How far it may be relied on.
        confidence: 0 to 1.
        importance: 0 to 1.
        core: Whether it belongs into every prompt.
        expires_at: From this recorded time on it is no longer used, or ``None``.
    """

    category: str | None
    attribute: str | None
    status: Status
    confidence: float
    importance: float
    core: bool
    expires_at: Instant | None


@quickly_made
@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """
    What a statement rests on. Sealed.

    Attributes:
        source: What it came from, such as ``user_explicit`` or a tool's name.
        source_turns: The turns of conversation it was drawn from, in order.
        entities: Names it mentions, in order.
        metadata: The caller's own fields, kept as they are.
        claimed_at: When an imported statement says it was recorded elsewhere.
    """

    source: str
    source_turns: tuple[str, ...]
    entities: tuple[str, ...]
    metadata: Mapping[str, Json]
    claimed_at: Instant | None


@quickly_made
@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """What a fact says, and what that rests on. Sealed."""

    text: str
    evidence: Evidence


@quickly_made
@dataclass(frozen=True, slots=True, kw_only=True)
class FactAsserted:
    """A fact was remembered for the first time, for *valid*."""

    valid: Period
    traits: Traits
    content: Content | None


@quickly_made
@dataclass(frozen=True, slots=True, kw_only=True)
class FactRevised:
    """Within *valid* the fact says this now; outside of it, what it said before."""

    valid: Period
    traits: Traits
    content: Content | None
    cause: RevisionCause


@dataclass(frozen=True, slots=True, kw_only=True)
class FactCorroborated:
    """Another source said the same for the same period. No belief changes."""

    confidence: float
    importance: float
    evidence: Evidence | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FactEnded:
    """It stopped being true at *valid_to*."""

    valid_to: Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class FactRetired:
    """
    It is no longer believed or used; history keeps it.

    Attributes:
        survivor: The fact that says the same, if it was merged into one.
    """

    cause: RetireCause
    survivor: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FactRestored:
    """It is believed again as it was right after *to_version*."""

    to_version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FactRolledBack:
    """
    Within *within* it is believed as it was right after *to_version*.

    Version 0 is before the fact existed. Outside *within* nothing changes, so that
    what others wrote about other times stays.
    """

    to_version: int
    within: Period = ALWAYS


@dataclass(frozen=True, slots=True, kw_only=True)
class FactRedacted:
    """The content of all its versions was made unreadable at every as-of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FactThinned:
    """
    Some of what was said of it long ago was made unreadable; no belief changes.

    Attributes:
        until: Times from then on are kept, and before it those when a year (UTC) began;
            see `muniment.domain.thinning`.
        versions: Whose content went: the first and the last of each run, in order.
    """

    until: Instant
    versions: tuple[tuple[int, int], ...]


FactEvent = (
    FactAsserted
    | FactRevised
    | FactCorroborated
    | FactEnded
    | FactRetired
    | FactRestored
    | FactRolledBack
    | FactRedacted
    | FactThinned
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectFrozen:
    """
    Writes to the subject are refused from here on.

    Attributes:
        hides: Whether its memory is not used, either.
    """

    hides: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectThawed:
    """Writes to the subject are accepted again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HoldPlaced:
    """
    A legal hold binds the subject, or one fact of it.

    Attributes:
        hold_id: Names this hold; several may overlap.
        fact_id: The fact bound, or ``None`` for the whole subject.
        matter: What the hold is for. Sealed.
    """

    hold_id: str
    fact_id: str | None
    matter: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class HoldReleased:
    """One hold no longer binds."""

    hold_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RedactionDeferred:
    """
    A fact is to be redacted once no hold binds it; until then it is not used.

    A copy of what was made unreadable waits for the thaw of its memory, too.
    """

    fact_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WordsRedactionDeferred:
    """
    What was said is to be redacted once no hold binds it; until then it is not used.

    Attributes:
        session_id: Where it was said.
        number: Of the one turn, or ``None`` for all of the session.
        fact_ids: The facts drawn from it; a hold on one of them binds it, too.
    """

    session_id: str
    number: int | None
    fact_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasureDeferred:
    """The subject is to be erased once no hold binds it; until then it is not used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectDisclosed:
    """
    A copy of what is remembered of the subject was made for somebody.

    Attributes:
        disclosure_id: Names the copy, and stands in it.
        form: ``evidence`` for a package of evidence, ``export`` for one of all there is.
        matter: What it was made for. Sealed.
    """

    disclosure_id: str
    form: str
    matter: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectThinned:
    """
    Old history of some of its facts was thinned, see `FactThinned`.

    Attributes:
        since: When the first of what went had been recorded, or began to hold.
        until: See `FactThinned`.
    """

    since: Instant
    until: Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordsExpired:
    """
    Records of the subject were kept as long as a rule says, and became unreadable.

    Attributes:
        records: Of which kind; turns have an event in the stream of their session.
        until: All of that kind that were recorded before then.
        older_than_us: The time to live that the rule gives them.
        count: How many became unreadable by it, that were not before.
    """

    records: Records
    until: Instant
    older_than_us: int
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectErased:
    """The keys of the subject were destroyed. Not reversible."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestAnswered:
    """A request with an idempotency key had nothing to do; its key is kept."""


SubjectEvent = (
    SubjectFrozen
    | SubjectThawed
    | HoldPlaced
    | HoldReleased
    | RedactionDeferred
    | WordsRedactionDeferred
    | ErasureDeferred
    | SubjectDisclosed
    | SubjectThinned
    | RecordsExpired
    | SubjectErased
    | RequestAnswered
)

Event = (
    FactEvent
    | SubjectEvent
    | AccessEvent
    | ApiKeyEvent
    | ProposalEvent
    | FactShared
    | TalkEvent
    | AccountEvent
)
