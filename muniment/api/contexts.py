"""The context of an agent's next answer, put together from memory within a budget."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, timezone
from typing import Final, Literal, TypedDict, Unpack

from muniment.api import inputs, showing
from muniment.api.answers import Fact
from muniment.api.found import SearchHit
from muniment.api.points import Point
from muniment.api.receipting import RANKER, SERVED_MAX
from muniment.api.searching import Asked
from muniment.api.summarizing import SummarizingStore
from muniment.api.talking import said_by
from muniment.api.turns import Turn
from muniment.api.usable import Usable
from muniment.api.verbs import verb
from muniment.domain.events import Status
from muniment.domain.receipt import Recall, ReceiptLeft
from muniment.domain.scope import Scope
from muniment.domain.session import Role
from muniment.errors import InvalidValueError, UnknownSessionError
from muniment.instants import Time, to_instant
from muniment.projections.conversation import TurnQuery
from muniment.recall.believed import Document
from muniment.recall.context import (
    CORE,
    PROFILE,
    RETRIEVED,
    TEMPLATES,
    Assembled,
    CountTokens,
    Parts,
    Record,
    Spoken,
    approximate_tokens,
    assemble,
)
from muniment.recall.questions import Filters


BUDGET_MAX: Final = 1_000_000
PROFILE_MAX: Final = 20
TURNS_MOST: Final = 1_000
_WIDENED_BY: Final = 2
"""So many of the last turns widen the question: it may leave out what they named."""

_WIDENED_WITH: Final = 300
"""So many characters of each, its last: who pastes a file need not wait till it is read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """
    What is put before a model, and what it was made of.

    Attributes:
        text: Empty where nothing is known.
        tokens: Of it, as counted.
        facts: What went in, in the order of the text.
        turns: What was said that went in, in order.
        summaries: The summaries that went in, each as session and version.
        left_out: Ids of facts and turns that were wanted and found no room.
        position: Of the last event that was known.
        recorded_at: What was known at this time …
        valid_at: … about this time: asked for as of both, the same again.
        unserved: By leg of the search, why it could not be served, or not for all; empty
            when all was served.
        template: What it was written with.
    """

    text: str
    tokens: int
    facts: tuple[Fact, ...]
    turns: tuple[Turn, ...]
    summaries: tuple[tuple[str, int], ...]
    left_out: tuple[str, ...]
    position: int
    recorded_at: datetime
    valid_at: datetime
    unserved: Mapping[str, str] = field(hash=False)
    template: str

    def __str__(self) -> str:
        return self.text


class Wishes(TypedDict, total=False):
    """
    What a context may be asked to be; each may be left out.

    Attributes:
        session_id: The conversation; the newest turns of the first subject's
            conversations if left out.
        agent: Whom it serves; kept in the receipt.
        limit: Most facts that are looked for, 1 to 1,000; 10 if left out.
        recent_turns: Most turns, 0 to 1,000; 10 if left out.
        language: Of the words around the memory: ``en`` or ``zh``; ``en`` if left out.
        count_tokens: Counts tokens as the model does; approximated if left out.
    """

    session_id: str | None
    agent: str | None
    limit: int
    recent_turns: int
    language: Literal["en", "zh"]
    count_tokens: CountTokens | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wanted:
    """What a caller wants in a context, checked."""

    asked: Asked
    session_id: str | None
    agent: str | None
    template: str
    budget: int
    recent: int
    count: CountTokens


class ContextStore(SummarizingStore):
    """A store that puts memory before a model."""

    @verb
    def build_context(
        self,
        query: str,
        *,
        user_id: str | None = None,
        scope: Scope | None = None,
        scopes: Iterable[Scope | str] | None = None,
        budget_tokens: int = 2_000,
        as_of: Time | None = None,
        valid_at: Time | None = None,
        receipt: bool = True,
        **fields: Unpack[Wishes],
    ) -> Context:
        """
        Return what a model should know to answer *query*, written as data.

        Core facts always, then what was said last, what answers the query, the profile,
        and summaries of what was said before, as far as the budget goes. It leaves a
        receipt, unless it is as of a time before.

        Args:
            query: What is to be answered.
            user_id: Whose memory; or *scope*; or *scopes*.
            scope: Whose memory.
            scopes: Several, in the order of their sections; up to 100.
            budget_tokens: Most tokens of the text; 1 to 1,000,000.
            as_of: What was known then; now if left out.
            valid_at: About this time, and what had been said by then; *as_of* itself if
                left out.
            receipt: Whether it leaves a receipt.
            fields: See `Wishes`.

        Raises:
            InvalidValueError: If the core facts alone are over the budget.
            UnknownSessionError: If there is no such session of these subjects.
            FutureAsOfError: If *as_of* has not come.
        """
        limit = inputs.count("limit", fields.get("limit", 10), least=1, most=SERVED_MAX)
        asked = self._asked(query, inputs.scopes_of(user_id, scope, scopes), limit, as_of)
        wanted = _wanted(asked, budget_tokens, fields)
        leaves = inputs.flag("receipt", receipt) and as_of is None
        return self._built(wanted, self._point(as_of, valid_at), leaves=leaves)

    def _asked(
        self, query: str, scopes: tuple[Scope, ...], limit: int, as_of: Time | None
    ) -> Asked:
        return Asked(
            text=inputs.text("query", query, limit=self._settings.content_limit),
            scopes=scopes,
            filters=Filters(statuses=(Status.ACTIVE.value,)),
            recent=(),
            is_current=as_of is None,
            min_position=None,
            limit=limit,
            explain=False,
            # What else goes into it is read at one point, which is this one.
            is_repeatable=False,
        )

    def _built(self, wanted: _Wanted, point: Point, *, leaves: bool) -> Context:
        usable = self._whose(wanted.asked)
        turns = self._turns_for(wanted, point, usable)
        before = [e.content for e in turns if e.content not in (None, wanted.asked.text)]
        widened = tuple(each[-_WIDENED_WITH:] for each in before[-_WIDENED_BY:] if each)
        asked = replace(wanted.asked, recent=widened)
        core, profile = self._known(point, usable)
        hits = self._answered(asked, point, usable)
        zone = _zone(turns)
        summaries = self._summaries_for(wanted.session_id, turns, point, usable)
        parts = Parts(
            records=[
                *(_record(each, CORE, zone) for each in core),
                *(_record(each, PROFILE, zone) for each in profile),
                *(_record(each.fact, RETRIEVED, zone) for each in hits),
            ],
            summaries=[(f"{name}#{version}", text) for name, version, text in summaries],
            turns=[_spoken(each) for each in turns],
        )
        made = _assembled(parts, wanted)
        found = (*core, *profile, *(hit.fact for hit in hits))
        facts = {each.fact_id: each for each in found}
        context = Context(
            text=made.text,
            tokens=made.tokens,
            facts=tuple(facts[each] for each in made.placed),
            turns=tuple(each for each in turns if each.turn_id in made.turns),
            summaries=tuple(_summary_key(each) for each in made.summaries),
            left_out=made.left_out,
            position=point.position,
            recorded_at=hits.recorded_at,
            valid_at=hits.valid_at,
            unserved=hits.unserved,
            template=TEMPLATES[wanted.template].name,
        )
        if leaves:
            self._leave_receipt(
                asked.scopes, _receipt(wanted, hits.items, context, hits.model)
            )
        return context

    def _known(self, point: Point, usable: Usable) -> tuple[list[Fact], list[Fact]]:
        """Return the core facts, and the newest structured ones, that may be used."""
        found = [
            each
            for subject in usable.subjects
            for each in self._recall.documents.of(
                subject, point.as_of, expired_at=point.asked_at
            ).documents
            if each.row.traits.core or each.row.traits.attribute is not None
            if each.row.traits.status is Status.ACTIVE
            if each.row.fact_id not in usable.hidden
        ]
        core = [each for each in found if each.row.traits.core]
        structured = [each for each in found if not each.row.traits.core]
        structured.sort(key=lambda each: (each.row.position, each.row.fact_id))
        newest = structured[: -PROFILE_MAX - 1 : -1]
        return [_fact(each) for each in core], [_fact(each) for each in newest]

    def _turns_for(self, wanted: _Wanted, point: Point, usable: Usable) -> tuple[Turn, ...]:
        """Return the turns that may go in, oldest first, as they were known then."""
        if not wanted.recent:
            return ()
        subject = self._ledger.vault.find(wanted.asked.scopes[0])
        if wanted.session_id is not None:
            row = self._conversation.session(wanted.session_id)
            owner = self._ledger.vault.subject(row.subject_ref) if row else None
            if owner is None or owner.scope not in wanted.asked.scopes:
                raise UnknownSessionError(wanted.session_id)
            subject = owner
        # One that waits to be erased is not used.
        if subject is None or subject.ref not in {each.ref for each in usable.subjects}:
            return ()
        query = TurnQuery(
            subject_ref=subject.ref,
            session_id=wanted.session_id,
            known_at=point.asked_at,
            said=said_by(point),
            limit=wanted.recent,
            newest=True,
        )
        return self._talker.turns(query, binds=usable.state(subject.ref)) or ()


def _wanted(asked: Asked, budget: int, fields: Wishes) -> _Wanted:
    language, count = fields.get("language", "en"), fields.get("count_tokens")
    if language not in TEMPLATES:
        raise InvalidValueError("language", language, f"one of {', '.join(TEMPLATES)}")
    if count is not None and not callable(count):
        raise InvalidValueError("count_tokens", count, "something that counts tokens")
    recent = fields.get("recent_turns", 10)
    return _Wanted(
        asked=asked,
        session_id=inputs.name_or_none("session_id", fields.get("session_id")),
        agent=inputs.name_or_none("agent", fields.get("agent")),
        template=language,
        budget=inputs.count("budget_tokens", budget, least=1, most=BUDGET_MAX),
        recent=inputs.count("recent_turns", recent, least=0, most=TURNS_MOST),
        count=count or approximate_tokens,
    )


def _assembled(parts: Parts, wanted: _Wanted) -> Assembled:
    template, count = TEMPLATES[wanted.template], wanted.count
    made = assemble(parts, template=template, budget=wanted.budget, count=count)
    core = [each for each in parts.records if each.kind == CORE]
    if {each.key for each in core}.isdisjoint(made.left_out):
        return made
    alone = Parts(records=core)
    needed = assemble(alone, template=template, budget=BUDGET_MAX, count=count).reserved
    expected = f"at least {needed:,}, which the core facts need"
    raise InvalidValueError("budget_tokens", wanted.budget, expected)


def _fact(document: Document) -> Fact:
    opened, valid = document.opened.event, document.row.valid
    return showing.fact(document.subject, opened, valid)


def _zone(turns: Sequence[Turn]) -> timezone:
    """Return the offset of the user's own clock, as it was told last; else UTC."""
    told = (
        each.utc_offset
        for each in reversed(turns)
        if each.role == Role.USER and each.utc_offset is not None
    )
    return timezone(next(told, timedelta(0)))


def _record(fact: Fact, kind: str, zone: timezone) -> Record:
    return Record(
        key=fact.fact_id,
        kind=kind,
        scope=str(fact.scope),
        text=fact.content or "",
        label=" / ".join(each for each in (fact.category, fact.attribute) if each),
        source=fact.source or "",
        confidence=fact.confidence,
        since=_local(fact.valid_from, zone),
        until=_local(fact.valid_to, zone),
    )


def _local(at: datetime | None, zone: timezone) -> datetime | None:
    """Return a time by the clock of *zone*; in UTC where no calendar reaches it there."""
    try:
        return None if at is None else at.astimezone(zone)
    except OverflowError:
        return at


def _spoken(turn: Turn) -> Spoken:
    return Spoken(
        key=turn.turn_id,
        role=turn.role,
        who=turn.tool or turn.agent or "",
        text=turn.content or "",
        token=turn.token,
        said_at=turn.local_time,
    )


def _summary_key(key: str) -> tuple[str, int]:
    session_id, _, version = key.rpartition("#")
    return session_id, int(version)


def _receipt(
    wanted: _Wanted, hits: Sequence[SearchHit], context: Context, model: str
) -> ReceiptLeft:
    """Return the receipt of a context: what was found, and which of it was placed."""
    scores = {each.fact_id: each.score for each in hits}
    versions = {each.fact_id: each.fact.version for each in hits}
    for fact in context.facts:
        versions.setdefault(fact.fact_id, fact.version)
    served = tuple(versions.items())[:SERVED_MAX]
    places = {fact_id: place for place, (fact_id, _) in enumerate(served)}
    digest = hashlib.sha256(context.text.encode()).hexdigest()
    return ReceiptLeft(
        action="context",
        at_position=context.position,
        asked_at=to_instant(context.recorded_at),
        valid_at=to_instant(context.valid_at),
        model=model,
        ranker=RANKER,
        configuration=0,
        served=served,
        recall=Recall(
            query=wanted.asked.text,
            scopes=tuple(str(each) for each in wanted.asked.scopes),
            session_id=wanted.session_id,
            agent=wanted.agent,
            scores=tuple(scores.get(fact_id, 0.0) for fact_id, _ in served),
            placed=tuple(
                places[each.fact_id] for each in context.facts if each.fact_id in places
            ),
            turns=tuple(each.turn_id for each in context.turns),
            summaries=context.summaries,
            budget=wanted.budget,
            tokens=context.tokens,
            template=context.template,
            prompt_digest=digest,
        ),
    )
