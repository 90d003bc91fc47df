"""A store in which several write the same facts, and what loses against them is kept."""

import hashlib
import json
from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from muniment.api import inputs
from muniment.api.accountable import AccountableStore
from muniment.api.acting import by_principal
from muniment.api.answers import Fact
from muniment.api.fields import By
from muniment.api.proposals import Proposals
from muniment.api.proposed import Proposal
from muniment.api.retrying import anew
from muniment.api.shapes import shaped
from muniment.domain.access_events import ProposalMade, Proposed
from muniment.domain.events import RevisionCause
from muniment.domain.scope import ScopeKind
from muniment.errors import (
    ChangeContestedError,
    IdempotencyConflictError,
    NotFound,
    VersionConflictError,
)
from muniment.ledger.records import FACT
from muniment.settings import Settings


REVISIONS: Final[Mapping[str, RevisionCause]] = {
    "update": RevisionCause.CHANGED,
    "correct": RevisionCause.CORRECTED,
}
"""By verb, why a fact says something else; a proposal of one is a contested change."""


_NO_VERSION: Final = 2**62


class ContestableStore(AccountableStore):
    """
    A store in which a principal's late change to a shared fact is kept, not lost.

    What a source of truth says wins over what others say. Of two others, the first is
    believed, and the second becomes a proposal: those who lead the memory decide.
    """

    _settings: Settings

    def _revise(
        self,
        fact_id: str,
        cause: RevisionCause,
        fields: Mapping[str, Any],
        *,
        action: str,
        upon: int | None = None,
    ) -> Fact:
        if not by_principal.get():
            return self._revise_alone(fact_id, cause, fields, action=action, upon=upon)
        inputs.name("fact_id", fact_id)
        if fields.get("expected_version") is not None:
            try:
                return self._revise_alone(fact_id, cause, fields, action=action)
            except VersionConflictError as error:
                fact = self._shared_and_known(fact_id)
                if fact is None:
                    raise
                if not self._outranks(fields, fact):
                    raise self._contested(fact, error.expected, fields, action) from None

        attempt = partial(self._revise_upon_what_is_known, fact_id, cause, fields, action)
        return anew(attempt, where=VersionConflictError)

    def _revise_upon_what_is_known(
        self, fact_id: str, cause: RevisionCause, fields: Mapping[str, Any], action: str
    ) -> Fact:
        """Revise a fact whatever it says, unless a source of truth said that."""
        revise = partial(self._revise_alone, fact_id, cause, fields, action=action)
        if not self._settings.truth_sources:
            return revise()
        # What is looked at here is what is written upon.
        head = self._head(fact_id)
        fact = self._shared_and_known(fact_id)
        if fact is None:
            return revise()
        if not self._is_outranked(fields, fact):
            return revise(upon=head)
        try:
            # Nothing is written upon it, but a repeat is answered as the first time.
            return revise(upon=_NO_VERSION)
        except VersionConflictError:
            raise self._contested(fact, head, fields, action) from None

    def _arbitrate(self, proposal: Proposal, by: Mapping[str, Any]) -> Fact:
        """Say after all what a contested change says; who agreed to it answers for it."""
        fields = dict(proposal.asked)
        fact_id = str(fields.pop("fact_id"))
        fields.pop("expected_version", None)
        fields |= {
            "actor": by.get("actor"),
            "reason": by.get("reason") or proposal.reason,
            "trigger": "arbitration",
        }
        # Whoever finishes what another began asks for another thing: they answer for it.
        said = json.dumps([fields["actor"], fields["reason"]]).encode()
        digest = hashlib.sha256(said).hexdigest()
        fields["idempotency_key"] = f"arbitrate {proposal.proposal_id} {digest}"
        cause = REVISIONS[proposal.verb]
        return self._revise_alone(fact_id, cause, fields, action=proposal.verb)

    def _revise_alone(
        self,
        fact_id: str,
        cause: RevisionCause,
        fields: Mapping[str, Any],
        *,
        action: str,
        upon: int | None = None,
    ) -> Fact:
        """Revise a fact as if it were nobody else's; a conflict is an error and no more."""
        return super()._revise(fact_id, cause, fields, action=action, upon=upon)

    def _shared_and_known(self, fact_id: str) -> Fact | None:
        """Return a fact as it is believed now, if it is of a team or the organisation."""
        try:
            fact = self.get(fact_id)
        except NotFound:
            return None
        return None if fact.scope.kind is ScopeKind.USER else fact

    def _head(self, fact_id: str) -> int:
        """Return the number of the last event of a fact; 0 for none."""
        return len(self._ledger.recorder.read_stream(FACT + fact_id))

    def _is_outranked(self, fields: Mapping[str, Any], fact: Fact) -> bool:
        truth = self._settings.truth_sources
        return fact.source in truth and _source(fields) not in truth

    def _outranks(self, fields: Mapping[str, Any], fact: Fact) -> bool:
        truth = self._settings.truth_sources
        return _source(fields) in truth and fact.source not in truth

    def _contested(
        self, fact: Fact, expected: int, fields: Mapping[str, Any], action: str
    ) -> ChangeContestedError:
        """Keep a change that is not made, for those who lead the memory to decide."""
        key = fields.get("idempotency_key")
        # A key of its own: a retry is contested again, and finds this very proposal.
        named = {**fields, "idempotency_key": key and inputs.as_name(f"contested {key}")}
        origin = inputs.origin({name: named[name] for name in _BY if name in named})
        asked = {
            name: shaped(value)
            for name, value in fields.items()
            if value is not None and (name == "source_turns" or name not in _BY)
        }
        proposed = Proposed(reason=origin.reason, asked={**asked, "fact_id": fact.fact_id})
        made = ProposalMade(verb=action, size=1, needed=1, proposal=proposed)
        try:
            proposal_id, _ = Proposals(self._ledger).make(
                fact.scope, made, origin, fact_id=fact.fact_id
            )
        except IdempotencyConflictError as error:
            # As the caller named it.
            raise IdempotencyConflictError(str(key), error.tx_id) from None
        head = self._head(fact.fact_id)
        return ChangeContestedError(fact.fact_id, expected, head, proposal_id)


_BY: Final = frozenset(By.__annotations__)


def _source(fields: Mapping[str, Any]) -> object:
    return fields.get("source") or "user_explicit"
