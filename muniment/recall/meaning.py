"""How near a question is in meaning, by the vectors of the model that was in use then."""

from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from importlib import util
from operator import mul, sub
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
from muniment.recall.documents import Document, statements
from muniment.recall.small_talk import SMALL_TALK


_MADE_MAX: Final = 64
"""So many missing vectors a search makes itself; more are left to who keeps them up."""

_HAS_NUMPY: Final = util.find_spec("numpy") is not None

Cosines = Sequence[float | None]
"""One for each document; ``None`` where its version has no vector yet."""


class Asking(Enum):
    """
    How a question is put, and so what its nearness to a document is compared with.

    A model finds some documents near to whatever is asked. What is like all documents,
    or like all talk, is so for no reason that has to do with the question.
    """

    PLAIN = "plain"
    """On its own, of all documents: with the mean of theirs."""

    AMONG_FEW = "among few"
    """Of those found to be near already: with nothing, their mean is near to it, too."""

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
        documents: Sequence[Document],
        recorded_at: Instant,
        *,
        asking: Asking,
        known: tuple[str, Vector] | None = None,
    ) -> Nearness:
        """
        Return how near *documents* are to *question*, as of *recorded_at*.

        Args:
            question: Its text.
            documents: To be compared.
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
        if not documents:
            return Nearness(cosines=[], unserved=None, model=model)
        try:
            is_known = known is not None and known[0] == model
            asked = known[1] if known and is_known else embedder.query(question)
            if asking is Asking.IN_CONVERSATION:
                asked = _less(asked, self._small_talk_by(embedder))
        except EmbedderUnavailableError as error:
            own = self.embedder is not None and self.embedder.name == model
            whose = "" if own else f"the model of then, {model}, does not answer: "
            return _unserved(f"{whose}{error.problem}", model)
        self._fetch(embedder, documents)
        cosines = _cosines(
            asked,
            [each.opened.vectors.get(model) for each in documents],
            beyond_mean=asking is Asking.PLAIN,
        )
        missing = sum(each is None for each in cosines)
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
            found = _mean([each for some in batches for each in embedder.queries(some)])
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
            made = Embedding(self._vectors, embedder).new(statements(unmade))
            _remember(model, unmade, made)


def likeness(
    seeds: "Sequence[tuple[float, array[float]]]", vectors: "Sequence[array[float] | None]"
) -> Cosines:
    """Return the similarity of each of *vectors* to the *seeds*, by weight, added up."""
    if not seeds:
        return [None] * len(vectors)
    sums = zip(*([weight * each for each in seed] for weight, seed in seeds), strict=True)
    return _cosines(array("f", map(sum, sums)), vectors, beyond_mean=False)


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


def _cosines(
    asked: Vector, vectors: "Sequence[array[float] | None]", *, beyond_mean: bool
) -> Cosines:
    there = [each for each in vectors if each is not None]
    products = iter(_products(asked, there, beyond_mean=beyond_mean) if there else ())
    return [None if each is None else next(products) for each in vectors]


def _products(
    asked: Vector, vectors: "Sequence[array[float]]", *, beyond_mean: bool
) -> Sequence[float]:
    """
    Return the inner product of *asked* with each vector.

    Args:
        asked: What they are compared with.
        vectors: At least one; all of length one.
        beyond_mean: Whether less that of their mean.
    """
    if not _HAS_NUMPY:
        wanted = _less(asked, _mean(vectors)) if beyond_mean else asked
        return [sum(map(mul, wanted, each)) for each in vectors]
    import numpy as np  # noqa: PLC0415 - comes with the embedders that need it

    matrix = np.frombuffer(b"".join(vectors), dtype="f4").reshape(len(vectors), -1)
    question = np.asarray(asked, dtype="f4")
    if beyond_mean:
        # Their order decides how it is rounded, and is the same whenever they are ranked.
        question = question - matrix.mean(axis=0, dtype="f8").astype("f4")
    # Row by row, not as one product: how BLAS adds up depends on how many rows there are,
    # and what is compared with the same must have the same score among however many.
    products: list[float] = (matrix * question).sum(axis=1).tolist()
    return products


def _less(asked: Vector, usual: Vector) -> Vector:
    return array("f", map(sub, asked, usual))


def _mean(vectors: Sequence[Vector]) -> Vector:
    return array("f", (sum(each) / len(vectors) for each in zip(*vectors, strict=True)))
