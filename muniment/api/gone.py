"""What an agent had and nobody can read any more: named, with a token in its place."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from muniment.api.answers import Fact
from muniment.api.receipts import RecallReceipt
from muniment.api.talking import session_state
from muniment.api.turns import EXPIRED, REDACTED, Turn, unreadable
from muniment.domain.events import FactRedacted, RecordsExpired
from muniment.domain.keeping import Records
from muniment.domain.session import (
    SessionRedacted,
    SummaryMade,
    TurnRedacted,
    TurnsExpired,
)
from muniment.instants import moment, to_instant
from muniment.ledger.codec import topic_of
from muniment.ledger.ledger import Ledger
from muniment.ledger.records import FACT, SESSION, SUBJECT, SUMMARIES, StampedEvent


ERASED: Final = "[erased]"
"""What stands in the place of what was another's, who was erased."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gone:
    """
    Something an agent had that nobody can read any more.

    Attributes:
        kind: ``fact``, ``turn``, ``summary`` or ``receipt``.
        name: The id of the fact or turn; session and version of the summary, with a
            number sign between; the position of the receipt.
        token: What stands in its place: ``[redacted]``; ``[expired]`` where it was kept
            as long as a rule says; or ``[erased]`` where its subject was erased.
        since: When that was recorded; ``None`` where nothing tells.
    """

    kind: str
    name: str
    token: str
    since: datetime | None


def in_their_place(
    facts: Iterable[Fact], turns: Iterable[Turn]
) -> tuple[tuple[Fact, ...], tuple[Turn, ...]]:
    """Return facts and turns with tokens as their content, where that is unreadable."""
    return (
        tuple(replace(e, content=REDACTED) if e.content is None else e for e in facts),
        tuple(replace(e, content=e.token) if e.content is None else e for e in turns),
    )


class Missing:
    """Looks up what became of what an agent had."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def of(
        self,
        facts: Sequence[Fact],
        turns: Sequence[Turn],
        receipts: Sequence[RecallReceipt],
    ) -> tuple[Gone, ...]:
        """Return what is gone of memory, of what was said, and of what was recalled."""
        readable = {each.fact_id for each in facts if each.content is not None}
        had = [*(each.fact_id for each in facts)]
        had += [each.fact_id for one in receipts for each in one.facts]
        asked = [each for each in dict.fromkeys(had) if each not in readable]
        summaries = dict.fromkeys(each for one in receipts for each in one.summaries)
        return (
            *self._facts(asked),
            *self._turns([each for each in turns if each.content is None]),
            *self._summaries([*summaries]),
            *self._receipts([each for each in receipts if each.token == EXPIRED]),
        )

    def _facts(self, fact_ids: Sequence[str]) -> Iterator[Gone]:
        streams = self._streams([FACT + each for each in fact_ids])
        redacted = topic_of(FactRedacted)
        for fact_id in fact_ids:
            events = streams.get(FACT + fact_id, ())
            if self._is_erased(events):
                yield Gone(kind="fact", name=fact_id, token=ERASED, since=None)
                # That it was redacted before makes it no second one that is gone.
                continue
            for each in events:
                if each.sealed.topic == redacted:
                    since = moment(each.recorded_at)
                    yield Gone(kind="fact", name=fact_id, token=REDACTED, since=since)

    def _turns(self, turns: Sequence[Turn]) -> Iterator[Gone]:
        sessions = dict.fromkeys(SESSION + each.session_id for each in turns)
        since: dict[tuple[str, int | None], datetime] = {}
        expired: dict[str, datetime] = {}
        by_id = {each.turn_id: each for each in turns if each.token == EXPIRED}
        for stream, events in self._streams([*sessions]).items():
            for each in self._ledger.mapper.opened(events, None):
                match each.event:
                    case TurnRedacted(number=number):
                        since[stream, number] = moment(each.recorded_at)
                    case SessionRedacted():
                        since[stream, None] = moment(each.recorded_at)
                    case TurnsExpired(last_turn=last):
                        for turn in by_id.values():
                            if stream == SESSION + turn.session_id and turn.number <= last:
                                expired.setdefault(turn.turn_id, moment(each.recorded_at))
                    case _:
                        pass
        for turn in turns:
            stream = SESSION + turn.session_id
            at = since.get((stream, turn.number), since.get((stream, None)))
            at = expired.get(turn.turn_id, at)
            token = turn.token or REDACTED
            yield Gone(kind="turn", name=turn.turn_id, token=token, since=at)

    def _receipts(self, receipts: Sequence[RecallReceipt]) -> Iterator[Gone]:
        for each in receipts:
            subject = self._ledger.vault.find(each.scope) if each.scope else None
            stream = SUBJECT + subject.ref if subject else ""
            said = self._ledger.recorder.read_stream(stream) if subject else ()
            since = (
                moment(recorded.recorded_at)
                for recorded in self._ledger.mapper.opened(said, None)
                if isinstance(recorded.event, RecordsExpired)
                and recorded.event.records is Records.RECEIPT
                and to_instant(each.recorded_at) < recorded.event.until
            )
            yield Gone(
                kind="receipt",
                name=str(each.position),
                token=EXPIRED,
                since=next(since, None),
            )

    def _summaries(self, summaries: Sequence[tuple[str, int]]) -> Iterator[Gone]:
        sessions = dict.fromkeys(SUMMARIES + session_id for session_id, _ in summaries)
        for stream, events in self._streams([*sessions]).items():
            session_id = stream.removeprefix(SUMMARIES)
            subject = self._ledger.vault.subject(events[0].sealed.subject_ref)
            last = session_state(self._ledger, session_id).last_expired
            for each in self._ledger.mapper.opened(events, subject):
                named = session_id, each.version
                if named not in summaries or not isinstance(each.event, SummaryMade):
                    continue
                if each.event.summary is None:
                    name = f"{session_id}#{each.version}"
                    token = unreadable(expired=each.event.first_turn <= last)
                    token = ERASED if subject is None else token
                    yield Gone(kind="summary", name=name, token=token, since=None)

    def _streams(self, names: Sequence[str]) -> Mapping[str, list[StampedEvent]]:
        found: dict[str, list[StampedEvent]] = {}
        for each in self._ledger.recorder.read_streams(names) if names else ():
            found.setdefault(str(each.sealed.originator_id), []).append(each)
        return found

    def _is_erased(self, events: Sequence[StampedEvent]) -> bool:
        return (
            not events or self._ledger.vault.subject(events[0].sealed.subject_ref) is None
        )
