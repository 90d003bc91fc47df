"""
Everything about one subject, as others read it: the shape of an export, pinned.

The published JSON Schema is made from these classes, and an import reads by them.
"""

from typing import Any

import msgspec


FORMAT = "muniment export 1"


class _Shape(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    pass


class Stored(_Shape, frozen=True, kw_only=True):
    """An event as the ledger stores it, opened; *content* is null once unreadable."""

    topic: str
    header: dict[str, Any]
    content: dict[str, Any] | None


class Version(_Shape, frozen=True, kw_only=True):
    """One version of a fact; times are RFC 3339 in UTC, an open end is null."""

    version: int
    kind: str
    content: str | None
    valid_from: str | None
    valid_to: str | None
    recorded_at: str
    position: int
    tx_id: int
    source: str | None
    confidence: float | None
    entities: list[str]
    metadata: dict[str, Any]
    claimed_at: str | None
    stored: Stored


class PortableFact(_Shape, frozen=True, kw_only=True):
    """A fact: what it says now, if anything, and every version of it, oldest first."""

    fact_id: str
    current: str | None
    versions: list[Version]


class Done(_Shape, frozen=True, kw_only=True):
    """A transaction: who did something, when, and why."""

    tx_id: int
    recorded_at: str
    action: str
    actor: str | None
    reason: str | None
    trigger: str | None
    session_id: str | None
    source_turns: list[str]
    claimed_at: str | None


class About(_Shape, frozen=True, kw_only=True):
    """
    An event that is of no fact.

    Such as what concerns the subject as a whole: holds, freezes, requests, copies given
    out.
    """

    kind: str
    version: int
    recorded_at: str
    position: int
    tx_id: int
    stored: Stored


class Conversation(_Shape, frozen=True, kw_only=True):
    """One session: its beginning and end, what was said in it, and summaries of that."""

    session_id: str
    session: list[About]
    turns: list[About]
    summaries: list[About]


class Counts(_Shape, frozen=True, kw_only=True):
    """How much there is of everything, to be compared with what is there."""

    facts: int
    versions: int
    transactions: int
    about: int
    others: dict[str, int]
    conversation: int = 0


class Document(_Shape, frozen=True, kw_only=True):
    """
    Everything that is remembered of one subject, and everything that was done to it.

    Attributes:
        hidden: How many third parties are tokens in it; such a copy is for reading, and
            not imported.
        sources: Where it holds no other facts than those first said by some sources,
            and conversations: which sources these are.
    """

    format: str
    export_id: str
    made_at: str
    software: str
    ledger: str
    origin: str
    scope: str
    subject_ref: str
    position: int
    counts: Counts
    facts: list[PortableFact]
    transactions: list[Done]
    about: list[About]
    others: dict[str, list[dict[str, Any]]]
    conversations: list[Conversation] = []
    hidden: int = 0
    sources: list[str] = []

    @property
    def talk_count(self) -> int:
        """How many events its conversations have."""
        return sum(
            len(each.session) + len(each.turns) + len(each.summaries)
            for each in self.conversations
        )


def schema() -> dict[str, Any]:
    """Return the JSON Schema of an export."""
    found: dict[str, Any] = msgspec.json.schema(Document)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **found}
