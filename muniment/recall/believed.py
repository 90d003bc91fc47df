"""
What a subject believed: its rectangles in the timeline, and what they say.

Between two moments at which something begins or ends, the same holds, so what was found
at one point is found at the next one without looking at every rectangle again.
"""

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from muniment.domain.events import Content, FactAsserted, FactRevised, Status
from muniment.domain.time import FOREVER, AsOf, Instant
from muniment.ledger.records import RecordedEvent
from muniment.ledger.vault import Subject
from muniment.projections.batches import Statement
from muniment.projections.beliefs import BeliefRow
from muniment.projections.ports import Said
from muniment.recall.tokens import cut, normal, terms


_CELLS_MAX: Final = 16
"""So many points of a memory are remembered, which differ in what holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """
    What one version says, made ready to be ranked.

    Attributes:
        event: Opened.
        content: Of it.
        plain: Its text as it is compared.
        counts: How often each of its terms is in it.
        length: How many terms it has, repeats included.
        entities: The terms of each entity it mentions, in order.
        vectors: By model, as far as they were asked for.
    """

    event: RecordedEvent
    key_id: int
    content: Content
    plain: str
    counts: Mapping[str, int]
    length: int
    entities: tuple[tuple[str, ...], ...]
    vectors: "dict[str, array[float]]" = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One belief of one subject, with what it says."""

    subject: Subject
    row: BeliefRow
    opened: Opened

    @property
    def said(self) -> Said:
        return self.row.fact_id, self.row.version

    @property
    def statement(self) -> Statement:
        """What is embedded of it."""
        return Statement(
            subject=self.subject,
            fact_id=self.row.fact_id,
            version=self.row.version,
            position=self.row.position,
            key_id=self.opened.key_id,
            text=self.opened.content.text,
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Found:
    """
    What a subject believed at a point, opened.

    Attributes:
        documents: By valid start, then fact.
        expiring: Those of them that expire.
        statuses: Of any of them.
        epoch: How many keys had been destroyed when they were read.
        lasts: Whether the next question at such a point finds this very object.
    """

    documents: Sequence[Document]
    expiring: Sequence[Document]
    statuses: frozenset[Status]
    epoch: int
    lasts: bool


def found(documents: Sequence[Document], *, epoch: int, lasts: bool = False) -> Found:
    """Return *documents* with what a question has to know of them."""
    return Found(
        documents=documents,
        expiring=[each for each in documents if each.row.traits.expires_at is not None],
        statuses=frozenset(each.row.traits.status for each in documents),
        epoch=epoch,
        lasts=lasts,
    )


class Rectangle:
    """A row with its bounds at hand, and its document once it was asked for."""

    __slots__ = (
        "document",
        "expires_at",
        "recorded_from",
        "recorded_to",
        "row",
        "valid_from",
        "valid_to",
    )

    def __init__(self, row: BeliefRow) -> None:
        expires_at = row.traits.expires_at
        self.row = row
        self.recorded_from, self.recorded_to = row.recorded.start, row.recorded.end
        self.valid_from, self.valid_to = row.valid.start, row.valid.end
        self.expires_at = FOREVER if expires_at is None else expires_at
        self.document: Document | None = None


class Cell:
    """The rectangles that hold at a point, and what they say once it was asked for."""

    __slots__ = ("found", "rectangles")

    def __init__(self, rectangles: Sequence[Rectangle]) -> None:
        self.rectangles = rectangles
        self.found: Found | None = None


class Rectangles:
    """
    Every rectangle of a subject, by valid start, then fact.

    Safe to use from many threads.
    """

    def __init__(self, rectangles: Iterable[Rectangle]) -> None:
        self.ordered: Final = sorted(rectangles, key=place)
        self._edges: tuple[Edges, Edges, Edges] | None = None
        self._cells: dict[tuple[int, int, int], Cell] = {}

    def __len__(self) -> int:
        return len(self.ordered)

    def at(self, as_of: AsOf, expired_at: Instant) -> Cell:
        """Return what holds at a point; the same object wherever the same holds."""
        edges = self._edges
        if edges is None:
            edges = self._edges = _edges_of(self.ordered)
        recorded, valid, expiry = edges
        # Nothing begins or ends between the edges on either side of a point.
        name = (
            bisect_right(recorded, as_of.recorded_at),
            bisect_right(valid, as_of.valid_at),
            bisect_right(expiry, expired_at),
        )
        cell = self._cells.get(name)
        if cell is None:
            cell = Cell(at(self.ordered, as_of, expired_at))
            if len(self._cells) >= _CELLS_MAX:
                self._cells = {}
            cell = self._cells.setdefault(name, cell)
        return cell


Edges = Sequence[Instant]
"""The moments at which something begins or ends, in order."""


def _edges_of(rectangles: Sequence[Rectangle]) -> tuple[Edges, Edges, Edges]:
    recorded, valid, expiry = set[Instant](), set[Instant](), set[Instant]()
    for each in rectangles:
        recorded.update((each.recorded_from, each.recorded_to))
        valid.update((each.valid_from, each.valid_to))
        expiry.add(each.expires_at)
    return sorted(recorded), sorted(valid), sorted(expiry)


def at(
    rectangles: Iterable[Rectangle], as_of: AsOf, expired_at: Instant
) -> list[Rectangle]:
    """Return those of *rectangles* that hold at a point."""
    recorded_at, valid_at = as_of.recorded_at, as_of.valid_at
    return [
        each
        for each in rectangles
        if each.recorded_from <= recorded_at < each.recorded_to
        and each.valid_from <= valid_at < each.valid_to
        and expired_at < each.expires_at
    ]


def place(rectangle: Rectangle) -> tuple[Instant, str]:
    """Return where a rectangle stands among others."""
    return rectangle.valid_from, rectangle.row.fact_id


def made_ready(event: RecordedEvent, key_id: int) -> Opened | None:
    """Return what *event* says, ready to be ranked; ``None`` where it has no words."""
    match event.event:
        case FactAsserted(content=content) | FactRevised(content=content) if content:
            plain = normal(content.text)
            found = cut(plain)
            counts: dict[str, int] = {}
            for term in found:
                counts[term] = counts.get(term, 0) + 1
            return Opened(
                event=event,
                key_id=key_id,
                content=content,
                plain=plain,
                counts=counts,
                length=len(found),
                entities=tuple(tuple(terms(each)) for each in content.evidence.entities),
            )
        case _:
            return None
