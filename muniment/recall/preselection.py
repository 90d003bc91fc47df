"""
Which facts of a subject with very many to look at: those the engine finds.

Up to fifteen thousand facts, every one is ranked: exactly, and as quickly. Beyond, or where
they are not kept in memory, the engine of the current facts says which could matter now;
each is read from the timeline all the same, so nothing it wrongly holds is ever shown.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from muniment.domain.events import Status
from muniment.domain.time import Instant
from muniment.errors import IndexUnavailableError
from muniment.projections.ports import CurrentFacts, Generation, Lexicon, Vector, Within


RANKED_MAX: Final = 15_000
"""Where ranking every fact begins to take longer than asking the engine."""

REREAD_MAX: Final = 1_000
"""The same of a memory that has to be read for each search, which takes far longer."""

_DEPTH: Final = 200
"""So many are found by words, and as many by meaning; the neighbours are among them."""

FactOf = tuple[str, str]
"""A subject, as the ledger names it, and a fact of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sought:
    """
    What an engine is asked.

    Attributes:
        subject_refs: Whose.
        position: Up to which the engine must have their facts to be asked.
        limit: How many facts the answer may have.
        is_reread: Whether to rank every fact, they would have to be read first.
        since, until: Bounds of the start of what holds.
    """

    text: str
    subject_refs: tuple[str, ...]
    position: int
    limit: int
    is_reread: bool
    valid_at: Instant
    expired_at: Instant
    statuses: tuple[str, ...]
    categories: tuple[str, ...] | None
    attributes: tuple[str, ...] | None
    min_confidence: float | None
    since: Instant | None
    until: Instant | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Preselected:
    """
    What the engine finds.

    Attributes:
        keyword: By fact, how well its terms match.
        near: The facts nearest in meaning.
        is_all: Whether there is nothing else that matches.
        asked: The model, and the vector of the question by it; ``None`` where there is
            none.
    """

    keyword: Mapping[FactOf, float]
    near: frozenset[FactOf]
    is_all: bool
    asked: tuple[str, Vector] | None


class Kept(Protocol):
    """Who keeps the current facts up; see `muniment.projections.upkeep.Upkeep`."""

    def current(self) -> tuple[Generation, CurrentFacts] | None: ...

    def has_all(self, subject_refs: Collection[str], position: int) -> bool: ...


class Asks(Protocol):
    """Who turns a question into a vector; see `muniment.recall.meaning.Meaning`."""

    def vector(self, question: str, model: str) -> Vector | None: ...


class Preselection:
    """
    Asks the engine, where that is worth it.

    Args:
        kept: Gives the engine, where this process has one.
        asks: Embeds the question.
        lexicon: Cuts it into terms.
        ranked_max: Of subjects with more facts, only what the engine finds is ranked.
    """

    def __init__(
        self, kept: Kept, asks: Asks, lexicon: Lexicon, *, ranked_max: int = RANKED_MAX
    ) -> None:
        self._kept = kept
        self._asks = asks
        self._lexicon = lexicon
        self._ranked_max = ranked_max

    def of(self, sought: Sought) -> Preselected | None:
        """Return what the engine finds; ``None`` where every fact is to be ranked."""
        current = self._kept.current()
        if current is None:
            return None
        generation, facts = current
        try:
            count = sum(facts.size(each) for each in sought.subject_refs)
            most = self._ranked_max
            if count <= (min(most, REREAD_MAX) if sought.is_reread else most):
                return None
            # Behind, it would miss what was just written; to rank every fact takes less
            # than to wait for it.
            if not self._kept.has_all(sought.subject_refs, sought.position):
                return None
            return self._found(sought, generation, facts)
        except IndexUnavailableError:
            return None

    def _found(
        self, sought: Sought, generation: Generation, facts: CurrentFacts
    ) -> Preselected:
        within = Within(
            subject_refs=sought.subject_refs,
            valid_at=sought.valid_at,
            expired_at=sought.expired_at,
            categories=sought.categories,
            attributes=sought.attributes,
            statuses=tuple(Status(each) for each in sought.statuses),
            min_confidence=sought.min_confidence,
            since=sought.since,
            until=sought.until,
        )
        # Some of what is found may not be shown after all.
        depth = max(_DEPTH, 2 * sought.limit)
        terms = self._lexicon.query(sought.text)
        matching = facts.matching(terms, within, limit=depth) if terms.indices else ()
        vector = self._asks.vector(sought.text, generation.model)
        near = () if vector is None else facts.nearest(vector, within, limit=depth)
        return Preselected(
            keyword={(each.subject_ref, each.fact_id): each.score for each in matching},
            near=frozenset((each.subject_ref, each.fact_id) for each in near),
            is_all=len(matching) < depth and len(near) < depth,
            asked=None if vector is None else (generation.model, vector),
        )
