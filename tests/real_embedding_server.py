"""The OpenAI-compatible server that comes with the local model, on 127.0.0.1."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import ThreadingHTTPServer
from types import ModuleType


@contextmanager
def serving(server: ModuleType) -> Iterator[str]:
    """Give the URL of a real server on a free port until the block ends."""
    handler = type("Handler", (server._Handler,), {"model": server.E5(num_threads=1)})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{running.server_address[1]}/v1"
        finally:
            running.shutdown()
            thread.join()
