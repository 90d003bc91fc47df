import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks import run


@pytest.mark.slow
@pytest.mark.parametrize("question", run.QUESTIONS)
def test_every_question_is_answered_on_every_backend(
    question: str, tmp_path: Path, postgres_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    results = tmp_path / "results"
    where = ["--dir", str(tmp_path), "--results", str(results), "--postgres", postgres_url]

    run.main(["--quick", "--only", question, *where])

    written: dict[str, Any] = json.loads((results / f"{question}.json").read_text())
    assert set(written["backends"]) == {"sqlite", "postgresql"}
    for answers in written["backends"].values():
        figures = [each for each in answers.values() if "per_second" in each]
        assert len(figures) >= 2
        assert all(each["per_second"] > 0 and each["ratio"] > 0 for each in figures)
    assert "| sqlite | " in capsys.readouterr().out
