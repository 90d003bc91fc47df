"""
From what was said to its vectors: made once, kept, and made up for when it failed.

An embedder is somebody else's server as often as not. What it cannot embed now is kept as
pending, so that the fact is there, is found by its words, and is counted and tried again.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from muniment.errors import EmbedderUnavailableError
from muniment.ledger.vault import Subject
from muniment.projections.batches import Statement
from muniment.projections.ports import (
    Embedder,
    Said,
    Vector,
    VersionVector,
    VersionVectors,
)
from muniment.projections.vectors import chunks, is_vector, text_tag


_FAILURES_MAX: Final = 3
"""So many texts in a row that cannot be embedded, and the embedder is down."""


class Embedding:
    """
    Sees to it that statements have the vectors of one model.

    Args:
        vectors: Where they are kept.
        embedder: Who makes them.
    """

    def __init__(self, vectors: VersionVectors, embedder: Embedder) -> None:
        self._vectors = vectors
        self._embedder = embedder

    @property
    def model(self) -> str:
        return self._embedder.name

    def new(self, statements: Sequence[Statement]) -> Mapping[Said, Vector]:
        """
        Return the vectors of *statements*, kept from now on; a failed one is pending.

        A text its subject said before is not embedded again.
        """
        tags = {each.said: text_tag(each.subject, each.text) for each in statements}
        texts = {tags[each.said]: each for each in statements}
        known = dict(
            self._vectors.like(
                self.model, {tag: each.subject for tag, each in texts.items()}
            )
        )
        missing = [tag for tag in texts if tag not in known]
        made = self._made([texts[tag].text for tag in missing])
        known.update(
            (tag, vector)
            for tag, vector in zip(missing, made, strict=True)
            if vector is not None
        )
        self._vectors.put(
            self.model,
            [_version(each, tags[each.said], known) for each in statements],
        )
        return {
            each.said: known[tags[each.said]]
            for each in statements
            if tags[each.said] in known
        }

    def known(self, statements: Sequence[Statement]) -> Mapping[Said, Vector]:
        """Return the vectors of *statements* that were made before; make the others."""
        theirs: defaultdict[str, list[Statement]] = defaultdict(list)
        for each in statements:
            theirs[each.subject.ref].append(each)
        found: dict[Said, Vector] = {}
        for same in theirs.values():
            subject: Subject = same[0].subject
            wanted = [each.said for each in same]
            found.update(self._vectors.of(subject, self.model, wanted))
        missing = [each for each in statements if each.said not in found]
        return {**found, **self.new(missing)} if missing else found

    def _made(self, texts: Sequence[str]) -> Sequence[Vector | None]:
        """Return a vector for each text, or ``None`` where it could not be made."""
        made: list[Vector | None] = []
        for some in chunks(texts, self._embedder.batch):
            together = self._together(some)
            if together is not None:
                made += together
                continue
            alone = list(self._one_by_one(some))
            made += alone
            if all(vector is None for vector in alone):
                break
        return [*made, *[None] * (len(texts) - len(made))]

    def _together(self, texts: Sequence[str]) -> Sequence[Vector] | None:
        try:
            vectors = self._embedder.passages(texts)
        except EmbedderUnavailableError:
            return None
        good = len(vectors) == len(texts) and all(map(self._is_good, vectors))
        return vectors if good else None

    def _one_by_one(self, texts: Sequence[str]) -> Iterator[Vector | None]:
        """Yield what can be embedded alone, after it could not be together."""
        failures = 0
        for text in texts:
            alone = self._together([text]) if failures < _FAILURES_MAX else None
            failures = failures + 1 if alone is None else 0
            yield None if alone is None else alone[0]

    def _is_good(self, vector: Vector) -> bool:
        return is_vector(vector, self._embedder.dimensions)


def _version(said: Statement, tag: bytes, vectors: Mapping[bytes, Vector]) -> VersionVector:
    return VersionVector(
        subject=said.subject,
        fact_id=said.fact_id,
        version=said.version,
        position=said.position,
        key_id=said.key_id,
        text_tag=tag,
        vector=vectors.get(tag),
    )
