"""Scripts that come with Muniment run, and find what they say."""

import subprocess
import sys
from pathlib import Path

import pytest


TESTED_ELSEWHERE = {"archive_audit_spark.py"}  # needs Spark: tests/archive/test_spark.py
EXAMPLES = sorted(
    each
    for each in (Path(__file__).parents[2] / "examples").glob("*.py")
    if each.name not in TESTED_ELSEWHERE
)

SAYS = {
    "badcase.py": [
        "3 answers, 3 receipts",
        "3 of 3 reproduced, byte for byte",
        "all as they were said: True",
        "today it begins: Well,",
    ],
    "poisoned_memory.py": [
        "the agent answers: Refunds go to account 9900-1138",
        "the plan: 2 facts, 0 conflicts",
        "the agent answers: Refunds go to the card ending in 4417",
        "what it knew then is unchanged: True",
        "after undo: Refunds go to account 9900-1138",
        "after redo: Refunds go to the card ending in 4417",
    ],
}


@pytest.mark.slow
@pytest.mark.parametrize("script", EXAMPLES, ids=lambda script: script.name)
def test_an_example_runs_and_says_what_it_says(script: Path, tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, script],
        cwd=tmp_path,
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=60,
    )

    assert (ended.returncode, ended.stderr) == (0, "")
    assert [
        line for line in SAYS[script.name] if line not in ended.stdout.splitlines()
    ] == []
