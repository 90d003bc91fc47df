"""Bad values of fields, by what is wrong with them."""

from datetime import datetime, timedelta, timezone

from muniment import Cause, Fact
from muniment.errors import (
    ContentTooLargeError,
    InvalidPeriodError,
    InvalidTimeError,
    InvalidValueError,
    ReservedMetadataError,
    VersionConflictError,
)
from tests.api.days import day
from tests.api.refusal import Case, remembering


class Nanoseconds(datetime):
    """A time as other libraries have it: finer than a microsecond."""

    nanosecond = 1


def nested(levels: int) -> dict[str, object]:
    inner: dict[str, object] = {}
    for _ in range(levels):
        inner = {"in": inner}
    return inner


def cyclic() -> dict[str, object]:
    inner: dict[str, object] = {}
    inner["me"] = [inner]
    return inner


def bad_time(value: object, problem: str) -> Case:
    return Case(
        remembering(valid_from=value), InvalidTimeError, (problem, "send an RFC 3339")
    )


def bad_metadata(value: object, *says: str) -> Case:
    return Case(remembering(metadata=value), InvalidValueError, says)


def bad_value(field: str, value: object, *says: str) -> Case:
    return Case(remembering(**{field: value}), InvalidValueError, (field, *says))


TIMES = {
    "no offset": bad_time("2026-03-15T09:30:00", "has no offset"),
    "naive datetime": bad_time(datetime(2026, 3, 15), "has no offset"),  # noqa: DTZ001
    "seven digits": bad_time("2026-03-15T09:30:00.0000001Z", "finer than a microsecond"),
    "seven digits, zeros": bad_time("2026-03-15T09:30:00.1234560Z", "finer"),
    "nanoseconds": bad_time(
        Nanoseconds(2026, 3, 15, tzinfo=timezone.utc),  # noqa: UP017
        "finer than a microsecond",
    ),
    "year 10000": bad_time("10000-01-01T00:00:00Z", "years 1 to 9999"),
    "year +12026": bad_time("+12026-01-01T00:00:00Z", "years 1 to 9999"),
    "year 0": bad_time("0000-01-01T00:00:00Z", "is not a time"),
    "year -1": bad_time("-0001-01-01T00:00:00Z", "is not a time"),
    "past 9999 in UTC": bad_time("9999-12-31T23:59:59-12:00", "years 1 to 9999"),
    "before 1 in UTC": bad_time("0001-01-01T00:00:00+12:00", "years 1 to 9999"),
    "before 1 in UTC, a datetime": bad_time(
        datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=1))), "years 1 to 9999"
    ),
    "leap second": bad_time("2016-12-31T23:59:60Z", "is not a time"),
    "hour 24": bad_time("2026-01-01T24:00:00Z", "is not a time"),
    "February 30": bad_time("2026-02-30T00:00:00Z", "is not a time"),
    "offset of a day": bad_time("2026-01-01T00:00:00+24:00", "is not a time"),
    "a day": bad_time("2026-01-01", "is not a time"),
    "a date": bad_time(day(0).date(), "is not a time"),
    "a number": bad_time(1_767_225_600, "is not a time"),
    "true": Case(remembering(valid_from=True), InvalidTimeError, ("is not a time",)),
    "words": bad_time("yesterday", "is not a time"),
    "empty": bad_time("", "is not a time"),
    "blanks": bad_time(" 2026-01-01T00:00:00Z", "is not a time"),
    "digits of another script": bad_time(
        "\uff12\uff10\uff12\uff16-01-01T00:00:00Z", "is not a time"
    ),
    "NUL": bad_time("2026-01-01T00:00:00Z\x00", "is not a time"),
    "expiry": Case(
        remembering(expires_at="9999-12-31T23:59:59-12:00"), InvalidTimeError, ("9999",)
    ),
    "as of": Case(
        lambda store, _: store.get_memory_as_of(
            user_id="u", timestamp="2026-01-01T00:00:00"
        ),
        InvalidTimeError,
        ("has no offset",),
    ),
}

PERIODS = {
    "empty": Case(
        remembering(valid_from=day(1), valid_to=day(1)),
        InvalidPeriodError,
        ("2026-01-02T00:00:00.000000Z", "swap the two times"),
    ),
    "inverted": Case(
        remembering(valid_from=day(2), valid_to=day(1)),
        InvalidPeriodError,
        ("2026-01-03", "2026-01-02", "swap the two times"),
    ),
    "inverted in a batch": Case(
        lambda store, _: store.remember_many(
            ["good", {"content": "bad", "valid_from": day(2), "valid_to": day(1)}],
            user_id="new",
        ),
        InvalidPeriodError,
        ("swap the two times",),
    ),
    "update that ends before it begins": Case(
        lambda store, fact: store.update(fact.fact_id, content="x", valid_to=day(-1)),
        InvalidPeriodError,
        ("2025-12-31",),
    ),
    "correction that ends before it begins": Case(
        lambda store, fact: store.correct(fact.fact_id, content="x", valid_to=day(-1)),
        InvalidPeriodError,
        ("2025-12-31",),
    ),
    "changes of nothing": Case(
        lambda store, _: store.list_modified_facts(user_id="u", start=day(0), end=day(0)),
        InvalidPeriodError,
        ("must start before it ends",),
    ),
    "cause of nothing": Case(
        lambda store, _: store.plan_rollback(
            user_id="u", where=Cause(actor="x", since=day(-1), until=day(-2))
        ),
        InvalidPeriodError,
        ("must start before it ends",),
    ),
}

METADATA = {
    "NaN": bad_metadata({"a": float("nan")}, "metadata.a", "finite", "nan"),
    "infinity": bad_metadata({"a": [float("inf")]}, "metadata.a[]", "finite", "inf"),
    "huge integer": bad_metadata({"a": 2**63}, "64-bit integer", str(2**63)),
    "huge negative": bad_metadata({"a": -(2**63) - 1}, "64-bit integer"),
    "bytes": bad_metadata({"a": b"x"}, "metadata.a", "text"),
    "a set": bad_metadata({"a": {1}}, "metadata.a", "a list"),
    "a time": bad_metadata({"a": day(0)}, "metadata.a", "text"),
    "a cycle": bad_metadata(cyclic(), "at most 32 levels deep"),
    "nesting": bad_metadata(nested(5_000), "at most 32 levels deep"),
    "nesting by one": bad_metadata(nested(32), "at most 32 levels deep"),
    "key that is a number": bad_metadata({1: 2}, "a key of metadata", "text"),
    "inner key": bad_metadata({"a": {None: 2}}, "a key of metadata.a", "text"),
    "surrogate": bad_metadata({"a": "\ud800"}, "metadata.a", "surrogates"),
    "surrogate in key": bad_metadata({"\udfff": 1}, "a key of metadata", "surrogates"),
    "text": bad_metadata("x", "metadata", "a mapping"),
    "pairs": bad_metadata([("a", 1)], "metadata", "a mapping"),
    "too large": Case(
        remembering(metadata={"a": "x" * 70_000}),
        ContentTooLargeError,
        ("metadata is 70,0", "65,536", "MUNIMENT_CONTENT_LIMIT"),
    ),
} | {
    f"shadows {key}": Case(
        remembering(metadata={key: 1}), ReservedMetadataError, (key, "rename the key")
    )
    for key in (*Fact.__dataclass_fields__, "user_id", "valid_at")
}

VALUES = {
    "10 MB content": Case(
        lambda store, _: store.remember("x" * 10 * 2**20, user_id="u"),
        ContentTooLargeError,
        ("10,485,760", "65,536", "split it"),
    ),
    "a byte too many": Case(
        lambda store, _: store.remember("é" * 32_768 + "x", user_id="u"),
        ContentTooLargeError,
        ("65,537", "MUNIMENT_CONTENT_LIMIT"),
    ),
    "empty content": Case(
        lambda store, _: store.remember("", user_id="u"),
        InvalidValueError,
        ("content", "not empty"),
    ),
    "surrogate content": Case(
        lambda store, _: store.remember("a\ud800", user_id="u"),
        InvalidValueError,
        ("content", "surrogates"),
    ),
    "bytes as content": Case(
        lambda store, _: store.remember(b"x", user_id="u"), InvalidValueError, ("content",)
    ),
    "emptying update": Case(
        lambda store, fact: store.update(fact.fact_id, content=""),
        InvalidValueError,
        ("content", "not empty"),
    ),
    "confidence above 1": bad_value("confidence", 1.01, "0 to 1", "1.01"),
    "confidence NaN": bad_value("confidence", float("nan"), "0 to 1"),
    "confidence true": Case(
        remembering(confidence=True), InvalidValueError, ("confidence", "0 to 1", "True")
    ),
    "confidence as text": bad_value("confidence", "0.5", "0 to 1"),
    "importance below 0": bad_value("importance", -0.01, "0 to 1"),
    "status unknown": bad_value("status", "Active", "one of active, unverified"),
    "status not text": bad_value("status", 1, "one of active, unverified"),
    "core as a number": bad_value("core", 1, "true or false"),
    "category too long": bad_value("category", "x" * 129, "1 to 128"),
    "category with NUL": bad_value("category", "a\x00", "control"),
    "attribute empty": bad_value("attribute", "", "1 to 128"),
    "source missing": bad_value("source", None, "1 to 256"),
    "source with surrogate": bad_value("source", "\ud83d", "surrogates"),
    "entities as one text": bad_value("entities", "Ada", "a sequence of texts"),
    "entities of numbers": bad_value("entities", [1], "1 to 256"),
    "too many entities": bad_value("entities", ["x"] * 1001, "at most 1000"),
    "too many turns": bad_value("source_turns", ["x"] * 1001, "at most 1000"),
    "actor too long": bad_value("actor", "x" * 257, "1 to 256"),
    "reason too long": bad_value("reason", "x" * 4097, "4096"),
    "reason with surrogate": bad_value("reason", "\ud800", "surrogates"),
    "session as a number": bad_value("session_id", 7, "1 to 256"),
    "key with line break": bad_value("idempotency_key", "a\nb", "control"),
    "expected version 0": Case(
        lambda store, fact: store.update(fact.fact_id, content="x", expected_version=0),
        InvalidValueError,
        ("expected_version", "not 0"),
    ),
    "expected version to come": Case(
        lambda store, fact: store.update(fact.fact_id, content="x", expected_version=9),
        VersionConflictError,
        ("is at version 1, expected 9", "read it again"),
    ),
}
