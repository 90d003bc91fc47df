"""
What recall and the current facts ask of each other: vectors, points, and who makes them.

Nothing here opens a connection or loads a model. What is named here is implemented in
`muniment.projections` (the current facts, the version vectors) and in `muniment.recall`
(the embedders, the terms).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from muniment.domain.events import Status, Traits
from muniment.domain.thinning import Runs
from muniment.domain.time import Instant, Period
from muniment.ledger.vault import Subject


Vector = Sequence[float]
"""A dense embedding: finite numbers, as many as its model has dimensions, not all zero."""

Said = tuple[str, int]
"""A fact and the version of it that said something."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """
    A sparse vector: the terms of a text, by number, with their weights.

    Attributes:
        indices: 0 to 2**32 - 1, each once.
        weights: Above zero, one for each index.
    """

    indices: tuple[int, ...]
    weights: tuple[float, ...]


class Embedder(Protocol):
    """
    Turns texts into vectors. Safe to use from many threads.

    Attributes:
        name: Of the model, stored with every vector; two models, or two settings of
            one that make other vectors, never share a name.
        dimensions: Of every vector it makes.
        batch: Most texts it is given at once.
    """

    @property
    def name(self) -> str: ...

    @property
    def dimensions(self) -> int: ...

    @property
    def batch(self) -> int: ...

    def passages(self, texts: Sequence[str]) -> Sequence[Vector]:
        """
        Return one vector for each of *texts*, in their order; every one is checked.

        The same text always gives the same vector, up to rounding.

        Raises:
            EmbedderUnavailableError: If it cannot for any of them. The caller tries
                them one by one, then later again; nothing is lost.
        """

    def query(self, text: str) -> Vector:
        """
        Return the vector to look for *text* with.

        Raises:
            EmbedderUnavailableError: If it cannot.
        """

    def queries(self, texts: Sequence[str]) -> Sequence[Vector]:
        """
        Return the vectors to look for each of *texts* with, in their order.

        Raises:
            EmbedderUnavailableError: If it cannot for any of them.
        """


class Lexicon(Protocol):
    """
    Cuts texts into weighted terms. Pure: the same text always gives the same terms.

    Attributes:
        name: Changes whenever the terms or weights of any text do.
    """

    @property
    def name(self) -> str: ...

    def passage(self, text: str) -> Terms:
        """Return the terms by which *text* is found; it may have none."""

    def query(self, text: str) -> Terms:
        """Return the terms to look for *text* with; it may have none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """
    One believed period of one fact, as the current facts hold it. No text is in it.

    Attributes:
        point_id: UUID version 5 of ledger, fact and start of the period.
        version: Of the event that said it.
        position: Of the last event of the fact that was applied.
        dense: ``None`` while its embedding is pending.
        sparse: ``None`` when it has no terms.
    """

    point_id: str
    fact_id: str
    subject_ref: str
    version: int
    position: int
    valid: Period
    traits: Traits
    dense: Vector | None
    sparse: Terms | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """What the current facts hold of a point, without its vectors, to compare."""

    point_id: str
    fact_id: str
    subject_ref: str
    version: int
    position: int
    valid: Period
    traits: Traits
    has_dense: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Within:
    """
    Which points may be found. Every field narrows; nothing widens.

    Attributes:
        subject_refs: Whose; at least one.
        valid_at: About when.
        expired_at: Leave out what expires at or before this recorded time.
        categories: Only of these; ``None`` for any.
        attributes: Only of these; ``None`` for any.
        statuses: Only of these; ``None`` for any.
        min_confidence: At least; ``None`` for any.
        since: Began to hold then or later, at a time that is known; ``None`` for any.
        until: Began to hold before then, likewise.
    """

    subject_refs: tuple[str, ...]
    valid_at: Instant
    expired_at: Instant
    categories: tuple[str, ...] | None = None
    attributes: tuple[str, ...] | None = None
    statuses: tuple[Status, ...] | None = None
    min_confidence: float | None = None
    since: Instant | None = None
    until: Instant | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """
    A point that a leg of a search found.

    Attributes:
        score: Cosine similarity for a vector; the sum over shared terms of both weights
            times the term's rarity among the subjects asked for, for terms.
    """

    point_id: str
    fact_id: str
    subject_ref: str
    version: int
    score: float


class CurrentFacts(Protocol):
    """
    The points of one ledger, as one generation of vectors has them.

    Eventually equal to what is believed now. It may be behind, and after a fault of its
    engine ahead of what is believed: whoever shows a hit checks it against the timeline
    first. Safe to use from many threads.

    Every method raises `IndexUnavailableError` when the engine cannot answer; nothing
    is lost then, since all of it follows from the ledger.
    """

    def upsert(self, points: Sequence[Point], *, until: int) -> None:
        """
        Hold *points*, which follow from the ledger up to the position *until*.

        None replaces one whose position is later: its writer knew more of the ledger.
        """

    def delete(self, point_ids: Sequence[str], *, until: int) -> None:
        """Hold none of *point_ids*, as above: none whose position is later than *until*."""

    def delete_subject(self, subject_ref: str) -> None:
        """Hold nothing of one subject; return when none is left, by exact count."""

    def nearest(self, vector: Vector, within: Within, *, limit: int) -> Sequence[Found]:
        """Return at most *limit* points most similar to *vector*, best first."""

    def matching(self, terms: Terms, within: Within, *, limit: int) -> Sequence[Found]:
        """Return at most *limit* points that share one of *terms*, best first."""

    def count(self, subject_ref: str | None = None) -> int:
        """Return exactly how many points are held, of one subject or of all."""

    def size(self, subject_ref: str) -> int:
        """Return about how many points of one subject are held; quick however many."""

    def scroll(self, *, after: str | None, limit: int) -> tuple[Sequence[Held], str | None]:
        """Return points in the order of their ids, and the id to go on after, if any."""

    def flush(self) -> None:
        """Return when everything done so far outlives a power cut."""

    def scrub(self) -> None:
        """Leave no trace of what was deleted in files of ours; flushes."""

    def optimize(self) -> None:
        """Make searches across many subjects quicker; may block for minutes."""

    def close(self) -> None:
        """Let go of the points; what was flushed stays."""


class Engine(Protocol):
    """
    Where the generations of one ledger's current facts are held.

    An engine in process belongs to one process at a time: whoever makes one while another
    holds it gets `IndexHeldError` at once, and searches from the version vectors.
    """

    def exists(self, number: int) -> bool:
        """
        Whether one generation was opened before, and is still there.

        Raises:
            IndexUnavailableError: If the engine cannot be reached.
        """

    def open(self, generation: "Generation") -> CurrentFacts:
        """
        Return the points of *generation*; none, where it does not exist yet.

        Raises:
            IndexUnavailableError: If the engine cannot be reached, or what it holds
                cannot be read.
        """

    def drop(self, number: int) -> None:
        """Remove one generation, closed before; nothing when there is none."""

    def close(self) -> None:
        """Let go of the engine; another process may take it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionVector:
    """
    The embedding of what one version of a fact said.

    Attributes:
        subject: Whose.
        position: Of the event that said it.
        key_id: Of the stream, in the vault.
        text_tag: Keyed digest of the text, by which it is found again.
        vector: ``None`` while it is pending.
    """

    subject: Subject
    fact_id: str
    version: int
    position: int
    key_id: int
    text_tag: bytes
    vector: Vector | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """
    A version whose embedding has failed so far.

    Attributes:
        position: Of the event that said it.
        attempts: How often it was tried.
    """

    fact_id: str
    version: int
    subject_ref: str
    position: int
    attempts: int


class VersionVectors(Protocol):
    """
    Every version's embedding: exact search as of any moment, without an engine.

    Sealed under the key of its stream; a vector whose key was destroyed is not there.
    *model* is always the name of an embedder. Safe to use from many threads, and where
    the ledger is durable from many processes.
    """

    def put(self, model: str, vectors: Sequence[VersionVector]) -> None:
        """
        Keep *vectors*; durable when this returns.

        One that is pending counts one more failed try, and never replaces one that is
        not. One whose stream has no key any more is left out.
        """

    def of(
        self, subject: Subject, model: str, said: Sequence[Said]
    ) -> Mapping[Said, Vector]:
        """Return the vectors of *said*; a pending or unknown one is left out."""

    def like(self, model: str, wanted: Mapping[bytes, Subject]) -> Mapping[bytes, Vector]:
        """Return by tag the vectors of texts that their subject has embedded before."""

    def pending(self, model: str, *, limit: int) -> Sequence[Pending]:
        """Return versions whose embedding failed so far, the least tried first."""

    def count_pending(self, model: str) -> int:
        """Return how many versions have no vector yet."""

    def count(self, subject_ref: str) -> int:
        """Return how many versions of a subject are kept, pending or not, of any model."""

    def scrub(self) -> bool:
        """Overwrite what was forgotten; whether no trace of it is left in our files."""

    def forget(self, subject_ref: str, fact_ids: Sequence[str] | None = None) -> None:
        """Keep nothing of these facts of a subject, or of all of them, of any model."""

    def thin(self, subject: Subject, fact_id: str, versions: Runs) -> None:
        """Keep nothing of *versions*, the others by their own keys; may be repeated."""

    def forget_model(self, model: str) -> None:
        """Keep nothing of one model; a search as of its time is less exact then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Generation:
    """
    One set of current facts: of which model, in use since when.

    Attributes:
        number: 1, 2, 3 … per ledger; never used again, since checkpoints are kept by it.
        model: Name of the embedder; empty for none.
        dimensions: Of its vectors; 0 for none.
        lexicon: Name of the lexicon.
        active_from: Recorded time it came into use; ``None`` while it is built.
    """

    number: int
    model: str
    dimensions: int
    lexicon: str
    active_from: Instant | None


class Generations(Protocol):
    """
    Which generation of current facts a ledger uses, and which it used before.

    Safe to use from many threads, and where the ledger is durable from many processes.
    """

    def active(self) -> Generation | None:
        """Return the one in use now; ``None`` before the first."""

    def at(self, recorded_at: Instant) -> Generation | None:
        """Return the one that was in use then; the first for a time before it."""

    def every(self) -> Sequence[Generation]:
        """Return all, oldest first; also those that are being built, or never were."""

    def begin(self, *, model: str, dimensions: int, lexicon: str) -> Generation:
        """Return a new one to be built; the first of a ledger is in use at once."""

    def activate(self, number: int) -> Generation:
        """Use one from now on, in one step for everybody."""
