"""The command line as tests run it: in this process, or as the real command."""

import json
import os
import pty
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from muniment.api.cli import main


COMMAND = Path(sys.executable).with_name("muniment")
WAIT_S = 60


@dataclass(frozen=True)
class Outcome:
    """What a run left: its exit code and what it wrote."""

    code: int
    out: str
    err: str

    @property
    def answer(self) -> Any:  # noqa: ANN401 - JSON
        """The one JSON document on standard output of a run that went well."""
        assert self.code == 0, self.err
        return json.loads(self.out)

    @property
    def error(self) -> dict[str, str]:
        """The JSON object below the line on standard error."""
        line, shape = self.err.splitlines()
        found: dict[str, str] = json.loads(shape)
        assert line == f"muniment: {found['message']}"
        return found


class CommandLine:
    """Runs commands in this process, as a pipe would see them, on one store."""

    def __init__(self, capture: pytest.CaptureFixture[str], store: Path) -> None:
        self.store = store
        self._capture = capture

    def run(self, *arguments: str) -> Outcome:
        """Run one command as it is."""
        self._capture.readouterr()
        code = main(arguments)
        out, err = self._capture.readouterr()
        return Outcome(code, out, err)

    def on_store(self, *arguments: str) -> Outcome:
        """Run one command on the store."""
        return self.run(*arguments, "--store", str(self.store))

    def ask(self, *arguments: str) -> Any:  # noqa: ANN401 - JSON
        """Run one command on the store, and return the answer it must give."""
        return self.on_store(*arguments).answer

    def fails(self, *arguments: str) -> tuple[int, str]:
        """Run one command on the store, and return exit code and kind of its error."""
        outcome = self.on_store(*arguments, "--json")
        assert outcome.out == "", "an error answers nothing"
        return outcome.code, outcome.error["error"]


def process(
    *arguments: str, cwd: Path | None = None, env: Mapping[str, str] | None = None
) -> Outcome:
    """Run the real command in a pipe."""
    ended = subprocess.run(
        [COMMAND, *arguments],
        cwd=cwd,
        env={**os.environ, **(env or {})},
        capture_output=True,
        check=False,
        stdin=subprocess.DEVNULL,
        timeout=WAIT_S,
    )
    return Outcome(ended.returncode, ended.stdout.decode(), ended.stderr.decode())


def at_a_terminal(
    arguments: Sequence[str], *, typed: str = "", columns: int = 120
) -> tuple[int, str]:
    """Run the real command at a real terminal, and return what was seen on it."""
    ours, theirs = pty.openpty()
    env = {**os.environ, "TERM": "xterm-256color", "LINES": "40"}
    env["COLUMNS"] = str(columns)
    env.pop("NO_COLOR", None)
    with subprocess.Popen(
        [COMMAND, *arguments],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=env,
        start_new_session=True,
    ) as running:
        os.close(theirs)
        # A terminal keeps what is typed ahead until it is read.
        os.write(ours, typed.encode())
        seen = b""
        # Linux says EIO, not end of file, once the other side is gone.
        with suppress(OSError):
            while part := os.read(ours, 65536):
                seen += part
        os.close(ours)
        return running.wait(timeout=WAIT_S), seen.decode()
