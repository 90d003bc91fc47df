"""The command line has what the service takes: no field without an option."""

import re
from typing import Any, Final

import pytest
import typer

from muniment import MemoryStore
from muniment.api.cli import app
from muniment.api.operation import Operation
from muniment.api.operations import OPERATIONS
from tests.access.matrix import SCOPES
from tests.access.test_facade_matrix import target
from tests.api.cli.command_line import CommandLine
from tests.api.cli.matrix import LINES


SPELLED: Final = {
    "scope": "user",
    "scopes": "scope",
    "entities": "entity",
    "third_parties": "third_party",
    "sources": "source",
    "points": "point",
    "verbs": "verb",
    "session_id": "session",
    "source_turns": "turn",
    "recent_turns": "recent_turn",
    "older_than_us": "older_than",
    "to_scope": "to",
    "document": "file",
    "turns": "file",
    "items": "file",
    "principal": "principal",
    "rules": "rules",
    "where": "where_session",
    "source": "where_source",
    "actor": "where_actor",
    "mode": "redact",
    "facts": "keep_facts",
    "as_of": "when",
    "timestamp": "when",
    "time_a": "first",
    "time_b": "second",
    "fact_id": "fact",
}
"""How a field is spelled on the command line, where that is not its own name."""

OTHERWISE: Final = {
    ("remember_many", "scope"): "each line says it",
    ("redact_turn", "turn_id"): "TURN-OR-SESSION",
    ("redact_session", "session_id"): "TURN-OR-SESSION",
    ("reproduce_badcase", "timestamp"): "--at",
    ("apply", "position"): "the plan that was just made has it",
    ("review_broken_glass", "trigger"): "the role says it",
    ("review_broken_glass", "session_id"): "an officer's review is no conversation",
    ("review_broken_glass", "source_turns"): "likewise",
    ("review_broken_glass", "idempotency_key"): "a review is made once",
}
"""Fields without an option of their own, and what stands for them."""


def fields(operation: Operation) -> set[str]:
    found = {*operation.needed, *operation.taken}
    found |= set(re.findall(r"{(\w+)}", operation.path))
    found |= {"expected_version"} if operation.if_match else set()
    return found | ({"idempotency_key"} if operation.keyed else set())


def options(application: Any, words: tuple[str, ...]) -> set[str]:  # noqa: ANN401 - Typer's
    """Return the names of what the command of a line takes."""
    command = application
    for word in words:
        inner = getattr(command, "commands", {})
        command = inner.get(word, command)
    return {each.name for each in command.params}


def test_every_field_of_the_service_has_its_option(cli: CommandLine) -> None:
    with MemoryStore.open(cli.store, create=False) as store:
        on = target(store, SCOPES["user"])
    application = typer.main.get_command(app)
    missing = set()

    for operation in OPERATIONS:
        verb = operation.verb
        lines = [
            line(on)
            for name in LINES
            if name.partition(" ")[0] == verb
            for line in LINES[name]
        ]
        known = set().union(*(options(application, each) for each in lines))
        missing |= {
            (verb, name)
            for name in fields(operation)
            if lines and not {name, SPELLED.get(name)} & known
        }

    assert missing == set(OTHERWISE), (
        "give a new field its option, or say what stands for it"
    )


@pytest.mark.parametrize(
    ("command", "option", "values"),
    [
        ("list", "--limit", ("1_0", "\uff11\uff10", "+5", " 5", "5.0", "", "0x5")),
        ("remember", "--confidence", ("0_1", "\uff10.5", ".", "1e", "0.5 ", "Infinity")),
        ("serve", "--port", ("83_21", "65536", "-1")),
    ],
)
def test_a_number_is_written_in_digits(
    cli: CommandLine, command: str, option: str, values: tuple[str, ...]
) -> None:
    """Case: whole numbers that Python alone reads, taken for others than were meant."""
    words = {"list": ["--user", "u-1"], "remember": ["茶", "--user", "u-1"], "serve": []}

    for value in values:
        outcome = cli.on_store(command, *words[command], f"{option}={value}", "--json")
        assert (value, outcome.code, outcome.out) == (value, 2, "")
        assert outcome.error["error"] == "UsageError"
        assert outcome.error["message"].startswith(
            f"Invalid value for '{option}': '{value}'"
        )
    assert cli.ask("remember", "茶", "--user", "u-1", "--confidence", ".5")


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("POOL_SIZE", "1_0", "pool_size .*in digits"),
        ("LOCK_TIMEOUT", "3_0.5", "lock_timeout .*in digits"),
        ("APPROVE_ABOVE", "1_0", "approve_above .*in digits"),
        ("SYNONYMS", "茶=tea", '"synonyms".* no JSON'),
        ("TRUTH_SOURCES", "crm", '"truth_sources".* no JSON'),
    ],
)
def test_a_setting_that_cannot_be_read_is_no_bug(
    cli: CommandLine,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    value: str,
    problem: str,
) -> None:
    monkeypatch.setenv(f"MUNIMENT_{name}", value)

    outcome = cli.on_store("list", "--user", "u-1", "--json")

    assert (outcome.code, outcome.error["error"]) == (2, "ConfigurationError")
    assert re.search(problem, outcome.error["message"])
