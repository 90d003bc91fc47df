"""What every verb does before it does anything: refuse fields it does not have."""

import functools
import inspect
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, get_args

from muniment.errors import ActorRequiredError, UnknownFieldError, WriteAsOfError


P = ParamSpec("P")
R = TypeVar("R")

_AS_OF_FIELDS = frozenset({"as_of", "recorded_at", "timestamp", "valid_at"})


def verb(function: Callable[P, R]) -> Callable[P, R]:
    """
    Make a method refuse fields it does not have, by name.

    A typing error must never widen an answer.
    """
    known = fields_of(function)

    @functools.wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        for field in kwargs:
            if field not in known:
                raise UnknownFieldError(field, known)
        return function(*args, **kwargs)

    return checked


def write_verb(function: Callable[P, R]) -> Callable[P, R]:
    """
    Make a writing method refuse, besides, to be told what time it is.

    And, where the settings want one, to write without an actor.
    """
    checked = verb(function)
    naming = _naming(fields_of(function))

    @functools.wraps(function)
    def refusing(*args: P.args, **kwargs: P.kwargs) -> R:
        for field in kwargs:
            if field in _AS_OF_FIELDS:
                raise WriteAsOfError(field)
        if naming and _needs_actor(args[0]) and not any(map(kwargs.get, naming)):
            raise ActorRequiredError(function.__name__, naming[0])
        return checked(*args, **kwargs)

    return refusing


def _naming(known: tuple[str, ...]) -> tuple[str, ...]:
    """Return the fields by which a writing method is told who does it."""
    if "by_actor" in known:
        return ("by_actor",)
    return tuple(each for each in ("actor", "issued_by") if each in known)


def _needs_actor(store: object) -> bool:
    settings = getattr(store, "settings", None)
    return settings is not None and settings.require_actor


def fields_of(function: Callable[..., Any]) -> tuple[str, ...]:
    """Return the names a method takes, those of its unpacked `TypedDict` among them."""
    names: list[str] = []
    for parameter in list(inspect.signature(function).parameters.values())[1:]:
        if parameter.kind is parameter.VAR_KEYWORD:
            (unpacked,) = get_args(parameter.annotation)
            names.extend(unpacked.__annotations__)
        else:
            names.append(parameter.name)
    return tuple(names)
