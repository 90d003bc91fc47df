"""
Answers as JSON, both ways: what a type looks like, and a value of it read back.

`muniment.api.shapes` writes them. Schemas are JSON Schema, as OpenAPI 3.1 takes them.
"""

import base64
import types
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Union, get_args, get_origin, get_type_hints

from muniment.api.shapes import INTERNAL
from muniment.domain.scope import Scope
from muniment.errors import MunimentError
from muniment.instants import moment, to_instant


Schema = dict[str, Any]

_PLAIN: dict[object, Schema] = {
    str: {"type": "string"},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
    datetime: {"type": "string", "format": "date-time"},
    timedelta: {"type": "string"},
    bytes: {"type": "string", "contentEncoding": "base64"},
    Scope: {"type": "string"},
    type(None): {"type": "null"},
}


def enveloped(kind: object, answer: object) -> object:
    """Return an answer of *kind* as the JSON object it is sent as."""
    return answer if is_dataclass(kind) else {_envelope(kind): answer}


def _envelope(kind: object) -> str:
    return "items" if get_origin(kind) is tuple else "value"


def envelope_schema(kind: object, known: dict[str, Schema]) -> Schema:
    """
    Return the schema of an answer of *kind* as it is sent.

    Args:
        kind: A type, as a verb is annotated with.
        known: Schemas of dataclasses by name; those that are needed are added.
    """
    name = _envelope(kind)
    if is_dataclass(kind):
        return schema_of(kind, known)
    return {
        "type": "object",
        "properties": {name: schema_of(kind, known)},
        "required": [name],
        "additionalProperties": False,
    }


def schema_of(kind: Any, known: dict[str, Schema]) -> Schema:  # noqa: ANN401 - any type
    """Return the schema of a value of *kind*; see `envelope_schema`."""
    if kind in _PLAIN:
        return dict(_PLAIN[kind])
    origin, parts = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return {"anyOf": [schema_of(each, known) for each in parts]}
    if origin is tuple and parts[-1] is ...:
        return {"type": "array", "items": schema_of(parts[0], known)}
    if origin is tuple:
        return {"type": "array", "prefixItems": [schema_of(each, known) for each in parts]}
    if origin in (dict, Mapping):
        return {"type": "object"}
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return {"type": "string", "enum": [each.value for each in kind]}
    if isinstance(kind, type) and issubclass(kind, Exception):
        return {"type": "string"}
    if is_dataclass(kind):
        return _reference(kind, known)
    # An alias such as one of strings, or of whatever JSON is.
    return {}


def revived(kind: Any, sent: Any) -> Any:  # noqa: ANN401 - as the table says
    """Return the value of *kind* that was *sent*; see `enveloped`."""
    if not is_dataclass(kind):
        sent = sent[_envelope(kind)]
    return _revived(kind, sent)


def _revived(kind: Any, sent: Any) -> Any:  # noqa: ANN401 - as above
    origin, parts = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        if sent is None:
            return None
        return _revived(next(each for each in parts if each is not type(None)), sent)
    if origin is tuple:
        kinds = [parts[0]] * len(sent) if parts[-1] is ... else parts
        return tuple(_revived(each, one) for each, one in zip(kinds, sent, strict=True))
    if kind in _READERS:
        return _READERS[kind](sent)
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return kind(sent)
    if isinstance(kind, type) and issubclass(kind, Exception):
        return MunimentError(sent)
    return _dataclass(kind, sent) if isinstance(kind, type) and is_dataclass(kind) else sent


_READERS: dict[object, Callable[[str], object]] = {
    datetime: lambda sent: moment(to_instant(sent)),
    timedelta: lambda sent: datetime.fromisoformat(
        f"1970-01-02T00:00:00{sent}"
    ).utcoffset(),
    bytes: base64.b64decode,
    Scope: Scope.parse,
}


def _dataclass(kind: Any, sent: Any) -> Any:  # noqa: ANN401 - as above
    hints = get_type_hints(kind)
    values = {
        each.name: ()
        if each.name in INTERNAL
        else _revived(hints[each.name], sent[each.name])
        for each in fields(kind)
    }
    return kind(**values)


def _reference(kind: Any, known: dict[str, Schema]) -> Schema:  # noqa: ANN401 - a dataclass
    name = kind.__name__
    if name not in known:
        hints = get_type_hints(kind)
        shown = [each for each in fields(kind) if each.name not in INTERNAL]
        known[name] = {}
        known[name] = {
            "title": name,
            "type": "object",
            "description": (kind.__doc__ or "").strip().partition("\n\n")[0].strip(),
            "properties": {each.name: schema_of(hints[each.name], known) for each in shown},
            "required": [each.name for each in shown],
            "additionalProperties": False,
        }
    return {"$ref": f"#/components/schemas/{name}"}
