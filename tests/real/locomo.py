"""
Long conversations of LoCoMo, loaded as a life of facts, with what should come of it.

The observations of each session are facts that hold from its time on. So that the
history is not trivial, each seventh of them is corrected a session later, each eleventh
changes, each thirteenth ends, and each seventeenth is retired and comes back a session
after that. What is expected is made here, from the script alone: of the store, only the
names it gave to facts are taken.

Source: A. Maharana et al., *Evaluating Very Long-Term Conversational Memory of LLM
Agents*, 2024; snap-research/locomo, CC BY-NC 4.0. Its times name no zone: UTC by
convention.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from benchmarks import shared_data
from muniment import MemoryStore
from muniment.domain.events import (
    Content,
    Event,
    Evidence,
    FactAsserted,
    FactEnded,
    FactRestored,
    FactRetired,
    FactRevised,
    RetireCause,
    RevisionCause,
    Status,
    Traits,
)
from muniment.domain.time import FOREVER, Instant, Period
from muniment.instants import to_instant
from tests import oracle
from tests.stores import SettableClock


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """
    One session of a conversation.

    Attributes:
        user_id: Whose memory it feeds; one for each conversation.
        name: Such as ``session_3``.
        began_at: When it took place.
        observations: Speaker, what is observed, and the turns that rests on.
    """

    user_id: str
    name: str
    began_at: Instant
    observations: tuple[tuple[str, str, tuple[str, ...]], ...]


@dataclass(slots=True)
class Noted:
    """A fact as the script knows it: where it stands among its user's, and its events."""

    fact_id: str
    number: int
    text: str
    traits: Traits
    since: Instant
    version: int = 1


@dataclass(slots=True)
class Script:
    """
    Loads sessions into a store, and keeps what should be in its ledger by then.

    Attributes:
        ledger: Every event that should be there, in order.
        boundaries: By user, the recorded time of the last transaction of each session.
    """

    store: MemoryStore
    clock: SettableClock
    ledger: list[oracle.Recorded] = field(default_factory=list)
    boundaries: dict[str, list[Instant]] = field(default_factory=dict)
    _sessions: dict[str, list[list[Noted]]] = field(default_factory=dict)
    _retired: dict[str, list[Noted]] = field(default_factory=dict)
    _count: dict[str, int] = field(default_factory=dict)
    _tx_id: int = 0
    _now: int = 0

    def play(self, session: Session) -> None:
        """Load one session: what comes back, what it corrects, and what it observes."""
        user = session.user_id
        self.clock.now = session.began_at
        for noted in self._retired.pop(user, []):
            self._restore(user, noted)
        for noted in self._sessions.get(user, [[]])[-1]:
            self._go_on(user, noted)
        self._observe(session)
        self.boundaries.setdefault(user, []).append(Instant(self._now))

    def _observe(self, session: Session) -> None:
        user = session.user_id
        receipt = self.store.remember_many(
            [
                {
                    "content": text,
                    "category": speaker,
                    "valid_from": _moment(session.began_at),
                    "source": "observation",
                    "source_turns": turns,
                }
                for speaker, text, turns in session.observations
            ],
            user_id=user,
            session_id=session.name,
        )
        self._tick()
        noted: list[Noted] = []
        for fact, (speaker, text, turns) in zip(receipt, session.observations, strict=True):
            self._count[user] = self._count.get(user, 0) + 1
            one = Noted(
                fact_id=fact.fact_id,
                number=self._count[user],
                text=text,
                traits=_traits(speaker),
                since=session.began_at,
                version=0,
            )
            said = _content(text, "observation", turns)
            valid = Period(session.began_at, FOREVER)
            self._expect(
                user, one, FactAsserted(valid=valid, traits=one.traits, content=said)
            )
            noted.append(one)
        self._sessions.setdefault(user, []).append(noted)

    def _go_on(self, user: str, noted: Noted) -> None:
        if noted.number % 7 == 0:
            text = f"{noted.text} (as corrected)"
            self.store.correct(noted.fact_id, content=text, source="correction")
            self._revised(user, noted, text, RevisionCause.CORRECTED)
        if noted.number % 11 == 0:
            text = f"{noted.text} (until now)"
            self.store.update(noted.fact_id, content=text, source="change")
            self._revised(user, noted, text, RevisionCause.CHANGED)
        if noted.number % 13 == 0:
            self.store.end(noted.fact_id)
            self._tick()
            self._expect(user, noted, FactEnded(valid_to=Instant(self._now)))
        if noted.number % 17 == 0:
            self.store.forget(noted.fact_id)
            self._tick()
            self._expect(user, noted, FactRetired(cause=RetireCause.ASKED, survivor=None))
            self._retired.setdefault(user, []).append(noted)

    def _restore(self, user: str, noted: Noted) -> None:
        self.store.restore(noted.fact_id)
        self._tick()
        self._expect(user, noted, FactRestored(to_version=noted.version - 1))

    def _revised(self, user: str, noted: Noted, text: str, cause: RevisionCause) -> None:
        self._tick()
        corrects = cause is RevisionCause.CORRECTED
        start = noted.since if corrects else Instant(self._now)
        source = "correction" if corrects else "change"
        event = FactRevised(
            valid=Period(start, FOREVER),
            traits=noted.traits,
            content=_content(text, source, ()),
            cause=cause,
        )
        self._expect(user, noted, event)

    def _tick(self) -> None:
        """Begin a transaction: recorded at the clock's time, or just after the last."""
        self._tx_id += 1
        self._now = max(self.clock.now, self._now + 1)

    def _expect(self, user: str, noted: Noted, event: Event) -> None:
        noted.version += 1
        self.ledger.append(
            oracle.Recorded(
                position=len(self.ledger) + 1,
                tx_id=self._tx_id,
                recorded_at=Instant(self._now),
                subject=user,
                fact_id=noted.fact_id,
                version=noted.version,
                event=event,
            )
        )


def sessions() -> Iterator[Session]:
    """Yield every session that has observations, in order of time."""
    conversations = json.loads(shared_data.LOCOMO.read_text(encoding="utf-8"))
    found = [
        _session(each, name.removesuffix("_observation"))
        for each in conversations
        for name in each["observation"]
    ]
    yield from sorted(found, key=lambda each: (each.began_at, each.user_id))


def _session(conversation: Mapping[str, Any], name: str) -> Session:
    said = conversation["conversation"][f"{name}_date_time"]
    began_at = datetime.strptime(said, "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
    # Keyed, since a few observations are made twice in one session.
    observed = {
        (speaker, text): tuple(turns) if isinstance(turns, list) else (turns,)
        for speaker, pairs in conversation["observation"][f"{name}_observation"].items()
        for text, turns in pairs
    }
    return Session(
        user_id=str(conversation["sample_id"]),
        name=name,
        began_at=to_instant(began_at),
        observations=tuple((*said, turns) for said, turns in observed.items()),
    )


def _moment(instant: Instant) -> datetime:
    return datetime.fromtimestamp(instant / 1_000_000, UTC)


def _traits(speaker: str) -> Traits:
    return Traits(
        category=speaker,
        attribute=None,
        status=Status.ACTIVE,
        confidence=1.0,
        importance=0.5,
        core=False,
        expires_at=None,
    )


def _content(text: str, source: str, turns: tuple[str, ...]) -> Content:
    return Content(
        text=text,
        evidence=Evidence(
            source=source, source_turns=turns, entities=(), metadata={}, claimed_at=None
        ),
    )
