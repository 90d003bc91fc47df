"""Legal holds at the command line: they bind every command by which content could go."""

import json
from collections.abc import Callable

import pytest

from tests.api.cli.command_line import CommandLine


USER = ("--user", "u-1")
SAID = "CANARY 秘密"


def redact(cli: CommandLine, fact_id: str) -> None:
    cli.ask("forget", fact_id, "--redact", "--yes", "--reason", "asked")


def erase(cli: CommandLine, _fact_id: str) -> None:
    cli.ask("erase", *USER, "--yes", "--reason", "asked")


def retain(cli: CommandLine, _fact_id: str) -> None:
    cli.ask("retain", "--importance-below", "0.5", "--yes")


COMMANDS = {"forget --redact": redact, "erase": erase, "retain": retain}
every_command = pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
bound = pytest.mark.parametrize("whole", [True, False], ids=["subject", "fact"])


def hold(cli: CommandLine, fact_id: str, *, whole: bool) -> str:
    which = () if whole else ("--fact", fact_id)
    answer = cli.ask("hold", *USER, "--matter", "case", "--issued-by", "counsel", *which)
    name: str = answer["hold_id"]
    return name


def versions(cli: CommandLine, fact_id: str) -> list[tuple[str, str | None]]:
    """Return kind and content of each version; none where nobody has such a fact."""
    outcome = cli.on_store("history", fact_id)
    if outcome.code:
        return []
    return [(e["kind"], e["content"]) for e in json.loads(outcome.out)["versions"]]


def gone(command: Callable[[CommandLine, str], None]) -> list[tuple[str, str | None]]:
    if command is erase:
        return []
    if command is redact:
        return [("asserted", None), ("redacted", None)]
    return [("asserted", SAID), ("retired", None)]


@pytest.fixture
def fact_id(cli: CommandLine) -> str:
    found: str = cli.ask("remember", SAID, *USER, "--importance", "0.1")["fact_id"]
    return found


@bound
@every_command
def test_nothing_goes_while_a_hold_binds_and_what_was_asked_goes_on_its_release(
    cli: CommandLine,
    fact_id: str,
    command: Callable[[CommandLine, str], None],
    *,
    whole: bool,
) -> None:
    name = hold(cli, fact_id, whole=whole)

    command(cli, fact_id)

    assert versions(cli, fact_id) == [("asserted", SAID)]
    cli.ask("rebuild")
    assert versions(cli, fact_id) == [("asserted", SAID)]
    cli.ask("release", name, *USER)
    if command is retain:
        assert versions(cli, fact_id) == [("asserted", SAID)]
        command(cli, fact_id)
    assert versions(cli, fact_id) == gone(command)


@bound
@every_command
def test_a_hold_that_was_released_before_binds_nothing(
    cli: CommandLine,
    fact_id: str,
    command: Callable[[CommandLine, str], None],
    *,
    whole: bool,
) -> None:
    cli.ask("release", hold(cli, fact_id, whole=whole), *USER)

    command(cli, fact_id)

    assert versions(cli, fact_id) == gone(command)


@every_command
def test_a_hold_that_comes_too_late_brings_nothing_back(
    cli: CommandLine, fact_id: str, command: Callable[[CommandLine, str], None]
) -> None:
    command(cli, fact_id)

    hold(cli, fact_id, whole=True)

    assert versions(cli, fact_id) == gone(command)
