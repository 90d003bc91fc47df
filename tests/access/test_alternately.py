"""Two who ask by turns, through every verb that reads, meet nothing of each other."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from muniment import MemoryStore, Principal, Scope
from muniment.api.access import ActingStore
from muniment.errors import MunimentError
from muniment.recall.search import ENTITY, EXACT, KEYWORD, MEANING
from tests.access.matrix import CALLS, REASON, Target
from tests.stores import in_memory_at


ROUNDS = 2
READING = [name for name, (act, _) in CALLS.items() if act in ("recall", "look", "replay")]
CANARIES = {"u-1": "canary-4411 茶", "u-2": "canary-9922 咖啡"}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[MemoryStore]:
    settings = in_memory_at(tmp_path, embedder="hashing", upkeep=False)
    with MemoryStore.open(settings) as store:
        yield store


def told(store: MemoryStore, user: str) -> Target:
    """Tell a memory what nobody else is to read."""
    scope, said = Scope.user(user), f"likes tea, {CANARIES[user]}"
    session = store.start_session(scope=scope)
    turn = store.add_turn(session.session_id, role="user", content=said)
    fact = store.remember(said, scope=scope, source_turns=[turn.turn_id])
    other = store.remember(f"drinks tea, {said}", scope=scope, entities=[said])
    return Target(
        scope=scope,
        fact_id=fact.fact_id,
        other_fact_id=other.fact_id,
        tx_id=fact.tx_id,
        proposal_id="",
        session_id=session.session_id,
        turn_id=turn.turn_id,
        evidence=Path(str(store.settings.key_file)).with_name(f"{user}.zip"),
        long_ago=other.recorded_at.isoformat(),
        store=store,
    )


def answered(asking: ActingStore, name: str, on: Target) -> str:
    """Return all that a call gives, or how it is refused without what was asked for."""
    args, fields = CALLS[name][1](on)
    if name == "export_evidence":
        fields = {**fields, "reason": REASON}
    try:
        found = getattr(asking, name.partition(" ")[0])(*args, **fields)
        return repr(list(found) if isinstance(found, Iterator) else found)
    except MunimentError as error:
        said = str(error)
        for sent in (on.turn_id, on.session_id, on.fact_id, str(on.scope), on.scope.name):
            said = said.replace(str(sent), "…")
        return f"{type(error).__name__}: {said}"


@pytest.mark.parametrize("name", READING)
def test_two_who_ask_by_turns_get_nothing_of_each_other(
    store: MemoryStore, name: str
) -> None:
    mine = {user: told(store, user) for user in CANARIES}
    store.catch_up()
    acting = {user: store.acting_as(Principal(id=user)) for user in CANARIES}
    others = dict(zip(mine, reversed(mine), strict=True))
    # What there never was is spelled as what there is.
    never = replace(
        mine["u-1"],
        scope=Scope.user("u-8"),
        fact_id="0" * len(mine["u-1"].fact_id),
        session_id="0" * len(mine["u-1"].session_id),
        turn_id="0" * len(mine["u-1"].session_id) + mine["u-1"].turn_id[-2:],
    )

    for _ in range(ROUNDS):
        for user, other in others.items():
            own = answered(acting[user], name, mine[user])
            theirs = answered(acting[user], name, mine[other])

            for each in (own, theirs):
                assert CANARIES[other] not in each
                assert not any(
                    i in own for i in (mine[other].fact_id, str(mine[other].scope))
                )
            assert theirs == answered(acting[user], name, never)


def test_no_leg_of_a_search_finds_what_another_said(store: MemoryStore) -> None:
    mine = {user: told(store, user) for user in CANARIES}
    store.catch_up()
    seen: set[str] = set()

    for _ in range(ROUNDS):
        for user, other in zip(mine, reversed(mine), strict=True):
            asking = store.acting_as(Principal(id=user))
            for whose in (other, user):
                said = f"likes tea, {CANARIES[whose]}"
                for query in (CANARIES[whose], said, mine[whose].fact_id):
                    hits = asking.search(query, user_id=user, explain=True)
                    assert all(CANARIES[user] in str(each.fact.content) for each in hits)
                    seen.update(*(each.legs for each in hits))

    assert seen >= {EXACT, KEYWORD, ENTITY, MEANING}
