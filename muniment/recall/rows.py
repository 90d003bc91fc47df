"""The vectors of documents, row by row, to be compared with that of a question."""

from array import array
from collections.abc import Sequence
from functools import cached_property
from importlib import util
from operator import mul, sub
from typing import Any, Final

from muniment.projections.ports import Vector


_HAS_NUMPY: Final = util.find_spec("numpy") is not None

Cosines = Sequence[float | None]
"""One for each document; ``None`` where its version has no vector yet."""


class Rows:
    """
    Vectors of length one, made ready to be compared.

    Safe to use from many threads.

    Args:
        vectors: Of documents, in their order; ``None`` for what has none yet.

    Attributes:
        is_whole: Whether each document has one.
    """

    def __init__(self, vectors: "Sequence[array[float] | None]") -> None:
        self._vectors = vectors
        self._there = [each for each in vectors if each is not None]
        self.is_whole: Final = len(self._there) == len(vectors)

    def products(self, asked: Vector, *, beyond_mean: bool = False) -> Cosines:
        """
        Return the inner product of *asked* with each vector.

        Args:
            asked: What they are compared with.
            beyond_mean: Whether less that of their mean.
        """
        if not self._there:
            return [None] * len(self._vectors)
        # Their order decides how a mean is rounded, and is the same whenever they are
        # ranked.
        wanted = less(asked, self._mean) if beyond_mean else asked
        found = self._products(wanted)
        if self.is_whole:
            return found
        each_found = iter(found)
        return [None if each is None else next(each_found) for each in self._vectors]

    def _products(self, wanted: Vector) -> list[float]:
        if not _HAS_NUMPY:
            return [sum(map(mul, wanted, each)) for each in self._there]
        import numpy as np  # noqa: PLC0415 - comes with the embedders that need it

        # Row by row, not as one product: how BLAS adds up depends on how many rows there
        # are, and what is compared with the same must have the same score among however
        # many.
        question = np.asarray(wanted, dtype="f4")
        products: list[float] = np.vecdot(self._matrix, question).tolist()
        return products

    @cached_property
    def _matrix(self) -> Any:  # noqa: ANN401 - a matrix of numpy, which may not be there
        import numpy as np  # noqa: PLC0415 - as above

        flat = np.frombuffer(b"".join(self._there), dtype="f4")
        return flat.reshape(len(self._there), -1)

    @cached_property
    def _mean(self) -> Vector:
        if not _HAS_NUMPY:
            return mean(self._there)
        return array("f", self._matrix.mean(axis=0, dtype="f8").astype("f4").tobytes())


def less(asked: Vector, usual: Vector) -> Vector:
    """Return *asked* without what is usual."""
    return array("f", map(sub, asked, usual))


def mean(vectors: Sequence[Vector]) -> Vector:
    """Return the mean of at least one vector."""
    return array("f", (sum(each) / len(vectors) for each in zip(*vectors, strict=True)))
