"""Which vectors are as alike as somebody asks for."""

from array import array
from collections.abc import Iterator, Mapping
from importlib import util
from operator import mul
from typing import Final

from muniment.projections.ports import Vector


_BLOCK: Final = 512
"""So many are compared with all others at once."""

_HAS_NUMPY: Final = util.find_spec("numpy") is not None


def alike(vectors: Mapping[str, Vector], least: float) -> Iterator[tuple[str, str]]:
    """
    Yield the pairs of *vectors*, by name, whose inner product is *least* or more.

    Args:
        vectors: All of one model, and of length one.
        least: The least likeness that counts.
    """
    names = list(vectors)
    if not names:
        return
    if not _HAS_NUMPY:
        for at, name in enumerate(names):
            for other in names[:at]:
                if sum(map(mul, vectors[name], vectors[other])) >= least:
                    yield other, name
        return
    import numpy as np  # noqa: PLC0415 - comes with the embedders that need it

    packed = b"".join(array("f", each).tobytes() for each in vectors.values())
    matrix = np.frombuffer(packed, dtype="f4").reshape(len(names), -1)
    for start in range(0, len(names), _BLOCK):
        products = matrix[start : start + _BLOCK] @ matrix[: start + _BLOCK].T
        for row, column in zip(*np.nonzero(products >= least), strict=True):
            if column < start + row:
                yield names[column], names[start + row]
