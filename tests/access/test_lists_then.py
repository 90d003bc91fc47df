"""What is listed is answered as of then as it was answered then: all of it is events."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from muniment import MemoryStore, Principal, Scope
from muniment.errors import AccessDeniedError, FutureAsOfError, ReasonRequiredError
from tests.access.matrix import IDENTITIES, REASON
from tests.stores import SECOND, Backend, SettableClock


USER, TEAM = Scope.user("u-1"), Scope.team("eng")
SUBJECT, LEAD, ON_CALL = (IDENTITIES[each] for each in ("subject", "lead", "on_call"))
FAR = "2999-01-01T00:00:00Z"


def changes(store: MemoryStore) -> Iterator[str]:
    """Do one thing after another that some list shows; say which."""
    fact = store.remember("喝茶", user_id="u-1")
    store.place_hold(user_id="u-1", matter="case 4711", hold_id="h-1")
    yield "a hold"
    shared = store.acting_as(SUBJECT).propose_share(fact.fact_id, to=TEAM)
    yield "a proposal"
    key = store.issue_api_key(SUBJECT)
    yield "a key"
    on_call = store.acting_as(ON_CALL)
    on_call.get_memory_as_of(
        user_id="u-1", timestamp=fact.recorded_at, reason=REASON, break_glass=True
    )
    yield "an emergency"
    # Now the fact is no longer what was proposed.
    store.correct(fact.fact_id, content="喝咖啡")
    yield "a correction"
    store.acting_as(LEAD).reject(shared.proposal_id, reason="not ours to know")
    yield "a refusal"
    store.revoke_api_key(key.key_id)
    yield "an end of a key"
    (waiting,) = store.list_broken_glass()
    store.review_broken_glass(waiting.glass_id, actor="o-1")
    yield "a review"
    store.release_hold("h-1", user_id="u-1")
    yield "a release"


Lists = dict[str, Callable[..., Any]]


def lists(store: MemoryStore) -> Lists:
    """Return what can be listed, each with the times it takes left to say."""
    return {
        "holds": lambda **then: store.list_holds(scope=USER, **then),
        "proposals": lambda **then: store.list_proposals(scope=TEAM, **then).items,
        "keys": store.list_api_keys,
        "looks": lambda **then: store.access_log(scope=USER, **then).items,
        "emergencies": lambda **then: store.list_broken_glass(**then).items,
        "lost": store.count_lost_receipts,
    }


def test_every_list_is_as_of_then_what_it_was_then(backend: Backend) -> None:
    clock = SettableClock()
    with backend.open(clock=clock, embedder="none", upkeep=False) as store:
        known = []
        for what in changes(store):
            answers = {name: ask() for name, ask in lists(store).items()}
            log = store.access_log(scope=USER)
            known.append((what, log.recorded_at, log.position, answers))
            clock.now += SECOND

        for what, then, position, answers in known:
            for name, ask in lists(store).items():
                for times in (
                    {"as_of": then},
                    {"valid_at": then},
                    {"as_of": then, "valid_at": FAR},
                ):
                    assert ask(**times) == answers[name], (what, name, times)
            log = store.access_log(as_of=then)
            assert (log.position, log.recorded_at) == (position, then)
        for name, ask in lists(store).items():
            assert len({repr(a[name]) for *_, a in known}) > 1 or name == "lost", name
            with pytest.raises(FutureAsOfError):
                ask(as_of=FAR)


def test_the_past_of_a_list_says_why_but_for_the_subject(store: MemoryStore) -> None:
    """Who decides and who runs the store see what is; what was is looked at."""
    *_, _ = changes(store)
    then = store.access_log().recorded_at
    administrator = store.acting_as(IDENTITIES["administrator"])
    lead, subject = store.acting_as(LEAD), store.acting_as(SUBJECT)
    before = len(store.access_log())

    assert len(subject.list_proposals(scope=USER, as_of=then)) == 1
    assert len(lead.list_proposals(scope=TEAM)) == 1
    before_now: tuple[dict[str, Any], ...] = ({"as_of": then}, {"valid_at": then})
    for times in before_now:
        with pytest.raises(ReasonRequiredError):
            lead.list_proposals(scope=TEAM, **times)
        with pytest.raises(ReasonRequiredError):
            administrator.list_api_keys(**times)
    with pytest.raises(AccessDeniedError):
        store.acting_as(Principal(id="u-9")).list_api_keys(as_of=then, reason=REASON)
    assert len(store.access_log()) == before

    assert len(lead.list_proposals(scope=TEAM, as_of=then, reason=REASON)) == 1
    assert len(administrator.list_api_keys(as_of=then, reason=REASON)) == 1
    verbs = [each.verb for each in store.access_log(limit=2)]
    assert verbs == ["list_api_keys", "list_proposals"]


def test_why_the_store_was_kept_is_recorded_where_it_need_not_be_said(
    store: MemoryStore,
) -> None:
    administrator = store.acting_as(IDENTITIES["administrator"])

    administrator.rebuild()
    administrator.rebuild(reason=REASON)

    (entry,) = store.access_log()
    assert (entry.verb, entry.reason, entry.actor) == ("rebuild", REASON, "o-3")


def test_no_cursor_names_a_look_that_a_hold_keeps_from_its_person(
    store: MemoryStore,
) -> None:
    """A cursor is the name of a look, which is the time of it."""
    auditor = store.acting_as(IDENTITIES["auditor"])
    subject = store.acting_as(SUBJECT)
    fact = store.remember("喝茶", user_id="u-1")
    for _ in range(2):
        auditor.get_fact_history(fact.fact_id, reason=REASON)
    seen = subject.access_log(user_id="u-1", limit=1)
    store.place_hold(user_id="u-1", matter="case 4711", hold_id="h-1")
    for _ in range(3):
        auditor.get_fact_history(fact.fact_id, reason=REASON)

    held = subject.access_log(user_id="u-1", limit=1)

    assert (held.items, held.next_cursor) == (seen.items, seen.next_cursor)
    assert len(subject.access_log(user_id="u-1")) == 2
    assert len(store.access_log(user_id="u-1")) == 5
