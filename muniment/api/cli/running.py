"""One run of the command line, from its arguments to its exit code."""

import copy
import functools
import json
import sys
import traceback
from collections.abc import Callable, Sequence

import typer

from muniment.api.cli import exits, terminal
from muniment.api.cli.app import app
from muniment.errors import MunimentError


def main(arguments: Sequence[str] | None = None) -> int:
    """
    Run one command.

    Args:
        arguments: Without the name of the program; those of the process if left out.

    Returns:
        The exit code. An error is one line on standard error, and with ``--json`` one
        JSON object below it; a traceback is shown of our own mistakes alone.
    """
    terminal.open_what_was_closed()
    given = list(sys.argv[1:] if arguments is None else arguments)
    as_json = "--json" in given
    problem: Exception
    try:
        asked = _parser(given[0] if given else "")
        code = asked(given, prog_name="muniment", standalone_mode=False)
        return code if isinstance(code, int) else 0
    except MunimentError as error:
        code, problem = exits.code_of(error), error
        message = str(error)
    except typer.TyperException as error:
        if not error.format_message():
            # A command that is none without another: its help was shown, and says all.
            return exits.BAD_INPUT
        code, problem = exits.BAD_INPUT, error
        message = _usage(error)
    except typer.Abort:
        return terminal.CANCELLED
    except OSError as error:
        # The machine said no: a disk that is full, a folder that may not be written.
        code, problem = exits.REFUSED_FOR_NOW, error
        message = f"{error}; see to the file or the machine, then try again"
    except Exception as error:  # noqa: BLE001 - the last place that can say whose it is
        traceback.print_exception(error)
        code, problem = exits.BUG, error
        message = f"{type(error).__name__}: {error}; this is a bug in Muniment, report it"
    _report(problem, message, as_json=as_json)
    return code


@functools.cache
def _parser(word: str) -> Callable[..., object]:
    """Return what reads a line that begins with *word*; made of all where that is none."""
    # To make it of every command's options takes longer than many a command itself.
    part = copy.copy(app)
    part.registered_commands = [e for e in app.registered_commands if e.name == word]
    part.registered_groups = [e for e in app.registered_groups if e.name == word]
    is_known = part.registered_commands or part.registered_groups
    return typer.main.get_command(part if is_known else app)


def _report(error: Exception, message: str, *, as_json: bool) -> None:
    notes = "".join(f"; {note}" for note in getattr(error, "__notes__", ()))
    terminal.note(terminal.visible(f"muniment: {message}{notes}", lines=False))
    if as_json:
        is_usage = isinstance(error, typer.TyperException)
        name = "UsageError" if is_usage else type(error).__name__
        shape = {"error": name, "message": f"{message}{notes}"}
        terminal.note(json.dumps(shape, ensure_ascii=False, sort_keys=True))


def _usage(error: typer.TyperException) -> str:
    """Return what was typed wrongly, on one line, and where to look it up."""
    problem = " ".join(error.format_message().split()).rstrip(".")
    context = getattr(error, "ctx", None)
    command = "muniment" if context is None else context.command_path
    return f"{problem}; see: {command} --help"
