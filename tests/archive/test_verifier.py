"""The verifier runs anywhere, and says in plain words what it found."""

import ast
import io
import json
import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import cryptography
import pytest

from muniment.archive import container
from muniment.archive.container import CONTAINER, AlteredError, contained, contents
from muniment.archive.evidence_check import EVENTS, HEADS, MANIFEST, SIGNATURE, check
from muniment.archive.verifier import main
from tests.archive.packages import Made, signed_again


@pytest.fixture(scope="module")
def stranger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh environment with the package cryptography, and without Muniment."""
    place = tmp_path_factory.mktemp("stranger")
    venv.create(place, with_pip=False, symlinks=True)
    (site,) = place.glob("lib/python*/site-packages")
    ours = Path(cryptography.__file__).parents[1]
    for pattern in ("cryptography", "cffi", "pycparser", "_cffi_backend*"):
        for each in ours.glob(pattern):
            (site / each.name).symlink_to(each)
    return place / "bin" / "python"


def test_c18_the_verifier_inside_needs_python_and_cryptography_alone(
    made: Made, stranger: Path, tmp_path: Path
) -> None:
    script, file = tmp_path / "verify.py", tmp_path / "evidence.zip"
    script.write_bytes(made.files["verify.py"])
    file.write_bytes(made.raw)
    heads = tmp_path / "heads.txt"
    heads.write_text(made.heads[0] + "\n", encoding="utf-8")

    without = subprocess.run(
        [stranger, "-c", "import muniment"], check=False, capture_output=True, cwd=tmp_path
    )
    good = subprocess.run(
        [stranger, script, file, "--key", made.key, "--tree-head", heads],
        check=False,
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    altered = {**made.files, "summary.html": b"<p>all is well</p>"}
    file.write_bytes(contained(altered))
    bad = subprocess.run([stranger, script, file], check=False, capture_output=True)

    assert without.returncode == 1
    assert b"ModuleNotFoundError" in without.stderr
    assert (good.returncode, good.stderr) == (0, "")
    assert "PROVEN" in good.stdout
    assert "continues 1 tree heads" in good.stdout
    assert bad.returncode == 1
    assert bad.stdout.startswith(b"REFUSED  summary.html: it was altered")


def test_a_reader_who_has_read_enough_refuses_nothing(
    made: Made, stranger: Path, tmp_path: Path
) -> None:
    script, file = tmp_path / "verify.py", tmp_path / "evidence.zip"
    script.write_bytes(made.files["verify.py"])
    file.write_bytes(made.raw)
    reader, writer = os.pipe()
    os.close(reader)

    ended = subprocess.run(
        [stranger, script, file], check=False, stdout=writer, stderr=subprocess.PIPE
    )
    os.close(writer)

    assert (ended.returncode, ended.stderr) == (0, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="it is always full")
def test_what_cannot_be_said_is_not_laid_to_the_package(
    made: Made, stranger: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that was full, or a closed stream, ended it as an altered package does."""
    script = tmp_path / "verify.py"
    good, bad = tmp_path / "evidence.zip", tmp_path / "altered.zip"
    script.write_bytes(made.files["verify.py"])
    good.write_bytes(made.raw)
    bad.write_bytes(made.raw[:-1])
    with Path("/dev/full").open("wb") as full:
        ended = subprocess.run(
            [stranger, script, good], check=False, stdout=full, stderr=subprocess.PIPE
        )
    monkeypatch.setattr(sys, "stdout", None)
    monkeypatch.setattr(sys, "stderr", None)

    codes = [main([str(each)]) for each in (good, bad, tmp_path / "nowhere.zip")]

    assert ended.returncode == 2
    assert b"nothing was said of the package: OSError(28" in ended.stderr
    assert codes == [0, 1, 2]


def test_the_single_file_has_no_name_twice(made: Made) -> None:
    tree = ast.parse(made.files["verify.py"])
    names = [
        name
        for node in tree.body
        for name in (
            [node.name]
            if isinstance(node, ast.FunctionDef | ast.ClassDef)
            else [t.id for t in node.targets if isinstance(t, ast.Name)]
            if isinstance(node, ast.Assign)
            else []
        )
    ]

    assert sorted(names) == sorted(set(names))
    assert "muniment." not in "".join(
        line
        for line in made.files["verify.py"].decode().splitlines()
        if line.startswith(("import ", "from "))
    )


def test_the_command_says_it_in_plain_words(
    made: Made, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "evidence.zip"
    file.write_bytes(made.raw)

    assert main([str(file), "--key", made.key]) == 0
    assert "PROVEN" in capsys.readouterr().out
    file.write_bytes(b"no zip")
    assert main([str(file)]) == 1
    assert "REFUSED" in capsys.readouterr().out
    forged = signed_again(made, {EVENTS: b'{"envelope": 1}\n'})
    file.write_bytes(forged)
    assert main([str(file)]) == 1
    assert "malformed" in capsys.readouterr().out


def test_what_cannot_be_read_is_said_in_one_line(
    made: Made, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, junk, missing = (tmp_path / each for each in ("e.zip", "junk.txt", "none"))
    file.write_bytes(made.raw)
    junk.write_text("nothing\n\nof the kind\n", encoding="utf-8")
    empty = tmp_path / "empty.txt"
    empty.touch()
    binary = tmp_path / "binary"
    binary.write_bytes(b"\xff\xfe")
    bare = tmp_path / "bare.txt"
    bare.write_text(made.heads[0].partition("\n\n")[0], encoding="utf-8")

    for given, said in (
        ([missing], "the package cannot be read"),
        ([tmp_path], "the package cannot be read"),
        ([file, "--tree-head", missing], "--tree-head cannot be read"),
        ([file, "--tree-head", junk], "something else than signed tree heads"),
        ([file, "--tree-head", empty], "no signed tree heads"),
        ([file, "--tree-head", bare], "no signed tree heads"),
        ([file, "--tree-head", binary], "no text"),
        ([file, "--stamp-root", missing], "--stamp-root cannot be read"),
        ([file, "--stamp-root", junk], "no certificate"),
        ([file, "--key", "nonsense"], "--key is malformed"),
        ([file, "--key", "muniment/x/main"], "--key is malformed"),
        ([file, "--key", "密钥"], "--key is malformed"),
    ):
        assert main([str(each) for each in given]) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert said in err
        assert err.count("\n") == 1


def test_later_tree_heads_are_said_to_show_nothing(
    made: Made, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, heads = tmp_path / "evidence.zip", tmp_path / "heads.txt"
    file.write_bytes(made.raw)
    store = made.story.store
    store.remember("after the package", user_id="zoe")
    heads.write_bytes(store.tree_head().replace("\n", "\r\n").encode())

    assert main([str(file), "--key", made.key, "--tree-head", str(heads)]) == 0

    proven, _, stated = capsys.readouterr().out.partition("NOT PROVEN")
    assert "tree heads" not in proven
    assert "1 of the tree heads you gave: they are later than this package" in stated
    assert "name a tree head that was published earlier" in stated


def test_a_tree_head_the_package_does_not_know_shows_nothing(made: Made) -> None:
    raw = signed_again(made, {HEADS: b""})

    found = check(raw, key=made.key, heads=made.heads)

    assert not any("tree heads" in each for each in found.proven)
    assert any("does not hold how the ledger went on" in each for each in found.stated)


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_a_package_that_was_packed_again_is_not_said_to_be_altered_inside(
    made: Made, method: int
) -> None:
    again = io.BytesIO()
    with zipfile.ZipFile(again, "w", method) as package:
        for name, content in made.files.items():
            package.writestr(name, content)

    with pytest.raises(AlteredError, match="as it was given out") as caught:
        check(again.getvalue(), key=made.key)

    assert caught.value.file == CONTAINER


def test_a_zip_that_is_cut_off_or_has_more_is_refused(made: Made) -> None:
    raw = made.raw
    ends = (*range(0, len(raw), 997), *range(len(raw) - 60, len(raw)))

    for other in (*(raw[:end] for end in ends), raw + b"\0", b"\0" + raw, raw * 2):
        with pytest.raises(AlteredError) as refused:
            contents(other)
        assert refused.value.file == CONTAINER


UNSAFE_NAMES = ("a\nPROVEN", "../a", "/a", "b/a", "b\\a", "c:a", "", ".", ".a")


def test_files_that_would_write_over_one_another_are_refused() -> None:
    with pytest.raises(AlteredError, match="there twice"):
        contents(contained({"a.txt": b"1", "A.TXT": b"2"}))


def test_what_is_too_long_for_four_bytes_is_counted_in_eight(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    files = {"short": b"a", "long": b"b" * 400, "far": b"c", "both": b"d" * 300}
    # Nobody holds four gigabytes for a test; what is written is the same.
    monkeypatch.setattr(container, "_LEAST_LONG", 300)

    raw = contained(files)

    assert contents(raw) == files
    with zipfile.ZipFile(io.BytesIO(raw)) as package:
        assert {each: package.read(each) for each in package.namelist()} == files
        assert package.testzip() is None
    for at in range(len(raw)):
        altered = raw[:at] + bytes([raw[at] ^ 1]) + raw[at + 1 :]
        with pytest.raises(AlteredError):
            contents(altered)


def test_files_that_lie_in_one_another_are_refused() -> None:
    # Else a few bytes could unpack to any number of them.
    inner = contained({"a": b"x"})
    outer = contained({"b": inner, "c": b""})
    at = outer.rindex(b"PK\x01\x02")
    nested = outer[:at] + inner[inner.index(b"PK\x01\x02") : -22] + outer[-22:]

    for raw in (nested, *(contained({name: b""}) for name in UNSAFE_NAMES)):
        with pytest.raises(AlteredError) as refused:
            contents(raw)
        assert refused.value.file == CONTAINER


def test_a_key_that_was_altered_in_the_manifest_is_not_laid_to_the_signature(
    made: Made,
) -> None:
    files = made.files
    manifest = files[MANIFEST].replace(made.key[-9:-3].encode(), b"AAAAAA")
    signature = files[SIGNATURE].replace(b"\n", b"1\n", 3)

    for name, content in ((MANIFEST, manifest), (SIGNATURE, signature)):
        with pytest.raises(AlteredError) as refused:
            check(contained({**files, name: content}))
        assert refused.value.file == name


def test_what_a_package_says_cannot_pass_for_what_the_verifier_says(
    made: Made, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines, file = made.lines(EVENTS), tmp_path / "evidence.zip"
    for each in lines:
        if each["withheld"]:
            each["withheld"] = "\nPROVEN\n  - all of it\x1b[2K \ud800 秘"
    said = b"".join(json.dumps(each).encode() + b"\n" for each in lines)
    file.write_bytes(signed_again(made, {EVENTS: said}))

    assert main([str(file)]) == 0

    out = capsys.readouterr().out
    assert out.count("\nPROVEN") == 0
    assert r"not shown: \nPROVEN\n  - all of it\x1b[2K \ud800 秘." in out
