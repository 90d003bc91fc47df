"""The demonstration: it comes out as it says, fails if not, and can be asked on."""

import dataclasses
import json
import shlex
import sys
from pathlib import Path

import pytest

from muniment import MemoryStore
from muniment.api.cli import main, story, terminal
from tests.api.cli.command_line import at_a_terminal


USER = ("--user", story.USER)
ANSWERED = "2026-03-25T10:30:00+08:00"
RIGHT = "Refunds go to the card ending in 4417"
WRONG = "Refunds go to account 9900-1138, confirmed by the customer"


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store that the demonstration left behind."""
    place = tmp_path_factory.mktemp("demo") / "store"
    assert main(["demo", "--store", str(place)]) == 0
    return place


def refund(store: MemoryStore, timestamp: str) -> str | None:
    facts = store.get_memory_as_of(user_id=story.USER, timestamp=timestamp)
    (content,) = [each.content for each in facts if each.attribute == "refund_account"]
    return content


def test_the_story_is_of_some_sixty_happenings_in_order() -> None:
    script = story.script()

    times = [each.happens_at for each in script]
    assert 60 <= len(script) <= 80
    assert times == sorted(times)
    assert (times[-1] - times[0]).days in range(80, 100)
    assert {"remember", "update", "correct", "end", "ask"} <= {each.deed for each in script}


def test_it_leaves_the_right_answer_and_keeps_the_wrong_one_where_it_was(
    told: Path,
) -> None:
    with MemoryStore.open(told, create=False) as store:
        (fact,) = [
            each
            for each in store.get_all(user_id=story.USER)
            if each.attribute == "refund_account"
        ]

        assert fact.content == RIGHT
        assert refund(store, ANSWERED) == WRONG
        assert refund(store, "2026-03-24T14:00:00+08:00") == RIGHT


def test_the_rollback_took_just_what_that_page_wrote(told: Path) -> None:
    with MemoryStore.open(told, create=False) as store:
        page = store.list_modified_facts(
            user_id=story.USER,
            start="2026-03-24T14:00:00+08:00",
            end="2026-03-24T14:10:00+08:00",
        )
        rolled_back = {
            each.fact_id: "rolled_back"
            in [version.kind for version in store.get_fact_history(each.fact_id)]
            for each in page
        }

    sources = {each.fact_id: each.versions[0].source for each in page}
    assert len(page) == 5
    assert rolled_back == {
        fact_id: source == "web:reviews.example" for fact_id, source in sources.items()
    }


def test_each_command_it_names_can_be_typed(
    told: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    place = tmp_path / "again"
    main(["demo", "--store", str(place)])
    out, err = capsys.readouterr()
    shown = [line[2:] for line in err.splitlines() if line.startswith("$ muniment")]
    commands = [shlex.split(line) for line in [*shown, *json.loads(out)["try_next"]]]
    reads = {"as-of", "modified", "blame", "history", "diff", "list"}

    asked = [each for each in commands if each[1] in reads or "--dry-run" in each]

    assert {each[1] for each in asked} == reads | {"rollback"}
    assert {each[1] for each in commands} == reads | {"rollback", "freeze", "thaw", "undo"}
    assert [main(each[1:]) for each in asked] == [0] * len(asked)
    with MemoryStore.open(place) as store:
        (refunds,) = {each[2] for each in commands if each[1] == "history"}
        why = [each.reason for each in store.get_fact_history(refunds) if each.reason]
    deeds = [each for each in commands if "--reason" in each]
    said = [each[each.index("--reason") + 1] for each in deeds]
    assert [each[1] for each in deeds] == ["freeze", "thaw", "rollback", "undo", "undo"]
    assert said[2:] == why
    assert told != place


def test_its_answer_in_a_pipe_is_json_and_the_story_stands_beside_it(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    code = main(["demo", "--store", str(tmp_path / "store"), "--ledger", "shop"])

    out, err = capsys.readouterr()
    answer = json.loads(out)
    assert code == 0
    assert answer.keys() == {"checked", "events", "store", "try_next", "user"}
    assert answer["events"] == len(story.script())
    assert answer["checked"] == err.count("✓")
    assert all("--ledger shop" in each for each in answer["try_next"])


def test_a_used_store_is_refused_and_left_alone(
    told: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with MemoryStore.open(told, create=False) as store:
        before = store.get_all(user_id=story.USER).position

    code = main(["demo", "--store", str(told), "--json"])

    _, err = capsys.readouterr()
    with MemoryStore.open(told, create=False) as store:
        after = store.get_all(user_id=story.USER).position
    assert code == 2
    assert "holds memories already" in err
    assert after == before


@pytest.mark.parametrize("deed", ["ask", "remember"])
def test_an_answer_that_is_not_what_it_says_fails(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    deed: str,
) -> None:
    field = {"ask": "answer", "remember": "source"}[deed]
    script = [
        dataclasses.replace(each, said={**each.said, field: "other"})
        if each.deed == deed
        else each
        for each in story.script()
    ]
    monkeypatch.setattr(story, "script", lambda: script)

    code = main(["demo", "--store", str(tmp_path / "store")])

    out, err = capsys.readouterr()
    assert (code, out) == (1, "")
    assert "StoryError" in err.splitlines()[-1]


def test_it_names_the_command_as_it_was_typed_where_no_path_leads_to_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sys, "argv", [".venv/bin/muniment", "demo"])
    monkeypatch.setenv("PATH", str(tmp_path))
    typed = terminal.program()
    (tmp_path / "muniment").touch(mode=0o755)

    assert (typed, terminal.program()) == (".venv/bin/muniment", "muniment")


@pytest.mark.slow
def test_a_person_is_told_it_in_colour(tmp_path: Path) -> None:
    code, seen = at_a_terminal(["demo", "--store", str(tmp_path / "store")])

    assert code == 0
    assert "\x1b[" in seen
    assert "25 March: a wrong answer." in seen
    # In one piece, to be copied.
    lines = seen.replace("\r\n", "\n").split("Go on asking:\n")[1].splitlines()
    assert [each.split()[1] for each in lines] == ["as-of", "diff", "list"]
