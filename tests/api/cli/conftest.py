import shutil
from pathlib import Path

import pytest

from muniment import MemoryStore
from muniment.api.cli import terminal
from tests.api.cli.command_line import CommandLine


@pytest.fixture(scope="session")
def empty_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store to be copied: to copy it is faster than to make one."""
    place = tmp_path_factory.mktemp("template") / "store"
    MemoryStore.open(place).close()
    return place


@pytest.fixture
def cli(
    tmp_path: Path,
    empty_store: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> CommandLine:
    """The command line on an empty store of its own, in an empty working directory."""
    place = tmp_path / "store"
    shutil.copytree(empty_store, place)
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    monkeypatch.delenv("MUNIMENT_STORE", raising=False)
    return CommandLine(capsys, place)


@pytest.fixture
def shown(cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    """The command line as a person without colour sees it."""

    def looked_at(*, as_json: bool) -> bool:
        return not as_json

    monkeypatch.setattr(terminal, "is_for_a_person", looked_at)
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("TERM", "dumb")
    return cli
