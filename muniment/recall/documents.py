"""
What a subject believed at a point, opened and cut into terms, to be ranked.

Reading, opening and cutting cost more than ranking, so what was read is kept in memory.
A rectangle of the timeline never changes but that it ends, so only what began or ended
since is read again. Nothing kept outlives its key: whatever process destroys one, what is
in memory here is dropped before the next answer.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from threading import Lock
from typing import Final

from muniment.domain.time import BEGINNING, AsOf, Instant
from muniment.ledger.ledger import Ledger
from muniment.ledger.vault import Subject
from muniment.projections.beliefs import BeliefQuery, Timeline
from muniment.recall import believed, standing
from muniment.recall.arranged import Arrangements
from muniment.recall.believed import (
    Document,
    Found,
    Opened,
    Rectangle,
    Rectangles,
    made_ready,
)
from muniment.recall.tokens import forget_words


KEPT_MAX: Final = 100_000
"""So many versions are kept in memory; some 4 kB each, with a vector.

What is arranged of them is as many at most, and some 2 kB each.
"""

_RECTANGLES_MAX: Final = 20_000
"""Of a subject with a longer history only what is asked for is read, each time."""

_NO_LIMIT: Final = 2**62


class Documents:
    """
    The believed facts of subjects, read from the timeline.

    Safe to use from many threads.

    Args:
        ledger: Where what they say is.
        timeline: Where they are.
        kept_max: So many versions at most are kept in memory.

    Attributes:
        arrangements: Of what was found, dropped with it.
    """

    def __init__(
        self, ledger: Ledger, timeline: Timeline, *, kept_max: int = KEPT_MAX
    ) -> None:
        self._ledger = ledger
        self._timeline = timeline
        self._kept_max = kept_max
        self.arrangements: Final = Arrangements(documents_max=kept_max)
        self._lock = Lock()
        self._kept: OrderedDict[str, _Kept] = OrderedDict()
        self._sizes: dict[str, int] = {}
        self._count = 0
        self._epoch: int | None = None

    def of(self, subject: Subject, as_of: AsOf, *, expired_at: Instant) -> Found:
        """
        Return what *subject* believed at *as_of*, by valid start, then fact.

        What cannot be read any more is left out.
        """
        return self._while_readable(
            subject, lambda whose, epoch: self._of(whose, as_of, expired_at, epoch)
        )

    def with_past(self, subject: Subject, as_of: AsOf) -> Found:
        """
        Return the same, and of each fact that is over what was believed of it last.

        See `muniment.recall.standing`. What cannot be read any more is left out.
        """

        def read(whose: Subject, epoch: int) -> Found:
            kept = self._brought_up(whose.ref, as_of.recorded_at)
            every = kept.rectangles
            if every is None:
                rows = self._timeline.moved(whose.ref, after=BEGINNING, limit=_NO_LIMIT)
                every = Rectangles(map(Rectangle, rows))
            chosen = standing.last_of_each((each.row for each in every.ordered), as_of)
            last = [each for each in every.ordered if standing.key(each.row) in chosen]
            return believed.found(self._ready(whose, last, kept, epoch), epoch=epoch)

        return self._while_readable(subject, read)

    def of_facts(
        self,
        subject: Subject,
        fact_ids: Iterable[str],
        as_of: AsOf,
        *,
        expired_at: Instant,
    ) -> Found:
        """Return what *subject* believed of some facts at *as_of*, ordered likewise."""
        wanted = sorted(fact_ids)

        def read(whose: Subject, epoch: int) -> Found:
            rows = self._timeline.of_facts(wanted)
            ours = [Rectangle(row) for row in rows if row.subject_ref == whose.ref]
            held = believed.at(sorted(ours, key=believed.place), as_of, expired_at)
            kept = self._kept.get(whose.ref) or _nothing_kept()
            return believed.found(self._ready(whose, held, kept, epoch), epoch=epoch)

        return self._while_readable(subject, read)

    def is_reread(self, subject: Subject) -> bool:
        """Whether *subject* is known to have too long a history to be kept in memory."""
        kept = self._kept.get(subject.ref)
        return kept is not None and kept.rectangles is None

    def clear(self) -> None:
        """Keep nothing in memory."""
        self._drop(None)

    def _while_readable(
        self, subject: Subject, read: Callable[[Subject, int], Found]
    ) -> Found:
        """Return what *read* does, once no key was destroyed while it did."""
        whose: Subject | None = subject
        while whose is not None:
            epoch = self._epoch
            if epoch is None:
                epoch = self._ledger.vault.epoch()
                self._drop(epoch)
            found = read(whose, epoch)
            now = self._ledger.vault.epoch()
            if now == epoch:
                return found
            self._drop(now)
            whose = self._ledger.vault.subject(subject.ref)
        return believed.found([], epoch=0)

    def _of(self, subject: Subject, as_of: AsOf, expired_at: Instant, epoch: int) -> Found:
        kept = self._brought_up(subject.ref, as_of.recorded_at)
        if kept.rectangles is None:
            query = BeliefQuery(
                subject_ref=subject.ref,
                as_of=as_of,
                category=None,
                after=None,
                limit=None,
                expired_at=expired_at,
            )
            held = [Rectangle(each.row) for each in self._timeline.of_subject(query)]
            return believed.found(self._ready(subject, held, kept, epoch), epoch=epoch)
        cell = kept.rectangles.at(as_of, expired_at)
        found = cell.found
        if found is not None and found.epoch == epoch:
            self._keep(subject.ref, kept, epoch)
            return found
        ready = self._ready(subject, cell.rectangles, kept, epoch)
        cell.found = believed.found(ready, epoch=epoch, lasts=True)
        return cell.found

    def _brought_up(self, ref: str, recorded_at: Instant) -> "_Kept":
        """Return what is kept of a subject, with all that was known at *recorded_at*."""
        kept = self._kept.get(ref) or _nothing_kept()
        if kept.rectangles is None or recorded_at <= kept.known_to:
            return kept
        limit = _RECTANGLES_MAX + 1
        moved = self._timeline.moved(ref, after=kept.known_to, limit=limit)
        if not moved:
            return replace(kept, known_to=recorded_at)
        known = {standing.key(each.row): each for each in kept.rectangles.ordered}
        known.update((standing.key(row), Rectangle(row)) for row in moved)
        if len(known) > _RECTANGLES_MAX:
            return replace(kept, rectangles=None)
        return replace(kept, known_to=recorded_at, rectangles=Rectangles(known.values()))

    def _ready(
        self, subject: Subject, found: Sequence[Rectangle], kept: "_Kept", epoch: int
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
        recorder = self._ledger.recorder
        events = recorder.whole(recorder.read_at(positions))
        keys = {each.position: each.sealed.key_id for each in events}
        return {
            event.position: made_ready(event, keys[event.position])
            for event in self._ledger.mapper.opened(events, subject, tagged=False)
        }

    def _keep(self, ref: str, kept: "_Kept", epoch: int) -> None:
        with self._lock:
            # What was opened before a key was destroyed is not kept after it.
            if epoch != self._epoch:
                return
            if kept.rectangles is None and kept.size > self._kept_max:
                kept = replace(kept, opened={})
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
        self.arrangements.clear(epoch)
        forget_words()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kept:
    """
    What is in memory of one subject.

    Attributes:
        known_to: What began or ended up to this recorded time is here.
        rectangles: Of it; ``None`` where there are too many.
        opened: By position; ``None`` for what cannot be read or has no words.
        size: How much of what may be kept it takes; an empty memory takes some, too.
    """

    known_to: Instant
    rectangles: Rectangles | None
    opened: Mapping[int, Opened | None]

    @property
    def size(self) -> int:
        return 1 + max(len(self.rectangles or ()), len(self.opened))


def _nothing_kept() -> _Kept:
    return _Kept(known_to=BEGINNING, rectangles=Rectangles(()), opened={})
