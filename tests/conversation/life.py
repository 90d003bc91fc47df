"""What was done to a store, written down as the events it means, for the oracle."""

from collections.abc import Sequence
from itertools import count

from muniment import SearchHits, Summary
from muniment.api.turns import EXPIRED, REDACTED
from muniment.domain.events import (
    Content,
    Event,
    Evidence,
    FactAsserted,
    FactEvent,
    FactRedacted,
    FactRetired,
    FactRevised,
    FactRolledBack,
    RecordsExpired,
    RetireCause,
    RevisionCause,
    SubjectErased,
)
from muniment.domain.keeping import Records
from muniment.domain.receipt import ConfigurationRecorded, Recall, ReceiptLeft, Setting
from muniment.domain.session import (
    Opening,
    Role,
    SessionRedacted,
    SessionStarted,
    SummaryMade,
    SummaryTrigger,
    SummaryWithdrawn,
    TurnAdded,
    TurnRedacted,
    TurnsExpired,
    Words,
)
from muniment.domain.time import FOREVER, Instant, Period
from muniment.instants import to_instant
from tests import oracle as facts
from tests.conversation import oracle
from tests.oracle import Recorded
from tests.unit.facts import TRAITS


USERS = ("ann", "bob")


class Life:
    """
    The ledger that the oracle is asked about.

    Attributes:
        ledger: All that happened, in order.
    """

    def __init__(self) -> None:
        self.ledger: list[Recorded] = []
        self._numbers = count()

    def new_text(self, kind: str) -> str:
        """Return words nobody has said before."""
        return f"{kind} {next(self._numbers)}"

    def asserted(
        self, user: str, fact_id: str, now: Instant, content: str, turns: Sequence[str]
    ) -> None:
        said = FactAsserted(
            valid=Period(now, FOREVER), traits=TRAITS, content=_content(content, turns)
        )
        self._add(user, now, said, fact_id=fact_id)

    def revised(
        self, user: str, fact_id: str, now: Instant, content: str, *, is_new: bool
    ) -> None:
        held = facts.held_at(self.ledger, fact_id, now)
        (base,) = (valid for valid, _ in held if now in valid)
        valid, cause = Period(now, FOREVER), RevisionCause.CHANGED
        if not is_new:
            valid, cause = base, RevisionCause.CORRECTED
        said = FactRevised(
            valid=valid, traits=TRAITS, content=_content(content, ()), cause=cause
        )
        self._add(user, now, said, fact_id=fact_id)

    def retired(self, user: str, fact_id: str, now: Instant) -> None:
        self._add(
            user, now, FactRetired(cause=RetireCause.ASKED, survivor=None), fact_id=fact_id
        )

    def rolled_back(self, user: str, then: Instant, now: Instant) -> None:
        for fact_id, history in self._facts(user).items():
            before = facts.held_at(self.ledger, fact_id, then)
            if self._is_redacted(fact_id) or before == facts.held(facts.happened(history)):
                continue
            version = len([each for each in history if each.recorded_at <= then])
            self._add(user, now, FactRolledBack(to_version=version), fact_id=fact_id)

    def redacted(self, user: str, fact_id: str, now: Instant) -> None:
        self._add(user, now, FactRedacted(), fact_id=fact_id)

    def started(self, user: str, session_id: str, now: Instant) -> None:
        opening = Opening(agent=None, metadata={})
        self._add(user, now, SessionStarted(opening=opening), session_id=session_id)

    def said(
        self,
        user: str,
        session_id: str,
        now: Instant,
        uttered_at: Instant | None,
        text: str,
    ) -> None:
        words = Words(
            text=text,
            agent=None,
            tool=None,
            utc_offset_s=None,
            zone=None,
            entities=(),
            metadata={},
        )
        turn = TurnAdded(role=Role.USER, uttered_at=uttered_at, words=words)
        turns = [e for e in self._of(session_id) if isinstance(e.event, TurnAdded)]
        self._add(user, now, turn, session_id=session_id, version=len(turns) + 1)

    def unsaid(self, user: str, session_id: str, turn_id: str | None, now: Instant) -> None:
        """Write down that a turn, or all of a session, was redacted, with its facts."""
        number = None if turn_id is None else int(turn_id.rpartition(".")[2])
        for fact_id, history in self._facts(user).items():
            drawn = {turn for each in history for turn in _turns(each.event)}
            is_drawn = any(
                turn == turn_id if number else turn.startswith(session_id) for turn in drawn
            )
            if is_drawn and not self._is_redacted(fact_id):
                self.redacted(user, fact_id, now)
        if number is None:
            self._add(user, now, SessionRedacted(), session_id=session_id)
        elif not oracle.is_unsaid(self.ledger, session_id, number):
            self._add(user, now, TurnRedacted(number=number), session_id=session_id)

    def expired(self, user: str, records: Records, now: Instant) -> None:
        """Write down that all records of a kind so far were kept long enough."""
        if not oracle.since_erased(self.ledger, user):
            return
        if records is Records.RECEIPT:
            went = RecordsExpired(records=records, until=now, older_than_us=0, count=0)
            self._add(user, now, went)
            return
        for session_id in self.sessions(user):
            said = [e for e in self._of(session_id) if isinstance(e.event, TurnAdded)]
            gone = TurnsExpired(
                last_turn=len(said), whole=True, until=now, older_than_us=0, count=0
            )
            self._add(user, now, gone, session_id=session_id)

    def summarised(self, user: str, made: Summary) -> None:
        event = SummaryMade(
            level=made.level,
            first_turn=made.first_turn,
            last_turn=made.last_turn,
            sources=made.sources,
            maker=made.maker,
            trigger=SummaryTrigger(made.trigger),
            summary=made.content,
        )
        now = to_instant(made.recorded_at)
        self._add(user, now, event, session_id=made.session_id, version=made.version)

    def withdrawn(self, user: str, session_id: str, version: int, now: Instant) -> None:
        event = SummaryWithdrawn(summary_version=version)
        self._add(user, now, event, session_id=session_id)

    def configured(self, name: str, value: object, now: Instant) -> None:
        setting = Setting(name=name, value=value)  # type: ignore[arg-type]
        self._add("", now, ConfigurationRecorded(setting=setting))

    def recalled(
        self, user: str, query: str, now: Instant, served: tuple[tuple[str, int], ...]
    ) -> None:
        if not oracle.since_erased(self.ledger, user):
            # Nobody knows that name: the receipt is with nobody.
            return
        recall = Recall(
            query=query,
            scopes=(),
            session_id=None,
            agent=None,
            scores=(),
            placed=None,
            turns=(),
            summaries=(),
            budget=None,
            tokens=None,
            template=None,
            prompt_digest=None,
        )
        left = ReceiptLeft(
            action="search",
            at_position=0,
            asked_at=now,
            valid_at=now,
            model="",
            ranker="",
            configuration=0,
            served=served,
            recall=recall,
        )
        self._add(user, now, left)

    def erased(self, user: str, now: Instant) -> None:
        self._add(user, now, SubjectErased())

    def believed(self, user: str, now: Instant, pick: int) -> str | None:
        """Return a fact that is believed now, if there is one."""
        known = [
            fact_id
            for fact_id in self._facts(user)
            if any(now in valid for valid, _ in facts.held_at(self.ledger, fact_id, now))
        ]
        return known[pick % len(known)] if known else None

    def unredacted(self, user: str, pick: int) -> str | None:
        """Return a fact that can be redacted, if there is one."""
        known = [each for each in self._facts(user) if not self._is_redacted(each)]
        return known[pick % len(known)] if known else None

    def sessions(self, user: str) -> list[str]:
        """Return the sessions of a user in which something can be said, in order."""
        mine = oracle.since_erased(self.ledger, user)
        gone = {e.session_id for e in mine if isinstance(e.event, SessionRedacted)}
        return [each for each in self.every_session(user) if each not in gone]

    def every_session(self, user: str) -> list[str]:
        """Return the sessions of a user, redacted ones as well, in order."""
        mine = oracle.since_erased(self.ledger, user)
        return [str(e.session_id) for e in mine if isinstance(e.event, SessionStarted)]

    def turns(self, user: str, *, readable: bool = False) -> list[str]:
        """Return the turns of those sessions, in order; all, or those one can read."""
        return [
            f"{session_id}.{each.version}"
            for session_id in self.sessions(user)
            for each in self._of(session_id)
            if isinstance(each.event, TurnAdded)
            and not (readable and oracle.is_unsaid(self.ledger, session_id, each.version))
        ]

    def token(self, name: str) -> str:
        """Return what stands in the place of a fact or turn that nobody can read."""
        session_id, dot, number = name.rpartition(".")
        asked = not dot or oracle.is_redacted(self.ledger, session_id, int(number))
        return REDACTED if asked else EXPIRED

    def all_redacted(self) -> set[str]:
        """Return every fact that was redacted."""
        return {e.fact_id for e in self.ledger if isinstance(e.event, FactRedacted)}

    def moved_on(self, user: str, found: SearchHits) -> bool:
        """Whether a search may find less than it did: something was made unreadable."""
        asked_at = to_instant(found.recorded_at)
        return any(
            each.subject == user and isinstance(each.event, FactRedacted | SubjectErased)
            for each in self.ledger
            if each.recorded_at > asked_at
        )

    def _facts(self, user: str) -> dict[str, list[Recorded]]:
        return facts.of_subject(oracle.since_erased(self.ledger, user), user)

    def _of(self, session_id: str) -> list[Recorded]:
        return [each for each in self.ledger if each.session_id == session_id]

    def _is_redacted(self, fact_id: str) -> bool:
        return fact_id in self.all_redacted()

    def _add(
        self,
        user: str,
        now: Instant,
        event: Event,
        *,
        fact_id: str = "",
        session_id: str | None = None,
        version: int = 0,
    ) -> None:
        if isinstance(event, FactEvent):
            version = 1 + len(facts.of_fact(self.ledger, fact_id))
        self.ledger.append(
            Recorded(
                position=len(self.ledger) + 1,
                tx_id=0,
                recorded_at=now,
                subject=user,
                fact_id=fact_id,
                version=version,
                event=event,
                session_id=session_id,
            )
        )


def _content(text: str, turns: Sequence[str]) -> Content:
    evidence = Evidence(
        source="user_explicit",
        source_turns=tuple(turns),
        entities=(),
        metadata={},
        claimed_at=None,
    )
    return Content(text=text, evidence=evidence)


def _turns(event: Event) -> Sequence[str]:
    match event:
        case FactAsserted(content=content) | FactRevised(content=content) if content:
            return content.evidence.source_turns
        case _:
            return ()
