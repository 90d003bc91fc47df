"""The table of rights at the command line: who may look, cell by cell, by API key."""

import pytest

from muniment import MemoryStore, Scope
from tests.access.matrix import DENIED, HIDDEN, IDENTITIES, OK, REASON, REASONED, expected
from tests.api.cli.command_line import CommandLine


EXPECTED = expected()
SCOPES = {
    "user": (Scope.user("u-1"), ("--user", "u-1")),
    "team": (Scope.team("eng"), ("--team", "eng")),
    "org": (Scope.org(), ("--org",)),
}
EXITS = {0: OK, 5: DENIED, 3: HIDDEN, 2: REASONED}
"""By exit code, what it says; 2 is a reason that is missing, and then given."""

LOOKS = {
    "as-of": "look",
    "history": "look",
    "diff": "look",
    "log": "audit",
}
OF_LEDGER = {"log": "audit", "emergencies": "audit"}


def words(verb: str, place: str, fact_id: str, then: str) -> tuple[str, ...]:
    whose = SCOPES[place][1]
    match verb:
        case "as-of":
            return ("audit", "as-of", then, *whose)
        case "history":
            return ("audit", "history", fact_id)
        case "diff":
            return ("audit", "diff", then, then, *whose)
        case _:
            return ("audit", "log", *whose)


def outcome(cli: CommandLine, key: str, said: tuple[str, ...]) -> str:
    """Return what a command says without a reason and, where it needs one, with it."""
    named = ("--api-key", key)
    done = cli.on_store(*said, *named, "--json")
    found = EXITS[done.code]
    if found != REASONED:
        is_hidden = found == DENIED and done.error["error"] == "OutOfReachError"
        return HIDDEN if is_hidden else found
    done = cli.on_store(*said, *named, "--reason", REASON)
    assert done.code == 0, done.err
    return REASONED


@pytest.mark.parametrize("identity", IDENTITIES)
def test_whoever_looks_by_command_gets_what_the_table_says(
    cli: CommandLine, identity: str
) -> None:
    """C20 at the third edge; what else it does, it does as who owns the files."""
    wrong = {}
    with MemoryStore.open(cli.store) as store:
        facts = {
            place: store.remember("喝茶", scope=scope)
            for place, (scope, _) in SCOPES.items()
        }
        key = store.issue_api_key(IDENTITIES[identity]).secret

    for place, fact in facts.items():
        then = fact.recorded_at.isoformat()
        for verb, act in LOOKS.items():
            found = outcome(cli, key, words(verb, place, fact.fact_id, then))
            if found != EXPECTED[identity, place, act]:
                wrong[place, verb] = f"{found}, not {EXPECTED[identity, place, act]}"
    for verb, act in OF_LEDGER.items():
        found = outcome(cli, key, ("audit", verb))
        if found != EXPECTED[identity, "ledger", act]:
            wrong["ledger", verb] = f"{found}, not {EXPECTED[identity, 'ledger', act]}"

    assert wrong == {}
