"""The command that serves a store to others."""

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
        int, typer.Option(min=0, max=65_535, help="Where to listen; 0 for any free.")
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

    with at.opened() as store:
        run(
            store,
            host=host,
            port=port,
            started=lambda url: terminal.note(f"serving {store.place} at {url}"),
        )
