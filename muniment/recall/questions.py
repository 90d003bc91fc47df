"""What is asked of a memory, and what comes back, before a caller sees it."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from muniment.domain.time import AsOf, Instant
from muniment.ledger.vault import Subject
from muniment.recall.believed import Document


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """
    What may be returned; a field that is ``None`` does not bind.

    Attributes:
        statuses: Others do not even weigh in.
        since: Holds from then or later; what began at a time nobody said is left out.
        until: Holds from before then; likewise.
    """

    statuses: tuple[str, ...]
    categories: tuple[str, ...] | None = None
    attributes: tuple[str, ...] | None = None
    sources: tuple[str, ...] | None = None
    min_confidence: float | None = None
    since: Instant | None = None
    until: Instant | None = None

    @property
    def narrows(self) -> bool:
        """Whether any but the status binds."""
        labels = (self.categories, self.attributes, self.sources)
        numbers = (self.min_confidence, self.since, self.until)
        return any(each is not None for each in (*labels, *numbers))


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """
    What is asked, of whom, at which point.

    Attributes:
        subjects: Searched together.
        known_at: The recorded time up to which all is known; the model of then ranks.
        expired_at: What expires by then is left out.
        recent: What was said just before, by which the question is widened.
        position: The last one known at that point.
        required: Up to which the current facts must have come to be asked.
        is_current: Whether that is now, so that the current facts can be asked.
        limit: At most so many.
        past: Whether what is over counts, too.
        hidden: Facts that are stored and not to be used.
    """

    text: str
    position: int
    required: int
    is_current: bool
    subjects: Sequence[Subject]
    as_of: AsOf
    known_at: Instant
    expired_at: Instant
    filters: Filters
    recent: Sequence[str]
    limit: int
    past: bool = False
    hidden: AbstractSet[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """
    A belief that answers, and why it stands where it does.

    Attributes:
        ranks: By leg, its rank there.
        scores: By leg, its score there.
        factors: What the fused score was multiplied with, by reason.
    """

    document: Document
    score: float
    ranks: Mapping[str, int]
    scores: Mapping[str, float]
    factors: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """
    What was found.

    Attributes:
        lapsed: Whether something expired after `Question.known_at`: no event tells of it.
        unserved: By leg, why it could not be served, or not for all.
        model: The embedding model that was asked; empty for none.
    """

    hits: Sequence[Ranked]
    unserved: Mapping[str, str]
    model: str
    lapsed: bool
