"""That a copy is made of what is remembered of somebody: said first, then made."""

import os
from dataclasses import dataclass

from muniment.domain import subject as subjects
from muniment.domain.commands import DiscloseSubject
from muniment.domain.scope import Scope
from muniment.errors import SubjectErasedError
from muniment.ledger.ledger import Committed, Ledger
from muniment.ledger.records import Origin
from muniment.ledger.transaction import Request, Transaction


@dataclass(frozen=True, slots=True, kw_only=True)
class Disclosed:
    """
    A copy that is about to be made, and is in the ledger already.

    Attributes:
        disclosure_id: Names it.
        committed: The transaction that says so.
    """

    disclosure_id: str
    committed: Committed


def disclose(
    ledger: Ledger, scope: Scope, *, form: str, matter: str, origin: Origin
) -> Disclosed:
    """
    Record that a copy is made; nothing is given out before this is durable.

    Raises:
        SubjectErasedError: If the subject is being erased.
    """
    named = f"copy-{os.urandom(8).hex()}"
    command = DiscloseSubject(disclosure_id=named, form=form, matter=matter)

    def work(transaction: Transaction) -> None:
        if transaction.state.erased:
            raise SubjectErasedError(str(scope))
        transaction.add_to_subject(subjects.decide(command, transaction.state))

    committed = ledger.transact(
        Request(
            action="disclose",
            origin=origin,
            scope=scope,
            fact_id=None,
            body={"form": form, "matter": matter},
            work=work,
            passes_freeze=True,
        )
    )
    return Disclosed(disclosure_id=named, committed=committed)
