"""Commands about what is shared: proposed, agreed to, entrusted, handed over."""

from enum import StrEnum
from typing import Annotated

import typer

from muniment.api.cli import terminal
from muniment.api.cli.answers import Shared
from muniment.api.cli.asking import Approval, Author, Doer, Looker
from muniment.api.cli.erasing import Yes
from muniment.api.cli.looking import FactId
from muniment.api.cli.options import AsOf, Cursor, Limit, ValidAt, Whose
from muniment.api.cli.place import Place
from muniment.domain.scope import Scope


class Policy(StrEnum):
    """What becomes of a shared fact whose owner leaves."""

    KEEP = "keep"
    ARCHIVE = "archive"
    DELETE = "delete"


ReviewAt = Annotated[
    str | None,
    typer.Option(
        metavar="TIME", help="When somebody is to look whether it is still to be known."
    ),
]

ProposalId = Annotated[
    str, typer.Argument(metavar="PROPOSAL", help="Its id, as proposals lists it.")
]


def propose_share(
    fact_id: FactId,
    author: Author,
    at: Place,
    *,
    to: Annotated[
        str, typer.Option(metavar="SCOPE", help="With whom, such as team:eng or org.")
    ],
    review_at: ReviewAt = None,
) -> None:
    """
    Propose to make a fact known to a team, or to all; nothing is shared yet.

    It is shared once enough others agree, who may decide for those who are to know: see
    approve. The fact itself stays where it is; what is shared is a copy that names it.
    """
    whom = Scope.parse(to)
    with author.asked(at) as store:
        found = store.propose_share(fact_id, to=whom, review_at=review_at, **author.by)
    at.answer(found)


def proposals(
    whose: Whose,
    looker: Looker,
    at: Place,
    *,
    limit: Limit = 100,
    cursor: Cursor = None,
    as_of: AsOf = None,
    valid_at: ValidAt = None,
) -> None:
    """
    List what is or was proposed about a memory, or to it, the last first.

    Shares, changes that came too late, and what is about so many facts that others have
    to agree. Decide with approve and reject.
    """
    scope = whose.scope
    with looker.asked(at) as store:
        found = store.list_proposals(
            scope=scope, limit=limit, cursor=cursor, as_of=as_of, valid_at=valid_at
        )
    at.answer(found)


def approve(proposal_id: ProposalId, author: Author, at: Place) -> None:
    """
    Agree to a proposal of somebody else; the last one needed makes a share, or a change.

    What else waited, such as an erasure, is done by who proposed it: they repeat their
    command with --approval.
    """
    _say_who(author)
    with author.asked(at) as store:
        found = store.approve(proposal_id, **author.by)
    at.answer(found)


def reject(proposal_id: ProposalId, author: Author, at: Place) -> None:
    """Refuse a proposal of somebody else: it is over; --reason is kept with it."""
    _say_who(author)
    with author.asked(at) as store:
        found = store.reject(proposal_id, **author.by)
    at.answer(found)


def _say_who(author: Author) -> None:
    if author.doer.actor is None and not author.doer.asker.is_somebody:
        raise typer.TyperException("say who answers it with --as ID, or with --actor NAME")


def shared(
    whose: Whose,
    looker: Looker,
    at: Place,
    *,
    owner: Annotated[
        str | None, typer.Option(metavar="ID", help="Only what this one answers for.")
    ] = None,
    overdue: Annotated[
        bool, typer.Option("--overdue", help="Only what should have been looked at.")
    ] = False,
    as_of: AsOf = None,
    valid_at: ValidAt = None,
) -> None:
    """List what a team or all know, with who answers for it, the soonest due first."""
    scope = whose.scope
    with looker.asked(at) as store:
        found = store.list_shared(
            scope=scope, owner=owner, overdue=overdue, as_of=as_of, valid_at=valid_at
        )
    at.answer(Shared(shared=found))


def entrust(
    fact_id: FactId,
    doer: Doer,
    at: Place,
    *,
    owner: Annotated[
        str | None,
        typer.Option(metavar="ID", help="Who answers for it now; as before if left out."),
    ] = None,
    review_at: ReviewAt = None,
) -> None:
    """Say who answers for a shared fact, or when it is to be looked at again, or both."""
    with doer.asked(at) as store:
        found = store.entrust(fact_id, owner=owner, review_at=review_at, **doer.by)
    at.answer(found)


def hand_over(
    owner: Annotated[str, typer.Argument(metavar="ID", help="Who leaves.")],
    whose: Whose,
    doer: Doer,
    at: Place,
    *,
    policy: Annotated[
        Policy | None,
        typer.Option(
            help="Keep the facts for somebody else, stop using them, or make them "
            "unreadable for good; as the settings say if left out."
        ),
    ] = None,
    to: Annotated[
        str | None,
        typer.Option(metavar="ID", help="Who answers for what is kept; the actor if not."),
    ] = None,
    yes: Yes = False,
    approval: Approval = None,
) -> None:
    """
    Deal with what somebody who leaves a team answered for, each fact by itself.

    It may be repeated. What is archived is brought back by restore; what is deleted is
    gone for good, and waits where a legal hold binds it. You are asked before that.
    """
    scope = whose.scope
    chosen = at.settings().shared_policy if policy is None else policy.value
    if chosen == "delete" and not yes:
        _ask(owner, str(scope), at)
    with doer.asked(at, approval=approval) as store:
        found = store.hand_over(owner, scope=scope, policy=chosen, to=to, **doer.by)
    at.answer(found)


def _ask(owner: str, whose: str, at: Place) -> None:
    if not at.can_ask:
        raise typer.TyperException(
            "to delete asks before it destroys, and nobody can be asked here: look at "
            "shared --owner, then repeat with --yes"
        )
    question = f"Make all that {owner} answers for in {whose} unreadable for good?"
    if not typer.confirm(question, err=True):
        terminal.note("nothing was destroyed")
        raise typer.Exit(terminal.CANCELLED)
