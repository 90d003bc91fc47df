"""What the store gives back, as JSON: one shape wherever it leaves the process."""

import base64
import json
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime, timedelta
from typing import Any, Final, cast

from muniment.domain.scope import Scope
from muniment.domain.text import Json
from muniment.instants import to_text


INTERNAL = frozenset({"moves"})
"""Fields that say again, for the ledger, what their neighbours say for the reader."""


def shaped(answer: object) -> Json:
    """
    Return *answer* as JSON types: instants as RFC 3339 in UTC with six digits and ``Z``.

    An open end is ``null``; a scope is as `Scope.parse` reads it; bytes are in base64; an
    offset of a clock is as it stands at the end of a time, such as ``+08:00``.
    """
    write = _PLAIN.get(type(answer))
    if write is not None:
        return write(answer)
    match answer:
        case bool() | int() | float() | str():
            return answer
        case datetime():
            return to_text(answer)
        case timedelta():
            return _offset(answer)
        case list() | tuple():
            return [shaped(each) for each in answer]
        case Mapping():
            return {str(key): shaped(value) for key, value in answer.items()}
        case bytes():
            return base64.b64encode(answer).decode()
        case Exception():
            return f"{type(answer).__name__}: {answer}"
        case _:
            return {name: shaped(getattr(answer, name)) for name in _shown(answer)}


def _itself(answer: Any) -> Json:  # noqa: ANN401 - of the types below
    return cast("Json", answer)


_PLAIN: Final[Mapping[type, Callable[[Any], Json]]] = {
    **dict.fromkeys((type(None), bool, int, float, str), _itself),
    datetime: to_text,
    Scope: str,
}
"""What most fields are: to look one up is quicker than to try one case after the other."""


_known: dict[type, tuple[str, ...]] = {}


def _shown(answer: object) -> tuple[str, ...]:
    """Return the names of the fields of *answer* that are shown; asked for once a type."""
    found = _known.get(type(answer))
    if found is None:
        assert is_dataclass(answer), f"{type(answer).__name__} has a shape"
        found = tuple(each.name for each in fields(answer) if each.name not in INTERNAL)
        _known[type(answer)] = found
    return found


def _offset(ahead: timedelta) -> str:
    sign, size = ("-", -ahead) if ahead < timedelta(0) else ("+", ahead)
    minutes, seconds = divmod(int(size.total_seconds()), 60)
    text = f"{sign}{minutes // 60:02}:{minutes % 60:02}"
    return f"{text}:{seconds:02}" if seconds else text


def document(answer: object) -> str:
    """
    Return *answer* as one JSON document that ends in a line break.

    Keys are sorted and one stands on each line, so that two answers can be compared
    line by line.
    """
    shape = shaped(answer)
    text = json.dumps(shape, ensure_ascii=False, allow_nan=False, indent=2, sort_keys=True)
    return f"{text}\n"
