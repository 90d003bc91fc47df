"""
The same verbs on a service: what runs embedded runs served by changing one line.

    store = MemoryStore.open("memory/")                          # embedded
    store = Client("https://memory.example", api_key="mnm_…")    # served

Verbs have the names and arguments of `MemoryStore`, and give back the same dataclasses;
errors are those of `muniment.errors`. As of a store for a principal, reading verbs take
``reason``, ``matter`` and ``break_glass`` besides.
"""

import functools
import inspect
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import timedelta
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self
from urllib.parse import quote

import msgspec

from muniment import MemoryStore, errors
from muniment.api.answers import Receipt, RollbackPlan
from muniment.api.giving import Evidence, given_out
from muniment.api.importing import Imported, read_document
from muniment.api.inputs import scope_of, scopes_of
from muniment.api.operation import Operation
from muniment.api.operations import OPERATIONS
from muniment.api.replaying import Badcase, replayed
from muniment.api.shapes import shaped
from muniment.api.signatures import Verbs
from muniment.api.wire import revived
from muniment.domain.scope import Scope
from muniment.errors import (
    ConfigurationError,
    InvalidValueError,
    MunimentError,
    NotFound,
    ServiceUnavailableError,
    UnknownFieldError,
)
from muniment.errors.wording import shown


try:
    import httpx
except ModuleNotFoundError as error:
    raise ConfigurationError(
        f"the client needs {error.name}",
        'install it with: pip install "muniment[client]"',
    ) from error

if TYPE_CHECKING:
    from muniment.api.exporting import Export

TIMEOUT_SECONDS: Final = 60.0

_BY_VERB: Final[Mapping[str, Operation]] = {each.verb: each for each in OPERATIONS}
_PROPERTIES: Final = frozenset({"public_key", "origin"})
_KEY: Final = re.compile(r"[!-~]+")
_NOT_SENT: Final = (
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.PoolTimeout,
    httpx.UnsupportedProtocol,
)
"""What goes wrong before anything of a request has left."""
_INQUIRY: Final = ("reason", "matter", "break_glass")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ServedPlan(RollbackPlan):
    """
    A plan of a service, which makes it again when it is applied.

    Attributes:
        asked: What it is a plan for.
    """

    asked: Mapping[str, object]


class Client(Verbs):
    """
    A store behind a service.

    What is a function of the caller's own, such as ``progress``, stays where it is: verbs
    that take one do not take it here, but for the agent of `reproduce_badcase`.

    Safe to use from many threads.

    Args:
        url: Of the service, without ``/v1``.
        api_key: Or a token of the provider that the service trusts.
        transport: How requests travel; for tests, and for proxies.

    Raises:
        ConfigurationError: If one of the first two can be none.
    """

    def __init__(
        self, url: str, *, api_key: str, transport: httpx.BaseTransport | None = None
    ) -> None:
        _check(url, api_key)
        self._http = httpx.Client(
            base_url=url.rstrip("/") + "/v1",
            headers={"Authorization": f"Bearer {api_key}"},
            timeout=TIMEOUT_SECONDS,
            transport=transport,
        )

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - as the verb has it
            operation = _BY_VERB.get(name)
            if operation is None:
                raise AttributeError(f"a service has no verb {name!r}")
            if name in _PROPERTIES:
                return self._called(operation)
            return functools.partial(self._called, operation)

        def plan_rollback(self, **asked: object) -> "ServedPlan":
            """Return what a rollback would do; see `MemoryStore.plan_rollback`."""
            plan = self._called(_BY_VERB["plan_rollback"], **asked)
            values = {each.name: getattr(plan, each.name) for each in fields(plan)}
            kept = {name: asked[name] for name in asked if name not in _INQUIRY}
            return ServedPlan(**values, asked=kept)

        def apply(self, plan: "ServedPlan", **by: object) -> Receipt:
            """Do what *plan* says, if nothing changed; see `MemoryStore.apply`."""
            if not isinstance(plan, ServedPlan):
                raise InvalidValueError(
                    "plan", plan, "a plan from plan_rollback of a client"
                )
            asked = {**plan.asked, "position": plan.position}
            return self._called(_BY_VERB["apply"], **asked, **by)

        def reproduce_badcase(self, *, agent=None, **asked: object) -> Badcase:  # noqa: ANN001
            """Return a case, and what *agent* says here; see `MemoryStore`."""
            if agent is not None and not callable(agent):
                raise InvalidValueError("agent", agent, "something that can be called")
            case = self._called(_BY_VERB["reproduce_badcase"], **asked)
            return case if agent is None else replayed(case, agent)

        def export(self, **asked: object) -> "Export":
            """Return everything about a subject; see `MemoryStore.export`."""
            from muniment.api.exporting import Export  # noqa: PLC0415 - it needs Arrow

            document = read_document(self._sent(_BY_VERB["export"], **asked).content)
            return Export(
                export_id=document.export_id,
                scope=Scope.parse(document.scope),
                position=document.position,
                document=document,
            )

        def export_evidence(self, file: Path | str, **asked: object) -> Evidence:
            """Write a package of evidence here; see `MemoryStore.export_evidence`."""
            operation = _BY_VERB["export_evidence"]
            asked["points"] = [_point(each) for each in asked.get("points", ())]
            return given_out(Path(file), lambda: self._sent(operation, **asked).content)

        def import_export(self, document, **asked: object) -> Imported:  # noqa: ANN001
            """Record what an export holds; see `MemoryStore.import_export`."""
            sent = msgspec.to_builtins(read_document(document))
            return self._called(_BY_VERB["import_export"], document=sent, **asked)

    def __dir__(self) -> list[str]:
        return sorted((*object.__dir__(self), *_BY_VERB))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of connections."""
        self._http.close()

    def _called(self, operation: Operation, /, *args: object, **given: object) -> Any:  # noqa: ANN401
        response = self._sent(operation, *args, **given)
        try:
            return revived(operation.answer, response.json())
        # Whatever it is that answered, it is none of ours, or of another version.
        except (ValueError, TypeError, LookupError, AttributeError, MunimentError) as error:
            raise ServiceUnavailableError(
                str(response.url.host),
                f"it answers as no service of this version does ({error})",
                may_be_written=operation.writes,
            ) from error

    def _sent(
        self, operation: Operation, /, *args: object, **given_: object
    ) -> httpx.Response:
        given = _named(operation, _by_name(operation.verb, args, given_))
        path = operation.path
        for name in [each[1:-1] for each in path.split("/") if each[:1] == "{"]:
            part = _part(name, given.pop(name, None), operation.numbers)
            path = path.replace(f"{{{name}}}", part)
        headers = _headers(operation, given)
        known = {**operation.needed, **operation.taken}
        for name in given:
            if name not in known:
                raise UnknownFieldError(name, _fields_of(operation))
        sent = shaped(given)
        request = self._http.build_request(
            operation.method,
            path,
            headers=headers,
            params=_query(sent) if operation.method == "GET" else None,
            json=sent if operation.method == "POST" and known else None,
        )
        return self._response(request, may_write=operation.writes)

    def _response(self, request: httpx.Request, *, may_write: bool) -> httpx.Response:
        try:
            response = self._http.send(request)
            if response.is_success:
                return response
            problem = _error(response.json())
        except (httpx.TransportError, httpx.DecodingError, ValueError) as error:
            raise ServiceUnavailableError(
                str(request.url.host),
                str(error),
                may_be_written=may_write and not isinstance(error, _NOT_SENT),
            ) from error
        raise problem


def _check(url: object, api_key: object) -> None:
    """Refuse what can be no place of a service, and no key; a key is not shown."""
    try:
        place = httpx.URL(url) if isinstance(url, str) else None
    except httpx.InvalidURL:
        place = None
    if place is None or place.scheme not in ("http", "https") or not place.host:
        raise ConfigurationError(
            f"a service is at no such URL: {shown(url)}",
            "give one such as https://memory.example, without /v1",
        )
    if not isinstance(api_key, str) or not _KEY.fullmatch(api_key):
        raise ConfigurationError(
            "api_key must be visible ASCII characters without blanks",
            "give the key as keys issue showed it, or a token of the provider",
        )


def _by_name(
    verb: str, args: tuple[object, ...], fields: Mapping[str, object]
) -> dict[str, object]:
    """Return what a verb was called with, or refuse what Python would of a method."""
    names = _BY_PLACE.get(verb, ())
    if len(args) > len(names):
        raise TypeError(
            f"{verb}() takes {len(names)} arguments by place but {len(args)} were given"
        )
    placed = dict(zip(names, args, strict=False))
    for name in placed:
        if name in fields:
            raise TypeError(f"{verb}() got multiple values for argument {name!r}")
    return {**placed, **fields}


def _part(name: str, value: object, numbers: tuple[str, ...]) -> str:
    """Return an argument as a part of a path; none that would make it another path."""
    text = str(value) if name in numbers and value is not None else value
    if not isinstance(text, str) or not text:
        raise InvalidValueError(name, value, "text that is not empty")
    if "/" in text or text in (".", ".."):
        raise NotFound(f"no {name} is {shown(text)}; name one as the service gave it")
    return quote(text, safe="")


def _named(operation: Operation, called: Mapping[str, object]) -> dict[str, Any]:
    """Return what is sent, by the names of the operation."""
    given: dict[str, Any] = {
        name: each for name, each in called.items() if each is not None
    }
    if isinstance(ago := given.pop("older_than", None), timedelta):
        given["older_than_us"] = ago // timedelta(microseconds=1)
    if operation.method == "GET" and "scopes" in given:
        given = _in_a_query(given)
    is_about = "scope" in {**operation.needed, **operation.taken}
    is_missing = "scope" in operation.needed and "scope" not in given
    if is_missing or (is_about and "user_id" in given):
        given["scope"] = scope_of(given.pop("user_id", None), given.get("scope"))
    for sent, argument in operation.renamed.items():
        if argument in given:
            given[sent] = given.pop(argument)
    return given


def _in_a_query(given: dict[str, Any]) -> dict[str, Any]:
    """Return what is *given* with one memory that is named alone, and others, if any."""
    scopes = scopes_of(
        given.pop("user_id", None), given.pop("scope", None), given["scopes"]
    )
    # A query cannot say that there are no others: the one alone says so.
    return {**given, "scope": scopes[0], "scopes": scopes}


def _fields_of(operation: Operation) -> list[str]:
    """Return what a caller may say to an operation, by the names of the verb."""
    sent = {**operation.needed, **operation.taken}
    names = {operation.renamed.get(each, each) for each in sent}
    names |= {"user_id"} if "scope" in sent else set()
    names |= {"idempotency_key"} if operation.keyed else set()
    names |= {"expected_version"} if operation.if_match else set()
    return sorted(names | set(_INQUIRY if operation.reasoned else ()))


def _point(given: object) -> object:
    """Return a point as it is sent: a recorded time, or that and what it is about."""
    if not isinstance(given, tuple):
        return given
    recorded_at, valid_at = given
    return {"recorded_at": recorded_at, "valid_at": valid_at}


def _headers(operation: Operation, given: dict[str, Any]) -> dict[str, str]:
    """Take out of *given* what travels as a header."""
    found = {}
    if operation.reasoned:
        for name in _INQUIRY:
            if name in given:
                header = "Muniment-" + name.title().replace("_", "-")
                value = str(given.pop(name))
                found[header] = quote(value.lower() if name == "break_glass" else value)
    if operation.keyed and "idempotency_key" in given:
        found["Idempotency-Key"] = quote(str(given.pop("idempotency_key")))
    if operation.if_match and "expected_version" in given:
        found["If-Match"] = f'"{given.pop("expected_version")}"'
    return found


def _query(sent: Any) -> dict[str, str | list[str]]:  # noqa: ANN401 - JSON, but for lists flat
    return {
        name: value
        if isinstance(value, list)
        else str(value).lower()
        if isinstance(value, bool)
        else str(value)
        for name, value in sent.items()
    }


def _error(body: Any) -> MunimentError:  # noqa: ANN401 - JSON
    """
    Return the error that a service sent, of the same class, with the same facts.

    Raises:
        ValueError: If it is no problem of ours, but one of something on the way there.
    """
    match body:
        case {"error": str(name), "status": int(status), "detail": str(text)}:
            kind = getattr(errors, name, None)
        case _:
            raise ValueError("it answers with an error that is none of a service")
    if not (isinstance(kind, type) and issubclass(kind, MunimentError)):
        kind = _BY_STATUS.get(status, errors.Unavailable)
    # Made without its constructor: message and facts are what the service made of it.
    error: MunimentError = kind.__new__(kind, text)
    for fact, value in dict(body.get("facts") or ()).items():
        if not hasattr(Exception, fact):
            setattr(error, fact, value)
    error.add_note(f"request {body.get('request_id')}")
    return error


_BY_STATUS: Final = {400: errors.InvalidInput, 404: errors.NotFound, 500: errors.Corruption}

_BY_PLACE: Final = {
    verb: [
        name
        for name, each in inspect.signature(method).parameters.items()
        if name != "self" and each.kind is each.POSITIONAL_OR_KEYWORD
    ]
    for verb in _BY_VERB
    if callable(method := getattr(MemoryStore, verb, None))
}
"""By verb, the arguments that need no name; the rest are by keyword alone."""
