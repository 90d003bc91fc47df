"""From a question to ranked beliefs: every leg over the same documents, then one order."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from muniment.domain.events import Status
from muniment.domain.time import BEGINNING, Instant
from muniment.ledger.vault import Subject
from muniment.projections.uses import UseCounts
from muniment.recall import legs, ranking
from muniment.recall.arranged import Arranged
from muniment.recall.believed import Document, Found
from muniment.recall.documents import Documents
from muniment.recall.factors import FACTORS, SPREAD, Factors
from muniment.recall.meaning import Asking, Meaning, Nearness, likeness
from muniment.recall.preselection import FactOf, Preselected, Preselection, Sought
from muniment.recall.questions import Answer, Filters, Question, Ranked
from muniment.recall.tokens import asked, terms


EXACT: Final = "exact"
KEYWORD: Final = "keyword"
MEANING: Final = "meaning"
CONTEXT: Final = "context"
ENTITY: Final = "entity"
ASSOCIATION: Final = "association"

_WEIGHTS: Final = {
    EXACT: 2.0,
    KEYWORD: 1.0,
    MEANING: 0.5,
    CONTEXT: 0.5,
    ENTITY: 0.3,
    ASSOCIATION: 0.5,
}
_WEIGHTS_IN_CONVERSATION: Final = {**_WEIGHTS, KEYWORD: 0.5, MEANING: 0.8}
"""Its words are seldom those of what it calls up; what it is about says more."""

_FUSION: Final = 10
_MEANING_DEPTH: Final = 100
"""Cosines rank everything; only so many say something."""

_ASSOCIATED_WITH: Final = 3
"""What comes to mind first calls up the rest; further down, much is off the subject."""

_RECENT_WEIGHT: Final = 0.7
_SYNONYM_WEIGHT: Final = 0.5
"""What a term counts that was not asked for itself."""

_LIKENESS: Final = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """
    What is configured of ranking.

    Attributes:
        half_life_days: After which a belief counts half as recent.
        half_lives: The same by category.
        synonyms: By term, other terms that mean it.
    """

    half_life_days: float = 180.0
    half_lives: Mapping[str, float] = field(default_factory=dict)
    synonyms: Mapping[str, Sequence[str]] = field(default_factory=dict)


class Searcher:
    """
    Ranks what subjects believe, now or then, by one code path.

    Safe to use from many threads.
    """

    def __init__(
        self,
        documents: Documents,
        meaning: Meaning,
        tuning: Tuning,
        preselection: Preselection,
        uses: UseCounts,
    ) -> None:
        self._factors = Factors(uses, tuning.half_life_days, tuning.half_lives)
        self._documents = documents
        self._meaning = meaning
        self._tuning = tuning
        self._preselection = preselection

    def search(self, question: Question) -> Answer:
        """Return at most *limit* beliefs that answer, best first, ties by fact id."""
        chosen = self._preselected(question)
        answer = self._ranked(question, chosen)
        if chosen and not chosen.is_all and len(answer.hits) < question.limit:
            # Too many of those it found may not be shown; there are others.
            return self._ranked(question, None)
        return answer

    def _ranked(self, question: Question, chosen: Preselected | None) -> Answer:
        founds = [self._of(each, question, chosen) for each in question.subjects]
        lapsed = frozenset(
            id(each)
            for found in founds
            for each in found.expiring
            if _has_lapsed(each, question)
        )
        arranged = self._arranged(question, founds, lapsed)
        documents = arranged.documents
        asked_with = "\n".join((*question.recent, question.text))
        nearness = self._meaning.nearness(
            asked_with,
            arranged,
            question.known_at,
            asking=Asking.IN_CONVERSATION if question.recent else Asking.PLAIN,
            known=chosen.asked if chosen else None,
        )
        scores = self._scores(question, arranged, nearness)
        if chosen is not None:
            # How rare a term is among so few says nothing; the engine knows it of all.
            keyword = [chosen.keyword.get(_name(each), 0.0) for each in documents]
            scores[KEYWORD] = arranged.in_context(keyword)
        allowed = _allowed(documents, question.filters)
        ranks = _ranks(scores, allowed)
        if question.recent and nearness.cosines is not None:
            first = ranking.fused(ranks, _weights(question), k=_FUSION)
            scores[ASSOCIATION] = _associated(arranged, first, nearness.model)
            ranks |= _ranks({ASSOCIATION: scores[ASSOCIATION]}, allowed)
        hits = self._ordered(question, documents, scores, ranks)
        unserved = {} if nearness.unserved is None else {MEANING: nearness.unserved}
        return Answer(
            hits=hits, unserved=unserved, model=nearness.model, lapsed=bool(lapsed)
        )

    def _preselected(self, question: Question) -> Preselected | None:
        """Return what the engine finds, where there are too many to rank every one."""
        filters = question.filters
        # What a fact came from is sealed, so the engine cannot know it.
        if not question.is_current or not question.subjects or filters.sources:
            return None
        if question.past:  # of which it holds nothing
            return None
        return self._preselection.of(
            Sought(
                text="\n".join((*question.recent, question.text)),
                subject_refs=tuple(each.ref for each in question.subjects),
                position=question.required,
                limit=question.limit,
                is_reread=any(map(self._documents.is_reread, question.subjects)),
                valid_at=question.as_of.valid_at,
                expired_at=question.known_at,
                statuses=filters.statuses,
                categories=filters.categories,
                attributes=filters.attributes,
                min_confidence=filters.min_confidence,
                since=filters.since,
                until=filters.until,
            )
        )

    def _arranged(
        self, question: Question, founds: Sequence[Found], lapsed: frozenset[int]
    ) -> Arranged:
        """Return what of *founds* is ranked."""
        left_out = frozenset[int]() if question.past else lapsed
        chosen_by = question.filters.statuses, question.hidden, left_out
        arranged = self._documents.arrangements.get(founds, chosen_by)
        if arranged is None:
            usable = {Status(each) for each in question.filters.statuses}
            documents = [
                each
                for found in founds
                for each in found.documents
                if each.row.traits.status in usable
                and each.row.fact_id not in question.hidden
                and id(each) not in left_out
            ]
            arranged = Arranged(documents)
            self._documents.arrangements.keep(arranged, founds, chosen_by)
        return arranged

    def _of(
        self, subject: Subject, question: Question, chosen: Preselected | None
    ) -> Found:
        as_of, expired_at = question.as_of, question.known_at
        if question.past:
            return self._documents.with_past(subject, as_of)
        if chosen is None:
            return self._documents.of(subject, as_of, expired_at=expired_at)
        found = chosen.keyword.keys() | chosen.near
        theirs = {fact_id for ref, fact_id in found if ref == subject.ref}
        # An id has no terms of the text that it names.
        theirs.add(question.text.strip())
        return self._documents.of_facts(subject, theirs, as_of, expired_at=expired_at)

    def _scores(
        self, question: Question, arranged: Arranged, nearness: Nearness
    ) -> dict[str, list[float]]:
        wanted, weights = _widened(question, self._tuning.synonyms)
        keyword = arranged.index.bm25(wanted, weights=weights)
        scores = {
            EXACT: legs.exact(
                question.text, arranged.documents, arranged.index, arranged.facts
            ),
            KEYWORD: arranged.in_context(keyword),
            ENTITY: arranged.entities.named(question.text),
        }
        if nearness.cosines is not None:
            scores[MEANING] = legs.above_mean(nearness.cosines)
            scores[CONTEXT] = arranged.in_context(scores[MEANING])
            if nearness.unserved:
                for place, each in enumerate(nearness.cosines):
                    if each is None:
                        scores[MEANING][place] = scores[CONTEXT][place] = float("-inf")
        return scores

    def _ordered(
        self,
        question: Question,
        documents: Sequence[Document],
        scores: Mapping[str, Sequence[float]],
        ranks: Mapping[str, Mapping[int, int]],
    ) -> list[Ranked]:
        fused = ranking.fused(ranks, _weights(question), k=_FUSION)
        # What cannot be shown whatever its factors are needs none.
        count = ranking.looked_at(question.limit)
        places = ranking.foremost(fused, count, spread=SPREAD)
        factor = self._factors.of(question, [documents[place] for place in places])
        factors = dict(zip(places, factor, strict=True))
        final = {at: fused[at] * (1 + sum(factors[at])) for at in places}
        order = _best_first(documents, final)
        chosen = ranking.diverse(
            order,
            final,
            {at: documents[at].opened.counts for at in order},
            limit=question.limit,
            share=_LIKENESS,
        )
        return [
            Ranked(
                document=documents[place],
                score=final[place],
                ranks={leg: found[place] for leg, found in ranks.items() if place in found},
                scores={leg: scores[leg][place] for leg in ranks if place in ranks[leg]},
                factors=dict(zip(FACTORS, factors[place], strict=True)),
            )
            for place in chosen
        ]


def _weights(question: Question) -> Mapping[str, float]:
    return _WEIGHTS_IN_CONVERSATION if question.recent else _WEIGHTS


def _best_first(documents: Sequence[Document], scores: Mapping[int, float]) -> list[int]:
    """Return the places that have *scores*, ties by fact."""

    def standing(place: int) -> tuple[float, str, Instant]:
        row = documents[place].row
        return -scores[place], row.fact_id, row.valid.start

    return sorted(scores, key=standing)


def _associated(arranged: Arranged, first: Mapping[int, float], model: str) -> list[float]:
    """Return how like in meaning each is to what the other legs put *first*."""
    documents = arranged.documents
    vectors = {at: documents[at].opened.vectors.get(model) for at in first}
    places = _best_first(documents, {at: first[at] for at in first if vectors[at]})
    named = [(first[at], vectors[at]) for at in places[:_ASSOCIATED_WITH]]
    seeds = [(weight, each) for weight, each in named if each]
    if not seeds:
        return [float("-inf")] * len(documents)
    found = likeness(seeds, arranged.rows(model))
    return [float("-inf") if each is None else each for each in found]


def _ranks(
    scores: Mapping[str, Sequence[float]], allowed: Sequence[bool] | None
) -> dict[str, dict[int, int]]:
    """Return by leg the ranks of what may be returned."""
    found: dict[str, dict[int, int]] = {}
    for leg, of_leg in scores.items():
        if leg == CONTEXT and of_leg is scores[MEANING]:
            found[leg] = found[MEANING]
            continue
        by_meaning = leg in (MEANING, CONTEXT, ASSOCIATION)
        nothing = float("-inf") if by_meaning else 0.0
        masked = (
            of_leg
            if allowed is None
            else [
                score if may else nothing
                for score, may in zip(of_leg, allowed, strict=True)
            ]
        )
        depth = _MEANING_DEPTH if by_meaning else None
        found[leg] = ranking.ranks(masked, depth=depth, floor=nothing)
    return found


def _allowed(documents: Sequence[Document], filters: Filters) -> list[bool] | None:
    """Return for each document whether it may be returned; ``None`` for all of them."""
    if not filters.narrows:
        return None
    return [_passes(each, filters) for each in documents]


def _passes(document: Document, filters: Filters) -> bool:
    traits = document.row.traits
    return (
        _among(traits.category, filters.categories)
        and _among(traits.attribute, filters.attributes)
        and _among(document.opened.content.evidence.source, filters.sources)
        and (filters.min_confidence is None or traits.confidence >= filters.min_confidence)
        and _starts_within(document.row.valid.start, filters)
    )


def _has_lapsed(document: Document, question: Question) -> bool:
    expires_at = document.row.traits.expires_at
    return expires_at is not None and question.known_at < expires_at <= question.expired_at


def _name(document: Document) -> FactOf:
    return document.subject.ref, document.row.fact_id


def _among(value: str | None, wanted: tuple[str, ...] | None) -> bool:
    return wanted is None or value in wanted


def _starts_within(start: Instant, filters: Filters) -> bool:
    if filters.since is None and filters.until is None:
        return True
    return (
        start != BEGINNING
        and (filters.since is None or start >= filters.since)
        and (filters.until is None or start < filters.until)
    )


def _widened(
    question: Question, synonyms: Mapping[str, Sequence[str]]
) -> tuple[list[str], dict[str, float]]:
    """Return the terms to look for, and the weights of those nobody asked for."""
    wanted = asked(question.text)
    weights: dict[str, float] = {}
    own = set(wanted)
    for word, others in sorted(synonyms.items()):
        if own.issuperset(terms(word)):
            alike = {term for other in others for term in terms(other)}
            weights.update(dict.fromkeys(sorted(alike - own), _SYNONYM_WEIGHT))
    said = Counter(term for turn in question.recent for term in asked(turn))
    weights.update(
        dict.fromkeys(sorted(said.keys() - own - weights.keys()), _RECENT_WEIGHT)
    )
    return [*wanted, *weights], weights
