"""What the store gives back: frozen values, every instant an aware UTC datetime."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from muniment.domain.rollback import Moves
from muniment.domain.scope import Scope
from muniment.domain.text import Json
from muniment.domain.values import quickly_made
from muniment.instants import to_text


@quickly_made
@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Fact:
    """
    One belief: what a version of a fact says, for a valid period.

    Attributes:
        content: What it says; ``None`` once it was made unreadable.
        version: Of the event that said it; after a rollback, of the event restored.
        valid_from: When it began to hold; ``None`` for a start nobody said.
        valid_to: When it ceases to hold, exclusive; ``None`` for an open end.
        recorded_at: When the ledger learned it.
        position: Of the event that said it.
        tx_id: The transaction it was said in.
        source: What it came from, such as ``user_explicit``.
        confidence: 0 to 1.
        importance: 0 to 1.
        core: Whether it belongs into every prompt.
        source_turns: The turns of conversation it was drawn from.
        expires_at: From then on it is not used; ``None`` for never.
    """

    fact_id: str
    scope: Scope
    content: str | None
    version: int
    valid_from: datetime | None
    valid_to: datetime | None
    recorded_at: datetime
    position: int
    tx_id: int
    category: str | None
    attribute: str | None
    source: str | None
    status: str
    confidence: float
    importance: float
    core: bool
    entities: tuple[str, ...]
    metadata: Mapping[str, Json] = field(hash=False)
    source_turns: tuple[str, ...]
    expires_at: datetime | None

    def __repr__(self) -> str:
        return (
            f"<Fact {self.fact_id} of {self.scope}: {self.content!r}, "
            f"version {self.version}, valid {_span(self.valid_from, self.valid_to)}>"
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class MemorySnapshot:
    """
    What was believed of a subject at one point on both axes.

    Attributes:
        facts: One for each belief, ordered by valid start, then fact id.
        position: Of the last event that was known then.
        recorded_at: What was known at this time …
        valid_at: … about this time.
    """

    facts: tuple[Fact, ...]
    position: int
    recorded_at: datetime
    valid_at: datetime

    def __iter__(self) -> Iterator[Fact]:
        return iter(self.facts)

    def __len__(self) -> int:
        return len(self.facts)

    def __repr__(self) -> str:
        return (
            f"<MemorySnapshot of {len(self.facts)} facts at position {self.position}, "
            f"known {to_text(self.recorded_at)} about {to_text(self.valid_at)}>"
        )


@quickly_made
@dataclass(frozen=True, slots=True, kw_only=True)
class FactVersion:
    """
    One event of a fact, with who caused it and why.

    Attributes:
        fact_id: The fact.
        kind: ``asserted``, ``revised``, ``corrected``, ``corroborated``, ``ended``,
            ``retired``, ``restored``, ``rolled_back``, ``redacted`` or ``thinned``.
        content: What it says; ``None`` when it says nothing, or was redacted or thinned.
        valid_from: For when it says so; ``None`` where it says nothing of that.
        valid_to: Until when, exclusive; of an ``ended`` version, when it ended.
        confidence: How sure it was said, 0 to 1; ``None`` where it says nothing.
        metadata: The caller's own fields that came with it.
        claimed_at: When an imported statement says it was recorded elsewhere.
        restores: The version it brings back, if it does.
        on_behalf_of: The user whom the actor did it for, if it was said.
        survivor: The fact that says the same, where it was merged into one.
        thinned: The versions whose content it made unreadable, where it thinned the fact;
            the first and the last of each run.
    """

    fact_id: str
    version: int
    kind: str
    content: str | None
    valid_from: datetime | None
    valid_to: datetime | None
    recorded_at: datetime
    position: int
    tx_id: int
    action: str
    actor: str | None
    reason: str | None
    trigger: str | None
    source: str | None
    session_id: str | None
    source_turns: tuple[str, ...]
    confidence: float | None
    metadata: Mapping[str, Json] = field(hash=False)
    claimed_at: datetime | None
    restores: int | None
    survivor: str | None = None
    thinned: tuple[tuple[int, int], ...] = ()
    on_behalf_of: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FactHistory:
    """
    The life of one fact.

    Attributes:
        versions: Every event of it, oldest first.
        current_version: Of the last event.
        current_content: What is believed now; ``None`` when nothing is.
    """

    fact_id: str
    scope: Scope
    versions: tuple[FactVersion, ...]
    current_version: int
    current_content: str | None

    def __iter__(self) -> Iterator[FactVersion]:
        return iter(self.versions)

    def __len__(self) -> int:
        return len(self.versions)


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffEntry:
    """
    How one fact differs.

    Attributes:
        before: The belief on the first side; ``None`` when there is none.
        after: The belief on the second side; ``None`` when there is none.
        causes: The events that made the difference, oldest first. Where only time has
            passed, the event that said when the belief begins or ends.
        beliefs_before: In a plan, all beliefs of the fact, for whatever valid time.
        beliefs_after: In a plan, all beliefs of the fact once it is applied.
    """

    fact_id: str
    before: Fact | None
    after: Fact | None
    causes: tuple[FactVersion, ...]
    beliefs_before: tuple[Fact, ...] = ()
    beliefs_after: tuple[Fact, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryDiff:
    """
    What differs between two states of a subject's memory; falsy when nothing does.

    Attributes:
        added: Facts believed on the second side alone, by fact id.
        removed: Facts believed on the first side alone.
        changed: Facts believed on both, with other content, period or metadata.
        from_position: Where the first state stands in the ledger.
        to_position: Where the second state stands in the ledger.
    """

    added: tuple[DiffEntry, ...]
    removed: tuple[DiffEntry, ...]
    changed: tuple[DiffEntry, ...]
    from_position: int
    to_position: int

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.changed)

    def __len__(self) -> int:
        return len(self.added) + len(self.removed) + len(self.changed)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModifiedFact:
    """
    A fact that changed within a span of recorded time.

    Attributes:
        versions: What was recorded of it in that span, oldest first.
    """

    fact_id: str
    scope: Scope
    versions: tuple[FactVersion, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BlameEntry:
    """
    Who said what is visible.

    Attributes:
        fact: What is visible.
        said_by: The event that said it.
        restored_by: The event that last made it visible again, if it was gone meanwhile.
    """

    fact: Fact
    said_by: FactVersion
    restored_by: FactVersion | None

    @property
    def fact_id(self) -> str:
        return self.fact.fact_id

    @property
    def version(self) -> int:
        return self.said_by.version

    @property
    def position(self) -> int:
        return self.said_by.position

    @property
    def tx_id(self) -> int:
        return self.said_by.tx_id

    @property
    def recorded_at(self) -> datetime:
        return self.said_by.recorded_at

    @property
    def actor(self) -> str | None:
        return self.said_by.actor

    @property
    def reason(self) -> str | None:
        return self.said_by.reason

    @property
    def trigger(self) -> str | None:
        return self.said_by.trigger

    @property
    def source(self) -> str | None:
        return self.said_by.source

    @property
    def session_id(self) -> str | None:
        return self.said_by.session_id


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """
    Part of a list that is read at one position, whatever is written meanwhile.

    Attributes:
        items: In order of the list.
        next_cursor: Gives the next part; ``None`` at the end.
        position: Of the last event that was known.
    """

    items: tuple[Fact, ...]
    next_cursor: str | None
    position: int
    recorded_at: datetime
    valid_at: datetime

    def __iter__(self) -> Iterator[Fact]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """
    What a write did.

    Attributes:
        tx_id: The transaction; ``None`` when there was nothing to do.
        recorded_at: When the ledger learned it.
        position: Of its last event.
        fact_ids: The facts it touched, in order.
        facts: What was remembered, one for each item; of a batch alone.
        diff: What it changed; of rollbacks and undos alone.
        deferred: Whether some of it waits: for a legal hold to be released or, of what was
            shared, for the memory that has a copy to be thawed.
        hold_id: The hold it placed; of ``place_hold`` alone.
    """

    tx_id: int | None
    recorded_at: datetime
    position: int
    fact_ids: tuple[str, ...]
    facts: tuple[Fact, ...] = ()
    diff: MemoryDiff | None = None
    deferred: bool = False
    hold_id: str | None = None

    def __iter__(self) -> Iterator[Fact]:
        return iter(self.facts)

    def __len__(self) -> int:
        return len(self.facts)

    def __bool__(self) -> bool:
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class SkippedFact:
    """A fact a rollback leaves as it is, and why."""

    fact_id: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedConflict:
    """
    A fact on which others wrote on top of what would go.

    Attributes:
        versions: What others wrote since, oldest first.
        forced: What taking it back all the same would do; ``None`` for nothing.
    """

    fact_id: str
    versions: tuple[FactVersion, ...]
    forced: DiffEntry | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RollbackPlan:
    """
    What a rollback would do; nothing is written until it is applied.

    Attributes:
        diff: Exactly what would change.
        skipped: Facts left as they are, such as redacted ones.
        conflicts: Facts that would need ``on_conflict`` to be decided.
        position: Where the ledger stood; applied only while the subject has not moved.
        recorded_at: When it was made.
        scope: Whose memory.
        action: ``rollback`` or ``undo``.
        origin: The ledger it was made for; it is applied to that one alone.
        moves: The events that would be appended.
    """

    diff: MemoryDiff
    skipped: tuple[SkippedFact, ...]
    conflicts: tuple[PlannedConflict, ...]
    position: int
    recorded_at: datetime
    scope: Scope
    action: str
    origin: str
    moves: Moves = field(repr=False)


def _span(start: datetime | None, end: datetime | None) -> str:
    return f"[{to_text(start) or '…'}, {to_text(end) or '…'})"
