"""Whose memory it is, as a caller names it."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Self, assert_never

from muniment.domain.text import is_one_line
from muniment.errors import InvalidScopeError


ID_LENGTH_MAX = 256
"""Most characters of an id of a user or a team."""


class ScopeKind(StrEnum):
    """The three kinds of subject a memory can have."""

    USER = "user"
    TEAM = "team"
    ORG = "org"


@dataclass(frozen=True, slots=True, order=True)
class Scope:
    """
    One subject: ``user:u-123``, ``team:eng``, ``org``.

    Ids are opaque and compared character by character: no pattern, prefix, case or
    Unicode normal form of one id ever reaches another.

    Attributes:
        kind: User, team or organisation.
        name: 1 to 256 printable characters, or empty for the organisation.

    Raises:
        InvalidScopeError: If the id is missing, too long, or has characters that no
            store keeps exactly (control characters, lone surrogates).
    """

    kind: ScopeKind
    name: str = ""

    def __post_init__(self) -> None:
        if self.kind not in tuple(ScopeKind):
            raise InvalidScopeError(self.kind, "is no kind of subject")
        match self.kind:
            case ScopeKind.ORG:
                if self.name:
                    raise InvalidScopeError(
                        self.name, "takes no id: there is one organisation"
                    )
            case ScopeKind.USER | ScopeKind.TEAM:
                _check_name(self.name)
            case _:
                assert_never(self.kind)

    @classmethod
    def user(cls, name: str) -> Self:
        return cls(ScopeKind.USER, name)

    @classmethod
    def team(cls, name: str) -> Self:
        return cls(ScopeKind.TEAM, name)

    @classmethod
    def org(cls) -> Self:
        return cls(ScopeKind.ORG)

    @classmethod
    def parse(cls, text: str) -> Self:
        """
        Return the scope that *text* spells.

        Raises:
            InvalidScopeError: If it is not ``user:ID``, ``team:ID`` or ``org``.
        """
        if not isinstance(text, str):
            raise InvalidScopeError(text, "is not text")
        kind, colon, name = text.partition(":")
        if kind not in tuple(ScopeKind) or (kind == ScopeKind.ORG) == bool(colon):
            raise InvalidScopeError(text, "is not a scope")
        return cls(ScopeKind(kind), name)

    def __str__(self) -> str:
        return f"{self.kind}:{self.name}" if self.name else str(self.kind)


def _check_name(name: object) -> None:
    if not isinstance(name, str):
        raise InvalidScopeError(name, "needs an id that is a string")
    if not name or name != name.strip():
        raise InvalidScopeError(name, "needs an id without blanks around it")
    if len(name) > ID_LENGTH_MAX:
        raise InvalidScopeError(name, f"has an id of more than {ID_LENGTH_MAX} characters")
    if not is_one_line(name):
        raise InvalidScopeError(
            name, "has a control character or a lone surrogate in its id"
        )
