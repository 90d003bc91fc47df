"""Searching a store: by words, by meaning, now or as of then, with one answer."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypedDict, Unpack

from muniment.api import inputs, showing
from muniment.api.found import LegRank, SearchHit, SearchHits
from muniment.api.points import Point
from muniment.api.reading import ReadingStore
from muniment.api.recalling import Recall
from muniment.api.receipting import (
    Handed,
    ReceiptBook,
    impersonal,
    search_receipt,
    unaddressed,
)
from muniment.api.usable import Usable
from muniment.api.verbs import verb
from muniment.domain.events import Status
from muniment.domain.receipt import ReceiptLeft
from muniment.domain.scope import Scope, ScopeKind
from muniment.errors import InvalidValueError
from muniment.instants import Time, moment, to_instant
from muniment.recall import standing
from muniment.recall.questions import Filters, Question, Ranked
from muniment.recall.tokens import terms
from muniment.settings import Settings


LIMIT_MAX = 1_000
RECENT_MAX = 20

Names = str | Sequence[str]
"""One name, or several of which one is enough."""


class Narrowing(TypedDict, total=False):
    """
    What a search may be narrowed by, and widened with; each may be left out.

    Attributes:
        category: Only of these.
        attribute: Only of these.
        source: Only from these.
        status: Only of these; ``active`` if left out.
        since: Only what holds from then or later.
        until: Only what holds from before then.
        recent_turns: What was said just before, at most 20 turns, oldest first, by which
            the question is widened.
        past: Whether what is over counts, too: of each fact that ended, expired or was
            retired, what was last believed of it. Each hit says how it stands.
        min_position: What must be known at least, such as the ``position`` of a receipt;
            all that is recorded if left out. With less, a subject with very many facts
            is answered for while its index is still behind.
        session_id: The conversation it is for; kept in its receipt.
        agent: Whom it serves; likewise.
        receipt: Whether it leaves a receipt, as what serves an agent does; true if left
            out. A search as of a time before leaves none.
    """

    category: Names | None
    attribute: Names | None
    source: Names | None
    status: Names
    since: Time | None
    until: Time | None
    recent_turns: Sequence[str]
    past: bool
    min_position: int | None
    session_id: str | None
    agent: str | None
    receipt: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """
    What a caller asked for, checked.

    Attributes:
        is_repeatable: Whether the same answer is to be had again later.
    """

    text: str
    scopes: tuple[Scope, ...]
    filters: Filters
    recent: tuple[str, ...]
    is_current: bool
    min_position: int | None
    limit: int
    explain: bool
    past: bool = False
    is_repeatable: bool = True


class SearchingStore(ReadingStore):
    """
    A store that finds what answers a question.

    Safe to use from many threads.
    """

    _open_recall: Recall
    _receipts: ReceiptBook
    _settings: Settings

    @property
    def _recall(self) -> Recall:
        _ = self._lookup  # Which refuses once the store is closed.
        return self._open_recall

    @verb
    def search(
        self,
        query: str,
        *,
        user_id: str | None = None,
        scope: Scope | None = None,
        scopes: Iterable[Scope | str] | None = None,
        limit: int = 10,
        as_of: Time | None = None,
        valid_at: Time | None = None,
        min_confidence: float | None = None,
        explain: bool = False,
        **narrow: Unpack[Narrowing],
    ) -> SearchHits:
        """
        Return what is believed that answers *query*, best first.

        As of a time before, it ranks what was believed then as it was ranked then. What
        is retired, ended, expired, not relied on, or waits to be forgotten is left out.

        Args:
            query: Words, a question, or the id of a fact.
            user_id: Whose memory; or *scope*; or *scopes*.
            scope: Whose memory.
            scopes: Several to search together, up to 100.
            limit: 1 to 1,000.
            as_of: What was known then; now if left out.
            valid_at: About this time; *as_of* itself if left out.
            min_confidence: Only if at least that sure, 0 to 1.
            explain: Say where each leg puts each fact.
            narrow: See `Narrowing`.

        Raises:
            FutureAsOfError: If *as_of* has not come.
            ThinnedError: If what was known then was thinned.
            InvalidValueError: If nothing was recorded at *min_position* by then.
        """
        longest = self._settings.content_limit
        asked = Asked(
            text=_text(query, limit=longest),
            scopes=inputs.scopes_of(user_id, scope, scopes),
            filters=_filters(narrow, min_confidence),
            recent=_turns(narrow.get("recent_turns", ()), limit=longest),
            is_current=as_of is None,
            min_position=_position(narrow.get("min_position")),
            limit=inputs.count("limit", limit, least=1, most=LIMIT_MAX),
            explain=inputs.flag("explain", explain),
            past=inputs.flag("past", narrow.get("past", False)),
        )
        return self._served(asked, self._point(as_of, valid_at), narrow)

    def _served(self, asked: Asked, point: Point, narrow: Narrowing) -> SearchHits:
        """Answer, and leave a receipt of what an agent is given."""
        hits = self._answered(asked, point)
        left = search_receipt(asked.text, hits, asked.scopes, narrow)
        if inputs.flag("receipt", narrow.get("receipt", True)) and asked.is_current:
            self._leave_receipt(asked.scopes, left)
        return hits

    def _leave_receipt(self, scopes: Sequence[Scope], left: ReceiptLeft) -> None:
        """
        Leave a receipt with the first of the subjects that there is, or with nobody.

        What was asked for a person of whom nothing is known lies with no team.
        """
        if not self._settings.receipts:
            return
        found = (self._ledger.vault.find(each) for each in scopes)
        subject = next((each for each in found if each is not None), None)
        if subject is None:
            left = unaddressed(left)
        elif scopes[0].kind is ScopeKind.USER and subject.scope.kind is not ScopeKind.USER:
            left = impersonal(left)
        ref = subject.ref if subject else ""
        self._receipts.leave(Handed(subject_ref=ref, left=left))

    def _whose(self, asked: Asked) -> Usable:
        """Return the subjects that are asked: of the present, those that may be used."""
        found = [self._ledger.vault.find(each) for each in asked.scopes]
        subjects = [each for each in found if each is not None]
        if not asked.is_current:
            return Usable(subjects=subjects)
        return self._lookup.usable(subjects)

    def _answered(
        self, asked: Asked, point: Point, usable: Usable | None = None
    ) -> SearchHits:
        required = asked.min_position
        if required is not None and required > point.position:
            expected = f"at most {point.position}, the last position known there"
            raise InvalidValueError("min_position", required, expected)
        whose = usable or self._whose(asked)
        question = Question(
            text=asked.text,
            position=point.position,
            required=point.position if required is None else required,
            is_current=asked.is_current,
            subjects=whose.subjects,
            hidden=whose.hidden,
            as_of=point.as_of,
            known_at=point.settled_at,
            expired_at=point.asked_at,
            filters=asked.filters,
            recent=asked.recent,
            limit=asked.limit,
            past=asked.past,
        )
        answer = self._recall.searcher.search(question)
        if answer.lapsed and asked.is_repeatable:
            # As of what was recorded last, it had not expired.
            return self._answered(asked, self._lookup.now_for_good(), usable)
        for each in whose.subjects:
            # What cannot be read is left out of a search, which must not look complete.
            self._lookup.refuse_thinned(each, point)
        if asked.is_current and self._recall.has_engine and self._settings.upkeep:
            self._recall.upkeep.start()
        return SearchHits(
            items=tuple(_hit(each, question, asked) for each in answer.hits),
            position=point.position,
            recorded_at=moment(point.asked_at),
            known_at=moment(point.settled_at),
            valid_at=moment(point.as_of.valid_at),
            unserved=answer.unserved,
            model=answer.model,
        )

    def _point(self, as_of: Time | None, valid_at: Time | None) -> Point:
        about = inputs.time_or_none(valid_at)
        if as_of is not None:
            return self._lookup.at(to_instant(as_of), about)
        point = self._lookup.now()
        if about is None and point.position > 0:
            return point
        # What was recorded last tells when an answer about now was given, but for a
        # ledger without anything; and what had expired by now is not known from then.
        return self._lookup.now_for_good(about)


def _text(query: object, *, limit: int) -> str:
    text = inputs.text("query", query, limit=limit)
    if not terms(text):
        raise InvalidValueError("query", query, "text that is not blank")
    return text


def _filters(narrow: Narrowing, min_confidence: float | None) -> Filters:
    return Filters(
        statuses=_statuses(narrow.get("status", Status.ACTIVE.value)),
        categories=_names("category", narrow.get("category")),
        attributes=_names("attribute", narrow.get("attribute")),
        sources=_names("source", narrow.get("source")),
        min_confidence=_share("min_confidence", min_confidence),
        since=inputs.time_or_none(narrow.get("since")),
        until=inputs.time_or_none(narrow.get("until")),
    )


def _position(value: object) -> int | None:
    return (
        None if value is None else inputs.count("min_position", value, least=0, most=2**62)
    )


def _share(field: str, value: float | None) -> float | None:
    return None if value is None else inputs.share(field, value)


def _names(field: str, value: Names | None) -> tuple[str, ...] | None:
    match value:
        case None:
            return None
        case str():
            return (inputs.name(field, value),)
        case _:
            found = inputs.names(field, value)
            if not found:
                raise InvalidValueError(field, value, "at least one name")
            return found


def _statuses(value: Names) -> tuple[str, ...]:
    known = tuple(each.value for each in Status)
    expected = f"one of {', '.join(known)}"
    found = _names("status", value)
    if found is None:
        # Unlike the others it has no "any": nothing would be found, and nobody be told.
        raise InvalidValueError("status", value, expected)
    for each in found:
        if each not in known:
            raise InvalidValueError("status", each, expected)
    return found


def _turns(turns: object, *, limit: int) -> tuple[str, ...]:
    found = tuple(
        inputs.text("recent_turns", each, limit=limit)
        for each in inputs.listed("recent_turns", turns)
    )
    if len(found) > RECENT_MAX:
        expected = f"at most {RECENT_MAX} turns"
        raise InvalidValueError("recent_turns", f"{len(found)} turns", expected)
    return found


def _hit(ranked: Ranked, question: Question, asked: Asked) -> SearchHit:
    document = ranked.document
    legs = {
        leg: LegRank(rank=rank, score=ranked.scores[leg])
        for leg, rank in ranked.ranks.items()
    }
    return SearchHit(
        fact=showing.fact(document.subject, document.opened.event, document.row.valid),
        score=ranked.score,
        standing=standing.of(document.row, question.as_of, question.expired_at),
        legs=legs if asked.explain else {},
        factors=ranked.factors if asked.explain else {},
    )
