"""Events on their way in from an export, and what no ledger can have recorded."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from muniment.archive.portable import Document
from muniment.domain.events import (
    Event,
    FactAsserted,
    FactEvent,
    FactRestored,
    FactRolledBack,
    FactThinned,
    SubjectEvent,
)
from muniment.domain.session import (
    SessionEnded,
    SessionEvent,
    SessionRedacted,
    SessionStarted,
    SummaryMade,
    SummaryWithdrawn,
    TurnAdded,
    TurnRedacted,
    TurnsExpired,
)
from muniment.errors import InvalidValueError
from muniment.ledger.records import SESSION


@dataclass(frozen=True, slots=True, kw_only=True)
class Arriving:
    """An event on its way in; *stream* is empty for one of the subject itself."""

    stream: str
    version: int
    tx_id: int
    position: int
    event: Event


def check_counts(document: Document) -> None:
    """Refuse an export that is not whole."""
    if document.hidden:
        raise InvalidValueError("hidden", document.hidden, "an export that hides nobody")
    counts = document.counts
    found = {
        "facts": (counts.facts, len(document.facts)),
        "versions": (counts.versions, sum(len(e.versions) for e in document.facts)),
        "transactions": (counts.transactions, len(document.transactions)),
        "about": (counts.about, len(document.about)),
        "conversation": (counts.conversation, document.talk_count),
    }
    for name, (expected, there) in found.items():
        if expected != there:
            raise InvalidValueError(name, there, f"{expected:,}, as the export counts them")


def check_order(events: Sequence[Arriving]) -> None:
    """Refuse what no ledger can have recorded."""
    versions: dict[str, int] = {}
    ended: set[str] = set()
    for each in events:
        place = each.stream or "the subject"
        if each.version != versions.get(each.stream, 0) + 1:
            raise bad(place, f"version {versions.get(each.stream, 0) + 1} next")
        versions[each.stream] = each.version
        kind, _, name = each.stream.partition("-")
        if not isinstance(each.event, _OF_STREAM[kind]):
            raise bad(place, "events of its own kind")
        begins = isinstance(each.event, FactAsserted | SessionStarted)
        if kind in (_FACT, _SESSION) and begins != (each.version == 1):
            raise bad(place, "begun first, and once")
        if kind in (_TURNS, _SUMMARIES) and SESSION + name not in versions:
            raise bad(place, "in a session that has begun")
        is_unsaid = isinstance(each.event, TurnRedacted | SessionRedacted | TurnsExpired)
        if kind in (_TURNS, _SESSION) and name in ended and not is_unsaid:
            raise bad(place, "nothing said in a session that has ended")
        if isinstance(each.event, SessionEnded):
            ended.add(name)
        _check_reach(each, versions, place)


def _check_reach(each: Arriving, versions: Mapping[str, int], place: str) -> None:
    """Refuse what would reach versions, or turns, that there were not then."""
    match each.event:
        case FactRestored(to_version=version) | FactRolledBack(to_version=version):
            if not 0 <= version < each.version:
                raise bad(place, "a return to a version it had")
        case FactThinned(versions=runs):
            _check_runs(runs, each.version, place)
        case TurnsExpired(last_turn=last):
            turns = _TURNS + each.stream.removeprefix(_SESSION)
            is_number: object = last
            if not isinstance(is_number, int) or not 0 <= last <= versions.get(turns, 0):
                raise bad(place, "turns it had that are expired")
        case _:
            pass


def _check_runs(runs: Sequence[Sequence[Any]], version: int, place: str) -> None:
    """Refuse what would thin versions that the fact had not then."""
    for first, last in runs:
        are_numbers = isinstance(first, int) and isinstance(last, int)
        if not are_numbers or not 1 <= first <= last < version:
            raise bad(place, "versions it had that were thinned")


def bad(place: str, expected: str) -> InvalidValueError:
    """Return the error for what is no export as a store writes it."""
    return InvalidValueError("the export", place, expected)


_FACT, _SESSION, _TURNS, _SUMMARIES = "fact", "session", "turns", "summaries"
_OF_STREAM: Mapping[str, Any] = {
    "": SubjectEvent,
    _FACT: FactEvent,
    _SESSION: SessionEvent,
    _TURNS: TurnAdded,
    _SUMMARIES: SummaryMade | SummaryWithdrawn,
}
"""What the streams hold, by the beginning of their names."""
