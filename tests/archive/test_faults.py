"""Every step of an archive run fails, or is its last: the next run finishes the work."""

import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from muniment import MemoryStore
from muniment.archive.archiver import Archiver
from muniment.archive.shelf import Directory, Disk
from muniment.domain.time import Instant
from muniment.errors import ArchiveUnavailableError
from tests.archive.failing import SEGMENT_EVENTS, FailingDisk, full, silent
from tests.archive.told import DAY, USERS, Told, told
from tests.stores import SQLITE, SettableClock, backend_at


ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Template:
    """A store to be copied, what it answers, and how many steps a run takes on it."""

    directory: Path
    facts: dict[str, list[str]]
    times: list[int]
    answers: dict[str, str]
    steps: int

    def copied(self, to: Path) -> Told:
        shutil.copytree(self.directory, to)
        backend = backend_at(SQLITE, directory=to, postgres_url=None)
        clock = SettableClock(self.times[-1])
        store = backend.open(clock=clock)
        return Told(backend, clock, store, self.facts, self.times)


def run_on(store: MemoryStore, place: Path, disk: Disk, until: int) -> None:
    """Archive in segments of a few events."""
    shelf = Directory(place, disk)
    timeline = store._lookup.timeline
    archiver = Archiver(store._ledger, shelf, timeline, segment_events=SEGMENT_EVENTS)
    archiver.run(Instant(until), progress=silent)


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
    made = Template(folder / "store", story.facts, story.times, answers, 0)
    counted = made.copied(folder / "counted")
    disk = FailingDisk(-1, full)
    run_on(counted.store, counted.place, disk, counted.clock())
    counted.store.close()
    return Template(made.directory, made.facts, made.times, answers, disk.done)


def check_finished(story: Told) -> None:
    """Check that the next run does what is left, and that nothing else is left over."""
    run_on(story.store, story.place, Disk(), story.clock())
    assert story.store.plan_archive().events == 0
    assert story.store.verify()
    names = Directory(story.place).names("")
    segments = story.store._ledger.recorder.segments()
    assert len(names) == 3 * len(segments) + 1
    assert [each for each in names if "/." in each] == []
    assert segments[-1].last_position == 22


def test_whichever_step_fails_the_next_run_finishes(
    tmp_path: Path, template: Template
) -> None:
    assert template.steps > 40

    story = template.copied(tmp_path / "store")
    for number in range(template.steps):
        disk = FailingDisk(number, full)

        with pytest.raises(ArchiveUnavailableError, match="No space left"):
            run_on(story.store, story.place, disk, story.clock())

        assert not story.store.verify().findings, number
        check_finished(story)
        if number < template.steps - 1:
            # As it was before, without the cost of another store.
            shutil.rmtree(story.place)
            with story.backend.sql() as connection:
                connection.exec_driver_sql("DELETE FROM archive_segment")
    assert story.store.prune() > 0
    assert story.answers() == template.answers
    story.store.close()


@pytest.mark.parametrize("eighth", [0, 2, 5, 7])
def test_wherever_it_is_killed_the_next_run_finishes(
    tmp_path: Path, template: Template, eighth: int
) -> None:
    # Each process costs a second, so these are some of the steps; above are all of them.
    number = template.steps * eighth // 8 + eighth % 4
    directory = tmp_path / "store"
    shutil.copytree(template.directory, directory)
    until = str(template.times[-1])

    ended = subprocess.run(
        [sys.executable, "-m", "tests.archive.killed", directory, str(number), until],
        check=False,
        timeout=60,
        cwd=ROOT,
    )

    assert ended.returncode == -signal.SIGKILL
    backend = backend_at(SQLITE, directory=directory, postgres_url=None)
    clock = SettableClock(template.times[-1])
    story = Told(backend, clock, backend.open(clock=clock), template.facts, template.times)
    assert story.store.verify()
    check_finished(story)
    assert story.store.prune() > 0
    assert story.answers(USERS) == template.answers
    story.store.close()
