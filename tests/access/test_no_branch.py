"""Nobody learns from how long it takes whether what is out of reach is there."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product

import pytest
import sqlalchemy as sa

from muniment import Principal, Scope
from muniment.api.access import ActingStore
from muniment.domain.acts import VERBS, Named
from muniment.errors import MunimentError, NotFound, OutOfReachError
from muniment.ledger.prepared import Answer, Prepared
from tests.access.matrix import CALLS, Target
from tests.access.test_facade_matrix import target
from tests.stores import Backend


STRANGER = Principal(id="u-9", memberships=("member_of:else",))
OTHERWISE = frozenset({"apply", "import_export"})
"""What names a whole plan or document, which says whose it is."""

ABOUT_A_MEMORY = frozenset(Named) - {Named.NOTHING, Named.SCOPE_OR_ALL}


@contextmanager
def asked(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Prepared | str]]:
    """Give the statements that this thread asks of any database, without parameters."""
    told: list[Prepared | str] = []
    me = threading.get_ident()
    run = Prepared.run

    def noted(self: Prepared, connection: sa.Connection, **values: object) -> Answer:
        if threading.get_ident() == me:
            told.append(self)
        return run(self, connection, **values)

    def executed(*given: object) -> None:
        if threading.get_ident() == me:
            told.append(str(given[2]))

    sa.event.listen(sa.Engine, "before_cursor_execute", executed)
    try:
        with monkeypatch.context() as patched:
            patched.setattr(Prepared, "run", noted)
            yield told
    finally:
        sa.event.remove(sa.Engine, "before_cursor_execute", executed)


def refused(acting: ActingStore, name: str, on: Target) -> str:
    args, fields = CALLS[name][1](on)
    try:
        getattr(acting, name.partition(" ")[0])(*args, **fields)
    except (NotFound, OutOfReachError) as error:
        return type(error).__name__
    except MunimentError as error:
        return f"not as if there were nothing: {error!r}"
    return "answered"


def test_what_is_asked_of_a_database_is_the_same_of_what_is_not_there(
    durable: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    with durable.open(embedder="none", upkeep=False) as store:
        theirs = target(store, Scope.user("u-1"))
        never = Target(
            scope=Scope.user("u-8"),
            fact_id="0" * len(theirs.fact_id),
            other_fact_id="0" * len(theirs.fact_id),
            tx_id=theirs.tx_id + 1_000,
            proposal_id="0" * len(theirs.proposal_id),
            session_id="0" * len(theirs.session_id),
            turn_id="0" * len(theirs.session_id) + ".1",
            evidence=theirs.evidence,
            long_ago=theirs.long_ago,
            store=store,
        )
        acting, vault, differing = store.acting_as(STRANGER), store._ledger.vault, {}
        asking = 0

        for name, is_known in product(CALLS, (True, False)):
            verb = VERBS[name.partition(" ")[0]]
            if name.partition(" ")[0] in OTHERWISE or verb.named not in ABOUT_A_MEMORY:
                continue
            seen = []
            for on in (theirs, never):
                if not is_known:
                    vault._subjects, vault._by_scope = {}, {}
                with asked(monkeypatch) as told:
                    seen.append((refused(acting, name, on), told))
            asking += bool(seen[0][1])
            if seen[0] != seen[1] or seen[0][0] == "answered":
                differing[name, is_known] = [
                    (said, [str(getattr(each, "clause", each)) for each in told])
                    for said, told in seen
                ]

    assert differing == {}
    assert asking > 60, "what is named by its id is looked up"
