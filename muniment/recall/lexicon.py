"""Texts as sparse vectors, for an engine that finds points by their terms."""

import hashlib
from collections import Counter
from dataclasses import dataclass
from typing import Final

from muniment.projections.ports import Terms
from muniment.recall.tokens import asked, terms


_SATURATION: Final = 1.2
_LENGTH_SHARE: Final = 0.75
_USUAL_LENGTH: Final = 24
"""The mean of BM25, fixed: a weight is made once, whatever else is remembered later."""


@dataclass(frozen=True, slots=True)
class TermLexicon:
    """
    The `muniment.projections.ports.Lexicon` of the keyword leg.

    The engine multiplies a weight by the rarity of its term.
    """

    name: str = "terms-1"

    def passage(self, text: str) -> Terms:
        found = terms(text)
        norm = _SATURATION * (
            1 - _LENGTH_SHARE + _LENGTH_SHARE * len(found) / _USUAL_LENGTH
        )
        return _numbered(
            {
                term: often * (_SATURATION + 1) / (often + norm)
                for term, often in Counter(found).items()
            }
        )

    def query(self, text: str) -> Terms:
        return _numbered(
            {term: float(often) for term, often in Counter(asked(text)).items()}
        )


def _numbered(weights: dict[str, float]) -> Terms:
    """Return terms by number; two that share one number share their weight."""
    found: dict[int, float] = {}
    for term, weight in weights.items():
        digest = hashlib.blake2b(term.encode(), digest_size=4).digest()
        number = int.from_bytes(digest, "big")
        found[number] = found.get(number, 0.0) + weight
    return Terms(indices=tuple(found), weights=tuple(found.values()))
