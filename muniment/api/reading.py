"""Reading a store: what is known now, what was known then, what changed, who said so."""

from collections.abc import Iterable
from functools import partial

from muniment.api import cursors, inputs, showing
from muniment.api.answers import (
    BlameEntry,
    DiffEntry,
    Fact,
    FactHistory,
    MemoryDiff,
    MemorySnapshot,
    ModifiedFact,
    Page,
)
from muniment.api.lookup import Lookup, expired
from muniment.api.points import Point
from muniment.api.verbs import verb
from muniment.domain.fact import FactState
from muniment.domain.scope import Scope
from muniment.domain.time import BEGINNING, AsOf, Instant
from muniment.errors import FactNotCurrentError, StoreClosedError, UnknownFactError
from muniment.instants import Time, moment, to_instant
from muniment.ledger import sealing
from muniment.ledger.ledger import Ledger
from muniment.projections.beliefs import BeliefRow, Timeline


PAGE_MAX = 1_000


class ReadingStore:
    """
    Answers questions about one ledger. Each answer reads at one position with one now.

    Safe to use from many threads.
    """

    def __init__(self, ledger: Ledger, timeline: Timeline) -> None:
        self._open_lookup: Lookup | None = Lookup(ledger, timeline)
        self._cursor_key = sealing.derived(ledger.vault.ledger_key, "cursor")

    @verb
    def get(
        self, fact_id: str, *, as_of: Time | None = None, valid_at: Time | None = None
    ) -> Fact:
        """
        Return what is believed of a fact, now or at a point before.

        Args:
            fact_id: The fact.
            as_of: What was known then; now if left out.
            valid_at: About this time; *as_of* itself if left out.

        Raises:
            UnknownFactError: If it was never recorded, or its subject was erased.
            FactNotCurrentError: If nothing is believed of it there.
            FutureAsOfError: If *as_of* has not come.
        """
        inputs.name("fact_id", fact_id)
        lookup = self._lookup
        point = lookup.point(as_of, valid_at)
        found = lookup.fact(fact_id, point)
        if found is None:
            _, events = self._ledger.fact(fact_id)
            known = [each for each in events if each.position <= point.position]
            raise FactNotCurrentError(fact_id, _why_not(showing.state(known), point))
        fact, row = found
        if expired(row, point):
            raise FactNotCurrentError(fact_id, "it has expired")
        unused = lookup.why_unused(fact) if as_of is None else None
        if unused is not None:
            raise FactNotCurrentError(fact_id, unused)
        return fact

    @verb
    def get_all(
        self,
        *,
        user_id: str | None = None,
        scope: Scope | None = None,
        scopes: Iterable[Scope | str] | None = None,
        category: str | None = None,
        as_of: Time | None = None,
        valid_at: Time | None = None,
        limit: int = 100,
        cursor: str | None = None,
    ) -> Page:
        """
        Return what is believed of a subject, now or at a point before, part by part.

        Every part is read at the position and the time of the first, so that nothing is
        missed or repeated while others write. As of a time before, it is all that was
        believed; now, what waits to be forgotten is left out.

        Args:
            user_id: Whose memory; or *scope*; or *scopes*.
            scope: Whose memory.
            scopes: Several, listed together, up to 100.
            category: Only this category.
            as_of: What was known then; now if left out.
            valid_at: About this time; *as_of* itself if left out. May lie ahead.
            limit: 1 to 1,000.
            cursor: `Page.next_cursor` of the part before, asked for alike.

        Raises:
            InvalidCursorError: If *cursor* belongs to another query.
            FutureAsOfError: If *as_of* has not come.
        """
        whose = inputs.scopes_of(user_id, scope, scopes)
        inputs.count("limit", limit, least=1, most=PAGE_MAX)
        category = inputs.name_or_none("category", category, most=inputs.LABEL_LENGTH_MAX)
        times = [inputs.time_or_none(each) for each in (as_of, valid_at)]
        query = [list(map(str, whose)), category, times]
        point, after = self._begun(cursor, query, as_of, valid_at)
        listed = self._lookup.usable_facts if as_of is None else self._lookup.facts
        ask = partial(listed, category=category, after=after, limit=limit + 1)
        facts = sorted((each for some in whose for each in ask(some, point)), key=_place)
        page = facts[:limit]
        return Page(
            items=tuple(fact for fact, _ in page),
            next_cursor=self._cursor(page[-1][1], point, query) if facts[limit:] else None,
            position=point.position,
            recorded_at=moment(point.known_at),
            valid_at=moment(point.as_of.valid_at),
        )

    @verb
    def get_memory_as_of(
        self,
        *,
        timestamp: Time,
        user_id: str | None = None,
        scope: Scope | None = None,
        valid_at: Time | None = None,
    ) -> MemorySnapshot:
        """
        Return what was believed of a subject at *timestamp*; the same for ever after.

        Args:
            timestamp: What was known then …
            user_id: Whose memory; or *scope*.
            scope: Whose memory; or *user_id*.
            valid_at: … about this time; *timestamp* itself if left out. May lie ahead.

        Raises:
            FutureAsOfError: If *timestamp* has not come.
        """
        whose = inputs.scope_of(user_id, scope)
        point = self._lookup.at(to_instant(timestamp), inputs.time_or_none(valid_at))
        return MemorySnapshot(
            facts=tuple(fact for fact, _ in self._lookup.facts(whose, point)),
            position=point.position,
            recorded_at=moment(point.asked_at),
            valid_at=moment(point.as_of.valid_at),
        )

    @verb
    def get_fact_history(
        self, fact_id: str, *, as_of: Time | None = None, valid_at: Time | None = None
    ) -> FactHistory:
        """
        Return every version of a fact, oldest first, with who made it and why.

        Args:
            fact_id: The fact.
            as_of: The versions that were known then; all there are now if left out.
            valid_at: Of this time is `FactHistory.current_content`; *as_of* if left out.

        Raises:
            UnknownFactError: If it was never recorded by then, or its subject was erased.
            FutureAsOfError: If *as_of* has not come.
        """
        inputs.name("fact_id", fact_id)
        point = self._lookup.point(as_of, valid_at)
        subject, every = self._ledger.fact(fact_id)
        events = [each for each in every if each.position <= point.position]
        if not events:
            raise UnknownFactError(fact_id)
        current = self._lookup.content_in_use(fact_id, point)
        return FactHistory(
            fact_id=fact_id,
            scope=subject.scope,
            versions=self._lookup.versions(subject, events),
            current_version=len(events),
            current_content=current,
        )

    @verb
    def diff_memory(
        self,
        *,
        time_a: Time,
        time_b: Time,
        user_id: str | None = None,
        scope: Scope | None = None,
        valid_at: Time | None = None,
    ) -> MemoryDiff:
        """
        Return what differs between what was believed at two times, and what caused it.

        Args:
            time_a: The first side.
            time_b: The second side; may lie before the first.
            user_id: Whose memory; or *scope*.
            scope: Whose memory; or *user_id*.
            valid_at: Compare what was known about this one time; by default each side
                is about its own.

        Raises:
            FutureAsOfError: If one of the times has not come.
        """
        whose = inputs.scope_of(user_id, scope)
        about = inputs.time_or_none(valid_at)
        first = self._lookup.at(to_instant(time_a), about)
        second = self._lookup.at(to_instant(time_b), about)
        before = {fact.fact_id: fact for fact, _ in self._lookup.facts(whose, first)}
        after = {fact.fact_id: fact for fact, _ in self._lookup.facts(whose, second)}
        differing = [
            fact_id
            for fact_id in sorted(before.keys() | after.keys())
            if showing.visible(before.get(fact_id)) != showing.visible(after.get(fact_id))
        ]
        causes = self._lookup.causes(whose, differing, first, second)
        entries = [
            DiffEntry(
                fact_id=fact_id,
                before=before.get(fact_id),
                after=after.get(fact_id),
                causes=causes[fact_id],
            )
            for fact_id in differing
            if fact_id in causes  # or it was erased meanwhile
        ]
        return showing.diff_of(entries, first.position, second.position)

    @verb
    def list_modified_facts(
        self,
        *,
        start: Time,
        end: Time | None = None,
        user_id: str | None = None,
        scope: Scope | None = None,
    ) -> tuple[ModifiedFact, ...]:
        """
        Return the facts of which something was recorded in ``[start, end)``.

        Args:
            start: Recorded at or after.
            end: Recorded before; up to now if left out.
            user_id: Whose memory; or *scope*.
            scope: Whose memory; or *user_id*.

        Returns:
            In order of their first change in that span.

        Raises:
            InvalidPeriodError: If *start* is not before *end*.
        """
        whose = inputs.scope_of(user_id, scope)
        after, until = self._lookup.span(to_instant(start), inputs.time_or_none(end))
        subject = self._ledger.vault.find(whose)
        if subject is None:
            return ()
        events = self._ledger.subject_events(subject, after=after, until=until)
        origins = self._ledger.origins(subject, events)
        return tuple(
            ModifiedFact(
                fact_id=fact_id,
                scope=subject.scope,
                versions=tuple(showing.version(each, origins) for each in of_fact),
            )
            for fact_id, of_fact in showing.by_fact(events).items()
        )

    @verb
    def blame(
        self,
        *,
        user_id: str | None = None,
        scope: Scope | None = None,
        as_of: Time | None = None,
        valid_at: Time | None = None,
    ) -> tuple[BlameEntry, ...]:
        """
        Return for each belief who said it, in which transaction and why.

        Args:
            user_id: Whose memory; or *scope*.
            scope: Whose memory; or *user_id*.
            as_of: What was known then; now if left out.
            valid_at: About this time; *as_of* itself if left out.

        Raises:
            FutureAsOfError: If *as_of* has not come.
        """
        whose = inputs.scope_of(user_id, scope)
        point = self._lookup.point(as_of, valid_at)
        subject = self._ledger.vault.find(whose)
        if subject is None:
            return ()
        facts = [fact for fact, _ in self._lookup.facts(whose, point)]
        events = self._ledger.subject_events(subject, until=point.position)
        if not events:
            return ()
        streams = showing.by_fact(events)
        about = point.as_of.valid_at
        blamed = [
            (each, showing.last_shown(streams[each.fact_id], about)) for each in facts
        ]
        shown = [streams[fact.fact_id][fact.version - 1] for fact in facts]
        shown += [event for _, event in blamed if event is not None]
        origins = self._ledger.origins(subject, shown)
        return tuple(
            BlameEntry(
                fact=fact,
                said_by=showing.version(streams[fact.fact_id][fact.version - 1], origins),
                restored_by=None if again is None else showing.version(again, origins),
            )
            for fact, again in blamed
        )

    @property
    def _lookup(self) -> Lookup:
        if self._open_lookup is None:
            raise StoreClosedError
        return self._open_lookup

    @property
    def _ledger(self) -> Ledger:
        return self._lookup.ledger

    def _begun(
        self, cursor: str | None, query: object, as_of: Time | None, valid_at: Time | None
    ) -> tuple[Point, tuple[Instant, str] | None]:
        """Return where a list is read, and what of it was given already."""
        if cursor is None:
            return self._lookup.point(as_of, valid_at), None
        last = cursors.read(cursor, query=query, key=self._cursor_key)
        point = _point_of(last, inputs.time_or_none(as_of))
        return self._lookup.again(point), (last.after_valid_from, last.after_fact_id)

    def _cursor(self, row: BeliefRow, point: Point, query: object) -> str:
        cursor = cursors.Cursor(
            recorded_at=point.as_of.recorded_at,
            valid_at=point.as_of.valid_at,
            now=point.asked_at,
            position=point.position,
            after_valid_from=row.valid.start,
            after_fact_id=row.fact_id,
        )
        return cursors.written(cursor, query=query, key=self._cursor_key)


def _place(found: tuple[Fact, BeliefRow]) -> tuple[Instant, str]:
    return found[1].valid.start, found[1].fact_id


def _point_of(cursor: cursors.Cursor, promised: Instant | None) -> Point:
    """Return where a list was begun: as of a time up to which all is known, or just now."""
    return Point(
        as_of=AsOf(recorded_at=cursor.recorded_at, valid_at=cursor.valid_at),
        asked_at=cursor.now,
        position=cursor.position,
        promised=BEGINNING if promised is None else promised,
    )


def _why_not(fact: FactState, point: Point) -> str:
    """Return in words why nothing is believed of a fact now."""
    if fact.redacted:
        return "it was redacted"
    if fact.head == 0:
        return "it was not recorded yet"
    if not fact.beliefs:
        return f"its version {fact.head} left nothing believed"
    if fact.beliefs[0].valid.start > point.as_of.valid_at:
        return "its time has not come"
    return "its time is over"
