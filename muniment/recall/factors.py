"""What the score of a belief is multiplied with, whatever was asked."""

from collections.abc import Mapping, Sequence
from typing import Final

from muniment.domain.time import BEGINNING
from muniment.projections.uses import UseCounts
from muniment.recall import ranking
from muniment.recall.believed import Document
from muniment.recall.questions import Question


_RECENCY: Final = 0.1
_IMPORTANCE: Final = 0.2
_CONFIDENCE: Final = 0.2
_USE: Final = 0.1
"""How much of a score each of them can give or take."""

_USES_HALF: Final = 4
"""So many uses give half of what uses can: what is used often is not all that is."""

_LEAST: Final = 1 - _IMPORTANCE / 2 - _CONFIDENCE
_MOST: Final = 1 + _RECENCY + _IMPORTANCE / 2 + _USE

SPREAD: Final = 1.001 * _MOST / _LEAST
"""So many times another factor one is at most; a little more, as numbers are rounded."""

FACTORS: Final = ("recency", "importance", "confidence", "use")

_DAY_US: Final = 86_400_000_000


class Factors:
    """
    Weighs beliefs by how recent, important, sure and often used they are.

    Safe to use from many threads.

    Args:
        uses: Counts how often each was of use.
        half_life_days: After which a belief counts half as recent.
        half_lives: The same by category.
    """

    def __init__(
        self, uses: UseCounts, half_life_days: float, half_lives: Mapping[str, float]
    ) -> None:
        self._uses = uses
        self._half_life_days = half_life_days
        self._half_lives = half_lives

    def of(
        self, question: Question, documents: Sequence[Document]
    ) -> list[tuple[float, ...]]:
        """Return by document what is added to 1 to multiply its score with."""
        valid_at = question.as_of.valid_at
        uses = self._uses_of(question, documents)
        found: list[tuple[float, ...]] = []
        for each in documents:
            row, traits = each.row, each.row.traits
            start = row.recorded.start if row.valid.start == BEGINNING else row.valid.start
            days = self._half_lives.get(traits.category or "", self._half_life_days)
            used = uses.get(row.fact_id, 0)
            found.append(
                (
                    _RECENCY * ranking.faded(valid_at - start, days * _DAY_US),
                    _IMPORTANCE * (traits.importance - 0.5),
                    _CONFIDENCE * (traits.confidence - 1),
                    _USE * used / (used + _USES_HALF),
                )
            )
        return found

    def _uses_of(
        self, question: Question, documents: Sequence[Document]
    ) -> Mapping[str, int]:
        """Return by fact how often it was of use, up to the point that was asked for."""
        theirs: dict[str, list[str]] = {}
        for each in documents:
            theirs.setdefault(each.subject.ref, []).append(each.row.fact_id)
        found: dict[str, int] = {}
        for ref, fact_ids in theirs.items():
            found.update(self._uses.uses(ref, fact_ids, position=question.position))
        return found
