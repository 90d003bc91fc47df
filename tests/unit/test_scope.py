import unicodedata
from typing import cast

import pytest

from muniment.domain.scope import ID_LENGTH_MAX, Scope, ScopeKind
from muniment.errors import InvalidScopeError


@pytest.mark.parametrize(
    ("text", "scope"),
    [
        ("user:u-123", Scope.user("u-123")),
        ("team:eng", Scope.team("eng")),
        ("org", Scope.org()),
        ("user:a:b", Scope.user("a:b")),
        ("user:team:eng", Scope.user("team:eng")),
        ("user:org", Scope.user("org")),
        ("user:100%_\\'*/🦀", Scope.user("100%_\\'*/🦀")),
    ],
)
def test_a_scope_is_read_as_it_is_written(text: str, scope: Scope) -> None:
    assert Scope.parse(text) == scope
    assert str(scope) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "user",
        "team",
        "user:",
        "org:",
        "org:x",
        "User:u",
        "USER:u",
        "users:u",
        ":u",
        "u",
        "*",
    ],
)
def test_what_is_no_scope_is_refused_and_never_guessed(text: str) -> None:
    with pytest.raises(InvalidScopeError):
        Scope.parse(text)


@pytest.mark.parametrize(
    "name",
    [
        "",
        " ",
        " u",
        "u ",
        "\tu",
        "a\x00b",
        "a\nb",
        "\x7f",
        "\ud800",
        "x" * (ID_LENGTH_MAX + 1),
    ],
)
def test_an_id_that_no_store_keeps_exactly_is_refused(name: str) -> None:
    with pytest.raises(InvalidScopeError):
        Scope.user(name)


@pytest.mark.parametrize("name", [None, 7, b"u", ["u"]])
def test_an_id_that_is_no_text_is_refused(name: object) -> None:
    with pytest.raises(InvalidScopeError):
        Scope.user(cast("str", name))


def test_the_longest_id_is_kept_whole() -> None:
    assert Scope.parse("user:" + "é" * ID_LENGTH_MAX).name == "é" * ID_LENGTH_MAX


def test_ids_that_look_alike_are_different_people() -> None:
    composed, decomposed = (unicodedata.normalize(form, "é") for form in ("NFC", "NFD"))

    assert Scope.user(composed) != Scope.user(decomposed)
    assert Scope.user("Ann") != Scope.user("ann")
    assert Scope.user("eng") != Scope.team("eng")


def test_the_organisation_takes_no_id() -> None:
    with pytest.raises(InvalidScopeError):
        Scope(ScopeKind.ORG, "acme")
