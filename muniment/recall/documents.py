"""
What a subject believed at a point, opened and cut into terms, to be ranked.

Reading, opening and cutting cost more than ranking, so what was read is kept in memory.
A rectangle of the timeline never changes but that it ends, so only what began or ended
since is read again. Nothing kept outlives its key: whatever process destroys one, what is
in memory here is dropped before the next answer.
"""

from array import array
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Final

from muniment.domain.events import Content, FactAsserted, FactRevised
from muniment.domain.time import BEGINNING, FOREVER, AsOf, Instant
from muniment.ledger.ledger import Ledger
from muniment.ledger.records import RecordedEvent, StampedEvent
from muniment.ledger.vault import Subject
from muniment.projections.batches import Statement
from muniment.projections.beliefs import BeliefQuery, BeliefRow, Timeline
from muniment.projections.ports import Said
from muniment.recall import standing
from muniment.recall.tokens import cut, forget_words, normal, terms


KEPT_MAX: Final = 100_000
"""So many versions are kept in memory; some 4 kB each, with a vector."""

_RECTANGLES_MAX: Final = 20_000
"""Of a subject with a longer history only what is asked for is read, each time."""

_NO_LIMIT: Final = 2**62

_ONE_BY_ONE_MAX: Final = 8
"""So many events are read sooner one by one than with all between them."""


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


class Documents:
    """
    The believed facts of subjects, read from the timeline.

    Safe to use from many threads.

    Args:
        ledger: Where what they say is.
        timeline: Where they are.
        kept_max: So many versions at most are kept in memory.
    """

    def __init__(
        self, ledger: Ledger, timeline: Timeline, *, kept_max: int = KEPT_MAX
    ) -> None:
        self._ledger = ledger
        self._timeline = timeline
        self._kept_max = kept_max
        self._lock = Lock()
        self._kept: OrderedDict[str, _Kept] = OrderedDict()
        self._sizes: dict[str, int] = {}
        self._count = 0
        self._epoch: int | None = None

    def of(self, subject: Subject, as_of: AsOf, *, expired_at: Instant) -> list[Document]:
        """
        Return what *subject* believed at *as_of*, by valid start, then fact.

        What cannot be read any more is left out.
        """
        return self._while_readable(
            subject, lambda whose, epoch: self._of(whose, as_of, expired_at, epoch)
        )

    def with_past(self, subject: Subject, as_of: AsOf) -> list[Document]:
        """
        Return the same, and of each fact that is over what was believed of it last.

        See `muniment.recall.standing`. What cannot be read any more is left out.
        """

        def read(whose: Subject, epoch: int) -> list[Document]:
            kept = self._brought_up(whose.ref, as_of.recorded_at)
            found = kept.rectangles
            if found is None:
                rows = self._timeline.moved(whose.ref, after=BEGINNING, limit=_NO_LIMIT)
                found = [_Rectangle(row) for row in rows]
            chosen = standing.last_of_each((each.row for each in found), as_of)
            last = [each for each in found if standing.key(each.row) in chosen]
            return self._ready(whose, sorted(last, key=_place), kept, epoch)

        return self._while_readable(subject, read)

    def of_facts(
        self,
        subject: Subject,
        fact_ids: Iterable[str],
        as_of: AsOf,
        *,
        expired_at: Instant,
    ) -> list[Document]:
        """Return what *subject* believed of some facts at *as_of*, ordered likewise."""
        wanted = sorted(fact_ids)

        def read(whose: Subject, epoch: int) -> list[Document]:
            rows = self._timeline.of_facts(wanted)
            ours = [_Rectangle(row) for row in rows if row.subject_ref == whose.ref]
            found = _at(sorted(ours, key=_place), as_of, expired_at)
            kept = self._kept.get(whose.ref, _NOTHING_KEPT)
            return self._ready(whose, found, kept, epoch)

        return self._while_readable(subject, read)

    def clear(self) -> None:
        """Keep nothing in memory."""
        self._drop(None)

    def _while_readable(
        self, subject: Subject, read: Callable[[Subject, int], list[Document]]
    ) -> list[Document]:
        """Return what *read* does, once no key was destroyed while it did."""
        whose: Subject | None = subject
        while whose is not None:
            epoch = self._epoch
            if epoch is None:
                epoch = self._ledger.vault.epoch()
                self._drop(epoch)
            documents = read(whose, epoch)
            now = self._ledger.vault.epoch()
            if now == epoch:
                return documents
            self._drop(now)
            whose = self._ledger.vault.subject(subject.ref)
        return []

    def _of(
        self, subject: Subject, as_of: AsOf, expired_at: Instant, epoch: int
    ) -> list[Document]:
        kept = self._brought_up(subject.ref, as_of.recorded_at)
        if kept.rectangles is not None:
            found = _at(kept.rectangles, as_of, expired_at)
        else:
            query = BeliefQuery(
                subject_ref=subject.ref,
                as_of=as_of,
                category=None,
                after=None,
                limit=None,
                expired_at=expired_at,
            )
            found = [_Rectangle(each.row) for each in self._timeline.of_subject(query)]
        return self._ready(subject, found, kept, epoch)

    def _brought_up(self, ref: str, recorded_at: Instant) -> "_Kept":
        """Return what is kept of a subject, with all that was known at *recorded_at*."""
        kept = self._kept.get(ref, _NOTHING_KEPT)
        if kept.rectangles is None or recorded_at <= kept.known_to:
            return kept
        limit = _RECTANGLES_MAX + 1
        moved = self._timeline.moved(ref, after=kept.known_to, limit=limit)
        if not moved:
            return replace(kept, known_to=recorded_at)
        known = {standing.key(each.row): each for each in kept.rectangles}
        known.update((standing.key(row), _Rectangle(row)) for row in moved)
        if len(known) > _RECTANGLES_MAX:
            return replace(kept, rectangles=None)
        ordered = sorted(known.values(), key=_place)
        return replace(kept, known_to=recorded_at, rectangles=ordered)

    def _ready(
        self, subject: Subject, found: Sequence["_Rectangle"], kept: "_Kept", epoch: int
    ) -> list[Document]:
        """Return the documents of *found*, and keep what had to be opened for them."""
        unopened = {
            each.row.position
            for each in found
            if each.document is None and each.row.position not in kept.opened
        }
        fresh = self._opened(subject, sorted(unopened))
        kept = replace(kept, opened={**kept.opened, **fresh}) if fresh else kept
        self._keep(subject.ref, kept, epoch)
        for each in found:
            opened = None if each.document else kept.opened.get(each.row.position)
            if opened is not None:
                each.document = Document(subject=subject, row=each.row, opened=opened)
        return [each.document for each in found if each.document is not None]

    def _opened(
        self, subject: Subject, positions: Sequence[int]
    ) -> dict[int, Opened | None]:
        events = self._events(subject.ref, positions)
        keys = {each.position: each.sealed.key_id for each in events}
        return {
            event.position: _made_ready(event, keys[event.position])
            for event in self._ledger.mapper.opened(events, subject)
        }

    def _events(self, ref: str, positions: Sequence[int]) -> Sequence[StampedEvent]:
        recorder = self._ledger.recorder
        if len(positions) <= _ONE_BY_ONE_MAX:
            return [
                each for at in positions for each in recorder.read(after=at - 1, limit=1)
            ]
        wanted = set(positions)
        between = recorder.read_subject(ref, after=positions[0] - 1, until=positions[-1])
        return [each for each in between if each.position in wanted]

    def _keep(self, ref: str, kept: "_Kept", epoch: int) -> None:
        with self._lock:
            # What was opened before a key was destroyed is not kept after it.
            if epoch != self._epoch:
                return
            self._kept[ref] = kept
            self._kept.move_to_end(ref)
            self._count += kept.size - self._sizes.get(ref, 0)
            self._sizes[ref] = kept.size
            while self._count > self._kept_max and len(self._kept) > 1:
                oldest, _ = self._kept.popitem(last=False)
                self._count -= self._sizes.pop(oldest)

    def _drop(self, epoch: int | None) -> None:
        with self._lock:
            self._kept.clear()
            self._sizes.clear()
            self._count = 0
            self._epoch = epoch
        forget_words()


def statements(documents: Iterable[Document]) -> list[Statement]:
    """Return what is embedded of *documents*."""
    return [each.statement for each in documents]


class _Rectangle:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kept:
    """
    What is in memory of one subject.

    Attributes:
        known_to: What began or ended up to this recorded time is here.
        rectangles: By valid start, then fact; ``None`` where there are too many.
        opened: By position; ``None`` for what cannot be read or has no words.
    """

    known_to: Instant
    rectangles: Sequence[_Rectangle] | None
    opened: Mapping[int, Opened | None]

    @property
    def size(self) -> int:
        return max(len(self.rectangles or ()), len(self.opened))


_NOTHING_KEPT: Final = _Kept(known_to=BEGINNING, rectangles=(), opened={})


def _at(
    rectangles: Iterable[_Rectangle], as_of: AsOf, expired_at: Instant
) -> list[_Rectangle]:
    recorded_at, valid_at = as_of.recorded_at, as_of.valid_at
    return [
        each
        for each in rectangles
        if each.recorded_from <= recorded_at < each.recorded_to
        and each.valid_from <= valid_at < each.valid_to
        and expired_at < each.expires_at
    ]


def _place(rectangle: _Rectangle) -> tuple[Instant, str]:
    return rectangle.valid_from, rectangle.row.fact_id


def _made_ready(event: RecordedEvent, key_id: int) -> Opened | None:
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
