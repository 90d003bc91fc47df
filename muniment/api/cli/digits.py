"""Numbers on a command line, read as people write them."""

import copy
import functools
import re
from collections.abc import Callable
from typing import Annotated, Any, Final, get_args, get_origin

from pydantic_core import PydanticCustomError


def in_digits(annotation: Any) -> Any:  # noqa: ANN401 - as Typer takes it
    """
    Return the *annotation* of an option; that of a number such that it is in digits.

    Typer would take whatever Python reads as a number, such as ``1_0`` for ten.
    """
    if get_origin(annotation) is not Annotated:
        return annotation
    kind, option = get_args(annotation)
    number = next((each for each in _READERS if each in (kind, *get_args(kind))), None)
    if number is None:
        return annotation
    # Others share the option.
    option = copy.copy(option)
    option.metavar = option.metavar or f"<{number.__name__}>"
    option.parser = functools.partial(_READERS[number], option.min, option.max)
    return Annotated[kind, option]


def _whole(least: int | None, most: int | None, text: str | int) -> int:
    if not _WHOLE.fullmatch(str(text)):
        raise _refused("{text} is no whole number in digits", text=text)
    number = int(text)
    if (least is not None and number < least) or (most is not None and number > most):
        problem = "{text} is not from {least} to {most}"
        raise _refused(problem, text=text, least=least, most=most)
    return number


def _decimal(_least: None, _most: None, text: str | float) -> float:
    if not _DECIMAL.fullmatch(str(text)):
        raise _refused("{text} is no number in digits", text=text)
    return float(text)


def _refused(problem: str, **facts: object) -> PydanticCustomError:
    """Return what Typer says of a value, without the name of an exception."""
    shown = {name: repr(fact) for name, fact in facts.items()}
    return PydanticCustomError("number", problem, shown)


_WHOLE: Final = re.compile("-?[0-9]{1,20}")
_DECIMAL: Final = re.compile(
    r"-?([0-9]{1,20}(\.[0-9]{0,20})?|\.[0-9]{1,20})(e-?[0-9]{1,4})?|nan|-?inf",
    re.IGNORECASE,
)
"""The last two for the store to refuse, which says what a number has to be there."""
_READERS: Final[dict[type, Callable[..., Any]]] = {int: _whole, float: _decimal}
