"""Bad questions and commands, by what is wrong with them."""

from collections.abc import Mapping

from muniment import Cause, Scope
from muniment.errors import (
    FutureAsOfError,
    InvalidCursorError,
    InvalidScopeError,
    InvalidValueError,
    UnknownFactError,
    UnknownFieldError,
    UnknownTransactionError,
    VersionBeyondHeadError,
    WriteAsOfError,
)
from tests.api.days import day
from tests.api.refusal import Case, Refused, remembering


ASKED: Mapping[str, Case] = {
    "no scope": Case(
        lambda store, _: store.get_all(), InvalidScopeError, ("pass user_id=",)
    ),
    "two scopes": Case(
        lambda store, _: store.get_all(user_id="u", scope=Scope.org()),
        InvalidScopeError,
        ("name one",),
    ),
    "scope as text": Case(
        lambda store, _: store.get_all(scope="user:u"), InvalidScopeError, ("user:u",)
    ),
    "user as a number": Case(
        lambda store, _: store.remember("x", user_id=5), InvalidScopeError, ("a string",)
    ),
    "unknown kind of scope": Case(
        lambda store, _: store.get_all(scope=Scope("group", "x")),  # type: ignore[arg-type]
        InvalidScopeError,
        ("group",),
    ),
    "unknown scope": Case(
        lambda store, _: store.get_all(scope=Scope.parse("group:x")),
        InvalidScopeError,
        ("group:x", "name one of user:ID, team:ID, or org"),
    ),
    "scope in capitals": Case(
        lambda store, _: store.get_all(scope=Scope.parse("USER:x")),
        InvalidScopeError,
        ("USER:x",),
    ),
    "no scope to parse": Case(
        lambda store, _: store.get_all(scope=Scope.parse(None)),  # type: ignore[arg-type]
        InvalidScopeError,
        ("None",),
    ),
    "unknown field": Case(
        remembering(confidense=0.5), UnknownFieldError, ("confidense", "confidence")
    ),
    "unknown field of an item": Case(
        lambda store, _: store.remember_many(
            ["a", {"content": "b", "x": 1}], user_id="new"
        ),
        UnknownFieldError,
        ("'x'", "the fields are content"),
    ),
    "scope in an item": Case(
        lambda store, _: store.remember_many(
            [{"content": "b", "user_id": "v"}], user_id="u"
        ),
        UnknownFieldError,
        ("user_id",),
    ),
    "as of in an item": Case(
        lambda store, _: store.remember_many(
            [{"content": "b", "recorded_at": day(0)}], user_id="u"
        ),
        UnknownFieldError,
        ("recorded_at",),
    ),
    "one text for many": Case(
        lambda store, _: store.remember_many("abc", user_id="u"),
        InvalidValueError,
        ("abc",),
    ),
    "one mapping for many": Case(
        lambda store, _: store.remember_many({"content": "x"}, user_id="u"),
        InvalidValueError,
        ("items",),
    ),
    "a number for many": Case(
        lambda store, _: store.remember_many(5, user_id="u"), InvalidValueError, ("5",)
    ),
    "nothing to remember": Case(
        lambda store, _: store.remember_many([], user_id="u"),
        InvalidValueError,
        ("10,000",),
    ),
    "too much to remember": Case(
        lambda store, _: store.remember_many(["x"] * 10_001, user_id="u"),
        InvalidValueError,
        ("10,000", "10001"),
    ),
    "as of to come": Case(
        lambda store, _: store.get_memory_as_of(user_id="u", timestamp=day(1)),
        FutureAsOfError,
        ("2026-01-02", "valid_at"),
    ),
    "version beyond the head": Case(
        lambda store, fact: store.rollback_fact(fact.fact_id, to_version=2),
        VersionBeyondHeadError,
        ("versions 1 to 1, not 2", "history"),
    ),
    "version below 0": Case(
        lambda store, fact: store.rollback_fact(fact.fact_id, to_version=-1),
        InvalidValueError,
        ("to_version", "-1"),
    ),
    "version true": Case(
        lambda store, fact: store.rollback_fact(fact.fact_id, to_version=True),
        InvalidValueError,
        ("to_version", "True"),
    ),
    "unknown fact": Case(
        lambda store, _: store.update("nope", content="x"), UnknownFactError, ("nope",)
    ),
    "fact id with NUL": Case(
        lambda store, _: store.get("a\x00"), InvalidValueError, ("fact_id",)
    ),
    "fact id as a number": Case(
        lambda store, _: store.forget(5), InvalidValueError, ("fact_id",)
    ),
    "unknown transaction": Case(
        lambda store, _: store.undo(99), UnknownTransactionError, ("99",)
    ),
    "transaction true": Case(
        lambda store, _: store.undo(True),  # noqa: FBT003
        InvalidValueError,
        ("tx_id",),
    ),
    "limit 0": Case(
        lambda store, _: store.get_all(user_id="u", limit=0),
        InvalidValueError,
        ("limit", "1 to 1,000", "not 0"),
    ),
    "limit 1001": Case(
        lambda store, _: store.get_all(user_id="u", limit=1001),
        InvalidValueError,
        ("limit", "not 1001"),
    ),
    "limit true": Case(
        lambda store, _: store.get_all(user_id="u", limit=True),
        InvalidValueError,
        ("True",),
    ),
    "limit as text": Case(
        lambda store, _: store.get_all(user_id="u", limit="10"),
        InvalidValueError,
        ("'10'",),
    ),
    "cursor of nobody": Case(
        lambda store, _: store.get_all(user_id="u", cursor="AAAA"),
        InvalidCursorError,
        ("start again without a cursor",),
    ),
    "cursor of another script": Case(
        lambda store, _: store.get_all(user_id="u", cursor="é"), InvalidCursorError, ()
    ),
    "cursor as a number": Case(
        lambda store, _: store.get_all(user_id="u", cursor=5), InvalidCursorError, ()
    ),
    "mode": Case(
        lambda store, fact: store.forget(fact.fact_id, mode="shred"),
        InvalidValueError,
        ("mode", "shred", "retire"),
    ),
    "on_conflict": Case(
        lambda store, _: store.rollback_where(user_id="u", actor="a", on_conflict="ignore"),
        InvalidValueError,
        ("on_conflict", "ignore", "abort", "skip", "force"),
    ),
    "on_conflict of an undo": Case(
        lambda store, fact: store.undo(fact.tx_id, on_conflict=None),
        InvalidValueError,
        ("on_conflict", "None"),
    ),
    "a plan that is none": Case(
        lambda store, _: store.apply("plan"), InvalidValueError, ("plan",)
    ),
    "a cause that is none": Case(
        lambda store, _: store.plan_rollback(user_id="u", where="s-1"),
        InvalidValueError,
        ("where", "s-1"),
    ),
    "a cause that is everybody": Case(
        lambda store, _: store.rollback_where(user_id="u", since=day(-1)),
        InvalidValueError,
        ("a session, source, actor",),
    ),
    "a cause with an empty name": Case(
        lambda store, _: store.rollback_where(user_id="u", actor="", session_id="s"),
        InvalidValueError,
        ("actor",),
    ),
    "a cause with a number for a name": Case(
        lambda store, _: store.plan_rollback(user_id="u", where=Cause(actor=5)),  # type: ignore[arg-type]
        InvalidValueError,
        ("actor", "5"),
    ),
    "a rollback to nothing said": Case(
        lambda store, _: store.plan_rollback(user_id="u"), InvalidValueError, ("one of",)
    ),
    "two rollbacks in one": Case(
        lambda store, fact: store.plan_rollback(
            fact_id=fact.fact_id, to_version=0, to=day(0), user_id="u"
        ),
        InvalidValueError,
        ("one of",),
    ),
}

WRITES: Mapping[str, Refused] = {
    "remember": lambda store, _: store.remember("x", user_id="new", as_of=day(0)),
    "remember_many": lambda store, _: store.remember_many(
        ["x"], user_id="new", as_of=day(0)
    ),
    "update": lambda store, fact: store.update(fact.fact_id, content="x", as_of=day(0)),
    "correct": lambda store, fact: store.correct(
        fact.fact_id, content="x", valid_at=day(0)
    ),
    "end": lambda store, fact: store.end(fact.fact_id, recorded_at=day(0)),
    "forget": lambda store, fact: store.forget(fact.fact_id, timestamp=day(0)),
    "restore": lambda store, fact: store.restore(fact.fact_id, as_of=None),
    "freeze": lambda store, _: store.freeze(user_id="new", as_of=day(0)),
    "thaw": lambda store, _: store.thaw(user_id="new", as_of=day(0)),
    "apply": lambda store, fact: store.apply(
        store.plan_rollback(fact_id=fact.fact_id, to_version=0), as_of=day(0)
    ),
    "rollback_fact": lambda store, fact: store.rollback_fact(
        fact.fact_id, to_version=0, as_of=day(0)
    ),
    "rollback_to_timestamp": lambda store, _: store.rollback_to_timestamp(
        user_id="u", rollback_to=day(0), timestamp=day(0)
    ),
    "rollback_where": lambda store, _: store.rollback_where(
        user_id="u", actor="x", as_of=day(0)
    ),
    "undo": lambda store, fact: store.undo(fact.tx_id, recorded_at=day(0)),
}

TOLD_THE_TIME = {
    verb: Case(request, WriteAsOfError, ("recorded time is the ledger's", "valid_from"))
    for verb, request in WRITES.items()
}
