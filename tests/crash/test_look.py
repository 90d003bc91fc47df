"""Who looked is on record, whatever became of the process that answered."""

import subprocess
import sys
from pathlib import Path

from tests.stores import Backend


ROOT = Path(__file__).parents[2]
SIGKILL = -9


def test_a_look_that_was_answered_is_on_record_though_the_process_was_killed(
    durable: Backend,
) -> None:
    with durable.open() as store:
        fact = store.remember("likes tea", user_id="ann")
    settings = durable.settings().model_dump_json(exclude={"key"})

    looked = subprocess.run(
        [sys.executable, "-m", "tests.crash.looker", settings],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
        timeout=60,
    )

    assert (looked.returncode, looked.stdout.strip()) == (SIGKILL, fact.fact_id)
    with durable.open() as store:
        (entry,) = store.access_log()
        assert (entry.actor, entry.reason) == ("o-1", "complaint 2026-17")
        assert [fact_id for fact_id, _ in entry.returned] == [fact.fact_id]
        assert store.verify()
