"""Spark finds in the archive what the store itself answers."""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from muniment import Scope
from tests.archive.told import USERS, instant, told
from tests.stores import SQLITE, backend_at


EXAMPLE = Path(__file__).parents[2] / "examples" / "archive_audit_spark.py"
WAIT_S = 180

has_spark = importlib.util.find_spec("pyspark") and shutil.which("java")


@pytest.mark.slow
@pytest.mark.skipif(
    not has_spark, reason="PySpark, 450 MB, or Java is not there: muniment[spark]"
)
def test_spark_finds_what_the_store_answers(tmp_path: Path) -> None:
    story = told(backend_at(SQLITE, directory=tmp_path / "store", postgres_url=None))
    story.store.archive()
    story.store.prune()

    for known, about in ((story.times[9], story.times[3]), (story.times[-1],) * 2):
        ended = subprocess.run(
            [
                sys.executable,
                EXAMPLE,
                story.place,
                *("--recorded-at", instant(known), "--valid-at", instant(about)),
                *("--master", "local[1]"),
            ],
            check=True,
            capture_output=True,
            timeout=WAIT_S,
            env={**os.environ, "PYSPARK_PYTHON": sys.executable},
        )
        lines = [json.loads(each) for each in ended.stdout.splitlines()]
        found = {each["subject_ref"]: each["facts"] for each in lines}

        for user_id in USERS:
            subject = story.store._ledger.vault.find(Scope.user(user_id))
            assert subject is not None
            then = story.store.get_memory_as_of(
                user_id=user_id, timestamp=instant(known), valid_at=instant(about)
            )
            expected = sorted([each.fact_id, each.version] for each in then)
            assert found.get(subject.ref, []) == expected
    story.store.close()
