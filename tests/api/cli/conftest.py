import shutil
from pathlib import Path

import pytest

from muniment import MemoryStore
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
