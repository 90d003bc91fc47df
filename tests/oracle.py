"""
What a ledger means, said so plainly that it is obviously right, and slowly.

Everything follows from one question: what does a fact say about *one instant*, after
some of its events? `life` answers it by looking at the events one after the other. No
period is ever split here: a whole fact is `life` asked once for every stretch of time
in which no event of it begins or ends.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import assert_never

from muniment.domain.events import (
    Event,
    FactAsserted,
    FactCorroborated,
    FactEnded,
    FactEvent,
    FactRedacted,
    FactRestored,
    FactRetired,
    FactRevised,
    FactRolledBack,
    FactThinned,
)
from muniment.domain.time import BEGINNING, FOREVER, AsOf, Instant, Period


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """
    One event as the ledger recorded it.

    Attributes:
        subject: Whose memory it is about, such as ``user:ann``.
        fact_id: The fact it happened to; empty when it happened to the subject.
        version: Place among the events of that fact, or of that subject.
    """

    position: int
    tx_id: int
    recorded_at: Instant
    subject: str
    fact_id: str
    version: int
    event: Event
    action: str = ""
    actor: str | None = None
    reason: str | None = None
    trigger: str | None = None
    session_id: str | None = None

    @property
    def source(self) -> str | None:
        """What the event was said to come from, where it says and can be read."""
        match self.event:
            case FactAsserted(content=content) | FactRevised(content=content):
                return content.evidence.source if content else None
            case FactCorroborated(evidence=evidence):
                return evidence.source if evidence else None
            case _:
                return None


Ledger = Sequence[Recorded]
"""All events of a ledger, or those of one fact, in order."""

Held = frozenset[tuple[Period, int]]
"""What is believed of a fact: a version for each of some disjoint periods."""

Wrote = Callable[[Recorded], bool]
"""Whether an event was written by the cause that is to be taken back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Culprit:
    """Whose events are to be taken back: those that match every field that is given."""

    session_id: str | None = None
    source: str | None = None
    actor: str | None = None
    trigger: str | None = None
    tx_id: int | None = None
    since: Instant | None = None
    until: Instant | None = None

    def wrote(self, event: Recorded) -> bool:
        pairs = [
            (self.session_id, event.session_id),
            (self.source, event.source),
            (self.actor, event.actor),
            (self.trigger, event.trigger),
            (self.tx_id, event.tx_id),
        ]
        if any(asked is not None and asked != found for asked, found in pairs):
            return False
        if self.since is not None and event.recorded_at < self.since:
            return False
        return self.until is None or event.recorded_at < self.until


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One belief as a reader sees it: for when, and the event that said it."""

    valid: Period
    said: Recorded

    @property
    def statement(self) -> FactAsserted | FactRevised:
        assert isinstance(self.said.event, FactAsserted | FactRevised)
        return self.said.event


def life(events: Iterable[FactEvent], at: Instant) -> list[int | None]:
    """Return the version believed about *at* before all events, and after each of them."""
    shown: list[int | None] = [None]
    redacted = False
    for version, event in enumerate(events, 1):
        redacted = redacted or isinstance(event, FactRedacted)
        shown.append(None if redacted else _next(shown, version, event, at))
    return shown


def held(events: Iterable[FactEvent]) -> Held:
    """Return what is believed of the fact to which *events* happened."""
    told = tuple(events)
    return _pieces(told, lambda at: life(told, at)[-1])


def of_fact(ledger: Ledger, fact_id: str) -> list[Recorded]:
    """Return the history of one fact."""
    return [each for each in ledger if each.fact_id == fact_id]


def of_subject(ledger: Ledger, subject: str) -> dict[str, list[Recorded]]:
    """Return the history of each fact of a subject, in order of its first event."""
    mine = [each for each in ledger if each.subject == subject and each.fact_id]
    return {fact_id: of_fact(mine, fact_id) for fact_id in _ids(mine)}


def known(ledger: Ledger, recorded_at: Instant) -> list[Recorded]:
    """Return what the ledger held at *recorded_at*."""
    return [each for each in ledger if each.recorded_at <= recorded_at]


def held_at(ledger: Ledger, fact_id: str, recorded_at: Instant) -> Held:
    """Return what was believed of a fact at *recorded_at*, expired or not."""
    return held(happened(known(of_fact(ledger, fact_id), recorded_at)))


def snapshot(ledger: Ledger, subject: str, as_of: AsOf) -> list[Seen]:
    """Return what a reader saw of *subject* at one point on both axes, in its order."""
    seen = []
    for fact in of_subject(known(ledger, as_of.recorded_at), subject).values():
        for valid, version in held(happened(fact)):
            one = Seen(valid=valid, said=fact[version - 1])
            if as_of.valid_at in valid and not _expired(one, as_of.recorded_at):
                seen.append(one)
    return sorted(seen, key=lambda one: (one.valid.start, one.said.fact_id))


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """How one fact looks to a reader at two points; ``None`` where it is not seen."""

    before: Seen | None
    after: Seen | None


def diff(ledger: Ledger, subject: str, first: AsOf, second: AsOf) -> dict[str, Difference]:
    """Return by fact what a reader sees otherwise at *second* than at *first*."""
    before = {one.said.fact_id: one for one in snapshot(ledger, subject, first)}
    after = {one.said.fact_id: one for one in snapshot(ledger, subject, second)}
    return {
        fact_id: Difference(before=before.get(fact_id), after=after.get(fact_id))
        for fact_id in sorted(before.keys() | after.keys())
        if _looks(before.get(fact_id)) != _looks(after.get(fact_id))
    }


def causes(fact: Ledger, at: Instant, first: Instant, second: Instant) -> list[Recorded]:
    """
    Return the events that made a fact look different about *at* between two times.

    Those in between that changed which version is shown about *at*, or for how long. Where
    none did, only time has passed: then the one that set what is shown.
    """
    low, high = sorted((first, second))
    changing = [
        event
        for before, event in enumerate(fact)
        if event.recorded_at <= high
        and _piece(fact[:before], at) != _piece(fact[: before + 1], at)
    ]
    return [each for each in changing if each.recorded_at > low] or changing[-1:]


def modified(
    ledger: Ledger, subject: str, start: Instant, end: Instant
) -> dict[str, list[Recorded]]:
    """Return what was recorded of each fact of *subject* in ``[start, end)``."""
    span = [each for each in ledger if start <= each.recorded_at < end]
    return of_subject(span, subject)


def brought_back_by(ledger: Ledger, seen: Seen, as_of: AsOf) -> Recorded | None:
    """Return the event that made *seen* visible again after it was not, if one did."""
    fact = known(of_fact(ledger, seen.said.fact_id), as_of.recorded_at)
    shown = life(happened(fact), as_of.valid_at)
    set_by = max(n for n in range(1, len(shown)) if shown[n] != shown[n - 1])
    event = fact[set_by - 1]
    return event if isinstance(event.event, FactRestored | FactRolledBack) else None


def at_version(fact: Ledger, version: int) -> Held:
    """Return what was believed of a fact right after *version*; 0 is before all."""
    return held(happened(fact[:version]))


def had_it_not(fact: Ledger, wrote: Wrote) -> Held:
    """Return what would be believed now had the events of a cause changed nothing."""
    return _pieces(happened(fact), lambda at: _life_without(fact, wrote, at)[-1])


def taken_back(fact: Ledger, wrote: Wrote) -> Held:
    """
    Return what is believed once the events of a cause are taken back by force.

    Where they had effect, it is as right before the first of them; elsewhere as it is.
    """
    told = happened(fact)

    def shown(at: Instant) -> int | None:
        lived = life(told, at)
        for before, event in enumerate(fact):
            if wrote(event) and _reaches(told[before], at):
                return lived[before]
        return lived[-1]

    return _pieces(told, shown)


def clashing(fact: Ledger, wrote: Wrote) -> tuple[int, ...]:
    """Return the versions in which others said something on top of what would go."""
    told = happened(fact)
    instants = [piece.start for piece in stretches(told)]
    found = []
    for later, event in enumerate(fact):
        mine = [told[n] for n in range(later) if wrote(fact[n])]
        if not wrote(event) and any(
            _speaks(told[later], at) and any(_reaches(one, at) for one in mine)
            for at in instants
        ):
            found.append(event.version)
    return tuple(found)


def happened(fact: Ledger) -> list[FactEvent]:
    """Return what happened to a fact, without the ledger's stamp on it."""
    events = [each.event for each in fact]
    assert all(isinstance(event, FactEvent) for event in events)
    return [event for event in events if isinstance(event, FactEvent)]


def _next(
    shown: Sequence[int | None], version: int, event: FactEvent, at: Instant
) -> int | None:
    """Return the version that is believed about *at* once *event* has happened."""
    match event:
        case FactAsserted() | FactRevised():
            return version if at in event.valid else shown[-1]
        case FactEnded():
            return None if at >= event.valid_to else shown[-1]
        case FactRolledBack():
            inside = at in event.within
            return _right_after(shown, event.to_version) if inside else shown[-1]
        case FactRestored():
            return _right_after(shown, event.to_version)
        case FactCorroborated() | FactThinned():
            return shown[-1]
        case FactRetired() | FactRedacted():
            return None
        case _:
            assert_never(event)


def _right_after(shown: Sequence[int | None], version: int) -> int | None:
    """Return what was shown after *version*; no fact has versions below 0 or to come."""
    return shown[min(max(version, 0), len(shown) - 1)]


def _life_without(fact: Ledger, wrote: Wrote, at: Instant) -> list[int | None]:
    shown: list[int | None] = [None]
    for version, event in enumerate(happened(fact), 1):
        mine = wrote(fact[version - 1])
        shown.append(shown[-1] if mine else _next(shown, version, event, at))
    return shown


def _reaches(event: FactEvent, at: Instant) -> bool:
    """Whether *event* may change what is believed about *at*."""
    match event:
        case FactAsserted() | FactRevised():
            return at in event.valid
        case FactEnded():
            return at >= event.valid_to
        case FactRolledBack():
            return at in event.within
        case FactRetired() | FactRestored() | FactRedacted():
            return True
        case FactCorroborated() | FactThinned():
            return False
        case _:
            assert_never(event)


def _speaks(event: FactEvent, at: Instant) -> bool:
    """Whether *event* says something of its own, which holds about *at* among others."""
    match event:
        case FactAsserted() | FactRevised() | FactEnded():
            return _reaches(event, at)
        case FactCorroborated():
            return True
        case (
            FactRolledBack()
            | FactRestored()
            | FactRetired()
            | FactRedacted()
            | FactThinned()
        ):
            return False
        case _:
            assert_never(event)


def _pieces(events: Sequence[FactEvent], shown: Callable[[Instant], int | None]) -> Held:
    """Return which version is shown when: touching stretches of one version are one."""
    pieces: list[tuple[Period, int]] = []
    for stretch in stretches(events):
        version = shown(stretch.start)
        if version is None:
            continue
        if pieces and pieces[-1][0].end == stretch.start and pieces[-1][1] == version:
            stretch = Period(pieces.pop()[0].start, stretch.end)  # noqa: PLW2901
        pieces.append((stretch, version))
    return frozenset(pieces)


def stretches(events: Iterable[FactEvent]) -> list[Period]:
    """Return all of time, cut wherever one of *events* begins or ends."""
    cuts = {BEGINNING, FOREVER}
    for event in events:
        match event:
            case FactAsserted(valid=period) | FactRevised(valid=period):
                cuts |= {period.start, period.end}
            case FactRolledBack(within=period):
                cuts |= {period.start, period.end}
            case FactEnded(valid_to=instant):
                cuts.add(instant)
            case _:
                pass
    instants = sorted(cuts)
    return [Period(start, end) for start, end in pairwise(instants)]


def _piece(fact: Ledger, at: Instant) -> tuple[Period, int] | None:
    return next((each for each in held(happened(fact)) if at in each[0]), None)


def _expired(seen: Seen, recorded_at: Instant) -> bool:
    expires_at = seen.statement.traits.expires_at
    return expires_at is not None and expires_at <= recorded_at


def _looks(seen: Seen | None) -> object:
    """Return what a reader cares about: all but where it stands and who said it."""
    if seen is None:
        return None
    said = seen.statement
    if said.content is None:
        return seen.valid, said.traits, None
    evidence = said.content.evidence
    content = said.content.text, evidence.entities, evidence.metadata
    return seen.valid, said.traits, content


def _ids(events: Ledger) -> list[str]:
    return list(dict.fromkeys(each.fact_id for each in events))
