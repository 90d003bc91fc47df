"""Every step of an archive run fails, or is its last: the next run finishes the work."""

import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from muniment.archive import segment
from muniment.archive.shelf import Directory, Disk
from muniment.errors import ArchiveUnavailableError
from tests.archive.failing import FailingDisk, archive_on, full
from tests.archive.told import DAY, Told, told
from tests.stores import SQLITE, SettableClock, backend_at


ROOT = Path(__file__).parents[2]

Kill = Callable[[Path, int, int], int]
"""Archives the store in a directory, up to a time, in a process killed at one step."""


@dataclass(frozen=True)
class Template:
    """
    A store to be copied, what it answers, and what comes of archiving it.

    Attributes:
        steps: How many a run takes that nothing disturbs.
        tables: By name, the SHA-256 of the files of Parquet that it writes.
    """

    directory: Path
    facts: dict[str, list[str]]
    times: list[int]
    answers: dict[str, str]
    steps: int = 0
    tables: tuple[tuple[str, str], ...] = ()

    def opened(self, at: Path) -> Told:
        """Open a copy."""
        backend = backend_at(SQLITE, directory=at, postgres_url=None)
        clock = SettableClock(self.times[-1])
        return Told(backend, clock, backend.open(clock=clock), self.facts, self.times)

    def copied(self, to: Path) -> Told:
        shutil.copytree(self.directory, to)
        return self.opened(to)


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Template:
    """A store that was told much and never archived."""
    folder = tmp_path_factory.mktemp("template")
    backend = backend_at(SQLITE, directory=folder / "store", postgres_url=None)
    story = told(backend)
    # Into the next year, of which the archive then has a snapshot.
    story.pass_time(340 * DAY)
    kept = story.store.remember("CANARY ann next year", user_id="ann")
    story.facts["ann"].append(kept.fact_id)
    story.pass_time()
    answers = story.answers()
    story.store.close()
    made = Template(folder / "store", story.facts, story.times, answers)
    counted = made.copied(folder / "counted")
    disk = FailingDisk(-1, full)
    archive_on(counted.store, counted.place, disk, counted.clock())
    counted.store.close()
    return Template(
        *(made.directory, made.facts, made.times, answers),
        steps=disk.done,
        tables=tables(counted.place),
    )


@pytest.fixture(scope="module")
def kill() -> Iterator[Kill]:
    """Return how one process after another is killed."""
    with subprocess.Popen(
        [sys.executable, "-m", "tests.archive.killed"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as parent:
        asking, answering = parent.stdin, parent.stdout
        assert asking is not None
        assert answering is not None

        def killed(directory: Path, step: int, until: int) -> int:
            asking.write(f"{step} {until} {directory}\n")
            asking.flush()
            return int(answering.readline())

        yield killed
        asking.close()


def tables(place: Path) -> tuple[tuple[str, str], ...]:
    """Return the files of Parquet in an archive, and the SHA-256 of each."""
    names = (each for each in Directory(place).names("") if each.endswith(".parquet"))
    return tuple((each, segment.sha256((place / each).read_bytes())) for each in names)


def check_finished(story: Told, template: Template) -> None:
    """Check that the next run leaves what a run leaves that nothing disturbed."""
    archive_on(story.store, story.place, Disk(), story.clock())
    assert story.store.plan_archive().events == 0
    assert story.store.verify()
    segments = story.store._ledger.recorder.segments()
    assert tables(story.place) == template.tables
    assert len(Directory(story.place).names("")) == len(template.tables) + len(segments)


def check_answers(story: Told, template: Template) -> None:
    """Check that all it answers comes from the archive as it came without."""
    assert story.store.prune() > 0
    assert story.answers() == template.answers


def test_whichever_step_fails_the_next_run_finishes(
    tmp_path: Path, template: Template
) -> None:
    assert template.steps > 40

    story = template.copied(tmp_path / "store")
    for number in range(template.steps):
        disk = FailingDisk(number, full)

        with pytest.raises(ArchiveUnavailableError, match="No space left"):
            archive_on(story.store, story.place, disk, story.clock())

        assert not story.store.verify().findings, number
        check_finished(story, template)
        if number < template.steps - 1:
            # As it was before, without the cost of another store.
            shutil.rmtree(story.place)
            with story.backend.sql() as connection:
                connection.exec_driver_sql("DELETE FROM archive_segment")
    check_answers(story, template)
    story.store.close()


def check_killed(at: Path, template: Template, ended: int, *, is_asked: bool) -> None:
    """Check that the next run finishes what a killed one began; clear all away."""
    assert ended == -signal.SIGKILL
    story = template.opened(at)
    assert story.store.verify()
    check_finished(story, template)
    if is_asked:
        check_answers(story, template)
    story.store.close()
    shutil.rmtree(at)


def test_wherever_it_is_killed_the_next_run_finishes(
    tmp_path: Path, template: Template, kill: Kill
) -> None:
    directory = tmp_path / "store"
    for number in range(template.steps):
        shutil.copytree(template.directory, directory)

        ended = kill(directory, number, template.times[-1])

        check_killed(directory, template, ended, is_asked=not number)


def test_wherever_it_is_killed_while_it_clears_up_the_next_run_finishes(
    tmp_path: Path, template: Template, kill: Kill
) -> None:
    # The second last step names the last manifest, when all of its files are there.
    begun = template.copied(tmp_path / "begun")
    disk = FailingDisk(template.steps - 2, full)
    with pytest.raises(ArchiveUnavailableError):
        archive_on(begun.store, begun.place, disk, begun.clock())
    begun.store.close()
    left, directory = len(Directory(begun.place).names("")), tmp_path / "store"

    for number in range(8):
        shutil.copytree(tmp_path / "begun", directory)

        ended = kill(directory, number, template.times[-1])

        # Two steps for each of four files: its name goes, and that is made durable.
        names = Directory(directory / "archive").names("")
        assert len(names) == left - (number + 1) // 2
        check_killed(directory, template, ended, is_asked=not number)
