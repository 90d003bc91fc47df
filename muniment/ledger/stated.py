"""
What facts state, from bytes: the kinds of event of which a ledger has most.

`muniment.ledger.codec` reads any kind field by field. Whoever reads one statement after
the other is told by a type what stands there, which takes a third of the time, and may
have the parts without the event.
"""

from typing import Any

import msgspec

from muniment.domain.events import (
    Content,
    Evidence,
    FactAsserted,
    FactRevised,
    RevisionCause,
    Status,
    Traits,
)
from muniment.domain.time import Instant, Period


class StoredTraits(msgspec.Struct, frozen=True, gc=False):
    """The traits of a statement, as they are stored."""

    status: Status
    confidence: float
    importance: float
    core: bool
    category: str | None = None
    attribute: str | None = None
    expires_at: int | None = None


class Header(msgspec.Struct, frozen=True, gc=False):
    """The readable part of a statement, as it is stored."""

    valid: tuple[int, int]
    traits: StoredTraits


class _RevisedHeader(Header, frozen=True, gc=False):
    cause: RevisionCause


class Sealed(msgspec.Struct, frozen=True, gc=False):
    """The sealed part of a statement, as it is stored."""

    text: str
    source: str
    source_turns: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    metadata: dict[str, Any] = {}
    claimed_at: int | None = None


header_of = msgspec.json.Decoder(Header).decode
"""Returns the `Header` that some bytes hold."""

sealed_of = msgspec.json.Decoder(Sealed).decode
"""Returns what some unsealed bytes hold."""

_revised_header_of = msgspec.json.Decoder(_RevisedHeader).decode


def asserted(header: bytes, content: bytes | None) -> FactAsserted:
    """Return the event stored as *header* and *content*."""
    said = header_of(header)
    return FactAsserted(
        valid=_period(said), traits=_traits(said.traits), content=_content(content)
    )


def revised(header: bytes, content: bytes | None) -> FactRevised:
    """Return the event stored as *header* and *content*."""
    said = _revised_header_of(header)
    return FactRevised(
        valid=_period(said),
        traits=_traits(said.traits),
        content=_content(content),
        cause=said.cause,
    )


def _period(said: Header) -> Period:
    start, end = said.valid
    return Period(Instant(start), Instant(end))


def _traits(said: StoredTraits) -> Traits:
    return Traits(
        category=said.category,
        attribute=said.attribute,
        status=said.status,
        confidence=said.confidence,
        importance=said.importance,
        core=said.core,
        expires_at=None if said.expires_at is None else Instant(said.expires_at),
    )


def _content(stored: bytes | None) -> Content | None:
    if not stored:
        return None
    said = sealed_of(stored)
    return Content(
        text=said.text,
        evidence=Evidence(
            source=said.source,
            source_turns=said.source_turns,
            entities=said.entities,
            metadata=said.metadata,
            claimed_at=None if said.claimed_at is None else Instant(said.claimed_at),
        ),
    )
