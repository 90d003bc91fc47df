"""Whose memory a call is about, by whatever it names; and how that is kept from others."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from muniment.api import inputs
from muniment.api.answers import RollbackPlan
from muniment.api.importing import read_document
from muniment.api.proposals import Proposals
from muniment.api.turns import named_turn
from muniment.domain.acts import Named, Verb
from muniment.domain.scope import Scope
from muniment.errors import (
    InvalidValueError,
    UnknownFactError,
    UnknownProposalError,
    UnknownSessionError,
    UnknownTransactionError,
    UnknownTurnError,
)
from muniment.ledger.records import FACT


Store = Any
"""The whole facade, whose lower parts import this."""

Arguments = Mapping[str, Any]


def whose(store: Store, verb: Verb, arguments: Arguments) -> Sequence[Scope | None]:
    """
    Return whose memory a call is about; ``None`` for none in particular.

    Raises:
        InvalidInput: If it names none, or not as documented.
        NotFound: If what it names is not there.
    """
    if verb.named in _BY_ID:
        return [_BY_ID[verb.named](store, arguments)]
    user_id, scope = arguments.get("user_id"), arguments.get("scope")
    is_named = user_id is not None or scope is not None
    match verb.named:
        case Named.NOTHING:
            return [None]
        case Named.SCOPE_OR_ALL if not is_named:
            return [None]
        case Named.FACT_OR_SCOPE if arguments.get("fact_id") is not None:
            found = _of_fact(store, arguments)
            return [found, inputs.scope_of(user_id, scope)] if is_named else [found]
        case Named.SCOPES:
            return inputs.scopes_of(user_id, scope, arguments.get("scopes"))
        case _:
            return [inputs.scope_of(user_id, scope)]


def refuse_unseen(verb: Verb, arguments: Arguments) -> None:
    """
    Answer as if what was named by an id were not there at all.

    Nothing where the caller named the memory itself: that tells them nothing.
    """
    match verb.named:
        case Named.FACT_OR_SCOPE if arguments.get("fact_id") is not None:
            raise UnknownFactError(arguments["fact_id"])
        case named if named in _NOT_THERE:
            field, error = _NOT_THERE[named]
            raise error(arguments.get(field))
        case _:
            pass


def _of_fact(store: Store, arguments: Arguments) -> Scope:
    fact_id = inputs.name("fact_id", arguments.get("fact_id"))
    ledger = store._ledger  # noqa: SLF001 - one facade
    stamped = ledger.recorder.read_stream(FACT + fact_id)
    scope = _owner(store, stamped[0].sealed.subject_ref if stamped else None)
    if scope is None:
        raise UnknownFactError(fact_id)
    return scope


def _of_transaction(store: Store, arguments: Arguments) -> Scope:
    number = inputs.count("tx_id", arguments.get("tx_id"), least=1, most=2**62)
    ledger = store._ledger  # noqa: SLF001 - as above
    row = ledger.recorder.transaction(number)
    scope = _owner(store, row.subject_ref if row else None)
    if scope is None:
        raise UnknownTransactionError(number)
    return scope


def _of_plan(_: Store, arguments: Arguments) -> Scope:
    plan = arguments.get("plan")
    if not isinstance(plan, RollbackPlan):
        raise InvalidValueError("plan", plan, "a plan from plan_rollback")
    return plan.scope


def _of_document(_: Store, arguments: Arguments) -> Scope:
    return Scope.parse(read_document(arguments["document"]).scope)


def _of_proposal(store: Store, arguments: Arguments) -> Scope:
    """Return whose word a proposal needs: who is to know, or who it is about."""
    proposal_id = inputs.name("proposal_id", arguments.get("proposal_id"))
    return Proposals(store._ledger).decided_at(proposal_id)  # noqa: SLF001 - as above


def _of_session(store: Store, arguments: Arguments) -> Scope:
    session_id = inputs.name("session_id", arguments.get("session_id"))
    row = store._conversation.session(session_id)  # noqa: SLF001 - as above
    scope = _owner(store, row.subject_ref if row else None)
    if scope is None:
        raise UnknownSessionError(session_id)
    return scope


def _of_turn(store: Store, arguments: Arguments) -> Scope:
    turn_id = inputs.name("turn_id", arguments.get("turn_id"))
    named = named_turn(turn_id)
    found = store._conversation.turn(*named) if named else None  # noqa: SLF001 - as above
    scope = _owner(store, found.row.subject_ref if found else None)
    if scope is None:
        raise UnknownTurnError(turn_id)
    return scope


def _owner(store: Store, subject_ref: str | None) -> Scope | None:
    """
    Return whose something is; ``None`` where nobody is named, or they were erased.

    The vault is asked in either case: whether something is there that is out of reach is
    not to be seen from how long it takes.
    """
    owner = store._ledger.vault.owner(subject_ref or "")  # noqa: SLF001 - as above
    return None if owner is None else owner[0].scope


_BY_ID: Final[Mapping[Named, Callable[[Store, Arguments], Scope]]] = {
    Named.FACT: _of_fact,
    Named.TRANSACTION: _of_transaction,
    Named.PLAN: _of_plan,
    Named.PROPOSAL: _of_proposal,
    Named.DOCUMENT: _of_document,
    Named.SESSION: _of_session,
    Named.TURN: _of_turn,
}

_NOT_THERE: Final[Mapping[Named, tuple[str, Callable[[Any], Exception]]]] = {
    Named.FACT: ("fact_id", UnknownFactError),
    Named.TRANSACTION: ("tx_id", UnknownTransactionError),
    Named.PROPOSAL: ("proposal_id", UnknownProposalError),
    Named.SESSION: ("session_id", UnknownSessionError),
    Named.TURN: ("turn_id", UnknownTurnError),
}
