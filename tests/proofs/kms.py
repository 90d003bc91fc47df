"""A small key management service, and the client that a setting names."""

import json
import os
import threading
import urllib.error
import urllib.request
from base64 import b64decode, b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from muniment.errors import BrokenSealError, KeyServiceUnavailableError
from muniment.ledger.keys import LocalKey


URL = "MUNIMENT_TEST_KMS_URL"
SERVICE = "tests.proofs.kms:keys"
_REFUSED = 422


class Handler(BaseHTTPRequestHandler):
    """Wraps and unwraps with keys that never leave this server."""

    held: dict[str, LocalKey]
    asked: list[str]

    def do_GET(self) -> None:
        self._answer(200, list(self.held))

    def do_POST(self) -> None:
        kek_id, verb = self.path[1:].split("/")
        self.asked.append(verb)
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        given, place = b64decode(body["given"]), b64decode(body["place"])
        try:
            key = self.held[kek_id]
            done = (
                key.wrap(given, place=place)
                if verb == "wrap"
                else key.unwrap(given, place=place)
            )
        except (KeyError, BrokenSealError):
            self._answer(_REFUSED, "refused")
        else:
            self._answer(200, b64encode(done).decode())

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as above
        """Say nothing."""

    def _answer(self, status: int, answer: object) -> None:
        self.send_response(status)
        self.end_headers()
        self.wfile.write(json.dumps(answer).encode())


class RemoteKey:
    """A `KeyEncryptionKey` that the service has."""

    def __init__(self, kek_id: str) -> None:
        self.kek_id = kek_id

    def wrap(self, key: bytes, *, place: bytes) -> bytes:
        return self._asked("wrap", key, place)

    def unwrap(self, wrapped: bytes, *, place: bytes) -> bytes:
        return self._asked("unwrap", wrapped, place)

    def _asked(self, verb: str, given: bytes, place: bytes) -> bytes:
        body = {"given": b64encode(given).decode(), "place": b64encode(place).decode()}
        try:
            return b64decode(_fetched(f"/{self.kek_id}/{verb}", body))
        except urllib.error.HTTPError as error:
            error.close()
            raise BrokenSealError(place.decode()) from error


def keys() -> list[RemoteKey]:
    """Return the keys of the service that the environment names."""
    return [RemoteKey(each) for each in _fetched("/keys", None)]


def _fetched(path: str, body: object) -> Any:  # noqa: ANN401 - JSON
    posted = None if body is None else json.dumps(body).encode()
    try:
        with urllib.request.urlopen(os.environ[URL] + path, posted, timeout=5) as answer:  # noqa: S310
            return json.loads(answer.read())
    except urllib.error.HTTPError:
        raise
    except OSError as error:
        raise KeyServiceUnavailableError(str(error)) from error


@contextmanager
def served(*held: LocalKey) -> Iterator[tuple[str, type[Handler]]]:
    """Run a service that has the keys *held*; yield its URL and what it was asked."""
    named = {each.kek_id: each for each in held}
    handler = type("Kms", (Handler,), {"held": named, "asked": []})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", handler
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
