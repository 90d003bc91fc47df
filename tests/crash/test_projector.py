"""Killed between any two of its steps, the projector ends where the ledger says."""

import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from muniment.errors import IndexHeldError
from muniment.projections.current_edge import EdgeEngine
from muniment.projections.upkeep import Upkeep
from tests.engines import within
from tests.projecting import (
    Place,
    a_life,
    believed,
    place_at,
    settings_of,
    shown,
    subject_of,
)


ROOT = Path(__file__).parents[2]
USERS = ("ann", "bob")
STEPS = [
    f"{call}:{when}:1"
    for call in ("embedded", "upsert", "delete", "flush", "checkpoint")
    for when in ("before", "after")
]
ELSEWHERE = ["open:after:1", "forget:before:1", "forget:after:1", "upsert:after:2"]
REBUILDING = [
    "begin:after:1",
    "open:after:1",
    "checkpoint:after:1",
    "activate:before:1",
    "activate:after:1",
    "drop:before:1",
    "drop:after:1",
]


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with a past, and nothing projected."""
    directory = tmp_path_factory.mktemp("lived")
    with place_at(settings_of("sqlite", directory)) as place:
        a_life(place)
    return directory


@pytest.fixture
def directory(lived: Path, tmp_path: Path) -> Path:
    """A copy of that store."""
    return shutil.copytree(lived, tmp_path / "store")


def killed(directory: Path, work: str, point: str) -> None:
    """Run a projector until it kills itself at *point*."""
    command = [sys.executable, "-m", "tests.crash.projector", str(directory), work, point]
    ended = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    assert ended.returncode == -signal.SIGKILL, ended.stderr


@contextmanager
def kept_up(directory: Path) -> Iterator[tuple[Place, Upkeep]]:
    """Open the store again and let the current facts catch up."""
    engine = EdgeEngine(directory / "current")
    with place_at(settings_of("sqlite", directory), engine) as place:
        upkeep = place.upkeep()
        upkeep.tend()
        yield place, upkeep
        upkeep.close()


def assert_search_equals_the_timeline(place: Place, upkeep: Upkeep) -> None:
    progress = upkeep.progress()
    assert (progress.stopped, progress.waiting, progress.pending) == (None, None, 0)
    assert progress.reached == progress.head
    assert upkeep.reconcile(mend=False) == []
    current = upkeep.current()
    assert current is not None
    now = place.ledger.present().now
    for user_id in USERS:
        bounds = within(subject_of(place, user_id).ref, valid_at=now, expired_at=now)
        found = shown(current[1].nearest([1.0] * 8, bounds, limit=99))
        assert found == believed(place, user_id)


@pytest.mark.slow
@pytest.mark.parametrize("point", STEPS + ELSEWHERE)
def test_killed_at_any_step_it_catches_up_to_the_timeline(
    directory: Path, point: str
) -> None:
    killed(directory, "catch-up", point)

    with kept_up(directory) as (place, upkeep):
        assert_search_equals_the_timeline(place, upkeep)


@pytest.mark.slow
@pytest.mark.parametrize("point", REBUILDING)
def test_killed_during_a_rebuild_the_old_or_the_new_is_in_use(
    directory: Path, point: str
) -> None:
    killed(directory, "rebuild", point)

    with kept_up(directory) as (place, upkeep):
        assert_search_equals_the_timeline(place, upkeep)
        upkeep.rebuild()
        assert_search_equals_the_timeline(place, upkeep)
        left = {each.name for each in (directory / "current").iterdir()}
        current = upkeep.current()
        assert current is not None
        assert left == {"lock", f"generation-{current[0].number}"}


@pytest.mark.slow
def test_killed_again_and_again_it_still_catches_up(directory: Path) -> None:
    for point in ("upsert:after:1", "flush:before:1", "checkpoint:before:1"):
        killed(directory, "catch-up", point)

    with kept_up(directory) as (place, upkeep):
        assert_search_equals_the_timeline(place, upkeep)


HOLDER = """
import sys
from pathlib import Path
from muniment.projections.current_edge import EdgeEngine
engine = EdgeEngine(Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
"""


@pytest.mark.slow
def test_nobody_waits_for_the_process_that_holds_the_engine_and_its_death_frees_it(
    directory: Path,
) -> None:
    command = [sys.executable, "-c", HOLDER, str(directory / "current")]
    with (
        subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as holder,
        place_at(settings_of("sqlite", directory)) as place,
    ):
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        upkeep = place.upkeep(lambda: EdgeEngine(directory / "current"))

        started = time.monotonic()
        upkeep.tend()
        place.store.remember("sings", user_id="bob")
        took = time.monotonic() - started
        assert isinstance(upkeep.progress().waiting, IndexHeldError)
        assert upkeep.current() is None
        assert took < 5, "it gives up at once"

        holder.kill()
        holder.wait()
        upkeep.tend()
        assert_search_equals_the_timeline(place, upkeep)
        upkeep.close()
