"""Lines of a file, each as something to be remembered, or as what is wrong with it."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO, Final, NoReturn

from muniment.api import inputs
from muniment.api.drafting import Drafting
from muniment.api.fields import NewFact
from muniment.domain.scope import Scope
from muniment.errors import InvalidInput, InvalidScopeError, LoadError
from muniment.strict_json import RepeatedNameError, once_each


FIELDS: Final = ("content", "user_id", "scope", *NewFact.__annotations__, "claimed_at")
"""What a line may hold."""

_ORIGIN: Final = ("actor", "reason", "trigger", "session_id")
"""What is said of a whole transaction, so that lines that differ in it stand in several."""

_BYTES_PER_LIMIT: Final = 16
"""How often the content limit a line may be long: content and metadata, all escaped."""

_BYTES_BESIDES: Final = 1024 * 1024
"""What else a line may hold: names, entities, blanks."""

_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """
    One fact to be remembered.

    Attributes:
        number: Of the line, from 1.
        item: The fields of the fact.
        by: The fields of the transaction.
        key: Its own idempotency key, if it has one.
        digest: Of the line as it stands in the file.
        size: Of the line in bytes.
    """

    number: int
    scope: Scope
    item: Mapping[str, Any]
    by: Mapping[str, Any]
    key: str | None
    digest: bytes
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """What is wrong with a line."""

    line: int
    problem: str


def load_error(problems: Sequence[Problem], *, loaded: int) -> LoadError:
    """Return the error that names *problems*."""
    return LoadError([(each.line, each.problem) for each in problems], loaded=loaded)


class BadLineError(Exception):
    """A line that is no JSON object as documented."""


def bare(number: int, raw: bytes) -> bytes:
    """Return the line of that number without what may stand around its JSON."""
    mark = _BYTE_ORDER_MARK if number == 1 else b""
    return raw.removeprefix(mark).strip(b" \t\r\n")


@dataclass(frozen=True, slots=True)
class Reader:
    """
    Reads lines.

    Attributes:
        drafting: Checks fields.
        by: Fields of a transaction for lines that do not say.
    """

    drafting: Drafting
    by: Mapping[str, Any]

    def read(self, stream: BinaryIO) -> Iterator[Line | Problem]:
        """Yield each line that is not blank, in order; never holds more than one."""
        for number, raw in self._raw(stream):
            if raw is None:
                yield Problem(line=number, problem=f"is longer than {self._limit:,} bytes")
            elif raw:
                yield self._line(number, raw)

    @property
    def _limit(self) -> int:
        return _BYTES_PER_LIMIT * self.drafting.content_limit + _BYTES_BESIDES

    def _raw(self, stream: BinaryIO) -> Iterator[tuple[int, bytes | None]]:
        """Yield the lines without blanks around them; ``None`` for one that is too long."""
        number = 0
        while raw := stream.readline(self._limit + 1):
            number += 1
            if len(raw) > self._limit:
                while raw and not raw.endswith(b"\n"):
                    raw = stream.readline(self._limit)
                yield number, None
            else:
                yield number, bare(number, raw)

    def _line(self, number: int, raw: bytes) -> Line | Problem:
        try:
            fields = parsed(raw)
            inputs.known_fields(fields, FIELDS)
            by = {**self.by, **_taken(fields, _ORIGIN)}
            key = fields.pop("idempotency_key", None)
            scope = _scope(fields.pop("user_id", None), fields.pop("scope", None))
            self.drafting.remembered(fields)
            inputs.origin({**by, "idempotency_key": key})
        except (InvalidInput, BadLineError) as error:
            return Problem(line=number, problem=str(error))
        return Line(
            number=number,
            scope=scope,
            item=fields,
            by=by,
            key=key,
            digest=hashlib.sha256(raw).digest(),
            size=len(raw),
        )


def parsed(raw: bytes) -> dict[str, Any]:
    """
    Return the object that a line is.

    Raises:
        BadLineError: If it is none, or names a field twice.
    """
    try:
        found = json.loads(
            raw.decode(), object_pairs_hook=once_each, parse_constant=_no_number
        )
    except RepeatedNameError as error:
        raise BadLineError("names a field twice") from error
    except UnicodeDecodeError as error:
        raise BadLineError(f"is not UTF-8 at byte {error.start}") from error
    except RecursionError as error:
        raise BadLineError("is nested too deeply") from error
    except json.JSONDecodeError as error:
        raise BadLineError(f"is not JSON: {error.msg} at column {error.colno}") from error
    except ValueError as error:
        raise BadLineError(f"is not JSON: {error}") from error
    if not isinstance(found, dict):
        raise BadLineError("is not a JSON object")
    return found


def _no_number(spelled: str) -> NoReturn:
    raise BadLineError(f"holds {spelled}, which is no JSON number")


def _taken(fields: dict[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """Remove *names* from *fields*, and return those of them that say something."""
    found = {name: fields.pop(name, None) for name in names}
    return {name: value for name, value in found.items() if value is not None}


def _scope(user_id: object, scope: object) -> Scope:
    if scope is None:
        return inputs.scope_of(user_id if user_id is None else _text(user_id), None)
    if user_id is not None:
        raise InvalidScopeError(scope, f"is named beside user_id {user_id!r}: name one")
    return Scope.parse(_text(scope))


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise InvalidScopeError(value, "is not text")
    return value
