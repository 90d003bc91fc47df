"""A client where there is no service: what it says, and when."""

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from muniment import MemoryStore, Scope
from muniment.api.operations import OPERATIONS
from muniment.client import Client
from muniment.domain.acts import VERBS
from muniment.errors import (
    ConfigurationError,
    InvalidScopeError,
    InvalidValueError,
    NotFound,
    ServiceUnavailableError,
    UnknownFieldError,
)


NOWHERE = "http://127.0.0.1:9"


class Silent(BaseHTTPRequestHandler):
    """Hears a request, and goes away."""

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def handle_one_request(self) -> None:
        self.rfile.readline()
        self.close_connection = True


class Other(Silent):
    """Is something else than one of ours."""

    def handle_one_request(self) -> None:
        super().handle_one_request()
        self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n<html>")


@contextmanager
def listening(handler: type[BaseHTTPRequestHandler]) -> Iterator[Client]:
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with Client(f"http://127.0.0.1:{server.server_port}", api_key="mnm_x") as client:
            yield client
        server.shutdown()


@pytest.mark.parametrize("handler", [Silent, Other])
def test_a_write_that_was_heard_may_have_been_made_and_a_read_is_none(
    handler: type[BaseHTTPRequestHandler],
) -> None:
    with listening(handler) as client:
        for write in (lambda: client.remember("tea", user_id="u-1"), client.archive):
            with pytest.raises(ServiceUnavailableError, match="idempotency key") as caught:
                write()
            assert caught.value.may_be_written
        for read in (
            client.whoami,
            lambda: client.search("tea", user_id="u-1"),
            lambda: client.plan_retention([]),
        ):
            with pytest.raises(ServiceUnavailableError, match="then repeat") as caught:
                read()
            assert "idempotency" not in str(caught.value)


def test_an_operation_writes_if_its_verb_appends_and_if_it_keeps_the_store() -> None:
    writes = {each.verb for each in OPERATIONS if each.writes}

    assert writes >= {name for name, verb in VERBS.items() if verb.writes}
    assert {verb for verb in writes if not VERBS[verb].writes} == {
        *("archive", "prune", "import_export", "flush_receipts", "rotate_key"),
        *("catch_up", "rebuild", "reconcile", "reindex"),
    }
    for each in OPERATIONS:
        assert not (each.writes and each.method == "GET"), each.verb
        assert each.writes or not each.keyed, each.verb
        appends = each.verb in VERBS and VERBS[each.verb].writes
        assert each.reasoned != appends, each.verb


def test_a_write_that_was_refused_a_connection_was_not_made() -> None:
    raised = pytest.raises(ServiceUnavailableError, match="runs there")
    with Client(NOWHERE, api_key="mnm_x") as client, raised as caught:
        client.remember("tea", user_id="u-1")

    assert not caught.value.may_be_written


@pytest.mark.parametrize(
    "call",
    [
        lambda asked: asked.get("f", "2026-01-01T00:00:00Z"),
        lambda asked: asked.get("f", fact_id="f"),
        lambda asked: asked.get_all("u-1"),
        lambda asked: asked.remember("tea", "u-1"),
        lambda asked: asked.search("tea", "u-1", 3),
        lambda asked: asked.archive("P30D"),
    ],
)
def test_an_argument_that_has_no_place_is_a_type_error_as_for_the_store(
    store: MemoryStore, call: Callable[[Any], object]
) -> None:
    with pytest.raises(TypeError):
        call(store)
    with Client(NOWHERE, api_key="mnm_x") as client, pytest.raises(TypeError):
        call(client)


@pytest.mark.parametrize(
    "call",
    [
        lambda asked: asked.get_all(),
        lambda asked: asked.remember("tea"),
        lambda asked: asked.get_all(user_id="u-1", scope=Scope.team("eng")),
        lambda asked: asked.search("tea", user_id="u-1", scope=Scope.team("eng")),
    ],
)
def test_nobody_and_two_are_refused_as_by_the_store(
    store: MemoryStore, call: Callable[[Any], object]
) -> None:
    with pytest.raises(InvalidScopeError) as by_store:
        call(store)
    with Client(NOWHERE, api_key="mnm_x") as client, pytest.raises(InvalidScopeError) as e:
        call(client)

    assert str(e.value) == str(by_store.value)


def test_a_field_that_nobody_defined_is_refused_with_those_of_the_verb() -> None:
    raised = pytest.raises(UnknownFieldError)
    with Client(NOWHERE, api_key="mnm_x") as client, raised as caught:
        client.get_memory_as_of(user_id="u-1", timestmp="2026-01-01T00:00:00Z")  # type: ignore[call-arg]

    assert set(caught.value.known) == {
        *("user_id", "scope", "timestamp", "valid_at"),
        *("reason", "matter", "break_glass"),
    }


@pytest.mark.parametrize("given", [None, "", ".", "..", "f/history", 7, True])
def test_what_would_make_a_path_another_path_is_no_id_as_for_the_store(
    store: MemoryStore,
    given: Any,  # noqa: ANN401
) -> None:
    kind = NotFound if given and isinstance(given, str) else InvalidValueError

    with Client(NOWHERE, api_key="mnm_x") as client:
        for asked in (store, client):
            with pytest.raises(kind, match=r"fact_id must be text|no fact_id|no such fact"):
                asked.get(given)
            with pytest.raises(kind):
                asked.restore(fact_id=given)


@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("nonsense", "mnm_x"),
        ("", "mnm_x"),
        ("ftp://127.0.0.1", "mnm_x"),
        ("http://", "mnm_x"),
        ("http://127.0.0.1:port", "mnm_x"),
        (None, "mnm_x"),
        (NOWHERE, ""),
        (NOWHERE, "密钥-canary"),
        (NOWHERE, "canary\nHost: x"),
        (NOWHERE, None),
    ],
)
def test_a_client_of_no_service_is_not_made(
    url: Any,  # noqa: ANN401 - whatever is given
    key: Any,  # noqa: ANN401
) -> None:
    with pytest.raises(ConfigurationError) as caught:
        Client(url, api_key=key)

    assert "canary" not in str(caught.value)


def test_a_client_without_its_extra_says_what_to_install() -> None:
    code = "import sys; sys.modules['httpx'] = None; import muniment.client"
    ran = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        check=False,
        text=True,
        timeout=60,
    )

    last = ran.stderr.splitlines()[-1]
    assert "ConfigurationError: the client needs httpx" in last
    assert last.endswith('pip install "muniment[client]"')


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (200, b"{}"),
        (200, b"[]"),
        (200, b'{"items": [{"fact_id": 1}], "id": [], "kind": "ghost", "value": 7}'),
        (204, b""),
        # Of a proxy on the way there.
        (502, b"[]"),
        (502, b"{}"),
        (504, b'"gateway timeout"'),
        (503, b'{"error": {"code": 5}, "status": [], "detail": null}'),
        (404, b'{"error": "Not Found", "status": "404"}'),
    ],
)
def test_an_answer_that_is_none_of_a_service_is_said_to_be_none(
    status: int, body: bytes
) -> None:
    class Odd(Silent):
        """Speaks JSON, and knows nothing of memories."""

        def handle_one_request(self) -> None:
            super().handle_one_request()
            head = f"HTTP/1.1 {status} Odd\r\nContent-Length: {len(body)}\r\n\r\n"
            self.wfile.write(head.encode() + body)

    with listening(Odd) as client:
        for ask in (client.whoami, lambda: client.search("茶", user_id="u-1")):
            with pytest.raises(ServiceUnavailableError) as caught:
                ask()
            assert not caught.value.may_be_written
        with pytest.raises(ServiceUnavailableError, match="idempotency key"):
            client.remember("喝茶", user_id="u-1")
