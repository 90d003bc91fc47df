"""Values made by the thousand: frozen dataclasses with a constructor that is quick."""

from collections.abc import Iterator
from dataclasses import MISSING, fields
from typing import Any, TypeVar, cast


T = TypeVar("T")


def quickly_made(kind: type[T]) -> type[T]:
    """
    Give a frozen dataclass with slots a constructor that takes less than half the time.

    The one that `dataclasses` writes looks every field up by name to set it; this one
    calls the setters of the slots. Everything else stays as it was.
    """
    known = cast("Any", kind)
    generated = known.__init__
    names: dict[str, Any] = {}
    exec("\n".join(_lines(known, names)), names)  # noqa: S102 - as `dataclasses` does
    init = names["__init__"]
    init.__qualname__, init.__module__ = generated.__qualname__, generated.__module__
    init.__annotations__ = generated.__annotations__
    known.__init__ = init
    return kind


def _lines(kind: type, names: dict[str, Any]) -> Iterator[str]:
    """Yield the lines of the constructor of *kind*; put into *names* what they name."""
    parameters, assignments = ["self"], []
    for each in fields(kind):
        assert each.default_factory is MISSING, "a value is made of what it is given"
        names[f"_set_{each.name}"] = getattr(kind, each.name).__set__
        if each.kw_only and "*" not in parameters:
            parameters.append("*")
        if each.default is MISSING:
            parameters.append(each.name)
        else:
            names[f"_default_{each.name}"] = each.default
            parameters.append(f"{each.name}=_default_{each.name}")
        assignments.append(f"    _set_{each.name}(self, {each.name})")
    yield f"def __init__({', '.join(parameters)}):"
    yield from assignments
    if hasattr(kind, "__post_init__"):
        yield "    self.__post_init__()"
