"""How near a question is in meaning, by the vectors of the model that was in use then."""

from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from muniment.domain.time import Instant
from muniment.errors import EmbedderUnavailableError
from muniment.projections.embedding import Embedding
from muniment.projections.ports import (
    Embedder,
    Generation,
    Generations,
    Vector,
    VersionVectors,
)
from muniment.projections.vectors import chunks
from muniment.recall.arranged import Arranged
from muniment.recall.believed import Document
from muniment.recall.rows import Cosines, Rows, less, mean
from muniment.recall.small_talk import SMALL_TALK


_MADE_MAX: Final = 64
"""So many missing vectors a search makes itself; more are left to who keeps them up."""


class Asking(Enum):
    """
    How a question is put, and so what its nearness to a document is compared with.

    A model finds some documents near to whatever is asked. What is like all documents,
    or like all talk, is so for no reason that has to do with the question.
    """

    PLAIN = "plain"
    """On its own: with the mean of the documents it is compared with."""

    IN_CONVERSATION = "in conversation"
    """With what was said before it: with `SMALL_TALK`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Nearness:
    """
    What the leg of meaning answers.

    Attributes:
        cosines: Less those to what the question is compared with, see `Asking`; ``None``
            where the leg could not be served.
        unserved: Why it could not, or not for all; ``None`` where it was.
        model: By which it was answered; empty for none.
    """

    cosines: Cosines | None
    unserved: str | None
    model: str


class Meaning:
    """
    Compares questions with versions.

    Safe to use from many threads.

    Args:
        vectors: Of versions.
        generations: Which model was in use when.
        embedder: As configured; ``None`` for none.
        former: Gives the embedder of a generation of before, if it can be asked still.
        lexicon: Name of the lexicon in use.
    """

    def __init__(
        self,
        vectors: VersionVectors,
        generations: Generations,
        embedder: Embedder | None,
        *,
        former: Callable[[Generation], Embedder | None] = lambda _generation: None,
        lexicon: str,
    ) -> None:
        self._vectors = vectors
        self._generations = generations
        self._lexicon = lexicon
        self.embedder = embedder
        self._former = former
        self._embedders: dict[str, Embedder] = {}
        self._small_talk: dict[str, Vector] = {}
        self.know(embedder)

    def know(self, embedder: Embedder | None) -> None:
        """Ask *embedder*, too, wherever its model was in use, or will be."""
        if embedder is not None:
            self._embedders = {**self._embedders, embedder.name: embedder}

    def use(self, embedder: Embedder | None) -> None:
        """Ask *embedder* from now on; the one before stays for searches as of then."""
        self.know(embedder)
        self.embedder = embedder

    def nearness(
        self,
        question: str,
        arranged: Arranged,
        recorded_at: Instant,
        *,
        asking: Asking,
        known: tuple[str, Vector] | None = None,
    ) -> Nearness:
        """
        Return how near documents are to *question*, as of *recorded_at*.

        Args:
            question: Its text.
            arranged: To be compared.
            recorded_at: By the model in use then.
            asking: How the question is put.
            known: A model, and the vector of *question* by it, if it was asked already.
        """
        generation = self._in_use(recorded_at)
        model = generation.model
        if not model:
            return _unserved("no embedder is set", model)
        embedder = self._embedder_of(generation)
        if embedder is None:
            return _unserved(f"the model of then, {model}, is not configured", model)
        if not arranged.documents:
            return Nearness(cosines=[], unserved=None, model=model)
        try:
            is_known = known is not None and known[0] == model
            asked = known[1] if known and is_known else embedder.query(question)
            if asking is Asking.IN_CONVERSATION:
                asked = less(asked, self._small_talk_by(embedder))
        except EmbedderUnavailableError as error:
            own = self.embedder is not None and self.embedder.name == model
            whose = "" if own else f"the model of then, {model}, does not answer: "
            return _unserved(f"{whose}{error.problem}", model)
        if not arranged.has_every_vector(model):
            self._fetch(embedder, arranged.documents)
        rows = arranged.rows(model)
        cosines = rows.products(asked, beyond_mean=asking is Asking.PLAIN)
        missing = 0 if rows.is_whole else sum(each is None for each in cosines)
        return Nearness(
            cosines=cosines,
            unserved=f"{missing} facts have no vector yet" if missing else None,
            model=model,
        )

    def vector(self, question: str, model: str) -> Vector | None:
        """Return the vector of *question* by *model*; ``None`` where it cannot be asked."""
        embedder = self._embedders.get(model)
        try:
            return None if embedder is None else embedder.query(question)
        except EmbedderUnavailableError:
            return None

    def _small_talk_by(self, embedder: Embedder) -> Vector:
        """Return the mean of `SMALL_TALK` by *embedder*, which is asked once."""
        found = self._small_talk.get(embedder.name)
        if found is None:
            batches = chunks(SMALL_TALK, embedder.batch)
            found = mean([each for some in batches for each in embedder.queries(some)])
            self._small_talk[embedder.name] = found
        return found

    def _embedder_of(self, generation: Generation) -> Embedder | None:
        found = self._embedders.get(generation.model)
        if found is None:
            found = self._former(generation)
            self.know(found)
        return found

    def _in_use(self, recorded_at: Instant) -> Generation:
        found = self._generations.at(recorded_at)
        if found is not None:
            return found
        return self._generations.begin(
            model=self.embedder.name if self.embedder else "",
            dimensions=self.embedder.dimensions if self.embedder else 0,
            lexicon=self._lexicon,
        )

    def _fetch(self, embedder: Embedder, documents: Sequence[Document]) -> None:
        """Have the vectors of *documents* in memory, as far as there are any."""
        model = embedder.name
        missing = [each for each in documents if model not in each.opened.vectors]
        theirs: dict[str, list[Document]] = {}
        for each in missing:
            theirs.setdefault(each.subject.ref, []).append(each)
        for same in theirs.values():
            said = [each.said for each in same]
            found = self._vectors.of(same[0].subject, model, said)
            _remember(model, same, found)
        unmade = [each for each in missing if model not in each.opened.vectors]
        # The other versions come later, or the first search after a load would wait.
        if 0 < len(unmade) <= _MADE_MAX:
            made = Embedding(self._vectors, embedder).new(
                [each.statement for each in unmade]
            )
            _remember(model, unmade, made)


def likeness(seeds: "Sequence[tuple[float, array[float]]]", rows: Rows) -> Cosines:
    """Return the similarity of each of *rows* to the *seeds*, by weight, added up."""
    sums = zip(*([weight * each for each in seed] for weight, seed in seeds), strict=True)
    return rows.products(array("f", map(sum, sums)))


def _remember(
    model: str, documents: Sequence[Document], found: Mapping[tuple[str, int], Vector]
) -> None:
    for each in documents:
        vector = found.get(each.said)
        if vector is not None:
            each.opened.vectors[model] = (
                vector
                if isinstance(vector, array) and vector.typecode == "f"
                else array("f", vector)
            )


def _unserved(why: str, model: str) -> Nearness:
    return Nearness(cosines=None, unserved=why, model=model)
