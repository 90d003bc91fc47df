"""What of an answer is kept from those who read a memory, but not all of it."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import TypeVar

from muniment.api.answers import Fact, FactHistory, FactVersion
from muniment.domain.access import Right, may_read
from muniment.domain.events import Evidence
from muniment.domain.scope import Scope
from muniment.errors import UnknownFactError


ACCESS_LEVEL = "access_level"
"""The key of a fact's metadata that says who reads it; see `may_read`."""

T = TypeVar("T")


def careful(rights: Sequence[tuple[Scope | None, Right]]) -> frozenset[Scope | None]:
    """Return whose memory is read without what is marked as restricted."""
    return frozenset(
        scope for scope, right in rights if not may_read(right.standing, "restricted")
    )


def is_careful(rights: Sequence[tuple[Scope | None, Right]]) -> bool:
    """Whether one of *rights* stops at what is marked as restricted."""
    return bool(careful(rights))


def is_restricted(part: Fact | FactVersion | Evidence) -> bool:
    """Whether a fact says of itself that not everybody reads it who reads the memory."""
    return not may_read(_CAREFUL, part.metadata.get(ACCESS_LEVEL))


def unrestricted(answer: T, *, of: AbstractSet[Scope | None] | None = None) -> T:
    """
    Return *answer* without what is restricted in it.

    Args:
        answer: Of a reading verb.
        of: Of these memories, where it has facts of others, too; all of it if left out.

    Raises:
        UnknownFactError: If it is about one fact, and that is: as if there were none.
    """
    try:
        return _pruned(answer, of)
    except _RestrictedError as error:
        raise UnknownFactError(error.fact_id) from None


def own_words(answer: object) -> object:
    """
    Return the answer to a write for somebody who does not see what is restricted.

    What they have just said is not kept from them. If it was there, and is restricted,
    nothing else of it is told: they said the same again, and may not read it.
    """
    if not isinstance(answer, Fact):
        return unrestricted(answer)
    if not is_restricted(answer):
        return answer
    return replace(answer, metadata={}, entities=(), source=None, source_turns=())


class _RestrictedError(Exception):
    """A part that is restricted; the list it stands in goes on without it."""

    def __init__(self, fact_id: str) -> None:
        self.fact_id = fact_id


def _pruned(part: T, of: AbstractSet[Scope | None] | None) -> T:
    match part:
        case Fact() if of is not None and part.scope not in of:
            return part
        case Fact() | FactVersion():
            if is_restricted(part):
                raise _RestrictedError(part.fact_id)
            return part
        case FactHistory():
            # Whole or not at all: a history with gaps would tell what was hidden when.
            for version in part.versions:
                _pruned(version, of)
            return part
        case tuple():
            kept = tuple(_kept(part, of))
            return part if len(kept) == len(part) and kept == part else kept  # type: ignore[return-value]
        case _ if hasattr(part, "__dataclass_fields__"):
            return _without(part, of)
        case _:
            return part


def _kept(parts: Sequence[object], of: AbstractSet[Scope | None] | None) -> list[object]:
    kept = []
    for each in parts:
        try:
            kept.append(_pruned(each, of))
        except _RestrictedError:
            continue
    return kept


def _without(part: T, of: AbstractSet[Scope | None] | None) -> T:
    named = {name: getattr(part, name) for name in part.__dataclass_fields__}  # type: ignore[attr-defined]
    pruned = {name: _pruned(value, of) for name, value in named.items()}
    changed = {name: value for name, value in pruned.items() if value is not named[name]}
    return replace(part, **changed) if changed else part  # type: ignore[type-var]


_CAREFUL = "agent"
"""One of the standings that stop at what is restricted; they all stop at the same."""
