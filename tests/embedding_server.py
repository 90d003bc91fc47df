"""An embedding server on 127.0.0.1 that answers as it is told, hostile ways included."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


Texts = list[str]
Behaviour = Callable[["Answering", Texts], None]


@dataclass
class EmbeddingServer:
    """
    A server that is running.

    Attributes:
        behaviour: How the next request is answered; may be changed at any time.
        requests: The body of each request so far.
    """

    url: str
    behaviour: Behaviour
    requests: list[dict[str, Any]] = field(default_factory=list)


class Answering(BaseHTTPRequestHandler):
    """One request; `server_state` is set by `running`."""

    server_state: EmbeddingServer
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        length = int(self.headers["Content-Length"])
        request = json.loads(self.rfile.read(length))
        self.server_state.requests.append(request)
        self.server_state.behaviour(self, request["input"])

    def log_message(self, *_: object) -> None:
        pass

    def answer(self, body: bytes, *, status: int = 200, promised: int = 0) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(promised or len(body)))
        self.end_headers()
        self.wfile.write(body)

    def vectors(self, vectors: list[object], *, order: list[int] | None = None) -> None:
        places = order or list(range(len(vectors)))
        rows = [
            {"object": "embedding", "index": place, "embedding": vector}
            for place, vector in zip(places, vectors, strict=True)
        ]
        found = {"object": "list", "data": rows, "model": "toy", "usage": _USAGE}
        self.answer(json.dumps(found).encode())


_USAGE = {"prompt_tokens": 1, "total_tokens": 1}


def vector_of(text: str) -> list[float]:
    """Return three numbers that tell short texts apart."""
    return [1.0, len(text) / 10, text.count("a") / 10]


def good(request: Answering, texts: Texts) -> None:
    request.vectors([vector_of(text) for text in texts])


def shuffled(request: Answering, texts: Texts) -> None:
    vectors: list[object] = [vector_of(text) for text in reversed(texts)]
    request.vectors(vectors, order=list(reversed(range(len(texts)))))


def half_a_batch(request: Answering, texts: Texts) -> None:
    request.vectors([vector_of(text) for text in texts[: len(texts) // 2]])


def twice_the_same_place(request: Answering, texts: Texts) -> None:
    request.vectors([vector_of(text) for text in texts], order=[0] * len(texts))


def other_dimensions(request: Answering, texts: Texts) -> None:
    request.vectors([[1.0, 2.0] for _ in texts])


def not_a_number(request: Answering, texts: Texts) -> None:
    request.vectors([[1.0, float("nan"), 0.0] for _ in texts])


def infinite(request: Answering, texts: Texts) -> None:
    request.vectors([[1.0, float("inf"), 0.0] for _ in texts])


def zero(request: Answering, texts: Texts) -> None:
    request.vectors([[0.0, 0.0, 0.0] for _ in texts])


def words(request: Answering, texts: Texts) -> None:
    request.vectors(["a vector" for _ in texts])


def nothing(request: Answering, texts: Texts) -> None:
    request.vectors([None for _ in texts])


def nonsense(request: Answering, _: Texts) -> None:
    request.answer(b"<html>welcome</html>")


def other_shape(request: Answering, _: Texts) -> None:
    request.answer(b'{"data": 7}')


def a_list(request: Answering, _: Texts) -> None:
    request.answer(b"[1, 2, 3]")


def empty(request: Answering, _: Texts) -> None:
    request.answer(b"{}")


def too_many_requests(request: Answering, _: Texts) -> None:
    request.answer(b'{"error": {"message": "slow down"}}', status=429)


def broken(request: Answering, _: Texts) -> None:
    request.answer(b'{"error": {"message": "it broke"}}', status=500)


def forbidden(request: Answering, _: Texts) -> None:
    request.answer(b'{"error": {"message": "who are you"}}', status=401)


def hangs_up(request: Answering, _: Texts) -> None:
    request.close_connection = True
    request.connection.close()


def hangs_up_half_way(request: Answering, _: Texts) -> None:
    request.close_connection = True
    request.answer(b'{"object": "li', promised=1_000)


def slow(request: Answering, texts: Texts) -> None:
    # Longer than any patience a test gives it.
    time.sleep(1.0)
    good(request, texts)


HOSTILE: dict[str, Behaviour] = {
    each.__name__: each
    for each in (
        half_a_batch,
        twice_the_same_place,
        other_dimensions,
        not_a_number,
        infinite,
        zero,
        words,
        nothing,
        nonsense,
        other_shape,
        a_list,
        empty,
        too_many_requests,
        broken,
        forbidden,
        hangs_up,
        hangs_up_half_way,
        slow,
    )
}


@contextmanager
def running(behaviour: Behaviour = good) -> Iterator[EmbeddingServer]:
    """Run a server on a free port of 127.0.0.1 until the block ends."""
    state = EmbeddingServer("", behaviour)
    handler = type("Handler", (Answering,), {"server_state": state})
    with _Quiet(("127.0.0.1", 0), handler) as server:
        state.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield state
        finally:
            server.shutdown()
            thread.join()


class _Quiet(ThreadingHTTPServer):
    """Says nothing of clients that lost patience; waits for no handler."""

    daemon_threads = True
    block_on_close = False

    def handle_error(self, request: object, client_address: object) -> None:
        pass
