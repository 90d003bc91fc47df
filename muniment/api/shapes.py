"""What the store gives back, as JSON: one shape wherever it leaves the process."""

import base64
import json
from collections.abc import Hashable, Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime
from functools import cache

from muniment.domain.events import Json
from muniment.domain.scope import Scope
from muniment.instants import to_text


INTERNAL = frozenset({"moves"})
"""Fields that say again, for the ledger, what their neighbours say for the reader."""


def shaped(answer: object) -> Json:
    """
    Return *answer* as JSON types: instants as RFC 3339 in UTC with six digits and ``Z``.

    An open end is ``null``; a scope is as `Scope.parse` reads it; bytes are in base64.
    """
    match answer:
        case None | bool() | int() | float() | str():
            return answer
        case datetime():
            return to_text(answer)
        case Scope():
            return str(answer)
        case list() | tuple():
            return [shaped(each) for each in answer]
        case Mapping():
            return {str(key): shaped(value) for key, value in answer.items()}
        case bytes():
            return base64.b64encode(answer).decode()
        case Exception():
            return f"{type(answer).__name__}: {answer}"
        case _:
            return {name: shaped(getattr(answer, name)) for name in _shown(type(answer))}


@cache
def _shown(kind: Hashable) -> tuple[str, ...]:
    """Return the names of the fields of *kind*, a dataclass, that are shown."""
    assert is_dataclass(kind), f"{kind} has a shape"
    return tuple(each.name for each in fields(kind) if each.name not in INTERNAL)


def document(answer: object) -> str:
    """
    Return *answer* as one JSON document that ends in a line break.

    Keys are sorted and one stands on each line, so that two answers can be compared
    line by line.
    """
    shape = shaped(answer)
    text = json.dumps(shape, ensure_ascii=False, allow_nan=False, indent=2, sort_keys=True)
    return f"{text}\n"
