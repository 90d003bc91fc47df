"""The table of rights, every cell of it, over HTTP, by the client."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from muniment import MemoryStore, RollbackPlan, Scope
from muniment.api.operations import OPERATIONS
from muniment.client import Client, ServedPlan
from muniment.domain.acts import VERBS
from muniment.errors import (
    AccessDeniedError,
    Corruption,
    MunimentError,
    ReasonRequiredError,
)
from tests.access.matrix import (
    DENIED,
    HIDDEN,
    IDENTITIES,
    LEDGER,
    OK,
    REASON,
    REASONED,
    SCOPES,
    cells,
    expected,
)
from tests.access.test_facade_matrix import NOT_THERE, REFUSED, target
from tests.served import client_of, served
from tests.stores import in_memory_at


EXPECTED = expected()
SAYS_WHY = frozenset({"erase", "export_evidence"})
"""What has no meaning without a reason: the document requires it."""

Made = tuple[Sequence[Any], Mapping[str, Any]]


def outcome(client: Client, verb: str, made: Made) -> str:
    args, fields = made
    reasoned = {**fields, "reason": REASON}
    try:
        _call(client, verb, args, reasoned if verb in SAYS_WHY else fields)
    except ReasonRequiredError:
        _call(client, verb, args, reasoned)
        return REASONED
    except AccessDeniedError:
        return DENIED
    except NOT_THERE:
        return HIDDEN
    return REASONED if verb in SAYS_WHY else OK


def _call(client: Client, verb: str, args: Sequence[Any], fields: Any) -> None:  # noqa: ANN401
    args = [_served(each) for each in args]
    try:
        found = getattr(client, verb)
        if callable(found):
            found(*args, **fields)
    except REFUSED:
        raise
    except Corruption:
        raise
    except MunimentError:
        pass


def _served(argument: object) -> object:
    """Return a plan as a service gives one; everything else as it is."""
    if not isinstance(argument, RollbackPlan):
        return argument
    names = RollbackPlan.__dataclass_fields__
    values = {name: getattr(argument, name) for name in names}
    then = argument.recorded_at.isoformat()
    return ServedPlan(**values, asked={"scope": argument.scope, "to": then})


@pytest.fixture
def store(tmp_path: Path) -> Iterator[MemoryStore]:
    """A store that ends with the test, so that nothing waits for a disk."""
    settings = in_memory_at(tmp_path, embedder="none", upkeep=False)
    with MemoryStore.open(settings) as store:
        yield store


@pytest.fixture
def url(store: MemoryStore) -> Iterator[str]:
    with served(store) as url:
        yield url


@pytest.mark.parametrize("identity", IDENTITIES)
def test_every_verb_over_http_does_for_everybody_what_the_table_says(
    store: MemoryStore, url: str, identity: str
) -> None:
    """C20, and cases S1 and S19: ids of others open nothing, as of any time."""
    wrong = {}

    with client_of(store, url, IDENTITIES[identity]) as client:
        for place in (*SCOPES, LEDGER):
            scope = SCOPES.get(place, Scope.user("u-1"))
            on = target(store, scope)
            for name, call, act in cells(place):
                verb = name.partition(" ")[0]
                found = outcome(client, verb, call(on))
                wanted = EXPECTED[identity, place, act]
                # Over HTTP these always say why, so that they cannot be asked for it.
                if verb in SAYS_WHY and wanted == OK:
                    wanted = REASONED
                if found != wanted:
                    wrong[place, name] = f"{found}, not {wanted}"
                if VERBS[verb].writes and found in (OK, REASONED):
                    store.thaw(scope=scope)
                    on = target(store, scope)

    assert wrong == {}


def test_every_verb_of_the_table_has_its_operation_and_its_id() -> None:
    verbs = [each.verb for each in OPERATIONS]

    assert set(verbs) == {*VERBS, "whoami"}
    assert len(verbs) == len(set(verbs))
    assert len({(each.method, each.path) for each in OPERATIONS}) == len(verbs)
