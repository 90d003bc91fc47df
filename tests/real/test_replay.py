"""Answers over a real conversation are reproduced, byte for byte, once all has changed."""

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import shared_data


EXAMPLE = Path(__file__).parents[2] / "examples" / "badcase.py"


@pytest.mark.slow
@pytest.mark.skipif(not shared_data.LOCOMO.is_file(), reason=shared_data.ABSENT)
def test_each_answer_over_a_real_conversation_is_reproduced(tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, EXAMPLE, shared_data.LOCOMO],
        cwd=tmp_path,
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=120,
    )

    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.splitlines()[:3] == [
        "25 answers, 25 receipts",
        "25 of 25 reproduced, byte for byte",
        "all as they were said: True",
    ]
