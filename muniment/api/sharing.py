"""A store in which facts go upward by approval: from a person to a team, to all."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, Unpack

from muniment.api import cursors, inputs
from muniment.api.answers import Fact
from muniment.api.contesting import REVISIONS, ContestableStore
from muniment.api.fields import By
from muniment.api.proposals import Proposals, turns_of
from muniment.api.proposed import SHARE, Proposal, ProposalPage, ProposalState
from muniment.api.sensitivity import ACCESS_LEVEL
from muniment.api.turns import named_turn
from muniment.api.verbs import verb, write_verb
from muniment.domain.access_events import FactShared, ProposalMade, Proposed
from muniment.domain.scope import Scope, ScopeKind
from muniment.errors import (
    InvalidScopeError,
    NotFound,
    UnknownFactError,
    VersionConflictError,
)
from muniment.instants import Time, moment, to_instant, to_text
from muniment.ledger.ids import may_be_fact_id


class SharingStore(ContestableStore):
    """A store in which what concerns more than one waits for others to agree."""

    @write_verb
    def propose_share(
        self, fact_id: str, *, to: Scope, review_at: Time | None = None, **by: Unpack[By]
    ) -> Proposal:
        """
        Propose to make what a fact says known to a team, or to all; nothing is shared yet.

        Args:
            fact_id: The fact, of a person or a team.
            to: Whom; a team or the organisation, and more than know it now.
            review_at: When somebody should look whether it is still to be known.
            by: See `By`; the actor will be its owner.

        Raises:
            InvalidScopeError: If *to* is not upward from where it is.
            FactNotCurrentError: If nothing is believed of it now.
        """
        fact = self.get(fact_id)
        whom = inputs.scope_of(None, to)
        if _HEIGHTS[whom.kind] <= _HEIGHTS[fact.scope.kind]:
            raise InvalidScopeError(str(whom), f"is not upward from {fact.scope}")
        asked: dict[str, Any] = {"fact_id": fact_id, "version": fact.version, "to": str(to)}
        if review_at is not None:
            asked["review_at"] = to_text(moment(to_instant(review_at)))
        origin = inputs.origin(by)
        made = ProposalMade(
            verb=SHARE,
            size=1,
            needed=self._settings.approvals_needed,
            proposal=Proposed(reason=origin.reason, asked=asked),
        )
        proposal_id, _ = Proposals(self._ledger).make(fact.scope, made, origin)
        return self._with_content(Proposals(self._ledger).find(proposal_id))

    @write_verb
    def approve(self, proposal_id: str, **by: Unpack[By]) -> Proposal:
        """
        Agree to a proposal; the last one needed makes a share, or a contested change.

        What was agreed to and not made, since its process died, is made by agreeing again.

        Args:
            proposal_id: As `list_proposals` gives it.
            by: See `By`; the actor is somebody else than who proposed.

        Raises:
            UnknownProposalError: If there is none.
            OwnProposalError: If it is the actor's own.
            ProposalStateError: If it is no longer open, or was redacted with its fact.
            VersionConflictError: If the fact to be shared says something else by now.
            WordsRedactedError: If a contested change is drawn from turns that are
                unreadable, or wait to be.
        """
        proposals, origin = Proposals(self._ledger), inputs.origin(by)
        proposal = proposals.find(inputs.name("proposal_id", proposal_id))
        if not _is_due(proposal):
            proposals.approve(proposal, origin)
        proposal = proposals.find(proposal_id)
        if _is_due(proposal):
            self._share(proposal, by) if proposal.verb == SHARE else self._arbitrate(
                proposal, by
            )
            proposals.carry_out(proposal, replace(origin, idempotency_key=None))
        return self._with_content(proposals.find(proposal_id))

    @write_verb
    def reject(self, proposal_id: str, **by: Unpack[By]) -> Proposal:
        """
        Refuse a proposal: it is over.

        Args:
            proposal_id: As `list_proposals` gives it.
            by: See `By`; the reason is kept with it.

        Raises:
            UnknownProposalError: If there is none.
            OwnProposalError: If it is the actor's own.
            ProposalStateError: If it is no longer open.
        """
        proposals, origin = Proposals(self._ledger), inputs.origin(by)
        proposals.reject(proposals.find(inputs.name("proposal_id", proposal_id)), origin)
        return self._with_content(proposals.find(proposal_id))

    @verb
    def list_proposals(
        self,
        *,
        user_id: str | None = None,
        scope: Scope | None = None,
        limit: int = 100,
        cursor: str | None = None,
        as_of: Time | None = None,
        valid_at: Time | None = None,
    ) -> ProposalPage:
        """
        Return what is or was proposed about a memory, or to it, the last first.

        Args:
            user_id: Whose memory; or *scope*.
            scope: Whose memory; or *user_id*.
            limit: 1 to 1,000.
            cursor: `ProposalPage.next_cursor` of the part before.
            as_of: As they were then; now if left out.
            valid_at: Likewise: a proposal is made and answered as that is recorded, so the
                earlier time counts.

        Raises:
            InvalidCursorError: If *cursor* is none.
            FutureAsOfError: If *as_of* has not come.
        """
        whose = inputs.scope_of(user_id, scope)
        inputs.count("limit", limit, least=1, most=_LISTED_MAX)
        before = cursors.named(cursor, may_be_fact_id)
        point = self._lookup.point(as_of, valid_at)
        position = self._lookup.place(point)
        found = Proposals(self._ledger).about(
            whose, before=before, limit=limit, position=position
        )
        is_past = as_of is not None or valid_at is not None
        then = moment(point.until) if is_past else None
        items = tuple(self._with_content(each, then) for each in found)
        # What each fact says was read besides.
        self._lookup.again(point)
        return replace(found, items=items)

    def _share(self, proposal: Proposal, by: Mapping[str, Any]) -> Fact:
        """Remember for more what the fact says; once, however often it is tried."""
        fact, to = self._source(proposal), proposal.to
        assert to is not None, "a share says with whom"
        metadata = {
            name: fact.metadata[name] for name in fact.metadata if name != ACCESS_LEVEL
        }
        metadata |= {"shared_from": fact.fact_id, "owner": proposal.proposed_by}
        if "review_at" in proposal.asked:
            metadata["review_at"] = proposal.asked["review_at"]
        command = self._drafting.remembered(
            {
                "content": str(fact.content),
                "category": fact.category,
                "attribute": fact.attribute,
                "valid_from": fact.valid_from,
                "valid_to": fact.valid_to,
                "confidence": fact.confidence,
                "importance": fact.importance,
                "entities": fact.entities,
                "expires_at": fact.expires_at,
                "metadata": metadata,
                "source": SHARE,
            }
        )
        subject = self._ledger.vault.find(proposal.scope)
        if subject is None:
            raise UnknownFactError(fact.fact_id)
        origin = inputs.origin(
            {
                "actor": by.get("actor"),
                "reason": by.get("reason"),
                "trigger": SHARE,
                # Not the caller's: whoever finishes what another began makes the same copy.
                "idempotency_key": f"{SHARE} {proposal.proposal_id}",
            }
        )
        source = FactShared(source_ref=subject.ref, source_fact_id=fact.fact_id)
        return self._transactor.share(to, command, origin, source=source)

    def _source(self, proposal: Proposal, then: datetime | None = None) -> Fact:
        """Return the fact to be shared, if it still says, or did, what was proposed."""
        fact = self.get(str(proposal.asked["fact_id"]), as_of=then)
        version = proposal.asked["version"]
        if fact.version != version:
            raise VersionConflictError(fact.fact_id, int(str(version)), fact.version)
        return fact

    def _with_content(self, proposal: Proposal, then: datetime | None = None) -> Proposal:
        """
        Return *proposal* with what is to be said, while that can be read, and used.

        Args:
            proposal: As it is, or was *then*.
            then: When the fact is asked; now if left out.
        """
        if proposal.verb in REVISIONS:
            return self._contested_shown(proposal, then)
        if proposal.verb != SHARE:
            return proposal
        try:
            return replace(proposal, content=self._source(proposal, then).content)
        except (NotFound, VersionConflictError):
            return proposal

    def _contested_shown(self, proposal: Proposal, then: datetime | None) -> Proposal:
        asked = proposal.asked
        if "fact_id" not in asked:
            # Its key is destroyed.
            return proposal
        if not self._is_usable(proposal, then):
            named = {name: asked[name] for name in _NAMING if name in asked}
            return replace(proposal, asked=named)
        said = asked.get("content")
        return replace(proposal, content=None if said is None else str(said))

    def _is_usable(self, proposal: Proposal, then: datetime | None) -> bool:
        """Whether its fact is used, or was then, and what the change is drawn from is."""
        try:
            self.get(str(proposal.asked["fact_id"]), as_of=then)
        except NotFound:
            return False
        subject = self._ledger.vault.find(proposal.scope)
        if subject is None:
            return False
        state = self._ledger.subject_state(subject)
        turns = filter(None, map(named_turn, turns_of(proposal.asked)))
        return not any(state.defers_words(*each) for each in turns)


_LISTED_MAX = 1_000

_NAMING = ("fact_id", "expected_version")
"""What a contested change asks for that says nothing of what the fact is to say."""


def _is_due(proposal: Proposal) -> bool:
    """Whether a proposal is approved and to be made here, by whoever approves last."""
    made_here = proposal.verb == SHARE or proposal.verb in REVISIONS
    return made_here and proposal.state is ProposalState.APPROVED


_HEIGHTS = {ScopeKind.USER: 0, ScopeKind.TEAM: 1, ScopeKind.ORG: 2}
