"""Why an agent did not know something: which stage lost it, and by what one can tell."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from muniment.api import inputs, showing
from muniment.api.answers import Fact, FactVersion
from muniment.api.becoming import became
from muniment.api.contexts import ContextStore
from muniment.api.diagnoses import Check, Diagnosis, Lost, Stage, check
from muniment.api.expecting import ALIKE_LEAST, is_alike, likeness
from muniment.api.lookup import HIDDEN, expired
from muniment.api.points import Point
from muniment.api.proposals import Proposals
from muniment.api.proposed import ProposalState
from muniment.api.receipts import RecallReceipt
from muniment.api.recounting import not_recalled, recalled, receipt_asking
from muniment.api.turns import Turn
from muniment.api.verbs import verb
from muniment.domain.events import FactRedacted, FactThinned, Status
from muniment.domain.scope import Scope, ScopeKind
from muniment.domain.time import Instant, Period
from muniment.instants import Time, moment, to_text
from muniment.projections.conversation import NO_END


RANKED_MAX: Final = 1_000
_LOOKED_AT: Final = 1_000
"""So many receipts, the newest, are looked at for the one that is asked about."""

_SAYS: Final = ("asserted", "revised", "corrected")
_WAITING: Final = (ProposalState.OPEN, ProposalState.APPROVED, ProposalState.REJECTED)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Case:
    """
    What is asked.

    Attributes:
        scopes: Whose memory; receipts are looked for with the first.
    """

    scopes: tuple[Scope, ...]
    expect: str
    query: str | None
    point: Point


class ExplainingStore(ContextStore):
    """A store that can say why an agent did not know something."""

    @verb
    def why(
        self,
        expect: str,
        *,
        user_id: str | None = None,
        scope: Scope | None = None,
        scopes: Iterable[Scope | str] | None = None,
        query: str | None = None,
        at: Time | None = None,
    ) -> Diagnosis:
        """
        Return which stage lost what an agent was expected to know, with the evidence.

        It asks in order: was it said, written, still believed, might it be used, would
        each leg find it then and now, was it recalled, did it go into the prompt.

        Args:
            expect: What the agent should have known, in words like the fact's; or its id,
                which also finds what was redacted.
            user_id: Whose memory; or *scope*; or *scopes*.
            scope: Whose memory.
            scopes: Several that may say it, such as a user's and their team's; receipts
                are with the one that was asked first.
            query: What it was asked, more or less; by the last receipt if left out.
            at: When it answered; now if left out.

        Raises:
            FutureAsOfError: If *at* has not come.
            ThinnedError: If what was known then was thinned.
        """
        case = self._case(expect, query, inputs.scopes_of(user_id, scope, scopes), at)
        checks: list[Check] = []
        fact_id, lost = self._examined(case, checks)
        for each in case.scopes:
            if subject := self._ledger.vault.find(each):
                self._lookup.refuse_thinned(subject, case.point)
        return Diagnosis(
            scope=case.scopes[0],
            expect=case.expect,
            at=moment(case.point.asked_at),
            stage=lost.stage,
            sentence=lost.sentence,
            checks=tuple(checks),
            fact_id=fact_id,
        )

    def _case(
        self, expect: str, query: str | None, scopes: tuple[Scope, ...], at: Time | None
    ) -> _Case:
        limit = self._settings.content_limit
        return _Case(
            scopes=scopes,
            expect=inputs.text("expect", expect, limit=limit),
            query=None if query is None else inputs.text("query", query, limit=limit),
            point=self._point(at, None),
        )

    def _examined(self, case: _Case, checks: list[Check]) -> tuple[str | None, Lost]:
        """Ask one question after the other; return the fact, and where it was lost."""
        said = self._saying(case)
        if not said:
            return None, self._never_written(case, checks)
        fact_id = said[0].fact_id
        lost = self._written(case, said, checks) or self._believed(case, said, checks)
        if lost is None:
            whose = self._ledger.fact(fact_id)[0].scope
            lost = self._recalled(case, fact_id, whose, checks)
        return fact_id, lost

    def _saying(self, case: _Case) -> Sequence[FactVersion]:
        """
        Return the versions that say what is expected, of the fact most like it.

        Of several that say it alike, one that is believed and used.
        """
        best, found = ALIKE_LEAST, list[Sequence[FactVersion]]()
        for versions in self._facts_of(case):
            if versions[0].fact_id == case.expect:
                return [each for each in versions if each.kind in _SAYS]
            alike = {each: likeness(case.expect, each.content) for each in versions}
            most = max(alike.values())
            if most < best:
                continue
            found = found if most == best else []
            best = most
            found.append([each for each, so_far in alike.items() if so_far == most])
        if len(found) <= 1:
            return found[0] if found else ()
        return max(found, key=lambda said: self._standing(case, said))

    def _facts_of(self, case: _Case) -> Iterator[Sequence[FactVersion]]:
        """Yield the versions of each fact of the memories that are looked at."""
        for scope in case.scopes:
            if subject := self._ledger.vault.find(scope):
                streams = showing.by_fact(self._ledger.subject_events(subject))
                for events in streams.values():
                    yield self._lookup.versions(subject, events)

    def _standing(self, case: _Case, said: Sequence[FactVersion]) -> tuple[object, ...]:
        """Return how far what is said came towards the agent, for comparison."""
        in_time = said[0].position <= case.point.position
        found = self._lookup.fact(said[0].fact_id, case.point) if in_time else None
        if found is None or found[0].version not in {each.version for each in said}:
            return in_time, False, False, said[-1].position
        fact, is_over = found[0], expired(found[1], case.point)
        unused = self._lookup.why_unused(fact, case.point.position)
        is_used = fact.status == Status.ACTIVE and not (is_over or unused)
        return in_time, True, is_used, said[-1].position

    def _never_written(self, case: _Case, checks: list[Check]) -> Lost:
        turns = [
            turn
            for scope in case.scopes
            for turn in self.turns_of(scope)
            if is_alike(case.expect, turn.content)
        ]
        if turns:
            return self._never_remembered(case, turns[0], checks)
        checks.append(check("was it said", "no turn says it", passed=False))
        checks.append(check("was it written", "no fact says it", passed=False))
        if proposed := self._proposed(case, checks):
            return proposed
        self._point_elsewhere(case, checks)
        if gone := self._unreadable(case):
            evidence = f"nobody can tell what these said once: {', '.join(gone)}"
            checks.append(check("might it be unreadable", evidence, passed=None))
            sentence = "nothing that can be read says it, and some cannot be read any more"
            return Lost("perhaps gone", f"{sentence}: {', '.join(gone)}")
        return Lost("never said", "no fact and no turn of this memory ever said it")

    def _never_remembered(self, case: _Case, first: Turn, checks: list[Check]) -> Lost:
        evidence = f"turn {first.turn_id}, {first.role}, {to_text(first.uttered_at)}"
        in_time = first.position <= case.point.position
        checks.append(check("was it said", evidence, passed=in_time))
        if not in_time:
            recorded_at = to_text(first.recorded_at)
            return Lost("too late", f"it was said only later, recorded at {recorded_at}")
        checks.append(check("was it written", "no fact says it", passed=False))
        sentence = f"it was said in turn {first.turn_id}, and never remembered"
        return Lost("never remembered", sentence)

    def _proposed(self, case: _Case, checks: list[Check]) -> Lost | None:
        """Return that it waits for others to agree, or that they did not, if so."""
        for scope in (each for each in case.scopes if each.kind is not ScopeKind.USER):
            for each in Proposals(self._ledger).about(scope, limit=_LOOKED_AT):
                said = each.asked.get("content")
                if each.state in _WAITING and is_alike(case.expect, str(said or "")):
                    evidence = f"proposal {each.proposal_id} to {each.verb} {scope}"
                    evidence += f", {each.state.value}, {to_text(each.proposed_at)}"
                    checks.append(check("was it agreed to", evidence, passed=False))
                    return Lost("proposed", f"it was only proposed: {evidence}")
        return None

    def _point_elsewhere(self, case: _Case, checks: list[Check]) -> None:
        """Note what of the memory comes nearest, and which others were asked with it."""
        hits = self.search(
            case.expect,
            scopes=case.scopes,
            as_of=to_text(moment(case.point.asked_at)),
            limit=1,
            receipt=False,
        )
        if hits.items:
            nearest = hits.items[0].fact
            evidence = (
                f"fact {nearest.fact_id} version {nearest.version} of {nearest.scope}"
            )
            checks.append(check("what comes nearest", evidence, passed=None))
        asked = dict.fromkeys(e for one in self._receipts_by(case) for e in one.scopes)
        others = [each for each in asked if each not in map(str, case.scopes)]
        if others:
            evidence = f"recalls asked {', '.join(others)} as well: look there, too"
            checks.append(check("might it be elsewhere", evidence, passed=None))

    def _unreadable(self, case: _Case) -> list[str]:
        """Return the facts that were redacted or thinned, and how many turns went."""
        facts: list[str] = []
        turns = 0
        for scope in case.scopes:
            subject = self._ledger.vault.find(scope)
            for each in self._ledger.subject_events(subject) if subject else ():
                if isinstance(each.event, FactRedacted):
                    facts.append(
                        f"fact {each.fact_id}, redacted {to_text(moment(each.recorded_at))}"
                    )
                elif isinstance(each.event, FactThinned):
                    facts.append(f"fact {each.fact_id}, thinned")
            turns += sum(each.content is None for each in self.turns_of(scope))
        return [*dict.fromkeys(facts), *([f"{turns:,} turns"] if turns else [])]

    def _written(
        self, case: _Case, said: Sequence[FactVersion], checks: list[Check]
    ) -> Lost | None:
        first = said[0]
        by = f", by {first.actor}" if first.actor else ""
        evidence = (
            f"fact {first.fact_id} version {first.version}, {first.action}{by}, from "
            f"{first.source}, recorded {to_text(first.recorded_at)}, tx {first.tx_id}"
        )
        in_time = first.position <= case.point.position
        checks.append(check("was it written", evidence, passed=in_time))
        if in_time:
            return None
        return Lost("too late", f"it was recorded only at {to_text(first.recorded_at)}")

    def _believed(
        self, case: _Case, said: Sequence[FactVersion], checks: list[Check]
    ) -> Lost | None:
        fact_id = said[0].fact_id
        found = self._lookup.fact(fact_id, case.point)
        if found is not None and expired(found[1], case.point):
            checks.append(
                check("was it believed", "its time to live was over", passed=False)
            )
            at = to_text(found[0].expires_at)
            return Lost("expired", f"fact {fact_id} had expired at {at}")
        if found is None or found[0].version not in {each.version for each in said}:
            return self._not_believed(case, said, checks)
        fact = found[0]
        evidence = f"version {fact.version} from {to_text(fact.valid_from)}"
        checks.append(check("was it believed", evidence, passed=True))
        return self._barred(case, fact, checks)

    def _barred(self, case: _Case, fact: Fact, checks: list[Check]) -> Lost | None:
        """Note what stands against its use."""
        question = "might it be used"
        unused = self._lookup.why_unused(fact, case.point.position)
        if unused is not None:
            checks.append(check(question, unused, passed=False))
            stage: Stage = "hidden" if unused == HIDDEN else "held"
            return Lost(stage, f"fact {fact.fact_id} is kept and not used: {unused}")
        if fact.status != Status.ACTIVE:
            evidence = f"its status is {fact.status}, and it came from {fact.source}"
            checks.append(check(question, evidence, passed=False))
            sentence = f"fact {fact.fact_id} is {fact.status}: nobody has vouched for it"
            return Lost("quarantined", sentence)
        if fact.content is None:
            evidence = "it was redacted since, so a search then cannot be asked again"
            checks.append(check("can it be read", evidence, passed=None))
        return None

    def _not_believed(
        self,
        case: _Case,
        said: Sequence[FactVersion],
        checks: list[Check],
    ) -> Lost:
        fact_id, point = said[0].fact_id, case.point
        subject, events = self._ledger.fact(fact_id)
        known = [each for each in events if each.position <= point.position]
        lost = became(known, {each.version for each in said}, point.as_of.valid_at)
        told, evidence = lost.told, lost.told
        if lost.event is not None:
            (last,) = self._lookup.versions(subject, [lost.event])
            by = f" by {last.actor}" if last.actor else ""
            why = f" ({last.reason})" if last.reason else ""
            evidence = (
                f"version {last.version}, {last.kind} in tx {last.tx_id}{by}{why}, "
                f"recorded {to_text(last.recorded_at)}"
            )
            told = f"{told}: {evidence}"
        checks.append(check("was it believed", evidence, passed=False))
        for each in ("changed", "ended", "retired", "rolled back", "redacted"):
            is_so = each == lost.stage
            shown = evidence if is_so else "no"
            checks.append(check(f"was it {each}", shown, passed=not is_so))
        return Lost(lost.stage, f"fact {fact_id} {told}")

    def _receipts_by(self, case: _Case) -> Sequence[RecallReceipt]:
        asked = Period(NO_END.start, Instant(case.point.asked_at + 1))
        return self.receipts_of(case.scopes[0], asked, limit=_LOOKED_AT)

    def _recalled(
        self, case: _Case, fact_id: str, whose: Scope, checks: list[Check]
    ) -> Lost:
        """Note whether a search would find it, and what the receipts tell."""
        receipts = self._receipts_by(case)
        receipt = receipt_asking(case.query, receipts)
        query = receipt.query if receipt and receipt.query else case.query
        rank = self._ranked(case, query or case.expect, fact_id, checks)
        if receipt is None or (receipt.token and case.query):
            return not_recalled(case.query, receipt, receipts, checks, rank=rank)
        return recalled(case.query, receipt, (fact_id, whose), checks, rank=rank)

    def _ranked(
        self, case: _Case, query: str, fact_id: str, checks: list[Check]
    ) -> int | None:
        """Return where a search then puts the fact; note that, and where one does now."""
        points = {"then": to_text(moment(case.point.asked_at)), "now": None}
        ranks: dict[str, int | None] = {}
        for name, as_of in points.items():
            hits = self.search(
                query,
                scopes=case.scopes,
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
            checks.append(check(question, evidence, passed=bool(places)))
        return ranks["then"]
