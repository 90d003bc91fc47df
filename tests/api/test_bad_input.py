"""Requests that cannot be carried out: each has its own error, and nothing is written."""

import dataclasses
import re
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from muniment import Fact, MemoryStore, MunimentError
from muniment.domain.text import Json
from muniment.errors import (
    IdempotencyConflictError,
    InvalidCursorError,
    InvalidInput,
    InvalidScopeError,
    PlanOutdatedError,
    RollbackConflictError,
    StoreClosedError,
    SubjectFrozenError,
)
from tests.api import bad_fields, bad_questions
from tests.api.days import day
from tests.api.refusal import Case
from tests.api.whole import whole
from tests.stores import Backend


GROUPS: Mapping[str, Mapping[str, Case]] = {
    "times": bad_fields.TIMES,
    "periods": bad_fields.PERIODS,
    "metadata": bad_fields.METADATA,
    "values": bad_fields.VALUES,
    "questions": bad_questions.ASKED,
    "writes that are told the time": bad_questions.TOLD_THE_TIME,
}


def refused(store: MemoryStore, fact: Fact, case: Case) -> BaseException | None:
    """Return what the request of *case* raises."""
    try:
        case.request(store, fact)
    except BaseException as error:  # noqa: BLE001 - whatever it is, it is looked at
        return error
    return None


@pytest.mark.parametrize("group", GROUPS)
def test_a_bad_request_has_its_own_error_that_says_what_to_do_and_writes_nothing(
    store: MemoryStore, group: str, subtests: pytest.Subtests
) -> None:
    fact = store.remember("fact", user_id="u", actor="a")
    before = whole(store)

    for name, case in GROUPS[group].items():
        with subtests.test(name):
            error = refused(store, fact, case)

            assert type(error) is case.error, repr(error)
            missing = [each for each in case.says if each not in str(error)]
            assert not missing, str(error)
            # One line, however long the value was.
            assert len(str(error)) < 1_000
            assert "\n" not in str(error)
            assert whole(store) == before


def test_a_batch_with_one_bad_item_is_refused_whole(store: MemoryStore) -> None:
    before = whole(store)

    for bad in ("", 5, None, {"content": "x", "colour": 1}, {}, {"content": "x" * 70_000}):
        items: Any = ["good", {"content": "good too"}, bad]
        with pytest.raises(InvalidInput):
            store.remember_many(items, user_id="u")

    assert whole(store) == before


def test_a_key_used_by_another_subject_leaves_no_trace_of_this_one(
    store: MemoryStore,
) -> None:
    store.remember("one", user_id="u", idempotency_key="k")
    before = whole(store)

    with pytest.raises(IdempotencyConflictError, match="use a new key"):
        store.remember("two", user_id="new", idempotency_key="k")

    assert whole(store) == before


def test_what_there_is_nothing_to_do_for_leaves_no_trace(store: MemoryStore) -> None:
    before = whole(store)

    receipts = [
        store.thaw(user_id="new"),
        store.rollback_where(user_id="new", actor="a"),
        store.rollback_to_timestamp(user_id="new", rollback_to=day(-1)),
    ]

    assert [each.tx_id for each in receipts] == [None] * 3
    assert whole(store) == before


def test_a_frozen_subject_is_written_by_nobody_and_says_so(store: MemoryStore) -> None:
    fact = store.remember("fact", user_id="u", actor="a")
    plan = store.plan_rollback(user_id="u", to=day(-1))
    store.freeze(user_id="u")
    before = whole(store)
    writes: list[Callable[[], object]] = [
        lambda: store.remember("x", user_id="u"),
        lambda: store.remember_many(["x"], user_id="u"),
        lambda: store.update(fact.fact_id, content="x"),
        lambda: store.correct(fact.fact_id, content="x"),
        lambda: store.end(fact.fact_id),
        lambda: store.forget(fact.fact_id),
        lambda: store.rollback_fact(fact.fact_id, to_version=0),
        lambda: store.rollback_where(user_id="u", actor="a"),
        lambda: store.rollback_to_timestamp(user_id="u", rollback_to=day(-1)),
        lambda: store.undo(fact.tx_id),
        lambda: store.apply(plan),
    ]

    for write in writes:
        with pytest.raises(
            (SubjectFrozenError, PlanOutdatedError), match=r"thaw it|plan again"
        ):
            write()

    assert whole(store) == before
    store.thaw(user_id="u")
    assert store.update(fact.fact_id, content="x").version == 2


def test_a_conflict_that_nobody_decided_writes_nothing(store: MemoryStore) -> None:
    fact = store.remember("one", user_id="u", actor="a")
    store.update(fact.fact_id, content="two", actor="b")
    before = whole(store)

    with pytest.raises(RollbackConflictError, match=r'on_conflict="skip".*"force"'):
        store.undo(fact.tx_id)

    assert whole(store) == before


def test_a_plan_of_another_store_is_refused(store: MemoryStore) -> None:
    with MemoryStore.open("memory://") as other:
        fact = other.remember("elsewhere", user_id="u")
        plan = other.plan_rollback(fact_id=fact.fact_id, to_version=0)
    store.remember("here", user_id="u")
    before = whole(store)

    with pytest.raises(MunimentError, match=f"{fact.fact_id}|another"):
        store.apply(plan)
    with pytest.raises(MunimentError, match=f"{fact.fact_id}|another"):
        store.apply(dataclasses.replace(plan, position=10_000))

    assert whole(store) == before


def test_a_cursor_that_was_changed_is_refused(store: MemoryStore) -> None:
    store.remember_many([f"fact {number}" for number in range(5)], user_id="u")
    cursor = store.get_all(user_id="u", limit=2).next_cursor
    assert cursor is not None
    assert re.fullmatch(r"[\w-]+", cursor)

    for place in range(len(cursor)):
        changed = "A" if cursor[place] != "A" else "B"
        with pytest.raises(InvalidCursorError):
            store.get_all(
                user_id="u", limit=2, cursor=cursor[:place] + changed + cursor[place + 1 :]
            )
    for cut in (cursor[:-4], cursor[4:], cursor + "AAAA", cursor * 2):
        with pytest.raises(InvalidCursorError):
            store.get_all(user_id="u", limit=2, cursor=cut)


def test_a_cursor_of_another_question_is_refused(
    store: MemoryStore, backend: Backend
) -> None:
    for user in ("u", "v"):
        store.remember_many(["a", "b", "c"], user_id=user)
    cursor = store.get_all(user_id="u", limit=2).next_cursor

    with pytest.raises(InvalidCursorError):
        store.get_all(user_id="v", limit=2, cursor=cursor)
    with pytest.raises(InvalidCursorError):
        store.get_all(user_id="u", limit=2, cursor=cursor, category="a")
    with backend.open(ledger="other") as other, pytest.raises(InvalidCursorError):
        other.get_all(user_id="u", limit=2, cursor=cursor)
    assert len(store.get_all(user_id="u", limit=1, cursor=cursor)) == 1


def test_a_closed_store_says_so_whatever_it_is_asked(store: MemoryStore) -> None:
    fact = store.remember("fact", user_id="u")
    plan = store.plan_rollback(fact_id=fact.fact_id, to_version=0)
    store.close()
    store.close()
    verbs: list[Callable[[], object]] = [
        lambda: store.get(fact.fact_id),
        lambda: store.get_all(user_id="u"),
        lambda: store.get_memory_as_of(user_id="u", timestamp=day(0)),
        lambda: store.get_fact_history(fact.fact_id),
        lambda: store.diff_memory(user_id="u", time_a=day(-1), time_b=day(0)),
        lambda: store.list_modified_facts(user_id="u", start=day(-1)),
        lambda: store.blame(user_id="u"),
        lambda: store.plan_rollback(fact_id=fact.fact_id, to_version=0),
        lambda: store.remember("x", user_id="u"),
        lambda: store.remember_many(["x"], user_id="u"),
        lambda: store.update(fact.fact_id, content="x"),
        lambda: store.forget(fact.fact_id),
        lambda: store.freeze(user_id="u"),
        lambda: store.apply(plan),
        lambda: store.undo(1),
        store.rebuild,
    ]

    for verb in verbs:
        with pytest.raises(StoreClosedError, match="open it again"):
            verb()
    assert "closed" in repr(store)


class _Text(str):
    """Text as a library may give it, for one an enumeration of texts."""

    __slots__ = ()


class _Number(float):
    """A number as a library may give it: `numpy.float64` is one of these."""

    __slots__ = ()


class _Count(int):
    """A whole number as a library may give it, for one an enumeration of numbers."""


def test_a_subclass_of_a_plain_value_is_that_value(store: MemoryStore) -> None:
    fact = store.remember(
        _Text("content"),
        user_id=_Text("u"),
        category=_Text("c"),
        actor=_Text("a"),
        session_id=_Text("s"),
        source=_Text("src"),
        confidence=_Number(0.5),
        entities=(_Text("Ada"),),
        source_turns=[_Text("t")],
        metadata={_Text("text"): _Text("x"), "number": _Number(1.5), "count": _Count(3)},
        idempotency_key=_Text("k"),
    )

    assert store.get(fact.fact_id) == fact
    assert fact.metadata == {"text": "x", "number": 1.5, "count": 3}


def test_what_is_legal_at_the_edge_is_kept_exactly(store: MemoryStore) -> None:
    text = "\x00\x01\u2028\ufeff😀" + "é" * 32_000
    metadata: dict[str, Json] = {
        "a": [-(2**63), 2**63 - 1, 1e308, 5e-324, "", None, True, {"": {}}],
        "é" * 99: 0,
    }

    fact = store.remember(
        text,
        user_id="u",
        valid_from="0001-01-01T00:00:00Z",
        valid_to="9999-12-31T23:59:59.999999Z",
        metadata=metadata,
        reason="line\nbreak",
        confidence=0,
        importance=1,
    )

    read = store.get(fact.fact_id)
    assert read == fact
    assert (read.content, read.metadata) == (text, metadata)
    assert (read.valid_from, read.valid_to) == (fact.valid_from, fact.valid_to)
    assert str(read.valid_from) == "0001-01-01 00:00:00+00:00"
    assert str(read.valid_to) == "9999-12-31 23:59:59.999999+00:00"
    assert store.blame(user_id="u")[0].reason == "line\nbreak"


def test_a_scope_nobody_named_is_no_scope(store: MemoryStore) -> None:
    """A query without a scope cannot be expressed."""
    loose: Any = store

    for verb in (loose.get_all, loose.blame):
        with pytest.raises(InvalidScopeError, match="pass user_id="):
            verb(user_id=None)
    with pytest.raises(InvalidScopeError, match=r"of type str: .* Scope\.parse"):
        loose.get_all(scope="user:u")
    with pytest.raises(InvalidScopeError):
        loose.get_memory_as_of(timestamp=day(0))
    with pytest.raises(InvalidScopeError):
        loose.list_modified_facts(start=day(-1))
    with pytest.raises(InvalidScopeError):
        loose.diff_memory(time_a=day(-1), time_b=day(0))
