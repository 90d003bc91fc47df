"""
What an agent had at a moment, said so plainly that it is obviously right, and slowly.

Memory is what `tests.oracle` says it is. What was said, how agents were set up and what
was recalled is found by going through the whole ledger once more for each question.
"""

from muniment.domain.events import FactRedacted, RecordsExpired, SubjectErased
from muniment.domain.receipt import ConfigurationRecorded, ReceiptLeft
from muniment.domain.session import (
    SessionRedacted,
    SummaryMade,
    SummaryWithdrawn,
    TurnAdded,
    TurnRedacted,
    TurnsExpired,
)
from muniment.domain.time import AsOf, Instant
from tests import oracle
from tests.oracle import Ledger, Recorded, Seen


def remembered(ledger: Ledger, subject: str, at: Instant) -> list[tuple[str, str | None]]:
    """
    Return what a replay of *at* shows of a memory: each fact with its text, in order.

    The text is ``None`` where it was redacted, before or since: nobody can read it.
    """
    mine = since_erased(ledger, subject)
    seen = oracle.snapshot(mine, subject, AsOf(recorded_at=at, valid_at=at))
    return [(one.said.fact_id, _text(mine, one)) for one in seen]


def said(ledger: Ledger, subject: str, at: Instant) -> list[tuple[str, str | None]]:
    """
    Return what had been said by *at* as it was known then: each turn's id and words.

    In order of when it was said, which is never after it was recorded.
    """
    mine = since_erased(ledger, subject)
    spoken: list[tuple[Instant, int, str, str | None]] = []
    for each in mine:
        if not isinstance(each.event, TurnAdded) or each.recorded_at > at:
            continue
        uttered_at = each.event.uttered_at
        when = each.recorded_at if uttered_at is None else uttered_at
        when = min(when, each.recorded_at)
        gone = is_unsaid(mine, str(each.session_id), each.version)
        assert each.event.words is not None, "the oracle holds whole turns"
        text = None if gone else each.event.words.text
        if when <= at:
            turn_id = f"{each.session_id}.{each.version}"
            spoken.append((when, each.position, turn_id, text))
    return [(turn_id, text) for _, _, turn_id, text in sorted(spoken, key=lambda e: e[:2])]


def is_redacted(ledger: Ledger, session_id: str, number: int) -> bool:
    """Whether the words of a turn were redacted, by themselves or with their session."""
    return any(
        each.session_id == session_id
        and each.event in (TurnRedacted(number=number), SessionRedacted())
        for each in ledger
    )


def is_unsaid(ledger: Ledger, session_id: str, number: int) -> bool:
    """Whether nobody can read the words of a turn: redacted, or kept long enough."""
    is_expired = any(
        each.session_id == session_id
        and isinstance(each.event, TurnsExpired)
        and number <= each.event.last_turn
        for each in ledger
    )
    return is_expired or is_redacted(ledger, session_id, number)


def summarised(
    ledger: Ledger, session_id: str, at: Instant
) -> dict[int, tuple[int, int, bool]]:
    """
    Return by version the summaries of turns in use at *at*, and whether they can be read.

    Each with its first and last turn. No two of them cover the same turn.
    """
    used: dict[int, tuple[int, int, bool]] = {}
    for each in ledger:
        if each.session_id != session_id or each.recorded_at > at:
            continue
        match each.event:
            case SummaryMade(first_turn=first, last_turn=last):
                span = range(first, last + 1)
                since = [e for e in ledger if e.position > each.position]
                gone = any(is_unsaid(since, session_id, number) for number in span)
                used[each.version] = first, last, not gone
            case SummaryWithdrawn(summary_version=version):
                used.pop(version, None)
            case TurnRedacted() | TurnsExpired() as event:
                used = {
                    version: kept
                    for version, kept in used.items()
                    if not _reaches(event, kept[0], kept[1])
                }
            case _:
                pass
    return used


def _reaches(event: TurnRedacted | TurnsExpired, first: int, last: int) -> bool:
    """Whether what happened took words from a summary of some turns."""
    if isinstance(event, TurnRedacted):
        return first <= event.number <= last
    return first <= event.last_turn


def configured(ledger: Ledger, at: Instant) -> dict[str, object]:
    """Return by name what was set at *at*; what was set to nothing is not there."""
    found: dict[str, object] = {}
    for each in oracle.known(ledger, at):
        if isinstance(each.event, ConfigurationRecorded) and each.event.setting:
            found[each.event.setting.name] = each.event.setting.value
    return {name: value for name, value in found.items() if value is not None}


def recalled(ledger: Ledger, subject: str, at: Instant) -> list[ReceiptLeft]:
    """Return the receipts of what was recalled from a memory up to *at*, in order."""
    mine = since_erased(ledger, subject)
    receipts = [each.event for each in mine if isinstance(each.event, ReceiptLeft)]
    return [each for each in receipts if each.asked_at <= at]


def asked(ledger: Ledger, subject: str, left: ReceiptLeft) -> str | None:
    """Return what was asked, as far as a receipt of *subject* says so still."""
    is_expired = any(
        isinstance(each.event, RecordsExpired) and left.asked_at < each.event.until
        for each in since_erased(ledger, subject)
    )
    return None if is_expired or left.recall is None else left.recall.query


def since_erased(ledger: Ledger, subject: str) -> list[Recorded]:
    """Return what happened to *subject*, but for what an erasure took out for good."""
    erasures = [
        each.position
        for each in ledger
        if each.subject == subject and isinstance(each.event, SubjectErased)
    ]
    last = max(erasures, default=0)
    return [each for each in ledger if each.subject == subject and each.position > last]


def _text(ledger: Ledger, seen: Seen) -> str | None:
    history = oracle.of_fact(ledger, seen.said.fact_id)
    if any(isinstance(each.event, FactRedacted) for each in history):
        return None
    content = seen.statement.content
    return content.text if content else None
