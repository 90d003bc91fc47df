"""What nobody does alone: proposed by one, agreed to by others, then done once."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from muniment.api.proposed import SHARE, Proposal, ProposalPage, ProposalState
from muniment.api.redacting import Words, newly_drawn_from, refuse_redacted
from muniment.api.transacting import request_body
from muniment.domain.access_events import (
    ProposalApproved,
    ProposalCarriedOut,
    ProposalMade,
    ProposalRejected,
    Proposed,
)
from muniment.domain.events import Event
from muniment.domain.scope import Scope, ScopeKind
from muniment.domain.text import Json
from muniment.errors import (
    FactRedactedError,
    OwnProposalError,
    ProposalStateError,
    UnknownProposalError,
)
from muniment.instants import moment
from muniment.ledger import sealing
from muniment.ledger.ids import new_id_in_order
from muniment.ledger.ledger import Committed, Ledger
from muniment.ledger.records import PROPOSAL, Origin, RecordedEvent
from muniment.ledger.streams import each_stream
from muniment.ledger.transaction import Request, Transaction


@dataclass(frozen=True, slots=True)
class Proposals:
    """The proposals of a ledger, each a stream of its own."""

    ledger: Ledger

    def make(
        self,
        scope: Scope,
        made: ProposalMade,
        origin: Origin,
        *,
        fact_id: str | None = None,
    ) -> tuple[str, Committed]:
        """
        Propose something about a memory; return the name of the proposal, too.

        Args:
            scope: Whose memory.
            made: What is proposed.
            origin: Who proposes it, and why.
            fact_id: The fact with which it is to become unreadable, if it says what
                that fact is to say.

        Raises:
            FactRedactedError: If that is unreadable already.
            WordsRedactedError: If that is drawn from turns that are, or wait to be.
        """
        named: list[str] = []
        said = made.proposal.asked if made.proposal is not None else {}

        def work(transaction: Transaction) -> None:
            if fact_id is not None:
                _refuse_unreadable(transaction, fact_id, said)
            named.append(new_id_in_order(transaction.recorded_at))
            transaction.open_stream(PROPOSAL + named[-1], made)

        asked = {
            # Which version a fact is in is looked up: a retry asks for what it asked for.
            "asked": {name: said[name] for name in said if name != "version"},
            "verb": made.verb,
        }
        committed = self._transact("propose", scope, origin, work, **asked)
        if committed.repeated:
            return committed.events[0].stream.removeprefix(PROPOSAL), committed
        return named[-1], committed

    def approve(self, proposal: Proposal, origin: Origin) -> Committed:
        """
        Record that somebody else agrees; that they did already changes nothing.

        Raises:
            OwnProposalError: If it is their own.
            ProposalStateError: If it is no longer open.
            WordsRedactedError: If it is to say what is drawn from turns that are
                unreadable, or wait to be.
        """
        changes = None if proposal.verb == SHARE else proposal.asked.get("fact_id")

        def work(transaction: Transaction, events: Sequence[Event]) -> None:
            if changes is not None:
                _refuse_unreadable(transaction, str(changes), proposal.asked)
            agreed = ProposalApproved(approver=self._digest(str(origin.actor)))
            if agreed not in events:
                transaction.add_to(PROPOSAL + proposal.proposal_id, [agreed])

        return self._answer(proposal, origin, work, action="approve")

    def reject(self, proposal: Proposal, origin: Origin) -> Committed:
        """Record that somebody else does not agree; raises as `approve`."""

        def work(transaction: Transaction, _: Sequence[Event]) -> None:
            event = ProposalRejected(note=origin.reason)
            transaction.add_to(PROPOSAL + proposal.proposal_id, [event])

        return self._answer(proposal, origin, work, action="reject")

    def carry_out(self, proposal: Proposal, origin: Origin) -> Committed:
        """
        Use up an approval: what was agreed to is done after this, and not again.

        Raises:
            ProposalStateError: If it is not approved, or was done.
        """

        def work(transaction: Transaction) -> None:
            _checked(transaction, proposal, ProposalState.APPROVED)
            stream = PROPOSAL + proposal.proposal_id
            transaction.add_to(stream, [ProposalCarriedOut()])

        named = {"proposal_id": proposal.proposal_id}
        return self._transact("carry_out", proposal.scope, origin, work, **named)

    def find(self, proposal_id: str) -> Proposal:
        """
        Return a proposal.

        Raises:
            UnknownProposalError: If there is none, or its subject was erased.
        """
        stamped = self.ledger.recorder.read_stream(PROPOSAL + proposal_id)
        subject = (
            self.ledger.vault.subject(stamped[0].sealed.subject_ref) if stamped else None
        )
        if subject is None:
            raise UnknownProposalError(proposal_id)
        return self._shown(subject.scope, self.ledger.mapper.opened(stamped, subject))

    def decided_at(self, proposal_id: str) -> Scope:
        """
        Return whose word a proposal needs: who is to know, or who it is about.

        As much is asked where there is none, so that nobody learns of it by the time.

        Raises:
            UnknownProposalError: If there is none, or its subject was erased.
        """
        stamped = self.ledger.recorder.read_stream(PROPOSAL + proposal_id)
        opened = self.ledger.mapper.opened_evenly(stamped[0] if stamped else None)
        if opened is None:
            raise UnknownProposalError(proposal_id)
        return _addressee(opened[1].event) or opened[0].scope

    def about(
        self,
        scope: Scope,
        *,
        before: str | None = None,
        limit: int,
        position: float = math.inf,
    ) -> ProposalPage:
        """
        Return at most *limit* proposals about a memory or to it, before one of them.

        As they were at a position.
        """
        found = list(islice(self._each_about(scope, before, position), limit + 1))
        items = tuple(found[:limit])
        more = len(found) > limit
        return ProposalPage(
            items=items, next_cursor=items[-1].proposal_id if more else None
        )

    def _each_about(
        self, scope: Scope, before: str | None, position: float
    ) -> Iterator[Proposal]:
        vault, ref = self.ledger.vault, None
        if scope.kind is ScopeKind.USER:
            # Nothing is shared with one person: what concerns them is about them.
            known = vault.find(scope)
            if known is None:
                return
            ref = known.ref
        behind = None if before is None else PROPOSAL + before
        for _, events in each_stream(
            self.ledger.recorder, PROPOSAL, before=behind, subject_ref=ref
        ):
            stamped = [each for each in events if each.position <= position]
            subject = vault.subject(events[0].sealed.subject_ref)
            if subject is None or not stamped:
                continue
            each = self._shown(subject.scope, self.ledger.mapper.opened(stamped, subject))
            if scope in (each.scope, each.to):
                yield each

    def keys_about(self, fact_id: str, subject_ref: str) -> list[int]:
        """Return the keys of readable proposals that say what a fact is to say."""
        return self._keys(subject_ref, lambda asked: asked.get("fact_id") == fact_id)

    def keys_drawn_from(self, words: Words, subject_ref: str) -> list[int]:
        """Return the keys of readable proposals to say what is drawn from *words*."""
        return self._keys(subject_ref, lambda asked: any(map(words.has, turns_of(asked))))

    def _keys(
        self, subject_ref: str, is_meant: Callable[[Mapping[str, Json]], bool]
    ) -> list[int]:
        subject = self.ledger.vault.subject(subject_ref)
        if subject is None or subject.scope.kind is ScopeKind.USER:
            # A memory of one's own has none.
            return []
        found: list[int] = []
        before: str | None = None
        while page := self.ledger.recorder.read_prefix(
            PROPOSAL, before=before, subject_ref=subject_ref, limit=_AT_ONCE
        ):
            before = str(page[-1].sealed.originator_id)
            first = [each for each in page if each.sealed.originator_version == 1]
            opened = self.ledger.mapper.opened(first, subject)
            for stamped, recorded in zip(first, opened, strict=True):
                made = recorded.event
                if not isinstance(made, ProposalMade) or made.verb == SHARE:
                    continue
                if made.proposal and is_meant(made.proposal.asked):
                    found.append(stamped.sealed.key_id)
        return found

    def _answer(
        self,
        proposal: Proposal,
        origin: Origin,
        work: Callable[[Transaction, Sequence[Event]], None],
        *,
        action: str,
    ) -> Committed:
        if origin.actor is None or origin.actor == proposal.proposed_by:
            raise OwnProposalError(proposal.proposal_id)

        def checked(transaction: Transaction) -> None:
            work(transaction, _checked(transaction, proposal, ProposalState.OPEN))

        named = {"proposal_id": proposal.proposal_id}
        return self._transact(action, proposal.scope, origin, checked, **named)

    def _digest(self, actor: str) -> str:
        key = sealing.derived(self.ledger.vault.ledger_key, "approver")
        return sealing.tag(key, actor.encode()).hex()

    def _transact(
        self,
        action: str,
        scope: Scope,
        origin: Origin,
        work: Callable[[Transaction], None],
        **asked: object,
    ) -> Committed:
        return self.ledger.transact(
            Request(
                action=action,
                origin=origin,
                scope=scope,
                fact_id=None,
                body=request_body(origin, **asked),
                work=work,
                passes_freeze=True,
            )
        )

    def _shown(self, scope: Scope, events: Sequence[RecordedEvent]) -> Proposal:
        made = events[0].event
        assert isinstance(made, ProposalMade), "the stream of a proposal begins with it"
        proposed = made.proposal or Proposed(reason=None, asked={})
        subject = self.ledger.vault.find(scope)
        actors = {
            each.tx_id: self.ledger.mapper.origin(subject, row).actor
            for each in events
            for row in self.ledger.recorder.transactions([each.tx_id])
        }
        agreed = [each for each in events if isinstance(each.event, ProposalApproved)]
        rejected = [e.event for e in events if isinstance(e.event, ProposalRejected)]
        return Proposal(
            proposal_id=events[0].stream.removeprefix(PROPOSAL),
            verb=made.verb,
            scope=scope,
            to=_addressee(made),
            asked=proposed.asked,
            reason=proposed.reason,
            proposed_by=actors[events[0].tx_id],
            proposed_at=moment(events[0].recorded_at),
            size=made.size,
            needed=made.needed,
            approved_by=tuple(str(actors[each.tx_id]) for each in agreed),
            state=_state([each.event for each in events]),
            note=rejected[0].note if rejected else None,
        )


def _addressee(made: Event) -> Scope | None:
    """Return with whom something is to be shared, if that is proposed and readable."""
    assert isinstance(made, ProposalMade), "the stream of a proposal begins with it"
    to = made.proposal.asked.get("to") if made.proposal else None
    return Scope.parse(str(to)) if made.verb == SHARE and to is not None else None


def turns_of(asked: Mapping[str, Json]) -> tuple[str, ...]:
    """Return the turns that what is proposed is drawn from."""
    named = asked.get("source_turns")
    return tuple(map(str, named)) if isinstance(named, list | tuple) else ()


_AT_ONCE = 1_000


def _state(events: Sequence[Event]) -> ProposalState:
    """Return what became of the proposal whose events these are."""
    made = events[0]
    assert isinstance(made, ProposalMade), "the stream of a proposal begins with it"
    match events[-1]:
        case ProposalRejected():
            return ProposalState.REJECTED
        case ProposalCarriedOut():
            return ProposalState.DONE
        case _ if made.proposal is None:
            return ProposalState.REDACTED
        case _:
            approvers = {e.approver for e in events if isinstance(e, ProposalApproved)}
            enough = len(approvers) >= made.needed
            return ProposalState.APPROVED if enough else ProposalState.OPEN


def _refuse_unreadable(
    transaction: Transaction, fact_id: str, asked: Mapping[str, Json]
) -> None:
    """Refuse what a fact is to say where that is unreadable, or what it is drawn from."""
    fact = transaction.fact(fact_id)
    if fact.redacted:
        raise FactRedactedError(fact_id)
    says = "content" in asked
    refuse_redacted(transaction, newly_drawn_from(fact, turns_of(asked), says=says))


def _checked(
    transaction: Transaction, proposal: Proposal, state: ProposalState
) -> Sequence[Event]:
    """Return the events of a proposal under the lock, if it is in *state*."""
    events = transaction.stream(PROPOSAL + proposal.proposal_id)
    now = _state(events)
    if now is not state:
        raise ProposalStateError(proposal.proposal_id, now.value, state.value)
    return events
