"""The command as a process: its pipes, its locale, and a signal."""

import os
import signal
import subprocess
from pathlib import Path

from tests.api.cli.command_line import COMMAND, WAIT_S, CommandLine, process


USER = ("--user", "u-1")


def test_a_reader_that_goes_away_is_no_bug(cli: CommandLine) -> None:
    with subprocess.Popen(
        [COMMAND, "list", *USER, "--store", str(cli.store)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        running.stdout.close()

        assert running.wait(timeout=WAIT_S) == 141
        assert running.stderr.read() == b""


def test_ctrl_c_exits_130_and_leaves_the_store_whole(
    cli: CommandLine, tmp_path: Path
) -> None:
    # A pipe that nobody writes to: the load waits for its first line until it is told
    # to stop, which it is once it has opened the pipe.
    file = tmp_path / "facts.jsonl"
    os.mkfifo(file)
    with (
        subprocess.Popen(
            [COMMAND, "load", str(file), "--store", str(cli.store)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as running,
        file.open("wb"),
    ):
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=WAIT_S)

    assert (running.returncode, out) == (130, b"")
    assert b"Traceback" not in err
    assert cli.ask("list", *USER)["position"] == 0


def test_the_real_command_answers_in_a_real_pipe(cli: CommandLine) -> None:
    written = process("remember", "用户写 Python", *USER, "--store", str(cli.store))
    missing = process("list", *USER, "--store", "nowhere", cwd=cli.store.parent)

    assert (written.code, written.err) == (0, "")
    assert written.answer["content"] == "用户写 Python"
    assert (missing.code, missing.out) == (3, "")
    assert missing.err.startswith("muniment: no store at nowhere;")


def test_json_is_utf8_whatever_the_locale(cli: CommandLine) -> None:
    env = {"PYTHONIOENCODING": "ascii", "LC_ALL": "C"}

    outcome = process("remember", "用户", *USER, "--store", str(cli.store), env=env)

    assert outcome.answer["content"] == "用户"
