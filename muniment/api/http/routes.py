"""A route for each operation of the table."""

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Annotated, Any, Final, get_args
from urllib.parse import unquote

import msgspec
from fastapi import Body, Header, Path, Query, Request, Response
from pydantic import BaseModel, BeforeValidator, ConfigDict, create_model
from pydantic_core import PydanticCustomError

from muniment.api.http.callers import Callers
from muniment.api.http.downloads import download
from muniment.api.operation import Operation
from muniment.api.points import Point, latest
from muniment.api.shapes import shaped
from muniment.api.wire import enveloped
from muniment.domain.scope import Scope
from muniment.errors import InvalidValueError
from muniment.instants import moment, to_text


POSITION_MAX: Final = 2**62


def _digits(value: object) -> object:
    """Return what stands in a URL for a whole number, if it is written in digits."""
    if isinstance(value, str) and not (value.isascii() and value.isdigit()):
        raise PydanticCustomError("digits", "Input should be a whole number, in digits")
    return value


HEADERS: Final = {
    "reason": (
        "Muniment-Reason",
        "Why, for a look at another's memory or at the past; percent-encoded UTF-8.",
    ),
    "matter": ("Muniment-Matter", "The case it is for; percent-encoded UTF-8."),
    "break_glass": ("Muniment-Break-Glass", "`true` to look once in an emergency."),
    "idempotency_key": (
        "Idempotency-Key",
        (
            "A repeated key is answered as the first time and writes nothing; where that "
            "was a secret, which is shown once, with 409."
        ),
    ),
    "expected_version": ("If-Match", 'The version that was decided on, such as `"3"`.'),
}
_AS_DIGITS: Final = BeforeValidator(_digits)
Digits = Annotated[int, _AS_DIGITS]
"""A whole number in a URL, in digits: Python reads more, such as ``1_0`` and ``5.0``."""


@dataclass(frozen=True, slots=True)
class Door:
    """Learns who calls, before anything else of a request is looked at."""

    callers: Callers

    def __call__(self, request: Request) -> None:
        """Keep the caller's store with the request, or refuse it."""
        caller = self.callers.known(request.headers.getlist("authorization"))
        request.state.caller, request.state.acting = caller.name, caller.store


class Route:
    """
    Answers one operation.

    Attributes:
        model: Of what it is sent, beside headers and what is in the path.
        headers: Names of what comes in headers.
    """

    def __init__(self, operation: Operation) -> None:
        self.operation = operation
        has_fields = operation.needed or operation.taken
        self.model = _model(operation) if has_fields else None
        self.headers = _headers(operation)

    def endpoint(self) -> Callable[..., Response]:
        """Return the function that answers, with a signature that says what it takes."""

        def endpoint(request: Request, **given: object) -> Response:
            return self.answer(request, given)

        endpoint.__name__ = self.operation.verb
        # FastAPI reads what an endpoint takes from its signature.
        endpoint.__signature__ = inspect.Signature(self._parameters())  # type: ignore[attr-defined]
        return endpoint

    def answer(self, request: Request, given: Mapping[str, object]) -> Response:
        """Return what the verb answers to the caller."""
        fields, store = self._fields(given), request.state.acting
        if self.operation.verb == "apply":
            fields = _planned_again(store, fields)
        if self.operation.download is not None:
            return download(self.operation, store, fields)
        found = getattr(store, self.operation.verb)
        latest.set(None)
        answer = found(**fields) if callable(found) else found
        shape = shaped(enveloped(self.operation.answer, answer))
        headers = _point(latest.get()) if self.operation.reasoned else {}
        if isinstance(shape, dict) and isinstance(shape.get("version"), int):
            headers["ETag"] = f'"{shape["version"]}"'
        return Response(
            msgspec.json.encode(shape),
            status_code=self.operation.status,
            media_type="application/json",
            headers=headers,
        )

    def _fields(self, given: Mapping[str, object]) -> dict[str, Any]:
        """Return the arguments of the verb."""
        fields: dict[str, Any] = {}
        for name, value in given.items():
            if isinstance(value, BaseModel):
                said = {each: getattr(value, each) for each in value.model_fields_set}
                fields |= {
                    each: _argument(each, one)
                    for each, one in said.items()
                    if one is not None or each in self.operation.needed
                }
            elif name in HEADERS:
                fields |= _from_header(name, value)
            else:
                fields[name] = value
        return {self.operation.renamed.get(each, each): fields[each] for each in fields}

    def _parameters(self) -> list[inspect.Parameter]:
        operation = self.operation
        found = [_parameter("request", Request)]
        names = [each[1:-1] for each in operation.path.split("/") if each[:1] == "{"]
        for name in names:
            limits = Path(ge=0, le=POSITION_MAX) if name in operation.numbers else Path()
            kind = int if name in operation.numbers else str
            found.append(_parameter(name, Annotated[kind, limits]))
        model = self.model
        if model is not None and operation.method == "GET":
            found.append(_parameter("query", Annotated[model, Query()]))
        elif model is not None:
            default = inspect.Parameter.empty if operation.needed else model()
            found.append(_parameter("body", Annotated[model, Body()], default=default))
        for name in self.headers:
            alias, text = HEADERS[name]
            header = Header(alias=alias, description=text)
            found.append(_parameter(name, Annotated[str | None, header], default=None))
        return found


def _headers(operation: Operation) -> list[str]:
    names = ["reason", "matter", "break_glass"] if operation.reasoned else []
    if operation.verb == "whoami":
        return []
    if operation.keyed:
        names.append("idempotency_key")
    if operation.if_match:
        names.append("expected_version")
    return names


def _parameter(
    name: str,
    annotation: Any,  # noqa: ANN401 - as FastAPI takes it
    *,
    default: object = inspect.Parameter.empty,
) -> inspect.Parameter:
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default
    )


def _model(operation: Operation) -> type[BaseModel]:
    """Return the model of what an operation is sent."""
    is_query = operation.method == "GET"
    fields: dict[str, Any] = {name: (kind, ...) for name, kind in operation.needed.items()}
    for name, kind in operation.taken.items():
        is_number = is_query and int in get_args(kind)
        fields[name] = (Annotated[kind, _AS_DIGITS] if is_number else kind) | None, None
    return create_model(
        f"{operation.verb.title().replace('_', '')}{'Query' if is_query else 'Body'}",
        __config__=ConfigDict(extra="forbid", strict=not is_query),
        **fields,
    )


def _point(point: Point | None) -> dict[str, str]:
    """Return where an answer was read, on both clocks."""
    if point is None:
        return {}
    return {
        "Muniment-Position": str(point.position),
        "Muniment-Recorded-At": str(to_text(moment(point.known_at))),
        "Muniment-Valid-At": str(to_text(moment(point.as_of.valid_at))),
    }


def _argument(name: str, value: object) -> object:
    """Return one field that was sent as the store takes it."""
    match value:
        case str() if name in ("scope", "to_scope"):
            return Scope.parse(value)
        case list():
            return [_argument("", each) for each in value]
        case int() if name == "older_than_us":
            return timedelta(microseconds=value)
        case _ if hasattr(value, "argument"):
            return value.argument()
        case _:
            return value


def _from_header(name: str, value: object) -> dict[str, object]:
    if value is None:
        return {}
    try:
        # Headers come as Latin-1, whatever the bytes were meant to be.
        text = unquote(str(value).encode("latin-1").decode(), errors="strict")
    except UnicodeDecodeError as error:
        raise InvalidValueError(HEADERS[name][0], value, "percent-encoded UTF-8") from error
    match name:
        case "break_glass":
            if text not in ("true", "false"):
                raise InvalidValueError("Muniment-Break-Glass", text, "true or false")
            return {name: text == "true"}
        case "expected_version":
            found = _VERSION.fullmatch(str(value))
            if found is None:
                raise InvalidValueError("If-Match", text, 'a version such as "3"')
            return {name: int(found["tagged"] or found["bare"])}
        case _:
            return {name: text}


_VERSION: Final = re.compile(r'(W/)?"(?P<tagged>[0-9]{1,9})"|(?P<bare>[0-9]{1,9})')
"""An ETag as it was sent, or as a proxy weakens it that compresses answers; or bare."""


def _planned_again(store: Any, fields: Mapping[str, Any]) -> dict[str, Any]:  # noqa: ANN401
    """
    Return a plan for what was sent, with the position at which the caller saw it.

    While the subject stands still a plan says the same again; if it moved, it is refused.
    """
    asked = ("fact_id", "to_version", "scope", "to", "where")
    named = {name: fields[name] for name in asked if fields.get(name) is not None}
    plan = store.plan_rollback(**named, reason=fields.get("reason"))
    rest = {name: fields[name] for name in fields if name not in (*asked, "position")}
    if fields["position"] > plan.position:
        raise InvalidValueError("position", fields["position"], "that of the plan")
    return {"plan": replace(plan, position=fields["position"]), **rest}
