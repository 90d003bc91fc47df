"""What a search gives back."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import overload

from muniment.api.answers import Fact


@dataclass(frozen=True, slots=True, kw_only=True)
class LegRank:
    """
    Where one leg of a search puts a fact.

    Attributes:
        rank: From 1; equal scores share one.
        score: By that leg's own measure; not comparable with another leg's.
    """

    rank: int
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchHit:
    """
    A fact that answers.

    Attributes:
        score: Of all legs together; comparable within one answer alone.
        standing: ``current``; or, where the past was asked for, ``ended``, ``expired``
            or ``retired``.
        legs: By leg (``exact``, ``keyword``, ``meaning``, ``context``, ``entity``,
            ``association``), where it puts the fact; empty unless it was asked to explain.
        factors: What recency, importance, confidence and use add to a factor of 1, by
            which the fused score was multiplied; empty likewise.
    """

    fact: Fact
    score: float
    standing: str = "current"
    legs: Mapping[str, LegRank] = field(default_factory=dict, hash=False)
    factors: Mapping[str, float] = field(default_factory=dict, hash=False)

    @property
    def fact_id(self) -> str:
        return self.fact.fact_id


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchHits:
    """
    What was found, best first.

    Attributes:
        items: The hits.
        position: Of the last event that was known.
        recorded_at: When it was asked, or as of when.
        known_at: What was known up to this recorded time …
        valid_at: … about this time. Asked again as of *known_at* about *valid_at*, the
            answer is the same for ever after, whatever was being recorded meanwhile.
        unserved: By leg, why it could not be served, or not for all; empty when all was
            served.
        model: The embedding model that was asked; empty for none.
    """

    items: tuple[SearchHit, ...]
    position: int
    recorded_at: datetime
    known_at: datetime = field(compare=False)
    valid_at: datetime
    unserved: Mapping[str, str] = field(hash=False)
    model: str

    def __iter__(self) -> Iterator[SearchHit]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    @overload
    def __getitem__(self, place: int) -> SearchHit: ...

    @overload
    def __getitem__(self, place: slice) -> tuple[SearchHit, ...]: ...

    def __getitem__(self, place: int | slice) -> SearchHit | tuple[SearchHit, ...]:
        return self.items[place]
