"""What is around every request: an id, a limit, a line in the log, a last resort."""

import json
import logging
import secrets
import time
import traceback
from collections.abc import Mapping
from typing import Any, Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from muniment.api.http.problems import MEDIA_TYPE, problem, problem_of
from muniment.errors import RequestTooLargeError


log: Final = logging.getLogger("muniment.http")

_REQUEST_ID: Final = b"x-request-id"
_ID_LENGTH_MAX: Final = 128


class Edges:
    """
    Surrounds an application.

    Each request gets an id, the caller's own if it is one, and gives it back. A body over
    the limit is refused before it is read to its end. One line is logged, without any
    content: neither query nor body nor header.

    Args:
        app: What is surrounded.
        request_limit: Most bytes of a body.
    """

    def __init__(self, app: ASGIApp, *, request_limit: int) -> None:
        self._app = app
        self._limit = request_limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = time.monotonic()
        headers = dict(scope["headers"])
        request_id = _request_id(headers)
        scope.setdefault("state", {})["request_id"] = request_id
        status = 0

        async def sent(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [
                    *message.get("headers", ()),
                    (_REQUEST_ID, request_id.encode()),
                    (b"cache-control", b"no-store"),
                ]
            await send(message)

        try:
            said = headers.get(b"content-length", b"0")
            if said.isdigit() and int(said) > self._limit:
                await self._refuse(sent, request_id)
            else:
                await self._guarded(scope, receive, sent, request_id)
        except Exception as error:  # noqa: BLE001 - it is said, here and to the caller
            bug = error
            _say_bug(request_id, bug)
            if not status:
                text = "this is a bug in Muniment; its log says more under this request id"
                body = problem(500, type(bug).__name__, text, request_id=request_id)
                await _answer(sent, 500, body)
        finally:
            _say(scope, request_id, status, time.monotonic() - started)

    async def _guarded(
        self, scope: Scope, receive: Receive, send: Send, request_id: str
    ) -> None:
        """Hand a request on, until its body is larger than it may be."""
        taken, limit = 0, self._limit

        async def received() -> Message:
            nonlocal taken
            message = await receive()
            taken += len(message.get("body", b""))
            if taken > limit:
                raise RequestTooLargeError(limit)
            return message

        async def sent(message: Message) -> None:
            # Whatever is made of a body that ended early, this is why it did.
            if taken <= limit:
                await send(message)
            elif message["type"] == "http.response.start":
                await self._refuse(send, request_id)

        await self._app(scope, received, sent)

    async def _refuse(self, send: Send, request_id: str) -> None:
        error = RequestTooLargeError(self._limit)
        await _answer(send, 413, problem_of(error, request_id=request_id))


def _request_id(headers: Mapping[bytes, bytes]) -> str:
    given = headers.get(_REQUEST_ID, b"").decode("ascii", errors="replace")
    if 1 <= len(given) <= _ID_LENGTH_MAX and given.isascii() and given.isprintable():
        return given
    return secrets.token_hex(16)


async def _answer(send: Send, status: int, body: Mapping[str, Any]) -> None:
    raw = json.dumps(body, ensure_ascii=False).encode()
    headers = [
        (b"content-type", MEDIA_TYPE.encode()),
        (b"content-length", str(len(raw)).encode()),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": raw})


def _say(scope: Scope, request_id: str, status: int, seconds: float) -> None:
    route = scope.get("route")
    log.info(
        json.dumps(
            {
                "request_id": request_id,
                "method": scope["method"],
                "route": getattr(route, "path", None),
                "status": status,
                "ms": round(seconds * 1_000, 3),
                "caller": scope["state"].get("caller"),
            }
        )
    )


def _say_bug(request_id: str, error: Exception) -> None:
    """Log where it went wrong, without what the values were."""
    frames = traceback.extract_tb(error.__traceback__)
    where = [f"{each.filename}:{each.lineno} {each.name}" for each in frames]
    said = {"request_id": request_id, "bug": type(error).__name__, "where": where}
    log.error(json.dumps(said))
