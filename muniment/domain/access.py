"""
Who may do what with whose memory: one table, and the decisions that follow. Pure.

A principal stands in some relation to a memory, or holds a role; each is a row of
`RIGHTS`. Each verb of the store is one act; each act is a column. What is not in the
table may not be done.
"""

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from muniment.domain.acts import VERBS, Act
from muniment.domain.scope import Scope, ScopeKind
from muniment.domain.text import is_one_line
from muniment.errors import InvalidValueError, ReasonRequiredError


ID_LENGTH_MAX: Final = 128
REASON_WIDTH_MIN: Final = 10
"""A reason says something: so many columns, of which a Chinese character takes two."""

LEDGER: Final = "ledger"
"""The place of what is about no memory in particular, or about all of them."""

_MEMBER, _LEAD = "member_of:", "lead_of:"


class Kind(StrEnum):
    """What somebody who asks is."""

    PERSON = "person"
    AGENT = "agent"
    SERVICE = "service"


class Role(StrEnum):
    """What a principal may be, besides itself."""

    COMPLIANCE_OFFICER = "compliance_officer"
    AUDITOR = "auditor"
    ADMINISTRATOR = "administrator"
    ON_CALL = "on_call"


class Grant(StrEnum):
    """How far an act is allowed."""

    FREE = "+"
    REASONED = "r"
    """With a reason: a look is recorded before it is answered, a write carries it."""

    BREAK_GLASS = "!"
    """Once, with a reason, deliberately, and the officers are told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """
    Who asks, as whoever authenticated them says; never taken from an argument.

    Attributes:
        id: Of the person, the agent or the service; a person's is their user id.
        kind: ``person``, ``agent`` or ``service``.
        tenant: The ledger they belong to; ``None`` for that of the store.
        roles: See `Role`.
        memberships: ``member_of:TEAM`` reads a team, ``lead_of:TEAM`` writes it, too.
        user_id: The user an agent works for; of agents alone.

    Raises:
        InvalidValueError: If a field is not as documented.
    """

    id: str
    kind: Kind = Kind.PERSON
    tenant: str | None = None
    roles: tuple[Role, ...] = ()
    memberships: tuple[str, ...] = ()
    user_id: str | None = None

    def __post_init__(self) -> None:
        _check_id("id", self.id)
        if self.kind not in tuple(Kind):
            raise InvalidValueError("kind", self.kind, f"one of {', '.join(Kind)}")
        object.__setattr__(self, "kind", Kind(self.kind))
        object.__setattr__(self, "roles", _roles(self.roles))
        object.__setattr__(self, "memberships", _memberships(self.memberships))
        if self.user_id is not None:
            if self.kind is not Kind.AGENT:
                raise InvalidValueError("user_id", self.user_id, "left out but for agents")
            Scope.user(self.user_id)


@dataclass(frozen=True, slots=True)
class Right:
    """
    What allows an act.

    Attributes:
        grant: How far.
        standing: The row of the table: a relation or a role.
    """

    grant: Grant
    standing: str

    def of_the_past(self) -> "Right":
        """Return it for what was before: that says why, but for the subject's own."""
        is_free = self.grant is Grant.FREE and self.standing != "subject"
        return Right(Grant.REASONED, self.standing) if is_free else self


# Who stands how to which memory, and what that allows: `+` freely, `r` with a reason,
# `!` by breaking the glass, `.` not at all.
_TABLE: Final = """
                          identify recall look replay write take_back erase hold freeze audit attest operate propose decide
subject            user   .        +      +    +      +     +         +     .    .      +     .      .       +       +
agent              user   .        +      r    .      +     r         .     .    .      .     .      .       .       .
member             team   .        +      .    .      .     .         .     .    .      .     .      .       .       .
lead               team   .        +      r    r      +     +         r     .    .      r     .      .       +       +
tenant             org    .        +      .    .      .     .         .     .    .      .     .      .       .       .
tenant             ledger +        .      .    .      .     .         .     .    .      .     .      .       .       .
compliance_officer user   .        r      r    r      .     r         r     r    r      r     .      r       .       r
compliance_officer team   .        r      r    r      .     r         r     r    r      r     .      r       .       r
compliance_officer org    .        +      r    r      +     r         r     r    r      r     .      r       .       r
compliance_officer ledger +        .      .    .      .     .         .     .    .      r     +      r       .       .
auditor            user   .        r      r    r      .     .         .     .    .      r     .      .       .       .
auditor            team   .        r      r    r      .     .         .     .    .      r     .      .       .       .
auditor            org    .        +      r    r      .     .         .     .    .      r     .      .       .       .
auditor            ledger +        .      .    .      .     .         .     .    .      r     +      .       .       .
administrator      user   .        .      .    .      .     .         .     .    r      .     .      r       .       .
administrator      team   .        .      .    .      .     .         .     .    r      .     .      r       .       .
administrator      org    .        +      .    .      +     r         .     .    r      .     .      r       .       +
administrator      ledger +        .      .    .      .     .         .     .    .      .     +      +       .       .
on_call            user   .        !      !    !      .     .         .     .    r      .     .      .       .       .
on_call            team   .        !      !    !      .     .         .     .    r      .     .      .       .       .
on_call            org    .        +      !    !      .     .         .     .    r      .     .      .       .       .
on_call            ledger +        .      .    .      .     .         .     .    .      .     +      .       .       .
"""  # noqa: E501 - a table keeps its rows


def _parsed(table: str) -> Mapping[tuple[str, str], Mapping[Act, Grant]]:
    head, *rows = (line.split() for line in table.splitlines() if line.strip())
    acts = [Act(name) for name in head]
    return {
        (standing, place): {
            act: Grant(cell) for act, cell in zip(acts, cells, strict=True) if cell != "."
        }
        for standing, place, *cells in rows
    }


RIGHTS: Final = _parsed(_TABLE)
"""By standing and place: what is allowed how far."""

_CAREFUL: Final = frozenset({"agent", "member", "tenant"})
"""Standings that do not reach what is marked as restricted."""

_BY_GRANT: Final = tuple(Grant)


def right_to(act: Act, principal: Principal, scope: Scope | None) -> Right | None:
    """
    Return what allows *act* on the memory of *scope*, the freest first.

    Args:
        act: What is to be done.
        principal: Who would do it.
        scope: Whose memory; ``None`` for what is about none in particular.
    """
    place = LEDGER if scope is None else scope.kind.value
    found = [
        Right(grant, standing)
        for standing in standings(principal, scope)
        if (grant := RIGHTS.get((standing, place), {}).get(act)) is not None
    ]
    # Of two that are as free, the one that sees what is restricted.
    return min(
        found,
        key=lambda each: (_BY_GRANT.index(each.grant), each.standing in _CAREFUL),
        default=None,
    )


def above(act: Act, principal: Principal, own: Scope) -> tuple[Scope, ...]:
    """
    Return what is known to *principal* beside *own*, and freely: teams, then the tenant's.

    Nothing where *own* is not their own memory, or that of the user they work for: who
    looks at somebody else sees that memory alone.
    """
    if own.kind is not ScopeKind.USER or not _relations(principal, own):
        return ()
    teams = dict.fromkeys(each.partition(":")[2] for each in principal.memberships)
    rights = {
        each: right_to(act, principal, each)
        for each in (*map(Scope.team, teams), Scope.org())
    }
    return tuple(
        each for each, right in rights.items() if right and right.grant is Grant.FREE
    )


def standings(principal: Principal, scope: Scope | None) -> tuple[str, ...]:
    """Return the rows of the table that *principal* has towards *scope*."""
    return (*_relations(principal, scope), *(role.value for role in principal.roles))


def can_see(principal: Principal, scope: Scope | None) -> bool:
    """Whether *principal* may know at all what there is of *scope*."""
    return any(
        right is not None and right.grant is not Grant.BREAK_GLASS
        for right in (right_to(act, principal, scope) for act in (Act.RECALL, Act.LOOK))
    )


def may_read(standing: str, access_level: object) -> bool:
    """
    Whether a fact of *access_level* is among what *standing* reads.

    ``None`` and ``open`` are for everybody who reads the memory; ``restricted``, and what
    nobody has defined, is not for a user's agents, mere members of a team, and those who
    read the organisation's because they belong to it.
    """
    return access_level in (None, "open") or standing not in _CAREFUL


def act_of(verb: str, arguments: Mapping[str, object]) -> Act:
    """Return what a call does: a recall of the past is a look, a redaction an erasure."""
    act = VERBS[verb].act
    looks_back = arguments.get("as_of") is not None or arguments.get("past")
    if act is Act.RECALL and looks_back:
        return Act.LOOK
    if verb == "forget" and arguments.get("mode", "retire") != "retire":
        return Act.ERASE
    if verb == "hand_over" and arguments.get("policy") == "delete":
        return Act.ERASE
    return act


def is_of_the_past(act: Act, arguments: Mapping[str, object]) -> bool:
    """Whether a call that is no recall asks how something was; a recall is then a look."""
    if act in (Act.RECALL, Act.LOOK):
        return False
    return any(arguments.get(each) is not None for each in ("as_of", "valid_at"))


def checked_reason(reason: object, asked_for: str) -> str:
    """
    Return *reason*, if it says something.

    Raises:
        ReasonRequiredError: If it is missing, blank, or too short to say anything.
    """
    if not isinstance(reason, str) or _width(reason) < REASON_WIDTH_MIN:
        raise ReasonRequiredError(asked_for, REASON_WIDTH_MIN)
    return reason


def _width(text: str) -> int:
    return sum(
        2 if unicodedata.east_asian_width(each) in "WF" else 1
        for each in " ".join(text.split())
        if unicodedata.category(each)[0] != "C"
    )


def _relations(principal: Principal, scope: Scope | None) -> Sequence[str]:
    match scope:
        case None | Scope(kind=ScopeKind.ORG):
            return ("tenant",)
        case Scope(kind=ScopeKind.USER, name=name):
            if principal.kind is Kind.PERSON and principal.id == name:
                return ("subject",)
            return ("agent",) if principal.user_id == name else ()
        case Scope(name=name):
            held = principal.memberships
            if _LEAD + name in held:
                return ("lead", "member")
            return ("member",) if _MEMBER + name in held else ()


def _check_id(field: str, value: object) -> None:
    good = isinstance(value, str) and 1 <= len(value) <= ID_LENGTH_MAX
    if not good or not is_one_line(str(value)) or str(value) != str(value).strip():
        expected = f"1 to {ID_LENGTH_MAX} characters without blanks around them"
        raise InvalidValueError(field, value, expected)


def _roles(given: object) -> tuple[Role, ...]:
    if isinstance(given, str) or not isinstance(given, Sequence | frozenset | set):
        raise InvalidValueError("roles", given, "a sequence of roles")
    for each in given:
        if each not in tuple(Role):
            raise InvalidValueError("a role", each, f"one of {', '.join(Role)}")
    return tuple(Role(each) for each in dict.fromkeys(given))


def _memberships(given: object) -> tuple[str, ...]:
    if isinstance(given, str) or not isinstance(given, Sequence | frozenset | set):
        raise InvalidValueError("memberships", given, "a sequence of texts")
    for each in given:
        if not isinstance(each, str) or not each.startswith((_MEMBER, _LEAD)):
            expected = "member_of:TEAM or lead_of:TEAM"
            raise InvalidValueError("a membership", each, expected)
        Scope.team(each.partition(":")[2])
    return tuple(dict.fromkeys(given))
