"""
Points in time resolved, and what is found there.

What every reading verb does: resolve its times to one position once, and read at that.
"""

from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from functools import partial
from typing import Final

from muniment.api import inputs, showing
from muniment.api.answers import Fact, FactVersion, Receipt
from muniment.api.points import Point, latest
from muniment.api.usable import Usable
from muniment.domain.events import FactThinned
from muniment.domain.scope import Scope
from muniment.domain.subject import SubjectState
from muniment.domain.thinning import is_kept, next_year_start, year_start
from muniment.domain.time import AsOf, Instant, Period
from muniment.errors import ThinnedError
from muniment.instants import Time, moment, to_instant
from muniment.ledger.ledger import Ledger
from muniment.ledger.records import FACT, Head, RecordedEvent
from muniment.ledger.vault import Subject
from muniment.projections.beliefs import (
    BeliefQuery,
    BeliefRow,
    DerivedStore,
    LastUse,
    Timeline,
)
from muniment.projections.ports import Generation, VersionVectors


_SPANS_MAX: Final = 100_000

HIDDEN: Final = "its memory is frozen and hidden"
"""Why all of a memory is kept and not used."""

withheld: Final[ContextVar[frozenset[str]]] = ContextVar("withheld", default=frozenset())
"""Facts that whoever asks may not see, where an answer cannot be without them later."""


class Lookup:
    """
    Finds what was believed at a point.

    Attributes:
        ledger: Where the events are.
        timeline: Where the beliefs are.
        derived: Every store an erasure has to reach, the timeline first.
        vectors: The embeddings of what was said, made by the model of *generation*.
        gone: Says of a store that an erasure cannot look at why not, if it was given up.
        last_use: Who knows when facts were used otherwise than by writing; retention asks.
    """

    def __init__(self, ledger: Ledger, timeline: Timeline) -> None:
        self.ledger = ledger
        self.timeline = timeline
        self.derived: tuple[DerivedStore, ...] = (timeline,)
        self.vectors: tuple[VersionVectors, ...] = ()
        self.gone: Callable[[str], str | None] = lambda _store: None
        self.generation: Callable[[], Generation | None] = lambda: None
        self.last_use: tuple[LastUse, ...] = ()
        self._spans: tuple[int, dict[str, Period | None]] = (-1, {})

    def now(self, valid_at: Instant | None = None) -> Point:
        """Return this moment, or what is known at it about *valid_at*."""
        present = self.ledger.present()
        about = present.now if valid_at is None else valid_at
        return _noted(present.head, present.now, about, promised=present.horizon)

    def now_for_good(self, valid_at: Instant | None = None) -> Point:
        """Return the same, once nothing is recorded at this moment any more."""
        with self.ledger.recorder.appending() as append:
            now = max(append.now, append.head.recorded_at)
            append.promise(now)
        about = now if valid_at is None else valid_at
        return _noted(append.head, now, about, promised=now)

    def nothing_done(self) -> Receipt:
        """Return the receipt of a write that had nothing to do."""
        point = self.now()
        return Receipt(
            tx_id=None,
            recorded_at=moment(point.known_at),
            position=point.position,
            fact_ids=(),
        )

    def at(self, recorded_at: Instant, valid_at: Instant | None) -> Point:
        """
        Return what was known at *recorded_at* about *valid_at*, or about that time itself.

        Raises:
            FutureAsOfError: If *recorded_at* has not come.
        """
        head = self.ledger.resolve(recorded_at)
        about = recorded_at if valid_at is None else valid_at
        return _noted(head, recorded_at, about, promised=recorded_at)

    def point(self, as_of: Time | None, valid_at: Time | None) -> Point:
        """Return what was known at *as_of*, by default now, about *valid_at*, or then."""
        about = inputs.time_or_none(valid_at)
        return self.now(about) if as_of is None else self.at(to_instant(as_of), about)

    def place(self, point: Point) -> int:
        """Return the position up to which what is recorded was by `Point.until`."""
        if point.until == point.asked_at:
            return point.position
        return min(point.position, self.ledger.resolve(point.until).position)

    def again(self, point: Point) -> Point:
        """Return *point*, at which a list was begun and goes on."""
        latest.set(point)
        return point

    def span(self, start: Instant, end: Instant | None) -> tuple[int, int]:
        """
        Return the positions that ``[start, end)`` reaches: past the first, to the second.

        Raises:
            InvalidPeriodError: If *start* is not before *end*.
            FutureAsOfError: If *start* has not come.
        """
        if end is not None:
            Period(start, end)
        first = self.ledger.resolve(Instant(start - 1)).position
        point = self.now()
        if end is None or end > point.asked_at:
            return first, point.position
        return first, self.at(Instant(end - 1), None).position

    def refuse_thinned(
        self, subject: Subject, point: Point, *, fact_id: str | None = None
    ) -> None:
        """
        Refuse a point of which only a part is still known.

        Args:
            subject: Whose memory.
            point: What is asked for.
            fact_id: The one fact that is asked for; if left out, all of the memory.

        Raises:
            ThinnedError: If what was known then was thinned.
        """
        thinned = self._thinned(subject)
        for asked in (point.asked_at, point.as_of.valid_at):
            if is_kept(asked, thinned):
                continue
            if fact_id is None or self._is_thinned(fact_id, asked):
                what = str(subject.scope) if fact_id is None else f"fact {fact_id}"
                kept = year_start(asked), next_year_start(asked)
                raise ThinnedError(what, asked=asked, kept=kept)

    def _thinned(self, subject: Subject) -> Period | None:
        """
        Return of when what was known of a subject was thinned.

        Asked of the ledger once after each destruction of a key: until then nothing that
        was thinned is unreadable. So this is asked after what it vouches for was read.
        """
        epoch, known = self._spans
        if epoch != self.ledger.vault.known_epoch:
            epoch, known = self._spans = self.ledger.vault.known_epoch, {}
        if subject.ref in known:
            return known[subject.ref]
        thinned = self.ledger.subject_state(subject).thinned
        if len(known) < _SPANS_MAX:
            known[subject.ref] = thinned
        return thinned

    def _is_thinned(self, fact_id: str, asked: Instant) -> bool:
        """Whether something of one fact went that was known or held before that time."""
        events = self.ledger.recorder.read_stream(FACT + fact_id)
        said = self.ledger.mapper.opened(events, None)
        untils = (e.event.until for e in said if isinstance(e.event, FactThinned))
        return any(asked < until for until in untils)

    def facts(
        self,
        scope: Scope,
        point: Point,
        *,
        category: str | None = None,
        after: tuple[Instant, str] | None = None,
        limit: int | None = None,
    ) -> list[tuple[Fact, BeliefRow]]:
        """
        Return what is believed of a subject at *point*, each with its rectangle.

        Args:
            scope: Whose memory; one that nobody remembers anything of has no facts.
            point: On both axes.
            category: Only this category.
            after: Only past this valid start and fact id.
            limit: At most so many.
        """
        query = partial(
            BeliefQuery,
            as_of=point.as_of,
            category=category,
            after=after,
            limit=limit,
            expired_at=point.asked_at,
        )
        recalled = self.ledger.vault.recalled(scope)
        if recalled is not None:
            subject, epoch = recalled
            mine = query(subject_ref=subject.ref)
            believed = self._believed(subject, mine, point, epoch=epoch)
            if believed is not None:
                return believed
        found = self.ledger.vault.find(scope)
        if found is None:
            return []
        return self._believed(found, query(subject_ref=found.ref), point) or []

    def _believed(
        self,
        subject: Subject,
        query: BeliefQuery,
        point: Point,
        *,
        epoch: int | None = None,
    ) -> list[tuple[Fact, BeliefRow]] | None:
        """
        Return what is believed of *subject*.

        ``None`` if a key was destroyed since *epoch*, where that is given: then the vault
        is asked once, after the rows were read, and not before that, too.
        """
        vault = self.ledger.vault
        found = self.timeline.of_subject(query)
        sealed = [each.said for each in found]
        said = self.ledger.mapper.opened(sealed, subject, tagged=False)
        if epoch is not None and epoch != (vault.known_epoch if found else vault.epoch()):
            return None
        is_gone = any(map(showing.says_nothing, said))
        if is_gone and self.ledger.was_erased(subject):
            # It was erased while this was read: its keys go before its rows.
            return []
        self.refuse_thinned(subject, point)
        return [
            (showing.fact(subject, event, each.row.valid), each.row)
            for event, each in zip(said, found, strict=True)
        ]

    def usable_facts(
        self,
        scope: Scope,
        point: Point,
        *,
        category: str | None,
        after: tuple[Instant, str] | None,
        limit: int,
    ) -> list[tuple[Fact, BeliefRow]]:
        """Return what may be used now: what `facts` does, but for what is restricted."""
        subject = self.ledger.vault.find(scope)
        state = self.ledger.subject_state(subject) if subject else SubjectState()
        if state.is_unused:
            return []
        # At one point a fact has one belief, so this many are enough for *limit* others.
        most = limit + len(state.deferred)
        found = self.facts(scope, point, category=category, after=after, limit=most)
        usable = [each for each in found if not state.restricts(each[0].fact_id)]
        return usable[:limit]

    def usable(self, subjects: Sequence[Subject]) -> Usable:
        """Return those of *subjects* that may be used now, and what of them may not."""
        states = {each.ref: self.ledger.subject_state(each) for each in subjects}
        used = [each for each in subjects if not states[each.ref].is_unused]
        hidden = {fact_id for each in used for fact_id in states[each.ref].deferred}
        return Usable(
            subjects=used, hidden=withheld.get() | frozenset(hidden), states=states
        )

    def why_unused(self, fact: Fact, position: int | None = None) -> str | None:
        """Return why a fact is stored and not used, or was not at a position, if so."""
        subject = self.ledger.vault.find(fact.scope)
        if subject is None:
            return None
        state = self.ledger.subject_state(subject, position)
        if state.hidden:
            return HIDDEN
        if not state.restricts(fact.fact_id):
            return None
        if state.frozen and not (state.erasure_deferred or state.holds_on(fact.fact_id)):
            return "it is to be forgotten once its memory is thawed"
        return "it is to be forgotten, a legal hold keeps it"

    def fact(self, fact_id: str, point: Point) -> tuple[Fact, BeliefRow] | None:
        """Return what is believed of one fact at *point*, expired or not."""
        found = self.timeline.of_fact(fact_id, point.as_of)
        opened = self.ledger.mapper.opened_alone(found.said) if found else None
        if found is None or opened is None:
            return None
        subject, said = opened
        if showing.says_nothing(said) and self.ledger.was_erased(subject):
            return None
        self.refuse_thinned(subject, point, fact_id=fact_id)
        return showing.fact(subject, said, found.row.valid), found.row

    def content_in_use(self, fact_id: str, point: Point) -> str | None:
        """Return what one fact says at *point*, unless nothing does, or it expired."""
        found = self.fact(fact_id, point)
        if found is None or expired(found[1], point):
            return None
        return found[0].content

    def versions(
        self, subject: Subject, events: Sequence[RecordedEvent]
    ) -> tuple[FactVersion, ...]:
        """Return *events* of facts with who caused them and why."""
        origins = self.ledger.origins(subject, events)
        return tuple(showing.version(each, origins) for each in events)

    def causes(
        self, scope: Scope, fact_ids: Sequence[str], first: Point, second: Point
    ) -> Mapping[str, tuple[FactVersion, ...]]:
        """Return by fact the events that made it differ between two points."""
        subject = self.ledger.vault.find(scope)
        if subject is None or not fact_ids:
            return {}
        low, high = sorted((first.position, second.position))
        about = {first.as_of.valid_at, second.as_of.valid_at}
        # What is believed when needs no content, and most events of a fact turned nothing.
        sealed = {
            each.position: each
            for each in self.ledger.recorder.read_streams(
                [FACT + each for each in fact_ids]
            )
            if each.position <= high
        }
        streams = showing.by_fact(self.ledger.mapper.opened([*sealed.values()], None))
        turning = {
            event.position
            for fact_id in fact_ids
            for event in showing.turning(streams.get(fact_id, ()), about, after=low)
        }
        chosen = [sealed[position] for position in sorted(turning)]
        opened = self.ledger.mapper.opened(chosen, subject, tagged=False)
        origins = self.ledger.origins(subject, opened)
        causes: dict[str, tuple[FactVersion, ...]] = dict.fromkeys(fact_ids, ())
        for event in opened:
            causes[event.fact_id] += (showing.version(event, origins),)
        return causes


def _noted(head: Head, asked_at: Instant, about: Instant, *, promised: Instant) -> Point:
    """Return the point of *head*, and note it as where the last answer was read."""
    point = Point(
        as_of=AsOf(recorded_at=head.recorded_at, valid_at=about),
        asked_at=asked_at,
        position=head.position,
        promised=promised,
    )
    latest.set(point)
    return point


def expired(row: BeliefRow, point: Point) -> bool:
    """Whether a belief is no longer used at *point*, since its time to live is over."""
    expires_at = row.traits.expires_at
    return expires_at is not None and expires_at <= point.asked_at
