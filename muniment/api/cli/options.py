"""Options that several commands share, each group taken by a command as one value."""

import dataclasses
import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from muniment.api.fields import By
from muniment.domain.scope import Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class Whose:
    """Whose memory is meant: exactly one of three."""

    user: Annotated[
        str | None,
        typer.Option(metavar="ID", help="The memory of a user.", rich_help_panel="Whose"),
    ] = None
    team: Annotated[
        str | None,
        typer.Option(metavar="ID", help="The memory of a team.", rich_help_panel="Whose"),
    ] = None
    org: Annotated[
        bool,
        typer.Option(
            "--org", help="The memory of the organisation.", rich_help_panel="Whose"
        ),
    ] = False

    @property
    def named(self) -> int:
        """How many are named."""
        return (self.user is not None) + (self.team is not None) + self.org

    @property
    def scope(self) -> Scope:
        """
        Whose memory.

        Raises:
            TyperException: If it is not exactly one.
            InvalidScopeError: If the id cannot be kept.
        """
        if self.named != 1:
            raise typer.TyperException("name one of --user ID, --team ID or --org")
        if self.user is not None:
            return Scope.user(self.user)
        return Scope.org() if self.team is None else Scope.team(self.team)


@dataclass(frozen=True, slots=True, kw_only=True)
class Author:
    """Who writes, why, and on whose word: see `By`."""

    actor: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Who does it.", rich_help_panel="Provenance"),
    ] = None
    reason: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="Why, in words.", rich_help_panel="Provenance"),
    ] = None
    trigger: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="What set it off.", rich_help_panel="Provenance"),
    ] = None
    session: Annotated[
        str | None,
        typer.Option(
            metavar="ID",
            help="The conversation it happened in.",
            rich_help_panel="Provenance",
        ),
    ] = None
    turn: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ID",
            help="A turn of conversation it rests on; may be repeated.",
            rich_help_panel="Provenance",
        ),
    ] = None
    idempotency_key: Annotated[
        str | None,
        typer.Option(
            metavar="KEY",
            help="A repeated key is answered as the first time and writes nothing.",
            rich_help_panel="Provenance",
        ),
    ] = None

    @property
    def by(self) -> By:
        """The fields given, by the names of the store."""
        named = {
            "actor": self.actor,
            "reason": self.reason,
            "trigger": self.trigger,
            "session_id": self.session,
            "source_turns": tuple(self.turn or ()) or None,
            "idempotency_key": self.idempotency_key,
        }
        given: Any = {name: value for name, value in named.items() if value is not None}
        fields: By = given
        return fields


def grouped(function: Callable[..., None]) -> Callable[..., None]:
    """
    Return *function* with each parameter that is a group of options spread out.

    Typer sees one option for each field of the group; *function* gets the group.
    """
    own = inspect.signature(function).parameters.values()
    groups = {each.name: each.annotation for each in own if _is_group(each)}

    @functools.wraps(function)
    def called(**given: Any) -> None:  # noqa: ANN401 - as Typer parsed it
        filled = {
            name: group(
                **{each.name: given.pop(each.name) for each in dataclasses.fields(group)}
            )
            for name, group in groups.items()
        }
        function(**given, **filled)

    spread = [
        each.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for each in own
        if each.name not in groups
    ]
    spread += [option for group in groups.values() for option in _spread(group)]
    called.__signature__ = inspect.Signature(spread)  # type: ignore[attr-defined]
    called.__annotations__ = {each.name: each.annotation for each in spread}
    return called


def _is_group(parameter: inspect.Parameter) -> bool:
    return dataclasses.is_dataclass(parameter.annotation)


def _spread(group: Any) -> list[inspect.Parameter]:  # noqa: ANN401 - any dataclass
    return [
        inspect.Parameter(
            each.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=each.default,
            annotation=each.type,
        )
        for each in dataclasses.fields(group)
    ]
