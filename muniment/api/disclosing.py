"""That a copy is made of what is remembered of somebody: said first, then made."""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass

from muniment.domain import subject as subjects
from muniment.domain.commands import DiscloseSubject
from muniment.domain.scope import Scope
from muniment.domain.text import Json
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


class Names:
    """
    Names of third parties, replaced by tokens wherever they stand.

    Args:
        names: What they are called; the longest is replaced first.
    """

    def __init__(self, names: Sequence[str]) -> None:
        ordered = sorted(dict.fromkeys(names), key=len, reverse=True)
        tokens = {name: f"[third party {names.index(name) + 1}]" for name in ordered}
        self._pattern = (
            re.compile("|".join(map(re.escape, ordered)), re.IGNORECASE)
            if ordered
            else None
        )
        self._by_folded = {name.casefold(): token for name, token in tokens.items()}

    def mentioned(self, value: Json) -> bool:
        """Whether one of them stands anywhere in *value*."""
        return self.hidden(value) != value

    def hidden(self, value: Json) -> Json:
        """Return *value* with a token for each of them."""
        if self._pattern is None:
            return value
        match value:
            case str():
                return self._pattern.sub(self._token, value)
            case list():
                return [self.hidden(each) for each in value]
            case dict():
                return {
                    str(self.hidden(key)): self.hidden(each) for key, each in value.items()
                }
            case _:
                return value

    def _token(self, found: "re.Match[str]") -> str:
        return self._by_folded.get(found.group().casefold(), "[third party]")
