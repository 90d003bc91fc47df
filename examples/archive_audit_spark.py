# ruff: noqa: INP001 - a script
r"""
Who knew what, when, over a whole archive, where one machine is not enough.

    pip install 'muniment[spark]'          # and a Java, 17 or newer
    python examples/archive_audit_spark.py memory/archive \
        --recorded-at 2026-03-25T10:30:00+08:00 --valid-at 2026-03-01T00:00:00+08:00

Reads every segment of the archive as it is and prints a line of JSON for each subject:
the facts that were believed of it at that point on both axes, by the version that said
so. No key is needed and no content is shown: whose memory it is, when and since when is
not sealed. The fold is the one that the offline verifier of evidence uses.
"""

import argparse
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from pyspark.sql import Row, SparkSession

from muniment.archive.rederiving import believed
from muniment.instants import to_instant


Event = tuple[int, dict[str, Any]]
"""A version, and what the fold looks at."""


def believed_facts(
    spark: SparkSession, archive: str, *, recorded_at: int, valid_at: int
) -> Iterator[tuple[str, list[tuple[str, int]]]]:
    """
    Yield for each subject the facts believed of it then, with their versions, in order.

    Args:
        spark: A session.
        archive: The directory or URL of the archive.
        recorded_at: What was known at this time, microseconds …
        valid_at: … about this one.
    """
    events = (
        spark.read.parquet(f"{archive}/events")
        .where(f"recorded_at <= timestamp_micros({recorded_at})")
        .where("stream LIKE 'fact-%'")
        .select("subject_ref", "stream", "version", "position", "topic", "header")
    )
    found = (
        events.rdd.map(_keyed)
        .groupByKey()
        .flatMap(lambda pair: _held(*pair, recorded_at=recorded_at, valid_at=valid_at))
        .groupByKey()
        .mapValues(sorted)
        .sortByKey()
    )
    yield from found.toLocalIterator()


def _keyed(row: Row) -> tuple[tuple[str, str], Event]:
    event = {
        "kind": row.topic.rpartition(".v")[0],
        "position": row.position,
        "header": json.loads(bytes(row.header)),
    }
    return (row.subject_ref, row.stream.removeprefix("fact-")), (row.version, event)


def _held(
    key: tuple[str, str], events: Iterable[Event], *, recorded_at: int, valid_at: int
) -> Iterator[tuple[str, tuple[str, int]]]:
    """Yield what is believed of one fact, under its subject."""
    subject_ref, fact_id = key
    ordered = [event for _, event in sorted(events, key=lambda each: each[0])]
    held = believed(
        {fact_id: ordered},
        position=ordered[-1]["position"],
        recorded_at=recorded_at,
        valid_at=valid_at,
    )
    for _, _, version, _ in held:
        yield subject_ref, (fact_id, version)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print what was believed, subject by subject."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("archive", help="its directory or URL")
    parser.add_argument("--recorded-at", required=True, help="what was known then")
    parser.add_argument("--valid-at", help="about then; --recorded-at if left out")
    parser.add_argument("--master", default="local[*]", help="where Spark runs")
    asked = parser.parse_args(arguments)
    recorded_at = to_instant(asked.recorded_at)
    valid_at = recorded_at if asked.valid_at is None else to_instant(asked.valid_at)
    spark = (
        SparkSession.builder.master(asked.master)
        .appName("who knew what")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.session.timeZone", "UTC")
        .getOrCreate()
    )
    try:
        for subject_ref, facts in believed_facts(
            spark, asked.archive, recorded_at=recorded_at, valid_at=valid_at
        ):
            line = {"subject_ref": subject_ref, "facts": facts}
            sys.stdout.write(json.dumps(line) + "\n")
    finally:
        spark.stop()


if __name__ == "__main__":
    main()
