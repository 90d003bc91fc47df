"""
From what was said to its vectors: made once, kept, and made up for when it failed.

An embedder is somebody else's server as often as not. What it cannot embed now is kept as
pending, so that the fact is there, is found by its words, and is counted and tried again.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
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


_KEPT_TOGETHER: Final = 4
"""So many batches of the embedder are kept at once."""

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

    def new(
        self,
        statements: Sequence[Statement],
        told: Callable[[int], None] = lambda _position: None,
    ) -> Mapping[Said, Vector]:
        """
        Return the vectors of *statements*, kept from now on; a failed one is pending.

        A text its subject said before is not embedded again. What is made is kept part
        by part: a model in this process takes a minute for some thousands.

        Args:
            statements: In the order of their positions.
            told: Called with the position of the last one that is kept.
        """
        found: dict[Said, Vector] = {}
        is_down = False
        for some in chunks(statements, _KEPT_TOGETHER * self._embedder.batch):
            part, is_down = self._part(some, is_down=is_down)
            found.update(part)
            told(some[-1].position)
        return found

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

    def _part(
        self, statements: Sequence[Statement], *, is_down: bool
    ) -> tuple[Mapping[Said, Vector], bool]:
        """Return the vectors of some, and whether the embedder is found to be down."""
        tags = {each.said: text_tag(each.subject, each.text) for each in statements}
        texts = {tags[each.said]: each for each in statements}
        known = dict(
            self._vectors.like(
                self.model, {tag: each.subject for tag, each in texts.items()}
            )
        )
        missing = [tag for tag in texts if tag not in known]
        asked = [] if is_down else self._made([texts[tag].text for tag in missing])
        made = {
            tag: vector
            for tag, vector in zip(missing, asked, strict=False)
            if vector is not None
        }
        known.update(made)
        self._vectors.put(
            self.model,
            [_version(each, tags[each.said], known) for each in statements],
        )
        found = {
            each.said: known[tags[each.said]]
            for each in statements
            if tags[each.said] in known
        }
        return found, bool(missing) and not made

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
