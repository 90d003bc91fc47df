"""Who asks for their own memory is answered with what is above it, too; nobody else is."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from muniment import MemoryStore, Principal, Scope
from muniment.api.access import ActingStore
from muniment.domain.access import Kind, Role
from muniment.errors import InvalidValueError, OutOfReachError
from tests.access.matrix import REASON
from tests.served import client_of, served
from tests.stores import in_memory_at


ENG, OPS = Scope.team("eng"), Scope.team("ops")
ME, MATE = Scope.user("u-1"), Scope.user("u-2")
MEMBER = Principal(id="u-1", memberships=("member_of:eng",))
LEAD = Principal(id="u-1", memberships=("lead_of:eng", "member_of:eng"))
SECRET = {"access_level": "restricted"}
SAID = {
    ME: "我喝茶, tea at home",
    MATE: "mate drinks tea",
    ENG: "eng has tea at four 四点喝茶",
    OPS: "ops has tea at five",
    Scope.org(): "tea is free here 茶水免费",
}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[MemoryStore]:
    settings = in_memory_at(tmp_path, embedder="none", upkeep=False)
    with MemoryStore.open(settings) as store:
        for scope, words in SAID.items():
            store.remember(words, scope=scope)
        for scope in (ME, ENG):
            store.remember(f"secret tea of {scope}", scope=scope, metadata=SECRET)
        yield store


def asked(acting: ActingStore | MemoryStore, **whose: Any) -> set[str]:  # noqa: ANN401
    """Return the contents a search finds, each of the scope it says; all verbs agree."""
    hits = acting.search("tea 茶", **whose, limit=50)
    context = acting.build_context("tea 茶", **whose, limit=50)
    page = acting.get_all(**whose)
    found = {str(hit.fact.content) for hit in hits}
    assert {str(each.content) for each in context.facts} == found
    assert {str(each.content) for each in page} == found
    for fact in (*(hit.fact for hit in hits), *context.facts, *page):
        assert fact.content in (SAID[fact.scope], f"secret tea of {fact.scope}")
    for each in context.facts:
        assert str(each.scope) in context.text
    return found


def said(*scopes: Scope, secret_of: tuple[Scope, ...] = ()) -> set[str]:
    return {SAID[each] for each in scopes} | {f"secret tea of {e}" for e in secret_of}


def test_a_person_is_answered_with_what_their_teams_and_all_know(
    store: MemoryStore,
) -> None:
    member, lead = store.acting_as(MEMBER), store.acting_as(LEAD)
    agent = Principal(
        id="a-1", kind=Kind.AGENT, user_id="u-1", memberships=("member_of:ops",)
    )
    stranger = store.acting_as(Principal(id="u-9"))

    assert asked(member, user_id="u-1") == said(ME, ENG, Scope.org(), secret_of=(ME,))
    assert asked(lead, scope=ME) == said(ME, ENG, Scope.org(), secret_of=(ME, ENG))
    assert asked(store.acting_as(agent), scope=ME) == said(ME, OPS, Scope.org())
    assert asked(stranger, user_id="u-9") == said(Scope.org())


def test_what_is_named_narrows_and_the_store_itself_adds_nothing(
    store: MemoryStore,
) -> None:
    member = store.acting_as(MEMBER)

    assert asked(member, user_id="u-1", scopes=()) == said(ME, secret_of=(ME,))
    assert asked(member, scopes=[ME]) == said(ME, secret_of=(ME,))
    assert asked(member, scope=ME, scopes=["org"]) == said(ME, Scope.org(), secret_of=(ME,))
    assert asked(member, scope=ENG) == said(ENG)
    assert asked(store, scope=ME) == said(ME, secret_of=(ME,))
    for scopes in ([OPS], [ME, MATE], iter(["team:ops"])):
        with pytest.raises(OutOfReachError):
            member.search("tea", user_id="u-1", scopes=scopes)


def test_who_looks_at_somebody_else_sees_that_memory_alone(store: MemoryStore) -> None:
    officer = Principal(
        id="u-1", roles=(Role.COMPLIANCE_OFFICER,), memberships=("member_of:eng",)
    )
    hits = store.acting_as(officer).search("tea", user_id="u-2", reason=REASON)

    assert [hit.fact.scope for hit in hits] == [MATE]
    (look,) = store.access_log(user_id="u-2")
    assert dict(look.returned) == {hits[0].fact_id: 1}
    assert len(store.access_log()) == 1, "of what is read freely there is no record"


def test_what_was_known_then_is_of_those_memories_whose_past_is_free(
    store: MemoryStore,
) -> None:
    member = store.acting_as(MEMBER)
    page = member.get_all(user_id="u-1", limit=2)
    then = page.recorded_at
    store.remember("later tea", scope=ENG)
    parts = [page]
    while parts[-1].next_cursor is not None:
        cursor = parts[-1].next_cursor
        parts.append(member.get_all(user_id="u-1", limit=2, cursor=cursor))

    listed = [str(fact.content) for part in parts for fact in part]
    assert set(listed) == said(ME, ENG, Scope.org(), secret_of=(ME,))
    assert len(listed) == len(set(listed))
    # A member does not look at a team's past, nor at what the organisation knew.
    assert {fact.scope for fact in member.get_all(user_id="u-1", as_of=then)} == {ME}
    hits = member.search("tea", user_id="u-1", as_of=then)
    context = member.build_context("tea", user_id="u-1", as_of=then)
    assert {hit.fact.scope for hit in hits} == {ME}
    assert {fact.scope for fact in context.facts} == {ME}


def test_a_receipt_lies_with_who_asked_and_tells_a_team_of_nobody(
    store: MemoryStore,
) -> None:
    agent = Principal(
        id="a-9", kind=Kind.AGENT, user_id="u-9", memberships=("member_of:eng",)
    )
    store.acting_as(MEMBER).search("canary tea 金丝雀", user_id="u-1")
    served = store.acting_as(agent).build_context("canary tea 金丝雀", user_id="u-9")

    (mine,) = store.get_receipts(scope=ME)
    (theirs,) = store.get_receipts(scope=ENG)
    assert mine.scopes == ("user:u-1", "team:eng", "org")
    assert mine.query == "canary tea 金丝雀"
    assert {each.fact_id for each in theirs.facts} == {
        each.fact_id for each in served.facts
    }
    assert (theirs.query, theirs.scopes, theirs.agent, theirs.session_id) == (
        "",
        (),
        None,
        None,
    )
    assert not store.get_receipts(scope=Scope.org())


def test_of_more_memories_than_can_be_asked_some_have_to_be_named(
    store: MemoryStore,
) -> None:
    teams = tuple(f"member_of:team-{number}" for number in range(100))
    busy = store.acting_as(Principal(id="u-1", memberships=teams))

    with pytest.raises(InvalidValueError, match="at most 100"):
        busy.search("tea", user_id="u-1")
    assert busy.search("tea", user_id="u-1", scopes=[Scope.org()])


def test_a_service_answers_alike_and_its_client_can_narrow(store: MemoryStore) -> None:
    member = store.acting_as(MEMBER)
    with served(store) as url, client_of(store, url, MEMBER) as client:
        for scopes in (None, (), [Scope.org()], ["team:eng", "org"]):
            asked_for: dict[str, Any] = {"user_id": "u-1", "scopes": scopes}
            over_http = client.get_all(**asked_for)
            found = client.search("tea 茶", **asked_for)
            context = client.build_context("tea 茶", **asked_for)

            assert over_http.items == member.get_all(**asked_for).items
            assert [hit.fact for hit in found] == [
                hit.fact for hit in member.search("tea 茶", **asked_for)
            ]
            assert context.facts == member.build_context("tea 茶", **asked_for).facts
        alone = client.get_all(scopes=[ENG, Scope.org()])
        with pytest.raises(OutOfReachError):
            client.get_all(user_id="u-1", scopes=[OPS])
    assert {fact.scope for fact in alone} == {ENG, Scope.org()}
