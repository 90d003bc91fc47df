"""The table of rights, every cell of it, at the facade."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from muniment import MemoryStore, Scope
from muniment.api.proposals import Proposals
from muniment.domain.access import LEDGER as LEDGER_PLACE
from muniment.domain.access import RIGHTS, Role
from muniment.domain.access_events import ProposalMade, Proposed
from muniment.domain.acts import VERBS, Act
from muniment.errors import (
    AccessDeniedError,
    MunimentError,
    OutOfReachError,
    ReasonRequiredError,
    UnguardedVerbError,
    UnknownFactError,
    UnknownProposalError,
    UnknownSessionError,
    UnknownTransactionError,
    UnknownTurnError,
)
from muniment.ledger.records import Origin
from tests.access.matrix import (
    CALLS,
    DENIED,
    HIDDEN,
    IDENTITIES,
    LEDGER,
    OK,
    REASON,
    REASONED,
    SCOPES,
    Target,
    cells,
    expected,
)
from tests.stores import in_memory_at


Made = tuple[Sequence[Any], Mapping[str, Any]]

EXPECTED = expected()
UNGUARDED = {
    "acting_as",
    "authenticate",
    "close",
    "leave_to_parent",
    "open",
    "place",
    "settings",
    "receipts_of",
    "turns_of",
    # There is no store to act on before the one is made; what it keeps beside facts has
    # verbs of its own.
    *("rebuild_from_archive", "sources"),
}
"""What belongs to whoever runs the store, and is offered to no principal."""


def outcome(store: MemoryStore, identity: str, name: str, made: Made) -> str:
    """Return what a call does, without a reason and, where it needs one, with it."""
    args, fields = made
    verb = name.partition(" ")[0]
    needs_reason = verb in ("erase", "export_evidence")
    fields = {"reason": None, **fields} if needs_reason else fields
    try:
        _call(store, identity, verb, (args, fields))
    except ReasonRequiredError:
        # With one, the verb itself answers; were it refused now, that would be raised.
        _call(store, identity, verb, (args, {**fields, "reason": REASON}))
        return REASONED
    except AccessDeniedError:
        return DENIED
    except NOT_THERE:
        return HIDDEN
    return OK


NOT_THERE = (
    OutOfReachError,
    UnknownFactError,
    UnknownProposalError,
    UnknownSessionError,
    UnknownTransactionError,
    UnknownTurnError,
)
REFUSED = (AccessDeniedError, ReasonRequiredError, *NOT_THERE)


def _call(store: MemoryStore, identity: str, verb: str, made: Made) -> None:
    """Make a call; an error of the verb itself, once it was let in, is an answer."""
    args, fields = made
    try:
        found = getattr(store.acting_as(IDENTITIES[identity]), verb)
        if callable(found):
            found(*args, **fields)
    except REFUSED:
        raise
    except MunimentError:
        pass


def proposed(store: MemoryStore, scope: Scope) -> str:
    """Return a proposal on which those decide who may at *scope*."""
    made = ProposalMade(
        verb="erase", size=1, needed=9, proposal=Proposed(reason=None, asked={"x": 1})
    )
    return Proposals(store._ledger).make(scope, made, Origin(actor="u-0"))[0]


def target(store: MemoryStore, scope: Scope) -> Target:
    fact = store.remember("likes tea", scope=scope, session_id="chat-7")
    session = store.start_session(scope=scope)
    turn = store.add_turn(session.session_id, role="user", content="I like tea 茶")
    other = store.remember("drinks tea", scope=scope, category="taste")
    return Target(
        scope=scope,
        fact_id=fact.fact_id,
        other_fact_id=other.fact_id,
        tx_id=fact.tx_id,
        proposal_id=proposed(store, scope),
        evidence=Path(str(store.settings.key_file)).with_name(f"{fact.fact_id}.zip"),
        session_id=session.session_id,
        turn_id=turn.turn_id,
        long_ago=other.recorded_at.isoformat(),
        store=store,
    )


@pytest.fixture
def store(tmp_path: Path) -> Iterator[MemoryStore]:
    settings = in_memory_at(tmp_path, embedder="none", upkeep=False)
    with MemoryStore.open(settings) as store:
        yield store


@pytest.mark.parametrize("identity", IDENTITIES)
def test_every_verb_does_for_everybody_what_the_table_says(
    store: MemoryStore, identity: str
) -> None:
    """C20: every act by every role, made of one table; cases S17 and S19."""
    wrong = {}

    for place in (*SCOPES, LEDGER):
        scope = SCOPES.get(place, Scope.user("u-1"))
        on = target(store, scope)
        for name, call, act in cells(place):
            found = outcome(store, identity, name, call(on))
            if found != EXPECTED[identity, place, act]:
                wrong[place, name] = f"{found}, not {EXPECTED[identity, place, act]}"
            if VERBS[name.partition(" ")[0]].writes and found in (OK, REASONED):
                store.thaw(scope=scope)
                on = target(store, scope)

    assert wrong == {}


def test_every_public_verb_of_the_facade_is_in_the_table_and_in_the_matrix() -> None:
    public = {name for name in dir(MemoryStore) if not name.startswith("_")}

    assert public - UNGUARDED == set(VERBS), "give a new verb its row in domain/access.py"
    assert {name.partition(" ")[0] for name in CALLS} == set(VERBS), "and its call here"


def test_every_cell_of_the_table_is_expected_by_somebody() -> None:
    for (standing, place), acts in RIGHTS.items():
        assert place in {*SCOPES, LEDGER_PLACE}, standing
        for act in acts:
            assert any(
                (identity, place, act.value) in EXPECTED for identity in IDENTITIES
            ), (standing, place, act)
    assert {each.value for each in Act} == {act for _, _, act in EXPECTED}
    assert {role for each in IDENTITIES.values() for role in each.roles} == set(Role)


@pytest.mark.parametrize("name", sorted(UNGUARDED))
def test_what_runs_the_store_is_offered_to_nobody(store: MemoryStore, name: str) -> None:
    for principal in IDENTITIES.values():
        with pytest.raises(UnguardedVerbError, match=name):
            getattr(store.acting_as(principal), name)


class StoreWithAnotherVerb(MemoryStore):
    def read_minds(self) -> str:
        return "secret"


def test_a_verb_that_nobody_gave_a_row_is_refused(tmp_path: Path) -> None:
    with StoreWithAnotherVerb.open(tmp_path / "store") as store:
        acting = store.acting_as(IDENTITIES["officer"])

        with pytest.raises(UnguardedVerbError, match="read_minds"):
            acting.read_minds()  # type: ignore[attr-defined]
        with pytest.raises(AttributeError):
            acting.read_mind()  # type: ignore[attr-defined]
