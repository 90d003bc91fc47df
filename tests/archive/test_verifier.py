"""The verifier runs anywhere, and says in plain words what it found."""

import ast
import subprocess
import venv
from pathlib import Path

import cryptography
import pytest

from muniment.archive.container import contained
from muniment.archive.evidence_check import EVENTS
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
