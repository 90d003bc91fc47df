"""What went wrong in other systems with turns, summaries and times, by its number."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import pytest

from muniment import MemoryStore, Principal, Scope
from muniment.api.tools import MemoryTools
from muniment.api.turns import REDACTED
from muniment.errors import NotFound
from muniment.recall.context import TEMPLATES
from tests.api.cli.command_line import CommandLine
from tests.served import client_of, served
from tests.stores import in_memory_at
from tests.zones import in_zone


BACKDATED = "2021-06-01T00:00:00+08:00"
INSTANT = datetime(2021, 5, 31, 16, tzinfo=UTC)
EVENING = "2026-03-01T19:17:00+08:00"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[MemoryStore]:
    with MemoryStore.open(in_memory_at(tmp_path, embedder="none", upkeep=False)) as store:
        yield store


@pytest.mark.parametrize("zone", ["Asia/Shanghai", "America/Los_Angeles", "UTC"])
def test_a_process_elsewhere_keeps_the_same_instants_and_local_days(
    store: MemoryStore, zone: str
) -> None:
    """M3: users in other zones got the wrong day. M59: an evening became a morning."""
    with in_zone(zone):
        session_id = store.start_session(user_id="ann").session_id
        turn = store.add_turn(session_id, role="user", content="今晚见", uttered_at=EVENING)
        context = store.build_context("今晚", user_id="ann", language="zh")

    assert turn.uttered_at == datetime(2026, 3, 1, 11, 17, tzinfo=UTC)
    assert turn.uttered_at.tzinfo is UTC
    assert turn.local_time.isoformat() == EVENING
    assert f"[{EVENING}]" in context.text


@pytest.mark.parametrize("language", sorted(TEMPLATES))
def test_no_time_in_a_context_is_without_its_offset(
    store: MemoryStore, language: Literal["en", "zh"]
) -> None:
    """M51: an unlabelled time was misread as local."""
    session_id = store.start_session(user_id="ann").session_id
    store.remember("moved", user_id="ann", core=True, valid_from=BACKDATED)
    store.remember("rents", user_id="ann", valid_from=BACKDATED, valid_to=EVENING)
    store.add_turn(session_id, role="user", content="rents, moved?", uttered_at=EVENING)
    context = store.build_context("rents moved", user_id="ann", language=language)

    times = [
        word
        for word in context.text.replace("[", " ").replace("]", " ").split()
        if word.startswith("20")
    ]
    assert times
    assert all("+08:00" in each for each in times if "T" in each)
    assert all("T" in each for each in times)


def test_the_latest_are_the_newest_by_time_and_pages_stay_as_they_were(
    store: MemoryStore,
) -> None:
    """M33: "latest" returned old. M63: pages over a moving set missed some."""
    session_id = store.start_session(user_id="ann").session_id
    minutes = [30 - n for n in range(30)]
    store.add_turns(
        session_id,
        turns=[
            {
                "role": "user",
                "content": f"{minute}",
                "uttered_at": f"2026-03-01T09:{minute:02}:00Z",
            }
            for minute in minutes
        ],
    )
    latest = store.get_turns(session_id, limit=5)
    assert [each.content for each in latest] == ["26", "27", "28", "29", "30"]
    store.add_turn(
        session_id, role="user", content="late", uttered_at="2026-03-01T08:00:00Z"
    )
    seen, before = [*latest], latest[0].turn_id
    while page := store.get_turns(session_id, limit=5, before=before):
        seen, before = [*page, *seen], page[0].turn_id
    assert [each.content for each in seen] == ["late", *(f"{n}" for n in range(1, 31))]


def test_what_was_retired_does_not_come_back_with_the_next_summary_or_rebuild(
    store: MemoryStore,
) -> None:
    """M45: the next consolidation recreated a retired fact."""
    session_id = store.start_session(user_id="ann").session_id
    turn = store.add_turn(session_id, role="user", content="I like tea, 3 cups.")
    fact = store.remember("likes tea", user_id="ann", source_turns=[turn.turn_id])
    store.forget(fact.fact_id)

    store.summarize_session(session_id, keep=0, force=True)
    store.rebuild()

    assert list(store.get_all(user_id="ann")) == []
    assert list(store.search("tea", user_id="ann")) == []
    assert store.build_context("tea", user_id="ann").facts == ()


def test_a_backdated_fact_has_the_same_valid_time_by_whatever_edge(
    store: MemoryStore, cli: CommandLine
) -> None:
    """M35: imports were stamped now."""
    ann = Principal(id="ann")
    said = {"content": "lives in Kiel", "valid_from": BACKDATED}
    by_facade = store.remember(**said, user_id="ann")  # type: ignore[arg-type]
    tools = MemoryTools(store=store, scope=Scope.user("ann"))
    by_tool = json.loads(tools.call("memory_remember", {**said, "content": "by tool"}))
    with served(store) as url, client_of(store, url, ann) as client:
        by_http = client.remember("by HTTP", user_id="ann", valid_from=BACKDATED)
    by_cli = cli.ask("remember", "by CLI", "--user", "ann", "--valid-from", BACKDATED)

    assert by_facade.valid_from == by_http.valid_from == INSTANT
    assert datetime.fromisoformat(by_tool["remembered"]["valid_from"]) == INSTANT
    assert datetime.fromisoformat(by_cli["valid_from"]) == INSTANT


def test_who_names_a_wrong_memory_finds_nothing_and_changes_nothing(
    store: MemoryStore,
) -> None:
    """M29: what was not in the default group could not be deleted, or by anybody."""
    theirs = store.remember("secret of bob", user_id="bob")
    session_id = store.start_session(user_id="bob").session_id
    turn = store.add_turn(session_id, role="user", content="secret of bob")
    team = store.remember("tea at four", scope=Scope.team("eng"))
    store.forget(team.fact_id)
    tools = MemoryTools(store=store, scope=Scope.user("ann"))
    with served(store) as url, client_of(store, url, Principal(id="ann")) as client:
        for refused in (
            lambda: client.forget(theirs.fact_id),
            lambda: client.get(theirs.fact_id),
            lambda: client.redact_turn(turn.turn_id),
            lambda: client.redact_session(session_id),
            lambda: client.get_turns(session_id),
        ):
            with pytest.raises(NotFound):
                refused()
    answer = json.loads(
        tools.call("memory_forget", {"fact_id": theirs.fact_id, "reason": "wrong one"})
    )

    assert answer["error"] == "UnknownFactError"
    assert list(store.get_all(user_id="bob")) == [theirs]
    assert len(store.get_fact_history(theirs.fact_id)) == 1
    assert [each.content for each in store.get_turns(session_id)] == ["secret of bob"]


def test_search_replay_and_context_give_a_fact_of_then_the_times_it_was_told_with(
    store: MemoryStore,
) -> None:
    fact = store.remember("likes tea", user_id="ann", valid_from=BACKDATED)
    store.update(fact.fact_id, content="likes coffee")
    store.forget(fact.fact_id)
    versions = store.get_fact_history(fact.fact_id).versions
    then = versions[0].recorded_at
    (hit,) = store.search("tea", user_id="ann", as_of=then)
    (known,) = store.get_memory_as_of(user_id="ann", timestamp=then)
    case = store.reproduce_badcase(user_id="ann", timestamp=then)
    context = store.build_context("tea", user_id="ann", as_of=then)
    shown = [fact, hit.fact, known, *case.memory, *context.facts]

    assert {each.valid_from for each in shown} == {INSTANT}
    assert {each.recorded_at for each in shown} == {then}
    assert all(e.recorded_at.tzinfo is UTC for e in (*shown, *versions))
    assert [each.kind for each in versions] == ["asserted", "revised", "retired"]
    assert sorted(each.recorded_at for each in versions) == [
        each.recorded_at for each in versions
    ]


def test_words_redacted_by_another_process_are_gone_from_a_warm_one(
    tmp_path: Path,
) -> None:
    """M65: what another process deleted was served from a cache until a restart."""
    with (
        MemoryStore.open(tmp_path / "store") as warm,
        MemoryStore.open(tmp_path / "store") as other,
    ):
        session_id = warm.start_session(user_id="ann").session_id
        turn = warm.add_turn(session_id, role="user", content="tea, please")
        warm.remember("tea", user_id="ann", source_turns=[turn.turn_id])
        fields: dict[str, Any] = {"user_id": "ann", "session_id": session_id}
        assert "tea, please" in warm.build_context("tea", **fields).text

        other.redact_turn(turn.turn_id)

        assert "tea, please" not in warm.build_context("tea", **fields).text
        assert list(warm.search("tea", user_id="ann")) == []
        (shown,) = warm.get_turns(session_id)
        assert (shown.content, shown.token) == (None, REDACTED)
