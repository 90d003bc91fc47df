"""The table of rights at the command line: every command, by everybody."""

from itertools import product
from typing import Final

import pytest

from muniment import MemoryStore, Principal, Scope
from muniment.api.cli import app, exits
from muniment.domain.access import Kind
from muniment.domain.acts import VERBS
from tests.access.matrix import (
    CALLS,
    DENIED,
    HIDDEN,
    IDENTITIES,
    LEDGER,
    OK,
    REASON,
    REASONED,
    SCOPES,
    expected,
    is_of_ledger,
)
from tests.access.test_facade_matrix import NOT_THERE, target
from tests.api.cli.command_line import CommandLine
from tests.api.cli.matrix import LINES, NOBODYS, NOT_OFFERED, Words, write_files
from tests.test_docs import commands


EXPECTED = expected()
OUT_OF_REACH: Final = {each.__name__ for each in NOT_THERE}


def asked_as(principal: Principal, key: str, words: Words) -> Words:
    """Return how it is said who asks: by name where that can be, else by their key."""
    if principal.kind is not Kind.PERSON or words[0] == "audit":
        # Who looks by audit is an officer, if nothing else is said.
        return ("--api-key", key)
    said = [f"--as-role={each.value}" for each in principal.roles]
    said += [
        f"--as-{each.replace('_', '-').replace(':', '=')}" for each in principal.memberships
    ]
    return ("--as", principal.id, *said)


def outcome(cli: CommandLine, words: Words, who: Words) -> str:
    """Return what a command does, without a reason and, where it needs one, with it."""
    error = _error(cli, *words, *who)
    if error == "ReasonRequiredError":
        # With one, the verb itself answers; were it refused now, that would be raised.
        again = _error(cli, *words, *who, "--reason", REASON)
        refused = again in {"AccessDeniedError", "ReasonRequiredError", *OUT_OF_REACH}
        return f"{again} with a reason" if refused else REASONED
    if error == "AccessDeniedError":
        return DENIED
    return HIDDEN if error in OUT_OF_REACH else OK


def _error(cli: CommandLine, *words: str) -> str | None:
    done = cli.on_store(*words, "--json")
    assert done.code != exits.BUG, (words, done.err)
    if done.out:
        # Also where something is still to be done, and the exit code says so.
        return None
    assert done.error["error"] != "UsageError", (words, done.err)
    return done.error["error"]


@pytest.mark.parametrize("identity", IDENTITIES)
def test_every_command_does_for_everybody_what_the_table_says(
    cli: CommandLine, identity: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """C20 at the third edge: every command by everybody at every place."""
    monkeypatch.setenv("MUNIMENT_EMBEDDER", "none")
    monkeypatch.setenv("MUNIMENT_UPKEEP", "false")
    principal, wrong = IDENTITIES[identity], {}

    with MemoryStore.open(cli.store, create=False) as store:
        key = store.issue_api_key(principal).secret
        on = {each: target(store, scope) for each, scope in SCOPES.items()}
        on[LEDGER] = target(store, Scope.user("u-1"))
        for name, place in product(LINES, on):
            if is_of_ledger(name) != (place == LEDGER):
                continue
            wanted = EXPECTED[identity, place, CALLS[name][0]]
            for line in LINES[name]:
                write_files(on[place])
                words = line(on[place])
                found = outcome(cli, words, asked_as(principal, key, words))
                # What says why on its own is never asked for it.
                if found != (OK if REASON in words and wanted == REASONED else wanted):
                    wrong[place, name, words] = f"{found}, not {wanted}"
                if VERBS[name.partition(" ")[0]].writes and wanted in (OK, REASONED):
                    store.thaw(scope=on[place].scope)
                    on[place] = target(store, on[place].scope)

    assert wrong == {}


def test_every_call_of_the_table_is_typed_or_says_why_not() -> None:
    assert set(LINES) | set(NOT_OFFERED) == set(CALLS), "give a new call its line here"
    assert set(LINES).isdisjoint(NOT_OFFERED)


def test_every_command_is_in_the_matrix(cli: CommandLine) -> None:
    with MemoryStore.open(cli.store, create=False) as store:
        on = target(store, SCOPES["user"])
    typed = [("muniment", *line(on)) for lines in LINES.values() for line in lines]

    unheard = {
        each
        for each in commands(app, "muniment")
        if not any(words[: len(each.split())] == tuple(each.split()) for words in typed)
    }

    assert unheard == NOBODYS, "give a new command its line in the matrix"
