"""What each leg of a search makes of documents, but for the terms and the vectors. Pure."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from muniment.domain.time import BEGINNING
from muniment.recall import ranking
from muniment.recall.documents import Document
from muniment.recall.tokens import normal, terms


_CONVERSATION_US: Final = 3_600_000_000
"""Turns that far apart are not of one conversation."""

_SAME_ID, _SAME_TEXT, _PHRASE = 3.0, 2.0, 1.0


def exact(question: str, documents: Sequence[Document]) -> list[float]:
    """Return 3 for the fact with that id, 2 for that text, 1 for a phrase of it, else 0."""
    plain, bare = normal(question), question.strip()
    wanted = set(terms(question))
    return [
        _SAME_ID
        if each.row.fact_id == bare
        else _SAME_TEXT
        if each.opened.plain == plain
        else _PHRASE
        # A word within another is no phrase: every term has to be there, too.
        if plain in each.opened.plain and wanted <= each.opened.counts.keys()
        else 0.0
        for each in documents
    ]


def entities(question: str, documents: Sequence[Document]) -> list[float]:
    """Return the rarity, added up, of the entities of each document that are asked for."""
    wanted = set(terms(question))
    named = {
        entity
        for each in documents
        for entity in each.opened.entities
        if entity and wanted.issuperset(entity)
    }
    if not named:
        return [0.0] * len(documents)
    return ranking.shares(
        [[entity in each.opened.entities for each in documents] for entity in sorted(named)]
    )


def above_mean(cosines: Sequence[float | None]) -> list[float]:
    """Return how much nearer than the mean each document is; 0 for one not known."""
    known = [each for each in cosines if each is not None]
    mean = sum(known) / len(known) if known else 0.0
    return [0.0 if each is None else each - mean for each in cosines]


def neighbours(
    documents: Sequence[Document],
) -> tuple[list[int | None], list[int | None]]:
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
