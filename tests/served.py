"""A real service on a port of its own, in a thread of the test."""

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from logging.handlers import QueueHandler
from queue import Queue

import uvicorn

from muniment import MemoryStore, Principal
from muniment.api.http import create_app
from muniment.api.http.edges import log
from muniment.client import Client


START_SECONDS_MAX = 20


@contextmanager
def served(store: MemoryStore) -> Iterator[str]:
    """Serve *store*; give the URL."""
    config = uvicorn.Config(create_app(store), port=0, log_config=None, access_log=False)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    deadline = time.monotonic() + START_SECONDS_MAX
    while not server.started:
        assert time.monotonic() < deadline, "the service did not start"
        time.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(START_SECONDS_MAX)


@contextmanager
def logged() -> Iterator[Queue[str]]:
    """Give the lines that services of this process log, as they come."""
    said: Queue[str] = Queue()
    handler = QueueHandler(said)
    handler.prepare = logging.LogRecord.getMessage  # type: ignore[method-assign, assignment]
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    try:
        yield said
    finally:
        log.removeHandler(handler)


def key_of(store: MemoryStore, principal: Principal) -> str:
    """Return a new API key that stands for *principal*."""
    return store.issue_api_key(principal).secret


def client_of(store: MemoryStore, url: str, principal: Principal) -> Client:
    """Return a client that asks as *principal*."""
    return Client(url, api_key=key_of(store, principal))
