"""A copy that a hold or a freeze keeps, of what is unreadable: used by nobody meanwhile."""

from contextlib import suppress
from functools import partial

import pytest

from muniment import MemoryStore
from muniment.errors import FactNotCurrentError
from tests.access.test_copies import CANARY, MEMBER, TEAM, die, left, shared
from tests.stores import Backend


BOUND = pytest.mark.parametrize("bound", ["held", "frozen", "hidden"])


def bind(store: MemoryStore, bound: str, copy: str) -> None:
    """Put a hold on a copy of the team, or freeze its memory."""
    if bound == "held":
        store.place_hold(scope=TEAM, matter="case 9", hold_id="h-9", fact_id=copy)
    else:
        store.freeze(scope=TEAM, hide=bound == "hidden")


def unbind(store: MemoryStore, bound: str) -> None:
    if bound == "held":
        store.release_hold("h-9", scope=TEAM)
    else:
        store.thaw(scope=TEAM)


def used(store: MemoryStore, copy: str) -> bool:
    """Whether what an agent, or a member of the team, uses says anything of the canary."""
    member = store.acting_as(MEMBER)
    found: list[object] = [
        store.get_all(scope=TEAM),
        store.list_shared(scope=TEAM),
        store.list_proposals(scope=TEAM),
        store.search("canary-5521 停机", scope=TEAM, past=True),
        store.search(copy, scope=TEAM),
        member.search("canary-5521", user_id="u-3", scopes=["team:eng"]),
        member.build_context(
            "停机?", user_id="u-3", scopes=["team:eng"], budget_tokens=2_000
        ),
    ]
    with suppress(FactNotCurrentError):
        found.append(store.get(copy))
    return any("canary-5521" in str(each) for each in found)


@BOUND
@pytest.mark.usefixtures("backend")
def test_a_copy_that_is_bound_is_used_nowhere_and_goes_once_it_is_not(
    store: MemoryStore, bound: str
) -> None:
    _, copy = shared(store)
    kept = store.remember("站会在九点", scope=TEAM)
    before = used(store, copy)
    bind(store, bound, copy)

    partial = store.erase(user_id="u-1", reason="request 2026-23")
    meanwhile = used(store, copy)
    # That another hold ends is neither.
    store.place_hold(scope=TEAM, matter="case 8", hold_id="h-7", fact_id=kept.fact_id)
    store.release_hold("h-7", scope=TEAM)
    history = store.get_fact_history(copy).versions[0].content
    waiting = store.erasure_certificate(str(partial.subject_ref))
    unbind(store, bound)

    assert (before, meanwhile, used(store, copy)) == (True, False, False)
    assert history == CANARY
    assert waiting is not None
    assert str(waiting.status) == "PARTIAL"
    assert [each.remaining for each in waiting.stores if each.store == "shared"] == [1]
    assert str(store.erasure_certificate(str(partial.subject_ref)).status) == "DONE"  # type: ignore[union-attr]
    assert left(store) == set()
    assert store.get(kept.fact_id).content == "站会在九点"


@BOUND
@pytest.mark.usefixtures("backend")
def test_a_redaction_is_deferred_while_a_copy_that_is_bound_can_be_read(
    store: MemoryStore, bound: str
) -> None:
    session_id = store.start_session(user_id="u-1").session_id
    turn = store.add_turn(session_id, role="user", content="停机在周五")
    fact_id, copy = shared(store, source_turns=[turn.turn_id])
    asked = [
        partial(store.forget, fact_id, mode="redact", idempotency_key="r-1"),
        partial(store.forget, fact_id, mode="redact"),
        partial(store.redact_turn, turn.turn_id),
        partial(store.redact_session, session_id),
    ]
    bind(store, bound, copy)

    # The words first: what is drawn from them goes with them.
    said = [each().deferred for each in reversed(asked)]
    kept = store.get_fact_history(copy).versions[0].content
    meanwhile = used(store, copy)
    unbind(store, bound)

    assert (said, kept, meanwhile) == ([True] * 4, CANARY, False)
    assert store.get_fact_history(fact_id).versions[0].content is None
    assert store.get_fact_history(copy).versions[0].content is None
    assert "canary-5521" not in left(store)
    assert [each().deferred for each in asked] == [False] * 4


@pytest.mark.parametrize("frozen", ["before", "after"])
def test_a_copy_in_a_frozen_memory_is_not_used_after_a_restart_either(
    durable: Backend, monkeypatch: pytest.MonkeyPatch, frozen: str
) -> None:
    reopened = partial(durable.open, embedder="none", upkeep=False)
    erase = partial(MemoryStore.erase, user_id="u-1", reason="request 2026-27")
    with reopened() as store:
        _, copy = shared(store)
        if frozen == "before":
            # The erasure itself waits, and what waits for it is set aside.
            store.place_hold(user_id="u-1", matter="case 9", hold_id="h-9")
            store.freeze(scope=TEAM)
            first = str(erase(store).status)
            in_use = [used(store, copy)]
            store.release_hold("h-9", user_id="u-1")
        else:
            with monkeypatch.context() as patched:
                patched.setattr("muniment.api.copies.Copies.redact", die)
                with pytest.raises(SystemExit):
                    erase(store)
            first, in_use = "", [used(store, copy)]
            store.freeze(scope=TEAM)
    said: list[object] = []
    for _ in range(2):
        with reopened() as store:
            in_use.append(used(store, copy))
            said += [store.get_fact_history(copy).versions[0].content, erase(store).status]
            with pytest.raises(FactNotCurrentError, match="once its memory is thawed"):
                store.get(copy)
    with reopened() as store:
        store.thaw(scope=TEAM)
        said.append(erase(store).status)

        assert first == ("DEFERRED" if frozen == "before" else "")
        assert in_use == [frozen == "after", False, False]
        assert said == [CANARY, "PARTIAL", CANARY, "PARTIAL", "DONE"]
        assert left(store) == set()
