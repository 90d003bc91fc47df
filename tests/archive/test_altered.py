"""
Whatever byte of a package of evidence is altered, it is refused, and the file is named.

One bit of every byte; with ``MUNIMENT_BITS=8`` every bit, which takes a minute.
"""

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

import pytest

from muniment.archive import package
from muniment.archive.container import CONTAINER, AlteredError, contents
from muniment.archive.evidence_check import MANIFEST, SIGNATURE, _Check, check
from muniment.archive.stamp_check import TIME_STAMP
from tests.archive.golden import FOLDER
from tests.archive.packages import Made, report, signed_again


BITS = int(os.environ.get("MUNIMENT_BITS", "1"))
SIGNED = (MANIFEST, SIGNATURE, TIME_STAMP)


@dataclass(frozen=True)
class Stamped:
    """A package with a time stamp, as a version before wrote it, and its ledger's key."""

    files: dict[str, bytes]
    key: str


@pytest.fixture(scope="module")
def stamped() -> Stamped:
    folder = FOLDER / "evidence.v1-stamped"
    raw, key = (folder / each for each in ("evidence.zip", "key.txt"))
    return Stamped(contents(raw.read_bytes()), key.read_text(encoding="utf-8").strip())


@pytest.fixture(scope="module")
def small(made: Made, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A package of one point in time, without the verifier, which is half of its bytes."""
    file = tmp_path_factory.mktemp("small") / "evidence.zip"
    made.story.store.export_evidence(file, user_id="ann", matter="m", reason="r")
    one = replace(made, raw=file.read_bytes())
    return signed_again(one, {package.VERIFIER: b"# elsewhere\n"})


def refused(checking: Callable[[], object]) -> str:
    """Return which file is named as altered; none where nothing is refused."""
    try:
        checking()
    except AlteredError as error:
        return error.file
    return "none"


def altered(content: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield *content* with one bit altered, and where, for every byte of it."""
    for at in range(len(content)):
        for bit in range(BITS):
            found = bytearray(content)
            found[at] ^= 1 << (at + bit) % 8
            yield at, bytes(found)


@pytest.mark.parametrize("is_key_known", [True, False])
@pytest.mark.parametrize("name", SIGNED)
def test_whatever_byte_is_altered_of_what_is_signed_its_file_is_named(
    stamped: Stamped, name: str, *, is_key_known: bool
) -> None:
    key = stamped.key if is_key_known else None
    _Check(stamped.files, key, (), ()).report()

    for at, content in altered(stamped.files[name]):
        assert (
            refused(_Check({**stamped.files, name: content}, key, (), ()).report) == name
        ), at


def test_whatever_byte_of_a_file_is_altered_the_file_is_named(
    made: Made, small: bytes
) -> None:
    report(small, made)
    files = contents(small)
    manifest = json.loads(files[MANIFEST])

    for name in manifest["files"]:
        for at, content in altered(files[name]):
            # Past the signature, which is the same each time.
            check_of = _Check({**files, name: content}, None, (), ())
            check_of._manifest = manifest
            assert refused(check_of._whole) == name, at
    assert files.keys() == {*manifest["files"], MANIFEST, SIGNATURE}


def test_whatever_byte_of_the_zip_is_altered_the_file_is_named_whose_it_is(
    small: bytes,
) -> None:
    owners = [CONTAINER] * len(small)
    for name, content in contents(small).items():
        start = small.index(content)
        owners[start : start + len(content)] = [name] * len(content)

    for at, raw in altered(small):
        assert refused(partial(check, raw)) == owners[at], at
