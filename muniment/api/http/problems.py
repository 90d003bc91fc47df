"""What went wrong, in one shape: problem details, RFC 9457. The only map to a status."""

import math
import re
from typing import Any, Final

from muniment.api.shapes import shaped
from muniment.errors import (
    Conflict,
    ContentTooLargeError,
    Corruption,
    Forbidden,
    Frozen,
    Held,
    InvalidInput,
    MunimentError,
    NotAuthenticatedError,
    NotFound,
    OutOfReachError,
    RateLimitedError,
    RequestTooLargeError,
    TransactionTooLargeError,
    Unavailable,
    VersionConflictError,
)


MEDIA_TYPE: Final = "application/problem+json"

_STATUS: Final[dict[type[Exception], int]] = {
    InvalidInput: 422,
    NotFound: 404,
    Conflict: 409,
    Frozen: 423,
    Held: 423,
    Forbidden: 403,
    Unavailable: 503,
    Corruption: 500,
    # Leaves that HTTP has a word of its own for.
    ContentTooLargeError: 413,
    RequestTooLargeError: 413,
    TransactionTooLargeError: 413,
    NotAuthenticatedError: 401,
    OutOfReachError: 404,
    RateLimitedError: 429,
    VersionConflictError: 412,
}

_TITLES: Final = {
    400: "the request cannot be read",
    401: "not authenticated",
    403: "not allowed",
    404: "not there",
    405: "no such method here",
    409: "the world moved",
    412: "it changed since",
    413: "too large",
    422: "it can never work as sent",
    423: "it is locked for now",
    429: "too many requests",
    500: "a mistake of ours",
    503: "try later",
}

SCHEMA: Final[dict[str, Any]] = {
    "title": "Problem",
    "type": "object",
    "description": "What went wrong, RFC 9457.",
    "properties": {
        "type": {"type": "string", "examples": ["urn:muniment:error:unknown-fact"]},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "error": {"type": "string", "examples": ["UnknownFactError"]},
        "request_id": {"type": "string"},
        "facts": {"type": "object"},
    },
    "required": ["type", "title", "status", "detail", "error", "request_id", "facts"],
    "additionalProperties": False,
}


def status_of(error: MunimentError) -> int:
    """Return the status of *error*: its own, or that of its kind."""
    return next(_STATUS[kind] for kind in type(error).__mro__ if kind in _STATUS)


def problem(
    status: int, name: str, detail: str, *, request_id: str, facts: object = None
) -> dict[str, Any]:
    """Return what is sent of something that went wrong."""
    dashed = re.sub(r"(?<=.)(?=[A-Z])", "-", name.removesuffix("Error")).lower()
    return {
        "type": f"urn:muniment:error:{dashed}",
        "title": _TITLES.get(status, "it did not work"),
        "status": status,
        "detail": detail,
        "error": name,
        "request_id": request_id,
        "facts": facts or {},
    }


def problem_of(error: MunimentError, *, request_id: str) -> dict[str, Any]:
    """Return what is sent of *error*, with the facts it keeps."""
    facts = {name: _fact(value) for name, value in vars(error).items() if name[:1] != "_"}
    return problem(
        status_of(error),
        type(error).__name__,
        str(error),
        request_id=request_id,
        facts=facts,
    )


def _fact(value: object) -> object:
    match value:
        case float() if not math.isfinite(value):
            return repr(value)  # Of which JSON has no number.
        case None | bool() | int() | float() | str():
            return value
        case tuple() | list():
            return [_fact(each) for each in value]
        case Exception():
            return str(value)
        case _ if hasattr(value, "__dataclass_fields__"):
            return shaped(value)
        case _:
            return repr(value)
