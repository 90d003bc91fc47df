"""The application: routes, errors, health, and the OpenAPI document."""

from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Final

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from muniment import MemoryStore
from muniment.api.http.admission import Admission
from muniment.api.http.answering import AnsweringRoute
from muniment.api.http.callers import Callers
from muniment.api.http.edges import Edges
from muniment.api.http.examples import add_examples
from muniment.api.http.problems import MEDIA_TYPE, SCHEMA, problem, problem_of
from muniment.api.http.routes import Door, Route
from muniment.api.operation import Operation
from muniment.api.operations import OPERATIONS
from muniment.api.request_fields import THEN
from muniment.api.wire import envelope_schema
from muniment.errors import MunimentError, NotAuthenticatedError, RateLimitedError


PREFIX: Final = "/v1"

_REFUSALS: Final = (400, 401, 403, 404, 409, 412, 413, 422, 423, 429, 500, 503)


def create_app(store: MemoryStore) -> FastAPI:
    """
    Return the service for *store*, which stays the caller's to close.

    Raises:
        ConfigurationError: If the settings of tokens contradict each other.
    """
    # Each has a connection, so that none waits for one with a request in hand.
    threads = ThreadPoolExecutor(store.settings.pool_size, "request")
    app = FastAPI(
        lifespan=_lifespan(threads),
        title="Muniment",
        version="1",
        description="What an agent knew, when it knew it, who told it, what changed since.",
        openapi_url=f"{PREFIX}/openapi.json",
        docs_url=None,
        redoc_url=None,
        # Whoever followed would go where `Host` says, behind a proxy in the clear.
        redirect_slashes=False,
    )
    door, readers = Door(Callers(store)), Admission()
    app.router.routes.extend(
        AnsweringRoute(PREFIX, Route(operation), door, threads, readers)
        for operation in OPERATIONS
    )
    _add_health(app, store)
    app.add_exception_handler(MunimentError, _refused)
    app.add_exception_handler(RequestValidationError, _not_as_documented)
    app.add_exception_handler(HTTPException, _not_found)
    app.add_middleware(Edges, request_limit=store.settings.request_limit)
    app.openapi = lambda: _document(app)  # type: ignore[method-assign]
    return app


def _lifespan(threads: Executor) -> Callable[[FastAPI], AbstractAsyncContextManager[None]]:
    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        yield
        # What a thread is at is finished before the store can be closed.
        threads.shutdown()

    return lifespan


def _add_health(app: FastAPI, store: MemoryStore) -> None:
    # Some who watch a service ask for the head alone.
    @app.api_route("/healthz", methods=["GET", "HEAD"], include_in_schema=False)
    async def healthz(request: Request) -> Mapping[str, str]:
        """Say that the process answers."""
        _refuse_times(request)
        return {"status": "alive"}

    @app.api_route("/readyz", methods=["GET", "HEAD"], include_in_schema=False)
    def readyz(request: Request) -> Mapping[str, Any]:
        """Say that the ledger can be read, and how far behind the index is."""
        _refuse_times(request)
        progress = store.index_progress()
        has_index = progress.generation is not None
        lag = progress.head - progress.reached if has_index else None
        return {"status": "ready", "index_lag": lag}


def _refuse_times(request: Request) -> None:
    """Refuse to say of another time how the service is; it would be taken for that."""
    for name in THEN:
        if name in request.query_params:
            problem = "is not taken here: it is always of now"
            raise RequestValidationError([{"loc": ("query", name), "msg": problem}])


async def _refused(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, MunimentError), "registered for no other"
    body = problem_of(error, request_id=request.state.request_id)
    headers = {}
    if isinstance(error, NotAuthenticatedError):
        headers["WWW-Authenticate"] = "Bearer"
    if isinstance(error, RateLimitedError):
        headers["Retry-After"] = str(error.retry_after)
    return JSONResponse(body, body["status"], headers, media_type=MEDIA_TYPE)


async def _not_as_documented(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError), "registered for no other"
    # Where and why, and nothing of what was sent.
    found = [
        {"field": ".".join(str(part) for part in each["loc"]), "problem": each["msg"]}
        for each in error.errors()
    ]
    body = problem(
        422,
        "InvalidInput",
        f"{found[0]['field']}: {found[0]['problem']}; send it as the OpenAPI document says",
        request_id=request.state.request_id,
        facts={"problems": found},
    )
    return JSONResponse(body, 422, media_type=MEDIA_TYPE)


async def _not_found(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException), "registered for no other"
    name = {404: "NotFound", 405: "MethodNotAllowed"}.get(error.status_code, "BadRequest")
    body = problem(
        error.status_code, name, str(error.detail), request_id=request.state.request_id
    )
    headers = dict(error.headers or {})
    return JSONResponse(body, error.status_code, headers, media_type=MEDIA_TYPE)


def _document(app: FastAPI) -> dict[str, Any]:
    """Return the OpenAPI document, made once."""
    if app.openapi_schema is not None:
        return app.openapi_schema
    document = get_openapi(
        title=app.title,
        version=app.version,
        description=app.description,
        routes=app.routes,
    )
    schemas = document.setdefault("components", {}).setdefault("schemas", {})
    schemas.pop("HTTPValidationError", None)
    schemas.pop("ValidationError", None)
    schemas["Problem"] = SCHEMA
    bearer = {"type": "http", "scheme": "bearer", "description": "An API key or a token."}
    document["components"]["securitySchemes"] = {"bearer": bearer}
    document["security"] = [{"bearer": []}]
    for operation in OPERATIONS:
        described = document["paths"][PREFIX + operation.path][operation.method.lower()]
        described["responses"] = _responses(operation, schemas)
        if operation.repeated:
            described["description"] = f"To send it again is safe. {operation.repeated}"
            described["x-idempotent"] = True
        add_examples(operation, described)
    app.openapi_schema = document
    return document


_FILES: Final[Mapping[str, dict[str, Any]]] = {
    "application/json": {"type": "object", "description": "An export, by its JSON Schema."},
    "application/zip": {"type": "string", "format": "binary"},
}


def _responses(operation: Operation, schemas: dict[str, Any]) -> dict[str, Any]:
    schema = _FILES.get(operation.download or "") or envelope_schema(
        operation.answer, schemas
    )
    refused = {"schema": {"$ref": "#/components/schemas/Problem"}}
    return {
        str(operation.status): {
            "description": "What was asked for.",
            "content": {operation.download or "application/json": {"schema": schema}},
        },
        **{
            str(status): {"description": "Refused.", "content": {MEDIA_TYPE: refused}}
            for status in _REFUSALS
        },
    }
