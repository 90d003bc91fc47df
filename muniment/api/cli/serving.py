"""The command that serves a store to others."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Annotated

import typer

from muniment.api.cli import terminal
from muniment.api.cli.place import Place
from muniment.errors import ConfigurationError


def serve(
    at: Place,
    host: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Where to listen.")
    ] = "127.0.0.1",
    port: Annotated[
        int,
        typer.Option(
            metavar="PORT", min=0, max=65_535, help="Where to listen; 0 for any free."
        ),
    ] = 8321,
) -> None:
    """
    Offer every verb over HTTP, to whom an API key or a token stands for.

    It speaks plain HTTP: a proxy in front of it ends TLS. Make the first key with
    keys issue. On SIGTERM it finishes what it has begun, and ends.
    """
    try:
        from muniment.api.http.serving import serve as run  # noqa: PLC0415 - an extra
    except ModuleNotFoundError as error:
        raise ConfigurationError(
            f"the service needs {error.name}",
            'install it with: pip install "muniment[serve]"',
        ) from error

    with _ended_by_sigterm(), at.opened() as store:
        run(
            store,
            host=host,
            port=port,
            started=lambda url: terminal.note(f"serving {store.place} at {url}"),
        )


@contextmanager
def _ended_by_sigterm() -> Iterator[None]:
    """
    Leave by SIGTERM as by any other way: what is open is closed, and receipts are kept.

    The server listens to the signal while it serves, and sends it again once it is done.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # Signals are another's.
        return

    def end(_number: int, _frame: FrameType | None) -> None:
        # Told again, it is closing already.
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        raise SystemExit(0)

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
