"""The service as a process: it listens, and ends when what it acknowledged is done."""

import gc
import json
import logging
import socket
import sys
from collections.abc import Callable
from typing import Final

import uvicorn

from muniment import MemoryStore
from muniment.api.http.app import create_app
from muniment.api.http.edges import log


GRACE_SECONDS: Final = 30
"""How long requests under way may take once the process is told to end."""


def serve(
    store: MemoryStore,
    *,
    host: str,
    port: int,
    started: Callable[[str], None] = lambda _: None,
) -> None:
    """
    Serve *store* until the process is told to end, then finish what was begun.

    Args:
        store: Stays the caller's to close.
        host: To listen on.
        port: To listen on; 0 for any that is free.
        started: Told the address, once it listens.
    """
    log_to_stderr()
    config = uvicorn.Config(
        create_app(store),
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,  # Nobody is known by an address, whoever says what it is.
        timeout_graceful_shutdown=GRACE_SECONDS,
    )
    with socket.create_server((host, port), backlog=2_048) as listening:
        bound = listening.getsockname()
        _leave_to_stay()
        started(f"http://{bound[0]}:{bound[1]}")
        uvicorn.Server(config).run(sockets=[listening])


def _leave_to_stay() -> None:
    """
    Tell the garbage collector that whatever is there by now stays.

    It would look through some hundred thousand objects of modules and routes time and
    again, while every request waits for it.
    """
    gc.collect()
    gc.freeze()


def log_to_stderr() -> None:
    """Write one line of JSON to standard error for each request, and what befalls it."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(message)s"))
    log.handlers[:] = [handler]
    log.setLevel(logging.INFO)
    log.propagate = False
    befalls = logging.StreamHandler(sys.stderr)
    befalls.setFormatter(_Befallen())
    server = logging.getLogger("uvicorn.error")
    server.handlers[:] = [befalls]
    server.setLevel(logging.WARNING)
    server.propagate = False


class _Befallen(logging.Formatter):
    """What the server says of itself; without tracebacks, as they show values."""

    def format(self, record: logging.LogRecord) -> str:
        kind = record.exc_info[0] if record.exc_info else None
        said = {"server": record.getMessage(), "bug": kind and kind.__name__}
        return json.dumps(said, ensure_ascii=False)
