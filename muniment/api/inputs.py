"""What callers pass, checked: every field is as documented, or is refused by name."""

import hashlib
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from muniment.api.answers import Fact
from muniment.api.fields import By
from muniment.domain.scope import Scope
from muniment.domain.text import Json, is_one_line
from muniment.domain.time import BEGINNING, FOREVER, Instant, Period
from muniment.errors import (
    ContentTooLargeError,
    InvalidScopeError,
    InvalidValueError,
    ReservedMetadataError,
    UnknownFieldError,
)
from muniment.instants import Time, to_instant
from muniment.ledger.codec import canonical
from muniment.ledger.records import Origin


LABEL_LENGTH_MAX = 128
"""Most characters of a category, an attribute."""

NAME_LENGTH_MAX = 256
"""Most characters of an actor, a source, a trigger, a session, a turn, an entity, a key."""

REASON_LENGTH_MAX = 4_096
NAMES_MAX = 1_000
"""Most entities, and most source turns, of one fact."""

SCOPES_MAX = 100
"""Most memories that are asked together."""

_DEPTH_MAX = 32
_INTEGER_MAX = 2**63
_RESERVED = frozenset(Fact.__dataclass_fields__) | {"user_id", "valid_at"}


def scope_of(user_id: str | None, scope: Scope | None) -> Scope:
    """
    Return whose memory is meant.

    Raises:
        InvalidScopeError: If none is named, or two are.
    """
    if user_id is not None and scope is not None:
        problem = f"is named beside user_id {user_id!r}: name one"
        raise InvalidScopeError(str(scope), problem)
    if user_id is not None:
        return Scope.user(user_id)
    if isinstance(scope, Scope):
        return scope
    given: object = scope
    what = "missing" if given is None else f"of type {type(given).__name__}"
    raise InvalidScopeError(given, f"is {what}: pass user_id= or Scope.parse(…)")


def scopes_of(
    user_id: str | None, scope: Scope | None, scopes: Iterable[Scope | str] | None
) -> tuple[Scope, ...]:
    """Return whose memories are meant, each once, the one named alone first."""
    named = [] if scopes is None else list(read_once(scopes))
    if user_id is not None or scope is not None or not named:
        named.insert(0, scope_of(user_id, scope))
    found = tuple(dict.fromkeys(named))
    if len(found) > SCOPES_MAX:
        raise InvalidValueError("scopes", f"{len(found)}", f"at most {SCOPES_MAX}")
    return found


def read_once(scopes: Iterable[Scope | str]) -> tuple[Scope, ...]:
    """Return *scopes* as they are, which may be given only once, such as by a generator."""
    return tuple(_scope(each) for each in listed("scopes", scopes))


def time_or_none(value: Time | None) -> Instant | None:
    """Return *value* as an instant, where there is one."""
    return None if value is None else to_instant(value)


def within(start: Time | None, end: Time | None) -> Period:
    """Return the time from *start*, or ever, up to *end*, or for ever."""
    first, last = time_or_none(start), time_or_none(end)
    return Period(BEGINNING if first is None else first, FOREVER if last is None else last)


def listed(field: str, values: object) -> list[object]:
    """Return *values*, which are several, as a list."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise InvalidValueError(field, values, "a sequence")
    return list(values)


def text(field: str, value: object, *, limit: int) -> str:
    """Return *value*, which is text of 1 to *limit* bytes of UTF-8."""
    if not isinstance(value, str) or not value:
        raise InvalidValueError(field, value, "text that is not empty")
    size = len(value) if value.isascii() else len(_utf8(field, value))
    if size > limit:
        raise ContentTooLargeError(field, size, limit)
    return str.__str__(value)


def name(field: str, value: object, *, most: int = NAME_LENGTH_MAX) -> str:
    """Return *value*, which is 1 to *most* characters, none of them a control."""
    if not isinstance(value, str) or not 1 <= len(value) <= most:
        raise InvalidValueError(field, value, f"text of 1 to {most} characters")
    if not is_one_line(value):
        expected = "text without control characters and lone surrogates"
        raise InvalidValueError(field, value, expected)
    return str.__str__(value)


def name_or_none(field: str, value: object, *, most: int = NAME_LENGTH_MAX) -> str | None:
    """Return *value* as `name` does, where there is one."""
    return None if value is None else name(field, value, most=most)


def as_name(text: str) -> str:
    """Return *text* if it is as short as a name has to be, or else what stands for it."""
    if len(text) <= NAME_LENGTH_MAX:
        return text
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def reason_or_none(value: object) -> str | None:
    """Return a reason of at most 4,096 characters, line breaks allowed."""
    if value is None:
        return None
    if not isinstance(value, str) or not 1 <= len(value) <= REASON_LENGTH_MAX:
        raise InvalidValueError(
            "reason", value, f"text of 1 to {REASON_LENGTH_MAX} characters"
        )
    _utf8("reason", value)
    return str.__str__(value)


def reason(value: object) -> str:
    """Return a reason that must be given, and says something."""
    if value is None or not any(map(_is_seen, str(value))):
        raise InvalidValueError("reason", value, "said, in words")
    found = reason_or_none(value)
    assert found is not None, "it was given"
    return found


def names(field: str, value: object) -> tuple[str, ...]:
    """Return *value*, which is at most 1,000 names, in order."""
    if isinstance(value, tuple) and not value:
        return ()
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise InvalidValueError(field, value, "a sequence of texts")
    found = tuple(name(field, each) for each in value)
    if len(found) > NAMES_MAX:
        raise InvalidValueError(field, f"{len(found)} texts", f"at most {NAMES_MAX} texts")
    return found


def share(field: str, value: object) -> float:
    """Return *value*, which is a number from 0 to 1."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise InvalidValueError(field, value, "a number from 0 to 1")
    return float(value)


def flag(field: str, value: object) -> bool:
    """Return *value*, which is true or false."""
    if not isinstance(value, bool):
        raise InvalidValueError(field, value, "true or false")
    return value


def count(field: str, value: object, *, least: int, most: int) -> int:
    """Return *value*, which is a whole number from *least* to *most*."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise InvalidValueError(field, value, f"a whole number from {least:,} to {most:,}")
    return int(value)


def metadata(value: object, *, limit: int) -> Mapping[str, Json]:
    """Return *value*, which is a mapping of JSON values that shadows no field of ours."""
    if not isinstance(value, Mapping):
        raise InvalidValueError("metadata", value, "a mapping from text to JSON values")
    for key in value:
        if key in _RESERVED:
            raise ReservedMetadataError(str(key))
    plain = _json("metadata", value, depth=1)
    assert isinstance(plain, dict), "a mapping stays one"
    size = len(canonical(plain))
    if size > limit:
        raise ContentTooLargeError("metadata", size, limit)
    return plain


def plain(field: str, value: object) -> Json:
    """Return *value*, which is JSON that can be kept exactly."""
    return _json(field, value, depth=1)


def origin(by: Mapping[str, Any]) -> Origin:
    """Return who asks for a write, why, and on whose word, from the fields of `By`."""
    return Origin(
        actor=name_or_none("actor", by.get("actor")),
        reason=reason_or_none(by.get("reason")),
        trigger=name_or_none("trigger", by.get("trigger", "user_explicit")),
        session_id=name_or_none("session_id", by.get("session_id")),
        source_turns=names("source_turns", by.get("source_turns", ())),
        idempotency_key=name_or_none("idempotency_key", by.get("idempotency_key")),
        on_behalf_of=name_or_none("on_behalf_of", by.get("on_behalf_of")),
    )


def without_origin(
    fields: Mapping[str, Any], *, keep: Sequence[str]
) -> tuple[dict[str, Any], Origin]:
    """Return the fields that say what is written, and who writes it; *keep* is both."""
    said = {
        field: value
        for field, value in fields.items()
        if field in keep or field not in By.__annotations__
    }
    return said, origin(fields)


def known_fields(given: Mapping[str, Any], known: Collection[str]) -> None:
    """
    Refuse a field of *given* that is not *known*.

    Raises:
        UnknownFieldError: Naming the first one.
    """
    for field in given:
        if field not in known:
            raise UnknownFieldError(str(field), tuple(known))


def _scope(value: object) -> Scope:
    match value:
        case Scope():
            return value
        case str():
            return Scope.parse(value)
        case _:
            raise InvalidScopeError(value, "is not a scope")


def _utf8(field: str, value: str) -> bytes:
    try:
        return value.encode()
    except UnicodeEncodeError as error:
        raise InvalidValueError(field, value, "text without lone surrogates") from error


def _json(field: str, value: object, *, depth: int) -> Json:
    """Return *value* as plain JSON, or refuse what JSON cannot keep exactly."""
    if depth > _DEPTH_MAX:
        raise InvalidValueError(field, "more", f"at most {_DEPTH_MAX} levels deep")
    match value:
        case None | bool():
            return value
        case str():
            _utf8(field, value)
            return str.__str__(value)
        case int() if -_INTEGER_MAX <= value < _INTEGER_MAX:
            return int(value)
        case float() if math.isfinite(value):
            return float(value)
        case list() | tuple():
            return [_json(f"{field}[]", each, depth=depth + 1) for each in value]
        case Mapping():
            return {
                _key(field, key): _json(f"{field}.{key}", each, depth=depth + 1)
                for key, each in value.items()
            }
        case _:
            raise InvalidValueError(
                field, value, "a finite number, a 64-bit integer, text, a list or a mapping"
            )


def _key(field: str, key: object) -> str:
    if not isinstance(key, str):
        raise InvalidValueError(f"a key of {field}", key, "text")
    _utf8(f"a key of {field}", key)
    return str.__str__(key)


def _is_seen(character: str) -> bool:
    return character.isprintable() and not character.isspace()
