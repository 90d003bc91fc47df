"""Why an agent did not know something: which stage lost it, and by what one can tell."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from muniment.api import inputs, showing
from muniment.api.answers import Fact, FactVersion
from muniment.api.contexts import ContextStore
from muniment.api.diagnoses import Check, Diagnosis, Stage
from muniment.api.lookup import HIDDEN, Point, expired
from muniment.api.receipts import RecallReceipt
from muniment.api.turns import Turn
from muniment.api.verbs import verb
from muniment.domain.events import FactRedacted, FactThinned, Status
from muniment.domain.scope import Scope
from muniment.domain.time import Instant, Period
from muniment.instants import Time, moment, to_text
from muniment.projections.conversation import NO_END
from muniment.recall.tokens import asked as telling


_LOST_BY: Final[Mapping[str, Stage]] = {
    "revised": "changed",
    "corrected": "changed",
    "ended": "ended",
    "retired": "retired",
    "rolled_back": "rolled back",
    "restored": "rolled back",
    "redacted": "redacted",
    # It holds no more, or not yet, without anybody having said anything since.
    "asserted": "ended",
    "corroborated": "ended",
}
"""By what happened to a fact last, the stage that lost what it said before."""

RANKED_MAX: Final = 1_000
_SAYS: Final = ("asserted", "revised", "corrected")
_ALIKE_LEAST: Final = 0.6


@dataclass(frozen=True, slots=True, kw_only=True)
class _Case:
    """What is asked, and what was found so far."""

    scope: Scope
    expect: str
    query: str | None
    point: Point
    is_now: bool


@dataclass(frozen=True, slots=True)
class _Lost:
    """The stage that lost it."""

    stage: Stage
    sentence: str


class ExplainingStore(ContextStore):
    """A store that can say why an agent did not know something."""

    @verb
    def why(
        self,
        expect: str,
        *,
        user_id: str | None = None,
        scope: Scope | None = None,
        query: str | None = None,
        at: Time | None = None,
    ) -> Diagnosis:
        """
        Return which stage lost what an agent was expected to know, with the evidence.

        It asks in order: was it said, written, still believed or what became of it, might
        it be used, would each leg find it then and now, was it recalled, and in the prompt.

        Args:
            expect: What the agent should have known, in words like the fact's; or its id,
                which also finds what was redacted.
            user_id: Whose memory; or *scope*.
            scope: Whose memory; or *user_id*.
            query: What it was asked; the query of the last receipt if left out.
            at: When it answered; now if left out.

        Raises:
            FutureAsOfError: If *at* has not come.
            ThinnedError: If what was known then was thinned.
        """
        whose = inputs.scope_of(user_id, scope)
        limit = self._settings.content_limit
        case = _Case(
            scope=whose,
            expect=inputs.text("expect", expect, limit=limit),
            query=None if query is None else inputs.text("query", query, limit=limit),
            point=self._point(at, None),
            is_now=at is None,
        )
        checks: list[Check] = []
        fact_id, lost = self._examined(case, checks)
        subject = self._ledger.vault.find(whose)
        if subject is not None:
            self._lookup.refuse_thinned(subject, case.point)
        return Diagnosis(
            scope=whose,
            expect=case.expect,
            at=moment(case.point.asked_at),
            stage=lost.stage,
            sentence=lost.sentence,
            checks=tuple(checks),
            fact_id=fact_id,
        )

    def _examined(self, case: _Case, checks: list[Check]) -> tuple[str | None, _Lost]:
        """Ask one question after the other; return the fact, and where it was lost."""
        said = self._saying(case)
        if not said:
            return None, self._never_written(case, checks)
        fact_id = said[0].fact_id
        lost = self._written(case, said, checks) or self._believed(case, said, checks)
        if lost is None:
            receipt = self._receipt_for(case)
            lost = self._recalled(case, fact_id, receipt, checks)
        return fact_id, lost

    def _saying(self, case: _Case) -> list[FactVersion]:
        """Return the versions that say what is expected, of the fact most like it."""
        subject = self._ledger.vault.find(case.scope)
        if subject is None:
            return []
        streams = showing.by_fact(self._ledger.subject_events(subject))
        if case.expect in streams:
            named = self._lookup.versions(subject, streams[case.expect])
            return [each for each in named if each.kind in _SAYS]
        best: tuple[float, list[FactVersion]] = (0.0, [])
        for events in streams.values():
            versions = self._lookup.versions(subject, events)
            alike = [each for each in versions if each.content]
            likeness = max((_likeness(case.expect, e.content) for e in alike), default=0.0)
            if likeness > best[0] and likeness >= _ALIKE_LEAST:
                told = [e for e in alike if _likeness(case.expect, e.content) == likeness]
                best = likeness, told
        return best[1]

    def _never_written(self, case: _Case, checks: list[Check]) -> _Lost:
        turns = [
            turn
            for turn in self.turns_of(case.scope)
            if _likeness(case.expect, turn.content) >= _ALIKE_LEAST
        ]
        if turns:
            first: Turn = turns[0]
            evidence = f"turn {first.turn_id}, {first.role}, {to_text(first.uttered_at)}"
            checks.append(Check(question="was it said", passed=True, evidence=evidence))
            checks.append(_check("was it written", "no fact says it", passed=False))
            sentence = f"it was said in turn {first.turn_id}, and never remembered"
            return _Lost("never remembered", sentence)
        checks.append(_check("was it said", "no turn says it", passed=False))
        checks.append(_check("was it written", "no fact says it", passed=False))
        if gone := self._unreadable(case):
            evidence = f"nobody can tell what these said once: {', '.join(gone)}"
            checks.append(_check("might it be unreadable", evidence, passed=None))
        return _Lost("never said", "no fact and no turn of this memory ever said it")

    def _unreadable(self, case: _Case) -> list[str]:
        """Return the facts that were redacted or thinned, and how many turns went."""
        subject = self._ledger.vault.find(case.scope)
        events = self._ledger.subject_events(subject) if subject else ()
        gone = (
            e.fact_id for e in events if isinstance(e.event, FactRedacted | FactThinned)
        )
        turns = sum(each.content is None for each in self.turns_of(case.scope))
        return [*dict.fromkeys(gone), *([f"{turns:,} turns"] if turns else [])]

    def _written(
        self, case: _Case, said: Sequence[FactVersion], checks: list[Check]
    ) -> _Lost | None:
        first = said[0]
        by = f", by {first.actor}" if first.actor else ""
        evidence = (
            f"fact {first.fact_id} version {first.version}, {first.action}{by}, from "
            f"{first.source}, recorded {to_text(first.recorded_at)}, tx {first.tx_id}"
        )
        in_time = first.position <= case.point.position
        checks.append(_check("was it written", evidence, passed=in_time))
        if in_time:
            return None
        return _Lost("too late", f"it was recorded only at {to_text(first.recorded_at)}")

    def _believed(
        self, case: _Case, said: Sequence[FactVersion], checks: list[Check]
    ) -> _Lost | None:
        fact_id = said[0].fact_id
        found = self._lookup.fact(fact_id, case.point)
        if found is not None and expired(found[1], case.point):
            checks.append(
                _check("was it believed", "its time to live was over", passed=False)
            )
            at = to_text(found[0].expires_at)
            return _Lost("expired", f"fact {fact_id} had expired at {at}")
        if found is None or found[0].version not in {each.version for each in said}:
            return self._not_believed(case, fact_id, found and found[0], checks)
        fact = found[0]
        evidence = f"version {fact.version} from {to_text(fact.valid_from)}"
        checks.append(_check("was it believed", evidence, passed=True))
        return self._barred(case, fact, checks)

    def _barred(self, case: _Case, fact: Fact, checks: list[Check]) -> _Lost | None:
        """Note what stands against its use."""
        question = "might it be used"
        unused = self._lookup.why_unused(fact) if case.is_now else None
        if unused is not None:
            checks.append(_check(question, unused, passed=False))
            stage: Stage = "hidden" if unused == HIDDEN else "held"
            return _Lost(stage, f"fact {fact.fact_id} is kept and not used: {unused}")
        if fact.status != Status.ACTIVE:
            evidence = f"its status is {fact.status}, and it came from {fact.source}"
            checks.append(_check(question, evidence, passed=False))
            sentence = f"fact {fact.fact_id} is {fact.status}: nobody has vouched for it"
            return _Lost("quarantined", sentence)
        if fact.content is None:
            evidence = "it was redacted since, so a search then cannot be asked again"
            checks.append(_check("can it be read", evidence, passed=None))
        return None

    def _not_believed(
        self, case: _Case, fact_id: str, instead: Fact | None, checks: list[Check]
    ) -> _Lost:
        subject, events = self._ledger.fact(fact_id)
        known = [
            each
            for each in events
            # Thinning ends nothing that is believed.
            if each.position <= case.point.position
            and not isinstance(each.event, FactThinned)
        ]
        last = self._lookup.versions(subject, known)[-1]
        by = f" by {last.actor}" if last.actor else ""
        why = f" ({last.reason})" if last.reason else ""
        evidence = (
            f"version {last.version}, {last.kind} in tx {last.tx_id}{by}{why}, recorded "
            f"{to_text(last.recorded_at)}"
        )
        checks.append(_check("was it believed", evidence, passed=False))
        stage: Stage = "changed" if instead is not None else _LOST_BY[last.kind]
        for each in ("changed", "ended", "retired", "rolled back", "redacted"):
            is_so = each == stage
            told = evidence if is_so else "no"
            checks.append(_check(f"was it {each}", told, passed=not is_so))
        became = "said something else by then" if stage == "changed" else f"was {stage}"
        return _Lost(stage, f"fact {fact_id} {became}: {evidence}")

    def _receipt_for(self, case: _Case) -> RecallReceipt | None:
        asked = Period(NO_END.start, Instant(case.point.asked_at + 1))
        receipts = self.receipts_of(case.scope, asked, limit=100)
        of_query = [each for each in receipts if case.query in (None, each.query)]
        if not of_query:
            of_query = [each for each in receipts if each.token]
        return of_query[-1] if of_query else None

    def _recalled(
        self,
        case: _Case,
        fact_id: str,
        receipt: RecallReceipt | None,
        checks: list[Check],
    ) -> _Lost:
        query = case.query or (receipt.query if receipt else None)
        rank = None
        if query is not None:
            rank = self._ranked(case, query, fact_id, checks)
        if receipt is None or (receipt.token and case.query):
            # Of one that cannot be read any more nobody knows what was asked.
            unread = f"what was asked is {receipt.token}" if receipt else None
            evidence = unread or "there is no receipt"
            passed = None if unread else False
            checks.append(_check("was it recalled", evidence, passed=passed))
            if query is not None and rank is None:
                return _Lost("not found", f"no leg of a search for {query!r} finds it")
            if unread:
                return _Lost("not known", f"it may have been recalled: {evidence}")
            return _Lost("not recalled", "no recall of this memory left a receipt by then")
        place = f"receipt at position {receipt.position}, {to_text(receipt.asked_at)}"
        served = [each for each in receipt.facts if each.fact_id == fact_id]
        if not served:
            evidence = f"{place}, has {len(receipt.facts)} facts, not this one"
            checks.append(_check("was it recalled", evidence, passed=False))
            where = f"it ranked {rank}" if rank else "no leg found it"
            return _Lost("not found", f"{where}, and {len(receipt.facts)} were given")
        found = served[0]
        score = receipt.token if found.score is None else f"{found.score:.4f}"
        evidence = f"{place}, rank {found.rank}, score {score}"
        checks.append(_check("was it recalled", evidence, passed=True))
        if found.placed is False:
            evidence = f"{receipt.tokens} of {receipt.budget} tokens were taken"
            checks.append(_check("did it go into the prompt", evidence, passed=False))
            return _Lost("no room", "it was recalled and found no room in the prompt")
        went = None if found.placed is None else True
        checks.append(_check("did it go into the prompt", place, passed=went))
        return _Lost("not used", "the agent was given it, and answered otherwise")

    def _ranked(
        self, case: _Case, query: str, fact_id: str, checks: list[Check]
    ) -> int | None:
        """Return where a search then puts the fact; note that, and where one does now."""
        points = {"then": to_text(moment(case.point.asked_at)), "now": None}
        ranks: dict[str, int | None] = {}
        for name, as_of in points.items():
            hits = self.search(
                query,
                scope=case.scope,
                as_of=as_of,
                limit=RANKED_MAX,
                explain=True,
                receipt=False,
            )
            places = [n for n, hit in enumerate(hits, 1) if hit.fact_id == fact_id]
            ranks[name] = places[0] if places else None
            legs = hits.items[places[0] - 1].legs if places else {}
            shown = ", ".join(f"{leg} {legs[leg].rank}" for leg in sorted(legs))
            evidence = (
                f"rank {places[0]} of {len(hits)} ({shown})" if places else "not found"
            )
            question = f"would a search find it {name}"
            checks.append(_check(question, evidence, passed=bool(places)))
        return ranks["then"]


def _check(question: str, evidence: str, *, passed: bool | None) -> Check:
    return Check(question=question, passed=passed, evidence=evidence)


def _likeness(expect: str, text: str | None) -> float:
    """Return how far *text* says what is expected: 1 where it holds the words as such."""
    if text is None:
        return 0.0
    if expect.casefold() in text.casefold():
        return 1.0
    wanted = set(telling(expect))
    return len(wanted & set(telling(text))) / len(wanted) if wanted else 0.0
