import math
from collections.abc import Callable

import pytest

from muniment.api import inputs
from muniment.api.drafting import Drafting
from muniment.domain.scope import Scope
from muniment.errors import (
    ContentTooLargeError,
    InvalidInput,
    InvalidPeriodError,
    InvalidScopeError,
    InvalidValueError,
    ReservedMetadataError,
    UnknownFieldError,
)


DRAFTING = Drafting(content_limit=20)


def nested(depth: int) -> object:
    return [] if depth == 0 else [nested(depth - 1)]


def test_whose_memory_is_meant_is_said_exactly_once() -> None:
    assert inputs.scope_of("ann", None) == Scope.user("ann")
    assert inputs.scope_of(None, Scope.org()) == Scope.org()
    for user_id, scope in ((None, None), ("ann", Scope.user("ann")), ("", None)):
        with pytest.raises(InvalidScopeError):
            inputs.scope_of(user_id, scope)


@pytest.mark.parametrize(
    ("check", "value"),
    [
        (lambda value: inputs.text("content", value, limit=3), "abc"),
        (lambda value: inputs.text("content", value, limit=3), "猫"),
        (lambda value: inputs.name("actor", value), "x" * 256),
        (lambda value: inputs.name("actor", value), "Ann \U0001f980"),
        (inputs.reason_or_none, None),
        (inputs.reason_or_none, "two\nlines"),
        (lambda value: inputs.flag("core", value), False),
        (lambda value: inputs.count("limit", value, least=1, most=3), 3),
        (lambda value: inputs.metadata(value, limit=99), {"a": [1, None, {"b": 0.5}]}),
        (lambda value: inputs.metadata(value, limit=99), {"n": -(2**63)}),
        (lambda value: inputs.metadata(value, limit=99), {}),
    ],
)
def test_what_is_as_documented_is_kept_as_it_is(
    check: Callable[[object], object], value: object
) -> None:
    assert check(value) == value


@pytest.mark.parametrize(
    ("check", "value", "error"),
    [
        (lambda value: inputs.text("content", value, limit=3), "", InvalidValueError),
        (
            lambda value: inputs.text("content", value, limit=3),
            "abcd",
            ContentTooLargeError,
        ),
        (lambda value: inputs.text("content", value, limit=3), "猫!", ContentTooLargeError),
        (lambda value: inputs.text("content", value, limit=9), "\ud800", InvalidValueError),
        (lambda value: inputs.text("content", value, limit=9), b"abc", InvalidValueError),
        (lambda value: inputs.name("actor", value), "", InvalidValueError),
        (lambda value: inputs.name("actor", value), "x" * 257, InvalidValueError),
        (lambda value: inputs.name("actor", value), "a\x00b", InvalidValueError),
        (lambda value: inputs.name("actor", value), "a\nb", InvalidValueError),
        (lambda value: inputs.name("actor", value), 7, InvalidValueError),
        (inputs.reason_or_none, "", InvalidValueError),
        (inputs.reason_or_none, "x" * 4_097, InvalidValueError),
        (lambda value: inputs.names("entities", value), "Ann", InvalidValueError),
        (lambda value: inputs.names("entities", value), ["a"] * 1_001, InvalidValueError),
        (lambda value: inputs.names("entities", value), [""], InvalidValueError),
        (lambda value: inputs.names("entities", value), 7, InvalidValueError),
        (lambda value: inputs.share("confidence", value), math.nan, InvalidValueError),
        (lambda value: inputs.share("confidence", value), 1.01, InvalidValueError),
        (lambda value: inputs.share("confidence", value), -0.1, InvalidValueError),
        (lambda value: inputs.share("confidence", value), True, InvalidValueError),
        (lambda value: inputs.share("confidence", value), "1", InvalidValueError),
        (lambda value: inputs.flag("core", value), 1, InvalidValueError),
        (lambda value: inputs.count("limit", value, least=1, most=3), 0, InvalidValueError),
        (lambda value: inputs.count("limit", value, least=1, most=3), 4, InvalidValueError),
        (
            lambda value: inputs.count("limit", value, least=1, most=3),
            True,
            InvalidValueError,
        ),
        (
            lambda value: inputs.count("limit", value, least=1, most=3),
            1.0,
            InvalidValueError,
        ),
    ],
)
def test_what_is_not_as_documented_is_refused_by_name(
    check: Callable[[object], object], value: object, error: type[InvalidInput]
) -> None:
    with pytest.raises(error):
        check(value)


@pytest.mark.parametrize(
    ("metadata", "error"),
    [
        ("text", InvalidValueError),
        ([("k", 1)], InvalidValueError),
        ({1: "one"}, InvalidValueError),
        ({"k": {1: "one"}}, InvalidValueError),
        ({"k": math.nan}, InvalidValueError),
        ({"k": [math.inf]}, InvalidValueError),
        ({"k": 2**63}, InvalidValueError),
        ({"k": -(2**63) - 1}, InvalidValueError),
        ({"k": b"bytes"}, InvalidValueError),
        ({"k": {1, 2}}, InvalidValueError),
        ({"k": "\ud800"}, InvalidValueError),
        ({"\ud800": 1}, InvalidValueError),
        ({"k": nested(32)}, InvalidValueError),
        ({"k": "x" * 100}, ContentTooLargeError),
        ({"content": "x"}, ReservedMetadataError),
        ({"valid_at": "x"}, ReservedMetadataError),
        ({"user_id": "x"}, ReservedMetadataError),
    ],
)
def test_metadata_that_would_not_be_given_back_as_it_is_is_refused(
    metadata: object, error: type[InvalidInput]
) -> None:
    with pytest.raises(error):
        inputs.metadata(metadata, limit=99)


def test_metadata_is_kept_even_if_the_caller_changes_it_later() -> None:
    metadata = {"k": [1]}

    kept = inputs.metadata(metadata, limit=99)
    metadata["k"].append(2)

    assert kept == {"k": [1]}


@pytest.mark.parametrize(
    ("item", "error"),
    [
        ({"content": "tea", "contents": "x"}, UnknownFieldError),
        ({"content": "tea", "valid_form": "2026-03-01T00:00:00Z"}, UnknownFieldError),
        ({}, InvalidValueError),
        ({"content": None}, InvalidValueError),
        (7, InvalidValueError),
        (None, InvalidValueError),
        ({"content": "x" * 21}, ContentTooLargeError),
        (
            {
                "content": "tea",
                "valid_from": "2026-03-02T00:00:00Z",
                "valid_to": "2026-03-01T00:00:00Z",
            },
            InvalidPeriodError,
        ),
        ({"content": "tea", "category": "x" * 129}, InvalidValueError),
        ({"content": "tea", "source": None}, InvalidValueError),
    ],
)
def test_an_item_that_is_not_as_documented_is_refused(
    item: object, error: type[InvalidInput]
) -> None:
    with pytest.raises(error):
        DRAFTING.remembered(item)


def test_text_alone_is_an_item_with_everything_else_left_out() -> None:
    assert DRAFTING.remembered("tea") == DRAFTING.remembered({"content": "tea"})
