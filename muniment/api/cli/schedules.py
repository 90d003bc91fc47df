"""What a command does once, or again and again."""

import threading
from collections.abc import Callable
from typing import Annotated

import typer


Every = Annotated[
    str | None,
    typer.Option(
        metavar="DURATION",
        help="Again and again, so long after each run, until interrupted; such as 1h.",
    ),
]


def pause_of(every: Every) -> int | None:
    """
    Return the seconds between two runs; ``None`` for one run.

    Raises:
        InvalidValueError: If *every* is no duration.
    """
    from muniment.api.rules import seconds  # noqa: PLC0415 - slow, and not for --help

    return None if every is None else seconds(every, field="--every")


def repeated(run: Callable[[], None], *, pause: int | None) -> None:
    """
    Call *run*, and again after each *pause*.

    It opens the store each time, so that an upgrade or a rotated key is met by the next.
    """
    run()
    while pause is not None:
        threading.Event().wait(pause)
        run()
