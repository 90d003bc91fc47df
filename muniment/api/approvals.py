"""A second pair of eyes: what is about many facts waits until somebody else agrees."""

from collections.abc import Mapping
from typing import Any, Final

from muniment.api.accesses import plain
from muniment.api.proposals import Proposals
from muniment.api.rollbacks import Cause
from muniment.domain.access import Principal, Right
from muniment.domain.access_events import ProposalMade, Proposed
from muniment.domain.scope import Scope
from muniment.domain.text import Json
from muniment.errors import ApprovalRequiredError, InvalidValueError
from muniment.ledger.records import Origin


WATCHED: Final = frozenset(
    {
        *("apply", "erase", "hand_over", "release_hold"),
        *("rollback_to_timestamp", "rollback_where", "undo"),
    }
)
"""What can be about many facts at once, and takes something away or lets it go."""

_NOT_ASKED: Final = frozenset(
    {"approval", "idempotency_key", "reason", "scope", "trigger", "user_id"}
)
_CAUSE: Final = ("session_id", "source", "actor", "trigger", "since", "until")


def settle(
    store: Any,  # noqa: ANN401 - the store that is guarded, with the verbs of rollbacks
    principal: Principal,
    name: str,
    arguments: Mapping[str, Any],
    standing: tuple[Scope, Right],
) -> None:
    """
    Refuse a call that somebody else has to agree to, or use up that they did.

    Args:
        store: What it is made on.
        principal: Who makes it.
        name: The verb; one of `WATCHED`.
        arguments: By name, as they were passed.
        standing: Whose memory it is about, and what allows it.

    Raises:
        ApprovalRequiredError: If it is about too many facts and nobody has agreed; a
            proposal was made.
        InvalidValueError: If the approval is for something else.
        ProposalStateError: If the approval is none so far, or was used.
    """
    scope, right = standing
    limit = store.settings.approve_above
    if limit is None or (right.standing == "subject" and name == "erase"):
        return
    size = _size(store, name, arguments, scope)
    if size <= limit:
        return
    asked = _asked(name, arguments)
    proposals = Proposals(store._ledger)  # noqa: SLF001 - one facade
    approval = arguments.get("approval")
    if approval is None:
        reason = arguments.get("reason")
        made = ProposalMade(
            verb=name,
            size=size,
            needed=store.settings.approvals_needed,
            proposal=Proposed(reason=reason, asked=asked),
        )
        origin = Origin(actor=principal.id, reason=reason)
        proposal_id, _ = proposals.make(scope, made, origin)
        raise ApprovalRequiredError(name, size, proposal_id)
    proposal = proposals.find(str(approval))
    said = (proposal.verb, proposal.scope, proposal.proposed_by, dict(proposal.asked))
    if said != (name, scope, principal.id, asked):
        raise InvalidValueError("approval", approval, "of this very request, by this one")
    proposals.carry_out(proposal, Origin(actor=principal.id))


def _size(
    store: Any,  # noqa: ANN401 - as above
    name: str,
    arguments: Mapping[str, Any],
    scope: Scope,
) -> int:
    """Return how many facts a call is about."""
    match name:
        case "apply":
            return len(arguments["plan"].diff)
        case "undo":
            row = store._ledger.recorder.transaction(arguments["tx_id"])  # noqa: SLF001
            return int(row.last_position - row.first_position + 1)
        case "rollback_to_timestamp":
            to = arguments.get("rollback_to")
            return len(store.plan_rollback(scope=scope, to=to).diff)
        case "rollback_where":
            cause = Cause(**{each: arguments.get(each) for each in _CAUSE})
            return len(store.plan_rollback(scope=scope, where=cause).diff)
        case "hand_over" if arguments.get("policy") != "delete":
            return 0
        case "hand_over":
            return len(store.list_shared(scope=scope, owner=arguments.get("owner")))
        case _:
            return int(store.plan_erasure(scope=scope).facts)


def _asked(name: str, arguments: Mapping[str, Any]) -> dict[str, Json]:
    """Return what an approval is for: the call, but for who makes it when and why."""
    if name == "apply":
        plan = arguments["plan"]
        rest = {"position": plan.position, "facts": sorted(_facts(plan))}
    else:
        rest = {}
    asked = {
        each: plain(value)
        for each, value in arguments.items()
        if value is not None and each not in _NOT_ASKED and each != "plan"
    }
    # An approval is for something, also where the memory says all of it.
    return {"verb": name, **asked, **rest}


def _facts(plan: Any) -> list[str]:  # noqa: ANN401 - a plan
    diff = plan.diff
    return [each.fact_id for each in (*diff.added, *diff.removed, *diff.changed)]
