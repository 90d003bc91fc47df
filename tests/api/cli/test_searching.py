"""Search, and the index it goes by, on the command line."""

from pathlib import Path

import pytest

from muniment import MemoryStore, Settings
from muniment.api.cli import terminal
from muniment.projections.current_edge import EdgeEngine
from tests.api.cli.command_line import CommandLine


USER = ("--user", "u-1")


@pytest.fixture
def line(cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    """A store of some facts, without an embedder."""
    monkeypatch.setenv("MUNIMENT_EMBEDDER", "none")
    cli.ask("remember", "用户写 Python", *USER, "--category", "profession")
    cli.ask("remember", "green tea, please", *USER, "--source", "chat")
    cli.ask("remember", "the tea deadline is Friday", "--team", "eng")
    return cli


def contents(answer: dict[str, list[dict[str, dict[str, str]]]]) -> list[str]:
    return [each["fact"]["content"] for each in answer["items"]]


def test_search_finds_by_words_now_and_as_of_then(line: CommandLine) -> None:
    found = line.ask("search", "写什么语言", *USER)
    point = ("--as-of", found["known_at"], "--valid-at", found["valid_at"])
    fact_id = found["items"][0]["fact"]["fact_id"]
    line.ask("update", fact_id, "用户写 Rust")

    again = line.ask("search", "写什么语言", *USER, *point)

    assert contents(found) == ["用户写 Python"]
    assert {**again, "recorded_at": found["recorded_at"]} == found
    assert contents(line.ask("search", "写什么语言", *USER)) == ["用户写 Rust"]


def test_search_is_narrowed_and_widened_by_its_options(line: CommandLine) -> None:
    def found(*options: str) -> list[str]:
        return contents(line.ask("search", "tea 写", *options))

    assert len(found(*USER)) == 2
    assert len(found(*USER, "--limit", "1")) == 1
    assert found(*USER, "--category", "profession") == ["用户写 Python"]
    assert found(*USER, "--source", "chat") == ["green tea, please"]
    assert found(*USER, "--attribute", "none") == []
    assert found(*USER, "--min-confidence", "1") == found(*USER)
    assert found(*USER, "--until", "2020-01-01T00:00:00Z") == []
    assert found(*USER, "--min-position", "1") == found(*USER)
    assert len(found(*USER, "--scope", "team:eng")) == 3
    assert found("--scope", "team:eng") == ["the tea deadline is Friday"]
    assert contents(
        line.ask("search", "and then", *USER, "--recent-turn", "is there tea")
    ) == ["green tea, please"]


def test_search_explains_itself(line: CommandLine) -> None:
    (hit,) = line.ask("search", "tea", *USER, "--explain")["items"]

    assert hit["legs"]["keyword"]["rank"] == 1
    assert set(hit["factors"]) == {"recency", "importance", "confidence", "use"}


@pytest.mark.parametrize("command", ["search", "context"])
def test_what_was_not_served_is_said_with_the_way_out(
    line: CommandLine, command: str
) -> None:
    outcome = line.on_store(command, "tea", *USER)

    assert outcome.answer["unserved"] == {"meaning": "no embedder is set"}
    assert "muniment reindex --embedder local" in outcome.err


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ((), 2),
        ((*USER, "--team", "eng"), 2),
        ((*USER, "--scope", "teams:eng"), 2),
        ((*USER, "--status", "unknown"), 2),
        ((*USER, "--limit", "0"), 2),
        ((*USER, "--as-of", "2030-01-01T00:00:00Z"), 2),
        ((*USER, "--min-position", "99"), 2),
    ],
)
def test_a_mistyped_search_answers_nothing(
    line: CommandLine, arguments: tuple[str, ...], code: int
) -> None:
    assert line.fails("search", "tea", *arguments)[0] == code


def test_the_embedder_is_changed_and_the_old_one_answers_for_its_time(
    line: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    changed = line.ask("reindex", "--embedder", "hashing")
    # What the settings name has to fit, and reindex works though it does not yet.
    refused = line.fails("reindex", "--embedder", "word2vec")
    monkeypatch.setenv("MUNIMENT_EMBEDDER", "auto")
    found = line.ask("search", "tea", *USER)
    back = line.ask("reindex", "--embedder", "none")
    point = ("--as-of", found["known_at"], "--valid-at", found["valid_at"])
    before = line.ask("search", "tea", *USER, *point)

    assert (changed["applied"], changed["model"]) == (3, "hashing-256")
    assert refused == (2, "InvalidValueError")
    assert (found["model"], found["unserved"]) == ("hashing-256", {})
    assert back["model"] == ""
    assert {**before, "recorded_at": found["recorded_at"]} == found
    monkeypatch.setenv("MUNIMENT_EMBEDDER", "hashing")
    assert line.fails("search", "tea", *USER) == (2, "ConfigurationError")
    assert line.ask("reindex", "--embedder", "hashing")["model"] == "hashing-256"
    assert line.ask("search", "tea", *USER)["unserved"] == {}


def test_catching_up_embeds_what_was_recorded(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("MUNIMENT_EMBEDDER", "hashing")
    file = tmp_path / "facts.jsonl"
    lines = (f'{{"content": "tea {n}", "user_id": "u-1"}}\n' for n in range(100))
    file.write_text("".join(lines), encoding="utf-8")
    cli.ask("load", str(file))

    before = cli.on_store("search", "tea", *USER)
    found = cli.ask("catch-up")

    assert before.answer["unserved"] == {"meaning": "100 facts have no vector yet"}
    assert "muniment catch-up" in before.err
    # The search before left a receipt, which is an event, too.
    assert found == {
        "applied": 101,
        "events": 101,
        "model": "hashing-256",
        "pending": 0,
        "problem": None,
    }
    assert cli.ask("search", "tea", *USER)["unserved"] == {}


def test_catching_up_says_who_holds_the_index(line: CommandLine) -> None:
    engine = EdgeEngine(line.store / "current" / "main")
    try:
        outcome = line.on_store("catch-up")
    finally:
        engine.close()

    assert outcome.code == 4
    assert "another process holds the index" in outcome.err
    assert contents(line.ask("search", "tea", *USER)) == ["green tea, please"]


def test_reconcile_lists_and_mends(line: CommandLine) -> None:
    line.ask("catch-up")
    _lose_a_point(line.store)

    listed = line.on_store("reconcile")
    mended = line.ask("reconcile", "--mend")

    assert listed.code == 4
    assert '"fault": "missing"' in listed.out
    assert "1 points differ; put them right with --mend" in listed.err
    assert [each["fault"] for each in mended["differences"]] == ["missing"]
    assert mended["mended"]
    assert line.ask("reconcile") == {"differences": [], "mended": False}


def test_each_answer_has_a_table(
    line: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(terminal, "is_for_a_person", lambda *, as_json: not as_json)
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("TERM", "dumb")

    hits = line.on_store("search", "tea", *USER, "--scope", "team:eng", "--explain").out
    nothing = line.on_store("search", "nowhere", *USER).out
    indexed = line.on_store("catch-up").out
    level = line.on_store("reconcile").out
    _lose_a_point(line.store)
    differing = line.on_store("reconcile", "--mend").out

    assert "2 found, known at" in hits
    assert "green tea, please" in hits
    assert "team:eng" in hits
    assert "keyword 1" in hits
    assert nothing.endswith("nothing\n")
    assert indexed == "5 of 5 events indexed\n", "three facts, and receipts of two searches"
    assert level == "the index holds what the ledger says\n"
    assert "1 differences put right" in differing
    assert "missing" in differing


def _lose_a_point(store: Path) -> None:
    """Take one point out of the index, past all of Muniment."""
    url = f"sqlite:///{store / 'ledger.db'}"
    with MemoryStore.open(Settings(database_url=url, embedder="none")) as opened:
        opened.catch_up()
        current = opened._recall.upkeep.current()
        assert current is not None
        held, _ = current[1].scroll(after=None, limit=1)
        current[1].delete([held[0].point_id], until=2**62)
        current[1].flush()
