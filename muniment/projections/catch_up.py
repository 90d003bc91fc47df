"""
From the ledger to the current facts, some transactions at a time.

Every step is safe to repeat: the vectors are kept first, the points follow from the
timeline as it stood at the end of the step, and the checkpoint moves only after the
engine has flushed. Whoever is killed between any two does the step again.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypedDict

from eventsourcing.persistence import IntegrityError, Tracking

from muniment.errors import ConfigurationError
from muniment.ledger.ledger import Ledger
from muniment.ledger.records import FACT
from muniment.projections.batches import Batch, Prefix, Statement, read_batch, statement
from muniment.projections.beliefs import BeliefRow, Timeline
from muniment.projections.current import point_id
from muniment.projections.embedding import Embedding
from muniment.projections.ports import (
    CurrentFacts,
    Embedder,
    Generation,
    Generations,
    Lexicon,
    Point,
    Said,
    Vector,
    VersionVectors,
)


BATCH_EVENTS: Final = 4_000
"""To flush the engine takes as long as some hundred facts."""

ALL_POSITIONS: Final = 2**62
"""As *until*: whatever the engine holds, this is newer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """What the current facts follow from, and where their vectors are kept."""

    ledger: Ledger
    timeline: Timeline
    vectors: VersionVectors


@dataclass(frozen=True, slots=True, kw_only=True)
class Makers:
    """
    Who turns texts into vectors.

    Attributes:
        embedder: ``None`` for a generation without dense vectors.
    """

    embedder: Embedder | None
    lexicon: Lexicon


class Identity(TypedDict):
    """What makes one generation another."""

    model: str
    dimensions: int
    lexicon: str


class CatchUp:
    """
    Brings one generation of current facts up to the ledger.

    One thread at a time. Several processes may do it at once to one server: the points of
    whoever knew more of the ledger stay.

    Args:
        is_lasting: Whether the points outlive this process. Where they do not, vectors
            alone are made, and counted apart: nobody may think that points are held.

    Attributes:
        generation: Which one.
        facts: Its points.
        told: Called with the position up to which all was embedded, now and then, and
            once a step is done; what it raises ends the step, and nothing is lost.
    """

    def __init__(
        self,
        sources: Sources,
        makers: Makers,
        *,
        generation: Generation,
        facts: CurrentFacts,
        is_lasting: bool = True,
    ) -> None:
        embedder = makers.embedder
        assert generation.model == (embedder.name if embedder else ""), "of one model"
        self.generation = generation
        self.facts = facts
        self._sources = sources
        self._ledger = sources.ledger
        self._lexicon = makers.lexicon
        self._embedding = None if embedder is None else Embedding(sources.vectors, embedder)
        self._is_lasting = is_lasting
        self._name = checkpoint_name(generation, of_points=is_lasting)
        self.told: Callable[[int], None] = _nobody

    def reached(self) -> int:
        """Return the position up to which all was applied."""
        return self._ledger.recorder.max_tracking_id(self._name) or 0

    def prefix(self) -> Prefix | None:
        """Return the ledger up to what was applied; ``None`` when nothing was."""
        reached = self.reached()
        if reached == 0:
            return None
        (last,) = self._ledger.recorder.read(after=reached - 1, limit=1)
        return Prefix(position=reached, recorded_at=last.recorded_at)

    def step(self, limit: int = BATCH_EVENTS) -> int:
        """
        Apply some transactions; return how many events they had, 0 when there were none.

        Raises:
            ProjectionError: If the next event cannot be read; it stays where it is.
            IndexUnavailableError: If the engine cannot be reached.
            Unavailable: If a database cannot be reached.
        """
        reached = self.reached()
        batch = read_batch(self._ledger, after=reached, limit=limit, projection=self._name)
        if batch is None:
            return 0
        vectors = self._embed(batch.statements)
        self._forget(batch)
        self._apply(batch.touched, batch.prefix, batch.statements, vectors)
        if batch.is_less:
            self.facts.scrub()
        self.facts.flush()
        self._move(batch)
        self.told(batch.prefix.position)
        return batch.prefix.position - reached

    def retry(self, limit: int) -> int:
        """Embed up to *limit* versions that could not be so far; return how many could."""
        if self._embedding is None:
            return 0
        statements = list(self._pending(limit))
        made = self._embedding.new(statements)
        self.apply_again({fact_id for fact_id, _ in made})
        return len(made)

    def apply_again(self, fact_ids: Iterable[str], *, until: int | None = None) -> None:
        """
        Hold of some facts what is believed at the checkpoint, whatever is held now.

        Args:
            fact_ids: Which.
            until: Replace points up to this position; by default up to the checkpoint.
        """
        prefix = self.prefix()
        if prefix is None:
            return
        touched = {
            fact_id: position
            for fact_id in fact_ids
            if (position := self._last_position(fact_id, prefix)) > 0
        }
        over = until or prefix.position
        self._apply(touched, Prefix(position=over, recorded_at=prefix.recorded_at), [], {})
        self.facts.flush()

    def _embed(self, statements: Sequence[Statement]) -> Mapping[Said, Vector]:
        if self._embedding is None:
            return {}
        return self._embedding.new(statements, self.told)

    def _forget(self, batch: Batch) -> None:
        """Let go of what was made unreadable, of every model."""
        for subject_ref in batch.erased:
            self._sources.vectors.forget(subject_ref)
            self.facts.delete_subject(subject_ref)
        for subject_ref, fact_id in batch.redacted:
            self._sources.vectors.forget(subject_ref, [fact_id])

    def _apply(
        self,
        touched: Mapping[str, int],
        prefix: Prefix,
        statements: Sequence[Statement],
        vectors: Mapping[Said, Vector],
    ) -> None:
        """Hold what is believed of the *touched* facts at the end of *prefix*."""
        if not self._is_lasting:
            return
        rows = self._sources.timeline.of_facts(list(touched))
        # What has no digest is not to be read any more, whether its key is gone yet or not.
        standing = [
            row for row in rows if prefix.recorded_at in row.recorded and row.content_tag
        ]
        said = {each.said: each for each in statements}
        before = list(self._said_before(standing, said))
        if before and self._embedding is not None:
            vectors = {**vectors, **self._embedding.known(before)}
        said.update((each.said, each) for each in before)
        points = [
            self._point(row, touched[row.fact_id], said[row.fact_id, row.version], vectors)
            for row in standing
            if (row.fact_id, row.version) in said
        ]
        held = {(point.fact_id, point.valid.start) for point in points}
        gone = {
            self._point_id(row)
            for row in rows
            if (row.fact_id, row.valid.start) not in held
        }
        self.facts.upsert(points, until=prefix.position)
        self.facts.delete(sorted(gone), until=prefix.position)

    def _said_before(
        self, rows: Sequence[BeliefRow], known: Mapping[Said, Statement]
    ) -> Iterable[Statement]:
        """Yield what the rows rest on that was said before this step, and can be read."""
        wanted = {
            (row.fact_id, row.version): row
            for row in rows
            if (row.fact_id, row.version) not in known
        }
        for row in wanted.values():
            subject = self._ledger.vault.subject(row.subject_ref)
            said = subject and statement(self._ledger, subject, row.position)
            if said:
                yield said

    def _pending(self, limit: int) -> Iterable[Statement]:
        """Yield what is to be tried again; forget what nobody can read any more."""
        for each in self._sources.vectors.pending(self.generation.model, limit=limit):
            subject = self._ledger.vault.subject(each.subject_ref)
            said = subject and statement(self._ledger, subject, each.position)
            if said:
                yield said
            else:
                fact_ids = [each.fact_id] if subject else None
                self._sources.vectors.forget(each.subject_ref, fact_ids)

    def _point(
        self,
        row: BeliefRow,
        position: int,
        said: Statement,
        vectors: Mapping[Said, Vector],
    ) -> Point:
        return Point(
            point_id=self._point_id(row),
            fact_id=row.fact_id,
            subject_ref=row.subject_ref,
            version=row.version,
            position=position,
            valid=row.valid,
            traits=row.traits,
            dense=vectors.get(said.said),
            sparse=self._lexicon.passage(said.text),
        )

    def _point_id(self, row: BeliefRow) -> str:
        return point_id(self._ledger.name, row.fact_id, row.valid.start)

    def _last_position(self, fact_id: str, prefix: Prefix) -> int:
        """Return the last position of a fact within *prefix*; 0 when it has none."""
        events = self._ledger.recorder.read_stream(FACT + fact_id)
        known = [each.position for each in events if each.position <= prefix.position]
        return known[-1] if known else 0

    def _move(self, batch: Batch) -> None:
        """Move the checkpoint; where another process was faster, agree with it."""
        tracking = Tracking(self._name, batch.prefix.position)
        try:
            self._ledger.recorder.insert_tracking(tracking)
        except IntegrityError:
            # It may have deleted what was put back here meanwhile.
            reached = 0
            while reached != self.reached():
                reached = self.reached()
                self.apply_again(batch.touched)


def checkpoint_name(generation: Generation, *, of_points: bool = True) -> str:
    """Return under which name it is kept how far a generation, or its vectors alone, is."""
    return f"{'current' if of_points else 'vectors'}/{generation.number}"


def identity(makers: Makers) -> Identity:
    """Return what a generation made by *makers* is known by."""
    embedder = makers.embedder
    return {
        "model": embedder.name if embedder else "",
        "dimensions": embedder.dimensions if embedder else 0,
        "lexicon": makers.lexicon.name,
    }


def in_use(generations: Generations, makers: Makers) -> Generation:
    """Return the generation in use; begin the first, unless another process did."""
    active = generations.active()
    if active is None:
        generations.begin(**identity(makers))
        active = generations.active()
    assert active is not None, "the first one is in use at once"
    return active


def refuse_others(makers: Makers, active: Generation) -> None:
    """
    Refuse to go on with a generation that others made.

    Raises:
        ConfigurationError: If *makers* make other vectors than it has.
    """
    made_by = {
        "model": active.model,
        "dimensions": active.dimensions,
        "lexicon": active.lexicon,
    }
    wanted = identity(makers)
    if made_by != wanted:
        raise ConfigurationError(
            f"the current facts were made with {made_by}, the settings say {wanted}",
            "build them anew with muniment reindex, or set the old ones again",
        )


def _nobody(_position: int) -> None:
    """Tell nobody."""
