"""What stands between a command and whoever reads it: a person, or a pipe."""

import os
import shlex
import shutil
import sys
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import typer

from muniment.api.shapes import document


if TYPE_CHECKING:
    from rich.console import Console, RenderableType


PROGRAM: Final = "muniment"
"""The name of the command."""

BROKEN_PIPE: Final = 141
"""What a shell reports of a program whose reader went away: 128 and SIGPIPE."""

CANCELLED: Final = 130
"""What a shell reports of a program that was interrupted: 128 and SIGINT."""

_JOINERS: Final = "\u200c\u200d"
"""Invisible, but parts of words and of emoji."""

_ESCAPED: Final = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Unicode categories that can move a cursor, or make text look like other text."""


def open_what_was_closed() -> None:
    """Let what is written to a stream that whoever started us had closed go nowhere."""
    # Python has ``None`` for it.
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            nowhere = Path(os.devnull).open(mode, encoding="utf-8")  # noqa: SIM115 - for as long as the process lives
            setattr(sys, name, nowhere)


def is_for_a_person(*, as_json: bool) -> bool:
    """Whether answers go to somebody who looks at a terminal."""
    return not as_json and sys.stdout.isatty()


def visible(text: str, *, lines: bool = True) -> str:
    """Return *text* with what a terminal would obey, not show, spelled out."""
    return "".join(
        each if _is_shown(each, lines=lines) else ascii(each)[1:-1] for each in text
    )


def _is_shown(character: str, *, lines: bool) -> bool:
    if character == "\n":
        return lines
    return character in _JOINERS or unicodedata.category(character) not in _ESCAPED


def console(*, stderr: bool = False) -> "Console":
    """Return where a person reads; content is never taken for markup."""
    from rich.console import Console  # noqa: PLC0415 - a pipe needs none of it

    return Console(stderr=stderr, markup=False, highlight=False, emoji=False)


def show(renderable: "RenderableType", *, unbroken: bool = False) -> None:
    """Show a person an answer; *unbroken* where lines are there to be copied."""
    console().print(renderable, soft_wrap=unbroken)


def program() -> str:
    """Return how a reader of this run calls it again, from where they are."""
    called = sys.argv[0]
    is_ours = os.path.basename(called) == PROGRAM  # noqa: PTH119 - as it was typed
    return shlex.quote(called) if is_ours and shutil.which(PROGRAM) is None else PROGRAM


def emit(answer: object) -> None:
    """Write *answer* to standard output as one JSON document, in one piece."""
    emit_text(document(answer))


def emit_text(text: str) -> None:
    """Write *text* to standard output as it is, in one piece."""
    raw = text.encode()
    try:
        sys.stdout.flush()
        sys.stdout.buffer.write(raw)
        sys.stdout.buffer.flush()
    except BrokenPipeError as error:
        # The interpreter flushes once more when it ends, and would complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(BROKEN_PIPE) from error


def note(text: str) -> None:
    """Write a line that is no part of the answer."""
    sys.stderr.write(visible(text) + "\n")
    sys.stderr.flush()


@contextmanager
def progress(size: int) -> Iterator[Callable[[str, int], None] | None]:
    """
    Show how far a file of *size* bytes is dealt with, where somebody looks.

    Gives what is to be told the stage and the bytes done, or ``None`` on a pipe.
    """
    if not sys.stderr.isatty():
        yield None
        return
    from rich.progress import Progress  # noqa: PLC0415 - a pipe needs none of it

    with Progress(console=console(stderr=True), transient=True) as bar:
        tasks = {}

        def told(stage: str, done: int) -> None:
            if stage not in tasks:
                tasks[stage] = bar.add_task(stage, total=size)
            bar.update(tasks[stage], completed=done)

        yield told


@contextmanager
def counting(what: str) -> Iterator[Callable[[int, int], None] | None]:
    """
    Show how many of how many are done, where somebody looks.

    Gives what is to be told both numbers, or ``None`` on a pipe.
    """
    if not sys.stderr.isatty():
        yield None
        return
    from rich.progress import MofNCompleteColumn, Progress  # noqa: PLC0415 - as above

    columns = (*Progress.get_default_columns(), MofNCompleteColumn())
    with Progress(*columns, console=console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None)

        def told(done: int, of: int) -> None:
            bar.update(task, completed=done, total=of)

        yield told
