"""Options that several commands share, each group taken by a command as one value."""

import dataclasses
import functools
import inspect
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from muniment.api.cli.digits import in_digits
from muniment.domain.scope import Scope
from muniment.errors import InvalidValueError
from muniment.strict_json import RepeatedNameError, once_each


Limit = Annotated[int, typer.Option(help="At most so many, 1 to 1,000.")]
Cursor = Annotated[
    str | None,
    typer.Option(metavar="TEXT", help="Where the part before ended; see next_cursor."),
]

AsOf = Annotated[
    str | None,
    typer.Option(metavar="TIME", help="What was known then; now if left out."),
]
ValidAt = Annotated[
    str | None,
    typer.Option(metavar="TIME", help="About this time; --as-of itself if left out."),
]
SaidBy = Annotated[
    str | None,
    typer.Option(metavar="TIME", help="What there was by then; by --as-of if left out."),
]
Newest = Annotated[
    int | None,
    typer.Option(metavar="N", help="Only so many, the newest; all if left out."),
]
JsonLines = Annotated[
    Path,
    typer.Argument(
        metavar="FILE",
        exists=True,
        dir_okay=False,
        readable=True,
        help="JSON Lines, in UTF-8.",
    ),
]


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
class Memories:
    """Which memories are asked at once: one of three, and others beside it or alone."""

    whose: Whose
    scopes: Annotated[
        list[str] | None,
        typer.Option(
            "--scope",
            metavar="SCOPE",
            help="Also this memory, such as team:eng. May be repeated.",
            rich_help_panel="Whose",
        ),
    ] = None

    @property
    def scope(self) -> Scope | None:
        """The one of three, as of `Whose`; none where only others are named."""
        return None if self.scopes and self.whose.named == 0 else self.whose.scope


def given(**named: object) -> Any:  # noqa: ANN401 - a mapping of the caller's kind
    """Return what was said, by name, without what was not."""
    return {name: value for name, value in named.items() if value is not None}


def parsed(named: str, text: str | None) -> Any:  # noqa: ANN401 - the store looks at it
    """
    Return the JSON that *text* is; ``None`` for none.

    Raises:
        InvalidValueError: If it is none; *named* says what it is of.
    """
    if text is None:
        return None
    try:
        return json.loads(text, object_pairs_hook=once_each)
    except RepeatedNameError as error:
        raise InvalidValueError(named, text, "JSON that says each name once") from error
    except (ValueError, RecursionError) as error:
        raise InvalidValueError(named, text, "JSON") from error


def grouped(function: Callable[..., None]) -> Callable[..., None]:
    """
    Return *function* with each parameter that is a group of options spread out.

    Typer sees one option for each field of the group, and of the groups in it; *function*
    gets the group.
    """
    own = inspect.signature(function).parameters.values()
    groups = {each.name: each.annotation for each in own if _is_group(each.annotation)}

    @functools.wraps(function)
    def called(**said: Any) -> None:  # noqa: ANN401 - as Typer parsed it
        filled = {name: _filled(group, said) for name, group in groups.items()}
        function(**said, **filled)

    spread = [
        each.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for each in own
        if each.name not in groups
    ]
    spread += [option for group in groups.values() for option in _spread(group)]
    spread = [each.replace(annotation=in_digits(each.annotation)) for each in spread]
    called.__signature__ = inspect.Signature(spread)  # type: ignore[attr-defined]
    called.__annotations__ = {each.name: each.annotation for each in spread}
    return called


def _is_group(annotation: object) -> bool:
    return dataclasses.is_dataclass(annotation)


def _filled(group: Any, said: dict[str, Any]) -> Any:  # noqa: ANN401 - any dataclass
    """Return a *group*, its fields taken out of what was *said*."""
    return group(
        **{
            each.name: _filled(each.type, said)
            if _is_group(each.type)
            else said.pop(each.name)
            for each in dataclasses.fields(group)
        }
    )


def _spread(group: Any) -> Iterator[inspect.Parameter]:  # noqa: ANN401 - as above
    for each in dataclasses.fields(group):
        if _is_group(each.type):
            yield from _spread(each.type)
        else:
            yield inspect.Parameter(
                each.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=each.default,
                annotation=each.type,
            )
