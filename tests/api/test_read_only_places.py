"""A store on files that may not be written: refused by name, whole in a copy."""

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from muniment import Fact, MemoryStore
from muniment.errors import ReadOnlyStoreError
from tests.children import said_by_child


NOBODY = 65534


@pytest.fixture
def kept() -> Iterator[tuple[Path, Fact]]:
    """A closed store that everybody may write to, in no directory of one user alone."""
    place = Path(tempfile.mkdtemp())
    with MemoryStore.open(place) as store:
        fact = store.remember("证物 exhibit A", user_id="u")
    for each in place.iterdir():
        each.chmod(0o666)
    place.chmod(0o777)
    key = place / "key"
    key.chmod(0o600)
    if os.geteuid() == 0:
        os.chown(key, NOBODY, NOBODY)
    yield place, fact
    shutil.rmtree(place)


def _opened_by_somebody_else(place: Path) -> str:
    """Open the store at *place* as a user to whom modes apply; say what came of it."""
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    try:
        MemoryStore.open(place, create=False).close()
    except ReadOnlyStoreError as error:
        return f"{Path(error.place).name}: {error}"
    return "opened"


@pytest.mark.skipif(sys.platform == "win32", reason="modes are not asked there")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
@pytest.mark.parametrize("sealed", ["ledger.db", "vault.db", "."])
def test_a_copy_that_may_not_be_written_is_refused_by_name_and_a_copy_of_it_opens(
    kept: tuple[Path, Fact], tmp_path: Path, sealed: str
) -> None:
    """SQLite says "unable to open database file", or "unavailable", as if to try later."""
    place, fact = kept
    (place / sealed).chmod(0o555 if sealed == "." else 0o444)
    before = {each.name: each.read_bytes() for each in place.iterdir()}

    said = said_by_child(lambda: _opened_by_somebody_else(place))

    name = place.name if sealed == "." else sealed
    assert said.startswith(f"{name}: ")
    assert "to a directory that can be written, and open the copy" in said
    assert {each.name: each.read_bytes() for each in place.iterdir()} == before
    copy = shutil.copytree(place, tmp_path / "copy")
    for each in (copy, *copy.iterdir()):
        each.chmod(0o700 if each == copy else 0o600)
    with MemoryStore.open(copy, create=False) as store:
        assert store.get(fact.fact_id) == fact
        assert not store.verify().findings
