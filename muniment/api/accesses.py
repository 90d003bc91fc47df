"""What is said of accesses and of API keys, and how it is written and read."""

import hashlib
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

import msgspec

from muniment.api.shapes import shaped
from muniment.api.shown import facts_shown
from muniment.api.turns import EXPIRED
from muniment.archive.portable import Document
from muniment.domain.access import Grant, Principal, Right
from muniment.domain.access_events import (
    AccessRecorded,
    GlassBroken,
    GlassReviewed,
    Inquiry,
)
from muniment.domain.scope import Scope
from muniment.domain.text import Json
from muniment.errors import (
    AccessDeniedError,
    GlassAlreadyBrokenError,
    SubjectErasedError,
    UnknownGlassError,
)
from muniment.instants import moment
from muniment.ledger import sealing
from muniment.ledger.codec import topic_of
from muniment.ledger.ledger import Committed, Ledger
from muniment.ledger.records import ACCESS, GLASS, Origin, RecordedEvent, StampedEvent
from muniment.ledger.streams import each_stream
from muniment.ledger.transaction import Request, Transaction


ACCESS_ID: Final = re.compile(r"[0-9a-f]{16}")
"""How `AccessEntry.access_id` is spelled."""

LOG_PAGE: Final = 100
"""How many looks are given at once, if nothing is said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessEntry:
    """
    One look that was recorded.

    Attributes:
        access_id: Names it; later ones sort after earlier ones.
        actor: Who looked; stays readable once the subject is erased.
        standing: What allowed it: a role, or what they are to the memory.
        verb: What they called.
        scope: Whose memory; ``None`` once it is erased, or where there was none.
        reason: Why; ``None`` once the subject is erased, or it is too long ago, as the
            next three.
        matter: The case it was for.
        query: The fields of the question.
        returned: Id and version of every fact in the answer.
        count: How many facts the answer had.
        glass_broken: Whether it was an emergency.
        token: ``[expired]`` where it was kept as long as a rule says: then why, for what
            case, what was asked and what was shown cannot be read any more. ``None``
            where it can, and where the subject is erased.
    """

    access_id: str
    position: int
    tx_id: int
    recorded_at: datetime
    actor: str | None
    standing: str
    verb: str
    scope: Scope | None
    reason: str | None
    matter: str | None
    query: Mapping[str, Json] | None = field(hash=False)
    returned: tuple[tuple[str, int], ...]
    count: int
    glass_broken: bool
    token: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessLog:
    """
    Part of the record of who looked, the last look first.

    Attributes:
        next_cursor: Gives what was before; ``None`` at the beginning.
        position: Of the last event that was known.
    """

    items: tuple[AccessEntry, ...]
    next_cursor: str | None
    position: int
    recorded_at: datetime

    def __iter__(self) -> Iterator[AccessEntry]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)


@dataclass(frozen=True, slots=True, kw_only=True)
class EmergencyAccess:
    """
    A look in an emergency that no officer has reviewed.

    Attributes:
        glass_id: Names it, for the review.
        access_id: What was recorded of the look itself.
        scope: Whose memory; ``None`` once it is erased, or where there was none.
    """

    glass_id: str
    access_id: str
    actor: str | None
    scope: Scope | None
    recorded_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class EmergencyPage:
    """
    Part of the emergency accesses that wait for a review, the latest last.

    Attributes:
        next_cursor: Gives those after; ``None`` at the end.
    """

    items: tuple[EmergencyAccess, ...]
    next_cursor: str | None

    def __iter__(self) -> Iterator[EmergencyAccess]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """A look that is to be recorded: who, at whose memory, by which right, why, at what."""

    principal: Principal
    verb: str
    scope: Scope | None
    right: Right
    reason: str
    matter: str | None
    arguments: Mapping[str, Any]

    @property
    def breaks_glass(self) -> bool:
        return self.right.grant is Grant.BREAK_GLASS


@dataclass(frozen=True, slots=True)
class AccessRecords:
    """Writes and reads what a ledger says of who looked."""

    ledger: Ledger

    def record(self, look: Look, answer: object) -> Committed:
        """
        Record *look*, to which *answer* is to be given; durable once this returns.

        Raises:
            GlassAlreadyBrokenError: If it is a second emergency before a review.
        """
        vault, subject = self.ledger.vault, None
        if look.scope is not None:
            # Under the lock it is asked whether this is still their name inside.
            recalled = None if look.breaks_glass else vault.recalled(look.scope)
            subject = recalled[0] if recalled else vault.find(look.scope)
        if look.breaks_glass:
            # After the subject was found: what was erased before it is erased by now.
            self._refuse_if_lost(look)
        shown = facts_shown(answer)

        def work(transaction: Transaction) -> None:
            if subject is not None and transaction.subject.ref != subject.ref:
                raise SubjectErasedError(str(look.scope))
            # Recorded time rises from one transaction to the next, so this is its order.
            access_id = f"{max(0, transaction.recorded_at):016x}"
            event = AccessRecorded(
                verb=look.verb,
                standing=look.right.standing,
                count=len(dict(shown)),
                glass_broken=look.breaks_glass,
                inquiry=Inquiry(
                    reason=look.reason,
                    matter=look.matter,
                    query=self._query(look, known=subject is not None),
                    returned=shown,
                ),
            )
            transaction.open_stream(ACCESS + access_id, event)
            if look.breaks_glass:
                self._break(transaction, look, access_id)

        return self.ledger.transact(
            Request(
                action="access",
                origin=Origin(actor=look.principal.id, trigger=look.right.standing),
                scope=None if subject is None else look.scope,
                fact_id=None,
                body={},
                work=work,
                passes_freeze=True,
                outlasts=True,
            )
        )

    def page(self, scope: Scope | None, *, before: str | None, limit: int) -> AccessLog:
        """Return at most *limit* looks at one memory, or at all, before one of them."""
        present = self.ledger.present()
        subject = self.ledger.vault.find(scope) if scope else None
        stamped: Sequence[StampedEvent] = ()
        if scope is None or subject is not None:
            stamped = self.ledger.recorder.read_prefix(
                ACCESS,
                before=None if before is None else ACCESS + before,
                subject_ref=subject.ref if subject else None,
                limit=limit + 1,
            )
        items = tuple(self._entry(each) for each in stamped[:limit])
        cursor = items[-1].access_id if len(stamped) > limit else None
        return AccessLog(
            items=items,
            next_cursor=cursor,
            position=present.head.position,
            recorded_at=moment(present.now),
        )

    def emergencies(self, *, after: str | None, limit: int, position: int) -> EmergencyPage:
        """Return at most *limit* accesses that waited for a review at a position."""
        waiting = (each for each, _ in self._waiting(position))
        found = [each for each in waiting if after is None or each.access_id > after]
        found.sort(key=lambda each: each.access_id)
        items = tuple(found[:limit])
        cursor = items[-1].access_id if len(found) > limit else None
        return EmergencyPage(items=items, next_cursor=cursor)

    def review(self, glass_id: str, origin: Origin) -> Committed:
        """
        Record that somebody else looked into an emergency access.

        Raises:
            UnknownGlassError: If there is none that waits for it.
            AccessDeniedError: If it is the reviewer's own.
        """
        stream = GLASS + glass_id
        stamped = self.ledger.recorder.read_stream(stream)
        if not stamped:
            raise UnknownGlassError(glass_id)
        recorded, actor, scope = self._opened(stamped[-1])
        if actor is not None and actor == origin.actor:
            raise AccessDeniedError(actor, "review_broken_glass", "its own access")
        is_lost = scope is None and bool(stamped[-1].sealed.subject_ref)

        def work(transaction: Transaction) -> None:
            if is_lost:
                # Nothing can be sealed for who was erased: the ledger itself says it.
                written = _once_erased(stream)
                last = (recorded.event, *transaction.stream(written))[-1]
            else:
                written = stream
                last = transaction.stream(stream)[-1]
            if not isinstance(last, GlassBroken):
                raise UnknownGlassError(glass_id)
            transaction.add_to(written, [GlassReviewed(note=origin.reason)])

        return self.ledger.transact(
            Request(
                action="review",
                origin=Origin(actor=origin.actor, idempotency_key=origin.idempotency_key),
                scope=scope,
                fact_id=None,
                body={"glass_id": glass_id, "note": origin.reason},
                work=work,
                passes_freeze=True,
                outlasts=True,
            )
        )

    def _refuse_if_lost(self, look: Look) -> None:
        """Refuse while one of theirs waits whose person was erased: it may be this one."""
        for each, is_lost in self._waiting():
            if is_lost and each.actor == look.principal.id:
                raise GlassAlreadyBrokenError(look.principal.id, "somebody erased since")

    def _waiting(
        self, position: float = math.inf
    ) -> Iterator[tuple[EmergencyAccess, bool]]:
        """Yield what no officer had reviewed, and whether the person was erased since."""
        reviewed: set[str] = set()
        for stream, events in each_stream(self.ledger.recorder, GLASS):
            known = [each for each in events if each.position <= position]
            if not known:
                continue
            last = known[-1]
            if last.sealed.topic != _BROKEN:
                # The review of one whose person was erased sorts, and comes, before it.
                reviewed.add(stream)
            elif _once_erased(stream) not in reviewed:
                event, actor, scope = self._opened(last)
                assert isinstance(event.event, GlassBroken), "its topic says so"
                waiting = EmergencyAccess(
                    glass_id=stream.removeprefix(GLASS),
                    access_id=event.event.access_id,
                    actor=actor,
                    scope=scope,
                    recorded_at=moment(event.recorded_at),
                )
                yield waiting, scope is None and bool(last.sealed.subject_ref)

    def _break(self, transaction: Transaction, look: Look, access_id: str) -> None:
        key = sealing.derived(self.ledger.vault.ledger_key, "glass")
        named = f"{transaction.subject.ref}/{look.principal.id}"
        stream = GLASS + sealing.tag(key, named.encode()).hex()
        events = transaction.stream(stream)
        if events and isinstance(events[-1], GlassBroken):
            raise GlassAlreadyBrokenError(look.principal.id, str(look.scope))
        transaction.add_to(stream, [GlassBroken(access_id=access_id)])

    def _query(self, look: Look, *, known: bool) -> Mapping[str, Json]:
        asked = {
            name: plain(value)
            for name, value in look.arguments.items()
            if value is not None and name not in ("user_id", "scope")
        }
        if not known and look.scope is not None:
            # Of whom nothing is remembered, no name is kept either: only what finds it.
            key = sealing.derived(self.ledger.vault.ledger_key, "asked-about")
            asked["whose"] = sealing.tag(key, str(look.scope).encode()).hex()
        return asked

    def _entry(self, stamped: StampedEvent) -> AccessEntry:
        recorded, actor, scope = self._opened(stamped)
        event = recorded.event
        assert isinstance(event, AccessRecorded), "its stream holds this kind alone"
        inquiry = event.inquiry
        return AccessEntry(
            access_id=recorded.stream.removeprefix(ACCESS),
            position=recorded.position,
            tx_id=recorded.tx_id,
            recorded_at=moment(recorded.recorded_at),
            actor=actor,
            standing=event.standing,
            verb=event.verb,
            scope=scope,
            reason=inquiry.reason if inquiry else None,
            matter=inquiry.matter if inquiry else None,
            query=inquiry.query if inquiry else None,
            returned=inquiry.returned if inquiry else (),
            count=event.count,
            glass_broken=event.glass_broken,
            token=EXPIRED if inquiry is None and scope is not None else None,
        )

    def _opened(
        self, stamped: StampedEvent
    ) -> tuple[RecordedEvent, str | None, Scope | None]:
        """Return an event, who did it, and to whose memory."""
        subject = self.ledger.vault.subject(stamped.sealed.subject_ref)
        (event,) = self.ledger.mapper.opened([stamped], subject)
        row = self.ledger.recorder.transaction(stamped.tx_id)
        assert row is not None, "an event belongs to a transaction"
        actor = self.ledger.mapper.origin(subject, row).actor
        return event, actor, subject.scope if subject else None


_BROKEN = topic_of(GlassBroken)
_QUERY_TEXT_MAX = 4_096


def _once_erased(stream: str) -> str:
    """Return where the review of an emergency stands whose person was erased before it."""
    return f"{stream}-erased"


def plain(value: object) -> Json:
    """Return one field of a question as JSON, long texts by their digest."""
    if isinstance(value, Document):
        # What it holds is in the memory by now; that it was this one is enough here.
        return f"sha256:{hashlib.sha256(msgspec.json.encode(value)).hexdigest()}"
    if isinstance(value, str) and len(value) > _QUERY_TEXT_MAX:
        return f"sha256:{hashlib.sha256(value.encode(errors='replace')).hexdigest()}"
    return type(value).__name__ if callable(value) else shaped(value)
