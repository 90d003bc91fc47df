"""
A route that is documented as FastAPI does it, and answered in one piece by one thread.

FastAPI solves what an endpoint depends on step by step, each in a thread of a pool, and
wraps it into stacks of exits: more processor time than to read a memory as it was. Here
the body is read, and then one thread learns who calls, checks what was sent, asks the
store and writes the answer.
"""

import asyncio
import json
import re
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from concurrent.futures import Executor
from contextlib import nullcontext
from contextvars import copy_context
from typing import Annotated, Any, Final, get_origin

from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from starlette.datastructures import Headers, QueryParams
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from muniment.api.http.admission import Admission
from muniment.api.http.routes import HEADERS, POSITION_MAX, Digits, Door, Route
from muniment.strict_json import RepeatedNameError, once_each


class AnsweringRoute(APIRoute):
    """
    Answers one operation.

    Args:
        prefix: Of its path.
        route: What it answers.
        door: Who may.
        threads: What answers.
        readers: How those enter who only read.
    """

    def __init__(
        self, prefix: str, route: Route, door: Door, threads: Executor, readers: Admission
    ) -> None:
        operation = route.operation
        super().__init__(
            prefix + operation.path,
            route.endpoint(),
            methods=[operation.method],
            operation_id=operation.verb,
            status_code=operation.status,
            summary=operation.verb.replace("_", " "),
            response_model=None,
        )
        self._route, self._door, self._threads = route, door, threads
        self._sent = Sent(route)
        # Writes share a commit: the more of them at once, the better.
        self._entrance = nullcontext if operation.writes else readers.admitted
        self.app = self._answered

    async def _answered(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive, send)
        try:
            body = await request.body()
        except ClientDisconnect:
            return  # Nothing was begun, and nobody is there to hear so.
        async with self._entrance():
            answer = await asyncio.get_running_loop().run_in_executor(
                # A context of its own, as the store notes in it where an answer was read.
                self._threads,
                copy_context().run,
                self._answer,
                request,
                body,
            )
        await answer(scope, receive, send)

    def _answer(self, request: Request, body: bytes) -> Response:
        self._door(request)
        return self._route.answer(request, self._sent.read(request, body))


class Sent:
    """Reads what is sent to one operation, and says where it is not as documented."""

    def __init__(self, route: Route) -> None:
        self._route = route
        model, by_url = route.model or _Nothing, route.operation.method == "GET"
        self._query: type[BaseModel] = model if by_url else _Nothing
        self._body: type[BaseModel] = _Nothing if by_url else model
        fields = {**route.operation.needed, **route.operation.taken}
        self._several = {name for name in fields if get_origin(fields[name]) is list}
        self._needs_body = bool(route.operation.needed) and not by_url

    def read(self, request: Request, body: bytes) -> dict[str, object]:
        """
        Return by name what the endpoint is given.

        Raises:
            RequestValidationError: If something of it is not as documented; so is whatever
                stands in a query or a body for which nothing is documented.
        """
        given: dict[str, object] = dict(request.path_params)
        for name in self._route.operation.numbers:
            check = _NUMBER.validate_python
            given[name] = _checked(check, given[name], "path", name)
        query = _by_name(request.query_params, several=self._several)
        given["query"] = _checked(self._query.model_validate, query, "query")
        if body or self._needs_body:
            _refuse_other_types(request.headers)
            _refuse_repeated_names(body)
            given["body"] = _checked(self._body.model_validate_json, body, "body")
        for name, (header, _) in HEADERS.items():
            sent = request.headers.getlist(header)
            if len(sent) > 1:
                raise _problem("header", header, "is there more than once")
            if name in self._route.headers:
                given[name] = sent[0] if sent else None
            elif sent:
                raise _problem("header", header, self._why_not(name))
        return given

    def _why_not(self, name: str) -> str:
        """Return why a header is refused: passed over, it would promise what is not so."""
        operation = self._route.operation
        if name in {**operation.needed, **operation.taken}:
            return f"is not taken by this operation, which takes {name} in its body"
        return "is not taken by this operation"


class _Nothing(BaseModel):
    """What is taken where nothing is documented."""

    model_config = ConfigDict(extra="forbid")


_NUMBER: Final = TypeAdapter(Annotated[Digits, Field(ge=0, le=POSITION_MAX)])

_JSON: Final = re.compile(r"application/([\w.-]+\+)?json")
_UTF_8: Final = ("charset=utf-8", 'charset="utf-8"')


def _checked(check: Callable[[Any], object], value: object, *where: str) -> object:
    try:
        return check(value)
    except ValidationError as error:
        found = error.errors(include_url=False, include_context=False)
        raise RequestValidationError(
            [{**each, "loc": (*where, *each["loc"])} for each in found]
        ) from error


def _by_name(
    query: QueryParams, *, several: AbstractSet[str]
) -> dict[str, str | list[str]]:
    """Return the fields of a *query*; any but *several* that is there twice is refused."""
    for name in query.keys() - several:
        if len(query.getlist(name)) > 1:
            raise _problem("query", name, "is there more than once")
    return {name: query.getlist(name) if name in several else query[name] for name in query}


def _refuse_repeated_names(body: bytes) -> None:
    """Refuse an object that says a name twice, of which pydantic takes the last."""
    try:
        json.loads(body, object_pairs_hook=once_each)
    except RepeatedNameError as error:
        raise _problem("body", error.name, "is there more than once") from error
    except (ValueError, RecursionError):
        return  # Whoever reads it next says what is wrong.


def _problem(place: str, name: str, problem: str) -> RequestValidationError:
    return RequestValidationError([{"loc": (place, name), "msg": problem}])


def _refuse_other_types(headers: Headers) -> None:
    """Refuse a body that says it is anything but JSON in UTF-8 as it is."""
    kind, *said = map(str.strip, headers.get("content-type", "").lower().split(";"))
    charsets = [each for each in said if each.startswith("charset")]
    if not _JSON.fullmatch(kind) or any(each not in _UTF_8 for each in charsets):
        problem = "has to be application/json, and in UTF-8"
        raise _problem("header", "Content-Type", problem)
    if headers.get("content-encoding", "identity").lower() != "identity":
        raise _problem("header", "Content-Encoding", "has to be left out")
