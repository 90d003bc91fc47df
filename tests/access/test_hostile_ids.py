"""Whatever an id looks like, it reaches the memory of that very id and no other."""

import unicodedata
from collections.abc import Callable, Iterator, Mapping

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from muniment import MemoryStore, Principal, Scope
from muniment.domain.access import Kind, right_to
from muniment.domain.acts import Act
from muniment.errors import InvalidInput, OutOfReachError
from tests.stores import in_memory_at


SEEDS = ("u-1", "acme", "é", "user:u-1", "Ω", "a/b", "工程")
TWISTS: Mapping[str, Callable[[str], str]] = {
    "prefix": lambda seed: seed[:-1],
    "longer": lambda seed: seed + "-corp",
    "wildcard": lambda seed: f"{seed[:1]}%",
    "underscore": lambda seed: "_" * len(seed),
    "glob": lambda _: "*",
    "separator": lambda seed: f"{seed}/{seed}",
    "dot": lambda seed: f"{seed}.",
    "colon": lambda seed: f"user:{seed}",
    "case": str.swapcase,
    "decomposed": lambda seed: unicodedata.normalize("NFD", seed),
    "compatible": lambda seed: unicodedata.normalize("NFKC", seed + "ﬁ"),
    "invisible": lambda seed: f"{seed}\u200b",
    "direction": lambda seed: f"\u202e{seed}",
    "blank": lambda seed: f"{seed} ",
    "nul": lambda seed: f"{seed}\x00",
    "line": lambda seed: f"{seed}\nuser:other",
    "quote": lambda seed: f"{seed}' OR '1'='1",
    "escape": lambda seed: f"{seed}\\",
    "percent": lambda seed: f"{seed}%2F..",
    "surrogate": lambda seed: f"{seed}\ud800",
    "long": lambda seed: seed * 300,
    "nothing": lambda _: "",
    "itself": lambda seed: seed,
}

ids = st.builds(
    lambda seed, twist: TWISTS[twist](seed),
    st.sampled_from(SEEDS),
    st.sampled_from(list(TWISTS)),
) | st.text(min_size=1, max_size=8)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MemoryStore]:
    place = tmp_path_factory.mktemp("hostile")
    settings_ = in_memory_at(place, embedder="none", upkeep=False)
    with MemoryStore.open(settings_) as store:
        yield store


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(mine=ids, other=ids)
def test_no_spelling_of_an_id_reaches_the_memory_of_another(
    store: MemoryStore, mine: str, other: str
) -> None:
    """Cases M39 and S7: neither a prefix nor a quote widens what is asked for."""
    assume(mine != other)
    try:
        principal, theirs = Principal(id=mine), Scope.user(other)
        own = Scope.user(mine)
    except InvalidInput:
        return
    store.remember(f"canary of {other!a}", scope=theirs)
    acting = store.acting_as(principal)
    acting.remember("tea", scope=own)

    with pytest.raises(OutOfReachError):
        acting.get_all(scope=theirs)
    with pytest.raises(OutOfReachError):
        acting.search("canary", scopes=[own, theirs])

    assert "tea" in [each.content for each in acting.get_all(scope=own)]
    found = acting.search("canary", scope=own)
    assert {str(each.fact.scope) for each in found} <= {str(own)}


@settings(max_examples=60, deadline=None)
@given(team=ids, other=ids)
def test_no_spelling_of_a_team_opens_another(team: str, other: str) -> None:
    try:
        scope = Scope.team(other)
        lead = Principal(id="u-1", memberships=(f"lead_of:{team}",))
        agent = Principal(id="a-1", kind=Kind.AGENT, user_id=team)
    except InvalidInput:
        return

    assert (right_to(Act.RECALL, lead, scope) is not None) == (team == other)
    reaches = right_to(Act.RECALL, agent, Scope.user(other)) is not None
    assert reaches == (team == other)
