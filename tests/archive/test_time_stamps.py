"""An authority says when it saw the manifest of a package; anyone can check that later."""

import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from muniment import MemoryStore
from muniment.archive.container import AlteredError, contained, contents
from muniment.archive.evidence_check import check
from muniment.archive.stamp_check import TIME_STAMP
from muniment.archive.verifier import main
from muniment.errors import ConfigurationError, TimeStampUnavailableError
from muniment.settings import Settings
from tests.archive.authority import Authority, authority


pytestmark = pytest.mark.skipif(
    shutil.which("openssl") is None, reason="openssl, the authority, is not installed"
)


@dataclass
class Stamped:
    """A store whose evidence is stamped, and a package of it."""

    store: MemoryStore
    authority: Authority
    raw: bytes

    @property
    def root(self) -> bytes:
        return self.authority.root.read_bytes()

    def export(self, file: Path) -> bytes:
        self.store.export_evidence(
            file, user_id="ann", matter="case 4711", reason="ordered"
        )
        return file.read_bytes()


@pytest.fixture(scope="module")
def stamped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stamped]:
    folder = tmp_path_factory.mktemp("stamps")
    with authority(folder / "authority") as found:
        database = f"sqlite:///{folder}/store/ledger.db"
        settings = Settings(database_url=database, timestamp_url=found.url)
        with MemoryStore.open(settings) as store:
            store.remember("用户写 Python", user_id="ann")
            made = Stamped(store, found, b"")
            made.raw = made.export(folder / "evidence.zip")
            yield made


def test_when_it_was_seen_is_proven_up_to_a_root_of_the_verifiers_own(
    stamped: Stamped, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "evidence.zip"
    file.write_bytes(stamped.raw)

    with_root = main([str(file), "--stamp-root", str(stamped.authority.root)])
    proven, _, _ = capsys.readouterr().out.partition("NOT PROVEN")
    without = main([str(file)])
    _, _, stated = capsys.readouterr().out.partition("NOT PROVEN")

    assert (with_root, without) == (0, 0)
    assert "The manifest existed at 20" in proven
    assert "as its time stamp says: get its root certificate by another way" in stated
    # The authority sees a hash, and nothing of what was said.
    assert all(b"Python" not in each for each in stamped.authority.asked)


def test_the_root_of_another_authority_is_refused(stamped: Stamped, tmp_path: Path) -> None:
    with (
        authority(tmp_path / "other") as other,
        pytest.raises(AlteredError, match="does not lead to a root") as refused,
    ):
        check(stamped.raw, stamp_roots=[other.root.read_bytes()])

    assert refused.value.file == TIME_STAMP


def test_a_time_stamp_that_is_gone_altered_or_of_something_else_is_refused(
    stamped: Stamped, tmp_path: Path
) -> None:
    files, other = contents(stamped.raw), contents(stamped.export(tmp_path / "b.zip"))
    stamp = files[TIME_STAMP]
    altered = [stamp[:at] + bytes([stamp[at] ^ 1]) + stamp[at + 1 :] for at in (0, 60, -1)]
    gone = {name: each for name, each in files.items() if name != TIME_STAMP}

    for wrong in (gone, *({**files, TIME_STAMP: e} for e in (*altered, other[TIME_STAMP]))):
        with pytest.raises(AlteredError) as refused:
            check(contained(wrong), stamp_roots=[stamped.root])
        assert refused.value.file == TIME_STAMP
    assert check(stamped.raw, stamp_roots=[stamped.root]).proven


def test_an_authority_that_does_not_stamp_is_named_and_nothing_is_written(
    stamped: Stamped, tmp_path: Path
) -> None:
    file = tmp_path / "evidence.zip"
    old = contents(stamped.raw)[TIME_STAMP]

    for answer in (b"", b"<html>busy</html>", old):
        stamped.authority.answer = answer
        with pytest.raises(TimeStampUnavailableError, match=r"127\.0\.0\.1"):
            stamped.export(file)
    stamped.authority.answer = None

    assert not file.exists()
    assert stamped.export(file)


@pytest.mark.parametrize(
    "spoken",
    [
        pytest.param(b"SSH-2.0-OpenSSH_9.6\r\n", id="no HTTP"),
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n0", id="cut short"),
    ],
)
def test_an_authority_that_does_not_speak_http_to_its_end_is_named(
    stamped: Stamped, tmp_path: Path, spoken: bytes
) -> None:
    file = tmp_path / "evidence.zip"
    stamped.authority.speaks = spoken

    with pytest.raises(TimeStampUnavailableError, match=r"127\.0\.0\.1"):
        stamped.export(file)

    stamped.authority.speaks = None
    assert not file.exists()


def test_without_the_package_that_checks_it_this_is_said(
    stamped: Stamped, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "rfc3161_client", None)

    found = check(stamped.raw, stamp_roots=[stamped.root])

    assert any(
        "rfc3161-client, which checks it, is not installed" in e for e in found.stated
    )
    with pytest.raises(ConfigurationError, match=r"muniment\[timestamp\]"):
        stamped.export(tmp_path / "evidence.zip")
