"""What retention did, what holds keep of it, and what is due still: signed, with proofs."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from muniment.api.certificates import ErasureStatus
from muniment.api.certifying import one_line
from muniment.api.expiring import Expired, RecordExpirer
from muniment.api.lookup import Lookup
from muniment.api.retaining import Retainer, Retirement
from muniment.api.shapes import shaped
from muniment.archive.report_check import RETENTION_REPORT, fields_line
from muniment.domain.events import (
    Event,
    FactAsserted,
    FactCorroborated,
    FactRetired,
    FactRevised,
    FactThinned,
    RecordsExpired,
    RetireCause,
)
from muniment.domain.keeping import Records
from muniment.domain.policy import THINNED, RetentionRule
from muniment.domain.scope import Scope
from muniment.domain.session import TurnsExpired
from muniment.domain.thinning import is_among
from muniment.domain.time import Period
from muniment.errors import InvalidValueError
from muniment.instants import moment, to_text
from muniment.ledger.attesting import Attestor, InclusionProof
from muniment.ledger.destruction import Destruction, Step
from muniment.ledger.ledger import Ledger
from muniment.ledger.records import SESSION, SUBJECT, RecordedEvent
from muniment.ledger.vault import Subject
from muniment.projections.conversation import NO_END, Conversation


ACTS_MAX: Final = 10_000

_BY_RULE: Final = (
    RetireCause.EXPIRED,
    RetireCause.UNUSED,
    RetireCause.UNIMPORTANT,
    RetireCause.MERGED,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionAct:
    """
    Something that retention did, as the ledger says.

    Attributes:
        position: Of the event that says so.
        recorded_at: When.
        actor: Who ran it; *reason* is why they said they did.
        subject_ref: Whose, by the name inside.
        cause: Why, as of `Retirement`.
        survivor: The fact it was merged into, if it was.
        fact_id: The fact; ``None`` where it is about records, as of `Retirement`.
        until: See `Retirement`; ``None`` of a fact that was retired, whose history stays.
        older_than: The time to live that the rule gave; of records alone.
        count: How many facts, versions or records.
        remaining: How many of those that went can be read all the same; 0, or something
            is wrong. ``None`` where nothing was to go.
        proof: That the event stands in the ledger, with what it says.
    """

    position: int
    tx_id: int
    recorded_at: datetime
    actor: str | None
    reason: str | None
    subject_ref: str
    cause: str
    survivor: str | None
    fact_id: str | None
    records: Records | None
    session_id: str | None
    until: datetime | None
    older_than: str | None
    count: int
    remaining: int | None
    proof: InclusionProof


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionReport:
    """
    What retention did within a time, and what it did not.

    Attributes:
        status: ``DONE`` once nothing can be read of what went, and every store was looked
            at; ``PARTIAL`` until then.
        made_at: When it was made.
        start: Acts recorded then or later …
        end: … and before then; ``None`` for no end, as of *start*.
        acts: What went, in the order of the ledger. Of an erased subject there are none:
            that has a certificate of its own.
        held: What would be due by the rules, and the legal holds that keep it.
        due: What is due by the rules and was not done yet.
        text: All of it, signed like a tree head.
    """

    status: ErasureStatus
    made_at: datetime
    start: datetime | None
    end: datetime | None
    acts: tuple[RetentionAct, ...]
    held: tuple[Retirement, ...]
    due: tuple[Retirement, ...]
    text: str


class RetentionReporter:
    """Makes reports of what retention did."""

    def __init__(
        self, lookup: Lookup, conversation: Conversation, rules: Sequence[RetentionRule]
    ) -> None:
        self._ledger: Ledger = lookup.ledger
        self._now = lookup.now
        self._conversation = conversation
        self._rules = rules
        self._retainer = Retainer(lookup, conversation, rules)
        self._expirer = RecordExpirer(lookup.ledger)
        self._attestor = Attestor(lookup.ledger)

    def report(self, scope: Scope | None, within: Period) -> RetentionReport:
        """
        Return the report on one subject, or on all.

        Raises:
            InvalidValueError: If more was done within the time than one report says.
        """
        vault = self._ledger.vault
        found = [vault.find(scope)] if scope else list(vault.subjects())
        subjects = [each for each in found if each is not None]
        acts = [act for each in subjects for act in self._acts(each, within)]
        if len(acts) > ACTS_MAX:
            expected = f"a time in which at most {ACTS_MAX:,} things were done"
            raise InvalidValueError("start and end", f"{len(acts):,} things", expected)
        whose = {each.ref for each in subjects}
        undone = {each.subject_ref for each in vault.destructions.unfinished()}
        undone |= {each.subject_ref for each in vault.thinnings.unfinished()}
        is_partial = any(act.remaining for act in acts) or bool(undone & whose)
        made = RetentionReport(
            status=ErasureStatus.PARTIAL if is_partial else ErasureStatus.DONE,
            made_at=moment(self._now().asked_at),
            start=moment(within.start) if within.start > NO_END.start else None,
            end=moment(within.end) if within.end < NO_END.end else None,
            acts=tuple(sorted(acts, key=lambda act: act.position)),
            held=tuple(self._retainer.held(scope)),
            due=tuple(self._retainer.due(scope)),
            text="",
        )
        return replace(made, text=self._signed(made, scope))

    def _acts(self, subject: Subject, within: Period) -> Iterator[RetentionAct]:
        """Yield what was done with one subject, in no order."""
        own = self._ledger.subject_events(subject)
        of_facts: dict[str, list[RecordedEvent]] = {}
        for each in own:
            of_facts.setdefault(each.stream, []).append(each)
        about = [*of_facts.pop(SUBJECT + subject.ref, ()), *self._of_sessions(subject)]
        said = [*(e for events in of_facts.values() for e in events), *about]
        mine = [each for each in said if each.recorded_at in within and _is_act(each.event)]
        origins = self._ledger.origins(subject, mine)
        left = self._left(subject, about)
        for each in mine:
            row, origin = origins[each.tx_id]
            if _is_merge(each.event) and row.action != "retain":
                continue
            proof = self._attestor.inclusion(each.position)
            act = RetentionAct(
                position=each.position,
                tx_id=each.tx_id,
                recorded_at=moment(each.recorded_at),
                actor=origin.actor,
                reason=origin.reason,
                subject_ref=subject.ref,
                cause=RetireCause.EXPIRED.value,
                survivor=None,
                fact_id=each.fact_id or None,
                records=None,
                session_id=each.session_id or None,
                until=None,
                older_than=None,
                count=1,
                remaining=None,
                proof=proof,
            )
            yield _told(act, each, of_facts.get(each.stream, ()), left)

    def _of_sessions(self, subject: Subject) -> Iterator[RecordedEvent]:
        rows = self._conversation.sessions(subject.ref)
        streams = [SESSION + row.session_id for row in rows]
        stamped = self._ledger.recorder.read_streams(streams) if streams else ()
        yield from self._ledger.mapper.opened(stamped, None)

    def _left(self, subject: Subject, about: Sequence[RecordedEvent]) -> dict[str, int]:
        """Return by name how much can be read of records that went; a later act covers."""
        last: dict[str, tuple[Expired, int]] = {}
        for each in about:
            if (expired := _expired_by(each)) is not None:
                last[expired.family] = expired, each.position
        return {
            family: self._expirer.remaining(
                Destruction(
                    subject_ref=subject.ref,
                    stream=expired.stream,
                    key_id=0,
                    position=position,
                    step=Step.DONE,
                )
            )
            for family, (expired, position) in last.items()
        }

    def _signed(self, report: RetentionReport, scope: Scope | None) -> str:
        head = self._attestor.tree_head().split("\n")[1:3]
        subject = self._ledger.vault.find(scope) if scope else None
        whose = "everybody" if scope is None else "nobody"
        fields = shaped(report)
        assert isinstance(fields, dict), "a report has fields"
        lines = [
            self._attestor.origin,
            RETENTION_REPORT,
            fields_line(fields),
            f"status {report.status}",
            f"subject {subject.ref}" if subject else f"of {whose}",
            f"made {to_text(report.made_at)}",
            f"from {to_text(report.start) or 'the beginning'}",
            f"until {to_text(report.end) or 'now'}",
            *map(_rule_line, self._rules),
            *map(_act_line, report.acts),
            *(f"held {self._line(e)} by {' '.join(e.holds)}" for e in report.held),
            *(f"due {self._line(e)}" for e in report.due),
            f"tree size {head[0]}",
            f"tree root {head[1]}",
        ]
        return self._attestor.signed("".join(f"{one_line(each)}\n" for each in lines))

    def _line(self, found: Retirement) -> str:
        subject = self._ledger.vault.find(found.scope)
        name = subject.ref if subject else "erased"
        return f"{name} {_what(found)} {_why(found)} {found.count}"


def _is_merge(event: Event) -> bool:
    """Whether it merged a fact, as somebody may do without any rule."""
    return isinstance(event, FactRetired) and event.cause is RetireCause.MERGED


def _is_act(event: Event) -> bool:
    match event:
        case FactRetired(cause=cause):
            return cause in _BY_RULE
        case FactThinned() | RecordsExpired() | TurnsExpired():
            return True
        case _:
            return False


def _told(
    act: RetentionAct,
    recorded: RecordedEvent,
    of_fact: Sequence[RecordedEvent],
    left: dict[str, int],
) -> RetentionAct:
    """Return *act* with what its event says, and what is left of what went."""
    match recorded.event:
        case FactRetired(cause=cause, survivor=survivor):
            return replace(act, cause=cause.value, survivor=survivor)
        case FactThinned(until=until, versions=versions):
            gone = [each for each in of_fact if is_among(each.version, versions)]
            return replace(
                act,
                cause=THINNED,
                until=moment(until),
                count=len(gone),
                remaining=sum(_can_be_read(each.event) for each in gone),
            )
        case RecordsExpired() | TurnsExpired() as event:
            expired = _expired_by(recorded)
            assert expired is not None, "records expired by it"
            return replace(
                act,
                records=expired.records,
                until=moment(expired.until),
                older_than=_days(expired.older_than_us),
                count=event.count,
                remaining=left[expired.family],
            )
        case _:
            raise AssertionError("that is no act of retention")


def _expired_by(recorded: RecordedEvent) -> Expired | None:
    match recorded.event:
        case RecordsExpired() as event:
            return Expired(
                records=event.records,
                until=event.until,
                older_than_us=event.older_than_us,
            )
        case TurnsExpired() as event:
            return Expired(
                records=Records.TURN,
                until=event.until,
                older_than_us=event.older_than_us,
                session_id=recorded.session_id,
                last_turn=event.last_turn,
                whole=event.whole,
            )
        case _:
            return None


def _can_be_read(event: Event) -> bool:
    match event:
        case FactAsserted(content=said) | FactRevised(content=said):
            return said is not None
        case FactCorroborated(evidence=evidence):
            return evidence is not None
        case _:
            return False


def _rule_line(rule: RetentionRule) -> str:
    about = (
        f"records {rule.records}" if rule.records else f"category {rule.category or '*'}"
    )
    limits = [
        f"{name} {_days(limit)}"
        for name, limit in (
            ("older than", rule.older_than_us),
            ("unused for", rule.unused_for_us),
            ("thinned when older than", rule.thin_older_than_us),
        )
        if limit is not None
    ]
    if rule.importance_below is not None:
        limits.append(f"importance below {rule.importance_below}")
    if rule.merge_alike is not None:
        limits.append(f"merged when alike {rule.merge_alike}")
    return f"rule {about} {', '.join(limits)}"


def _act_line(act: RetentionAct) -> str:
    what = _named(act.fact_id, act.records, act.session_id)
    until = f" before {to_text(act.until)}" if act.until else ""
    age = f" older than {act.older_than}" if act.older_than else ""
    left = "" if act.remaining is None else f" remaining {act.remaining}"
    return (
        f"act {act.position} recorded {to_text(act.recorded_at)} of {act.subject_ref} "
        f"{what} {_why(act)} {act.count}{until}{age}{left} "
        f"actor {one_line(act.actor)} reason {one_line(act.reason)}"
    )


def _why(found: RetentionAct | Retirement) -> str:
    return f"{found.cause} into {found.survivor}" if found.survivor else found.cause


def _what(found: Retirement) -> str:
    return _named(found.fact_id, found.records, found.session_id)


def _named(fact_id: str | None, records: Records | None, session_id: str | None) -> str:
    if records is None:
        return f"fact {fact_id}"
    return f"{records} of {session_id}" if session_id else records.value


def _days(age_us: int) -> str:
    return str(timedelta(microseconds=age_us))
