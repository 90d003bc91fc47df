"""What each leg of a search makes of documents, but for the terms and the vectors. Pure."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Final

from muniment.domain.time import BEGINNING
from muniment.recall import ranking
from muniment.recall.believed import Document
from muniment.recall.tokens import normal, terms


_CONVERSATION_US: Final = 3_600_000_000
"""Turns that far apart are not of one conversation."""

_SAME_ID, _SAME_TEXT, _PHRASE = 3.0, 2.0, 1.0


Neighbours = tuple[Sequence[int | None], Sequence[int | None]]
"""Where the one said just before, and just after, each document stands."""

_Entity = tuple[str, ...]


def exact(
    question: str,
    documents: Sequence[Document],
    index: ranking.TermIndex,
    facts: Mapping[str, Sequence[int]],
) -> list[float]:
    """
    Return 3 for the fact with that id, 2 for that text, 1 for a phrase of it, else 0.

    Args:
        question: Not blank.
        documents: To be compared.
        index: Of their terms.
        facts: By id, where each stands.
    """
    plain = normal(question)
    scores = [0.0] * len(documents)
    # A word within another is no phrase: every term has to be there, too.
    for place in index.having_all(set(terms(question))):
        text = documents[place].opened.plain
        if plain in text:
            scores[place] = _SAME_TEXT if plain == text else _PHRASE
    for place in facts.get(question.strip(), ()):
        scores[place] = _SAME_ID
    return scores


class Entities:
    """
    Where each entity is among documents.

    Args:
        mentioned: The terms of the entities that each document mentions.
    """

    def __init__(self, mentioned: Sequence[Sequence[_Entity]]) -> None:
        self._total = len(mentioned)
        self._having: dict[_Entity, list[int]] = {}
        for place, of_one in enumerate(mentioned):
            for entity in dict.fromkeys(of_one):
                self._having.setdefault(entity, []).append(place)
        self._by_term: dict[str, list[_Entity]] = {}
        for entity in filter(None, self._having):
            self._by_term.setdefault(entity[0], []).append(entity)

    def named(self, question: str) -> list[float]:
        """Return the rarity, added up, of the entities of each that are asked for."""
        wanted = set(terms(question))
        named = sorted(
            entity
            for term in wanted
            for entity in self._by_term.get(term, ())
            if wanted.issuperset(entity)
        )
        return ranking.shares([self._having[each] for each in named], self._total)


def above_mean(cosines: Sequence[float | None]) -> list[float]:
    """Return how much nearer than the mean each document is; 0 for one not known."""
    known = [each for each in cosines if each is not None]
    mean = sum(known) / len(known) if known else 0.0
    return [0.0 if each is None else each - mean for each in cosines]


def neighbours(documents: Sequence[Document]) -> Neighbours:
    """
    Return for each document where the one said just before and just after it stands.

    Only what was drawn from turns of a conversation has neighbours: facts that merely
    happened to be written one after the other tell nothing of each other.
    """
    before: list[int | None] = [None] * len(documents)
    after: list[int | None] = [None] * len(documents)
    order = sorted(
        (place for place, each in enumerate(documents) if _is_of_a_turn(each)),
        key=lambda place: (documents[place].subject.ref, documents[place].row.position),
    )
    for early, late in pairwise(order):
        if _is_one_conversation(documents[early], documents[late]):
            before[late], after[early] = early, late
    return before, after


def _is_of_a_turn(document: Document) -> bool:
    has_turns = bool(document.opened.content.evidence.source_turns)
    return has_turns and document.row.valid.start != BEGINNING


def _is_one_conversation(early: Document, late: Document) -> bool:
    apart = abs(late.row.valid.start - early.row.valid.start)
    return early.subject.ref == late.subject.ref and apart <= _CONVERSATION_US
