"""What went wrong between users and tenants of other systems, tried here."""

import unicodedata
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from muniment import Cause, MemoryStore, Scope
from muniment.api.opening import OpenLedger, open_ledger
from muniment.clock import system_clock
from muniment.errors import (
    InvalidCursorError,
    InvalidScopeError,
    InvalidValueError,
    NotFound,
    UnknownFactError,
    UnknownFieldError,
    UnknownTransactionError,
)
from muniment.ledger.ledger import Ledger
from muniment.ledger.sql_recorder import SqlRecorder
from muniment.ledger.tally import Tally
from muniment.projections.sql_conversation import SqlConversation
from muniment.projections.timeline import SqlTimeline
from tests.api.days import day
from tests.api.whole import whole
from tests.stores import Backend


IDS = (
    "a",
    "A",
    "ab",
    "a%",
    "%",
    "_",
    "a_",
    "a\\",
    "\\%",
    "a'",
    "' OR '1'='1",
    'a" --',
    "a*",
    "a?b",
    "a:b",
    "user:a",
    "a/b",
    "a/../b",
    "a.b",
    "acme",
    "acme-corp",
    "😀",
    "👩‍👩‍👧",
    "café",
    unicodedata.normalize("NFD", "café"),
    "ﬁ",
    "fi",
    "ß",
    "ss",
    "İ",
    "i̇",
    "用户",
    "null",
    "0",
    "00",
    "a b",
    "\u202ea",
    "${a}",
    "{a}",
    "x" * 256,
)
"""Legal and opaque: no two of them name one subject, by pattern, case or normal form."""

REFUSED = (
    "",
    " ",
    " a",
    "a ",
    "a\x00",
    "a\x00b",
    "a\n",
    "a\tb",
    "a\x7f",
    "\ud800",
    "a\udfff",
    "x" * 257,
)

HOSTILE = (
    "' OR 1=1 --",
    "'; DROP TABLE belief; --",
    "%",
    "_",
    "*",
    "\\",
    '"',
    "$1",
    "?",
    ":category",
    "%(category)s",
    "NULL",
)


def test_every_id_reaches_its_own_memory_and_no_other(store: MemoryStore) -> None:
    """M39: langgraphjs #2721, CVE-2026-71433: `acme` also gave what `acme-corp` had."""
    scopes = [Scope.user(name) for name in IDS]
    scopes += [Scope.team(name) for name in IDS[:20]] + [Scope.org()]
    facts = {
        scope: store.remember(f"of {number}", scope=scope)
        for number, scope in enumerate(scopes)
    }

    for scope, fact in facts.items():
        assert store.get_all(scope=scope).items == (fact,)
        assert fact.scope == scope
        then = store.get_memory_as_of(scope=scope, timestamp=facts[scopes[-1]].recorded_at)
        assert then.facts in {(fact,), ()}
        modified = store.list_modified_facts(scope=scope, start=day(-1))
        assert [each.fact_id for each in modified] == [fact.fact_id]
    assert len({fact.fact_id for fact in facts.values()}) == len(scopes)


def test_ids_that_cannot_be_kept_exactly_are_refused(store: MemoryStore) -> None:
    """langgraphjs #2721: what two ids have in common once a database has cut them."""
    before = whole(store)

    for name in REFUSED:
        with pytest.raises(InvalidScopeError, match="name one of user:ID"):
            store.remember("fact", user_id=name)
        with pytest.raises(InvalidScopeError):
            store.get_all(scope=Scope.team(name))

    assert whole(store) == before


def test_a_hostile_filter_finds_what_is_called_so_and_nothing_else(
    store: MemoryStore,
) -> None:
    """S7: langgraph CVE-2025-8709, -64104, -67644: filters went into the SQL."""
    plain = store.remember(
        "plain", user_id="u", category="plain", session_id="s", actor="a"
    )
    for text in HOSTILE:
        assert store.get_all(user_id="u", category=text).items == ()
        assert not store.plan_rollback(user_id="u", where=Cause(session_id=text)).diff
        assert not store.plan_rollback(user_id="u", where=Cause(actor=text)).diff
        with pytest.raises(UnknownFactError):
            store.get(text)
    for text in HOSTILE:
        fact = store.remember(
            text, user_id="u", category=text, attribute=text, actor=text, entities=(text,)
        )
        assert store.get_all(user_id="u", category=text).items == (fact,)
        plan = store.plan_rollback(user_id="u", where=Cause(actor=text))
        assert [each.fact_id for each in plan.diff.removed] == [fact.fact_id]

    assert len(store.get_all(user_id="u")) == len(HOSTILE) + 1
    assert store.get(plain.fact_id) == plain


def test_a_filter_nobody_defined_is_refused_and_does_not_widen(store: MemoryStore) -> None:
    """langgraph CVE-2025-64104: the key of a filter was put into the SQL as it came."""
    loose: Any = store
    store.remember("fact", user_id="u")

    for field in ("categories", "category'; --", "user", "where", "userid", "metadata"):
        with pytest.raises(UnknownFieldError, match="the fields are"):
            loose.get_all(user_id="u", **{field: "x"})
        with pytest.raises(UnknownFieldError):
            loose.rollback_where(user_id="u", actor="x", **{field: "x"})
        with pytest.raises(UnknownFieldError):
            loose.get_memory_as_of(user_id="u", timestamp=day(0), **{field: "x"})


def test_a_scope_beside_the_id_of_anothers_fact_is_no_widening(store: MemoryStore) -> None:
    """graphiti #1705, #632: a scope that did not fit was ignored on some of the ways."""
    loose: Any = store
    fact = store.remember("mine", user_id="u")
    store.remember("other", user_id="v")
    before = whole(store)

    for verb in (loose.get, loose.get_fact_history, loose.update, loose.forget):
        with pytest.raises(UnknownFieldError):
            verb(fact.fact_id, user_id="v")
    with pytest.raises((InvalidScopeError, NotFound)):
        store.plan_rollback(fact_id=fact.fact_id, to_version=0, user_id="v")

    assert whole(store) == before


def test_every_answer_about_one_subject_is_without_the_others(store: MemoryStore) -> None:
    """graphiti #632: the filter was kept for one kind of answer, not for another."""
    mine = [store.remember(f"mine {number}", user_id="u") for number in range(3)]
    store.update(mine[0].fact_id, content="mine, changed", session_id="s")
    theirs = [store.remember(f"theirs {number}", user_id="v") for number in range(3)]
    store.update(theirs[0].fact_id, content="theirs, changed", session_id="s")
    now = store.get_all(user_id="v").recorded_at
    ours = {fact.fact_id for fact in mine}

    answers: dict[str, Callable[[], Any]] = {
        "all": lambda: store.get_all(user_id="u"),
        "as of": lambda: store.get_memory_as_of(user_id="u", timestamp=now),
        "blame": lambda: store.blame(user_id="u"),
        "modified": lambda: store.list_modified_facts(user_id="u", start=day(-1)),
        "diff": lambda: store.diff_memory(user_id="u", time_a=day(-1), time_b=now).added,
        "plan to": lambda: store.plan_rollback(user_id="u", to=day(-1)).diff.removed,
    }

    for name, answer in answers.items():
        assert {each.fact_id for each in answer()} == ours, name
    by_session = store.plan_rollback(user_id="u", where=Cause(session_id="s")).diff
    assert [each.fact_id for each in by_session.changed] == [mine[0].fact_id]
    assert store.get_all(user_id="nobody").items == ()
    assert store.blame(user_id="nobody") == ()
    assert not store.plan_rollback(user_id="nobody", to=day(-1)).diff


def _sharing(store: MemoryStore, name: str, backend: Backend) -> MemoryStore:
    """Return another tenant's store over the very pool that *store* uses."""
    with backend.open(ledger=name, pool_size=2) as made:
        made.get_all(user_id="u")
    recorder = store._ledger.recorder
    assert isinstance(recorder, SqlRecorder)
    other = SqlRecorder(
        recorder.engine, ledger=name, clock=system_clock, lock_timeout=30, pool_size=2
    )
    timeline = SqlTimeline(other)
    settings = backend.settings(ledger=name, pool_size=2)
    opened = open_ledger(settings, clock=None, create=True)
    # Its keys are used on; they are let go of with the store that is returned.
    opened.ledger.recorder.close()
    vault = opened.ledger.vault
    conversation = SqlConversation(other)
    ledger = Ledger(other, vault, timeline, name, conversation)
    timeline.bind(ledger.mapper)
    return MemoryStore(
        OpenLedger(
            ledger, timeline, conversation, opened.recall, "shared", Tally(None, name)
        ),
        backend.settings(ledger=name),
    )


@pytest.fixture
def tenants(durable: Backend) -> Iterator[tuple[MemoryStore, MemoryStore]]:
    """Two ledgers in the same tables, over one pool."""
    with (
        durable.open(ledger="one", pool_size=2) as one,
        _sharing(one, "two", durable) as two,
    ):
        yield one, two


def test_one_pool_serves_two_tenants_without_mixing_them(
    tenants: tuple[MemoryStore, MemoryStore],
) -> None:
    """spiralclass #59, TypeORM #5857: the tenant of the last request leaked in the pool."""
    facts = {}
    for turn in range(6):
        for name, store in zip(("one", "two"), tenants, strict=True):
            facts[name, turn] = store.remember(f"{name} {turn}", user_id="u")
            # A request that fails, and one that is cancelled in mid-flight.
            with pytest.raises(UnknownFactError):
                store.update("no such fact", content="x")
            with pytest.raises(KeyboardInterrupt), store._ledger.recorder.appending():
                raise KeyboardInterrupt
            contents = [each.content for each in store.get_all(user_id="u")]
            assert contents == [f"{name} {each}" for each in range(turn + 1)]

    one, two = tenants
    positions = [fact.position for (name, _), fact in facts.items() if name == "two"]
    assert positions == list(range(1, 7))
    foreign = facts["two", 3]
    for verb in (one.get, one.get_fact_history, one.forget, one.restore, one.end):
        with pytest.raises(UnknownFactError):
            verb(foreign.fact_id)
    assert two.get(foreign.fact_id) == foreign
    assert one.rebuild() == two.rebuild() == 6


def test_what_one_tenant_holds_is_worth_nothing_to_the_other(
    tenants: tuple[MemoryStore, MemoryStore],
) -> None:
    """spiralclass #59: cursors, plans, keys and numbers of transactions cross tenants."""
    one, two = tenants
    secret = one.remember_many([f"secret {number}" for number in range(5)], user_id="u")
    cursor = one.get_all(user_id="u", limit=2).next_cursor
    plan = one.plan_rollback(user_id="u", to=day(-1))
    one.remember("keyed", user_id="u", idempotency_key="k")
    before = whole(one)

    with pytest.raises(InvalidCursorError):
        two.get_all(user_id="u", limit=2, cursor=cursor)
    with pytest.raises(InvalidValueError):
        two.apply(plan)
    with pytest.raises(UnknownTransactionError):
        two.undo(secret.tx_id or 0)
    mine = two.remember("another body", user_id="u", idempotency_key="k")

    assert mine.position == 1
    assert two.get_all(user_id="u").items == (mine,)
    after = whole(one)
    for table in ("ledger_event", "ledger_transaction", "belief"):
        of_one = [row for row in after[table] if row[0] == "one"]  # type: ignore[attr-defined]
        assert of_one == before[table]
