"""
Measure, and write down what was measured.

    python benchmarks/run.py                       everything; benchmarks/README.md anew
    python benchmarks/run.py --quick --results DIR small sizes, to see that it runs
    python benchmarks/run.py --only writes bulk    some questions
"""

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path


if not __package__:  # run as a file, so that only the folder of this file is searched
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import (
    bulk,
    disk,
    erasure,
    machine,
    plot,
    proofs,
    reads,
    report,
    threads,
    writes,
)
from benchmarks.places import BACKENDS, Place, places
from benchmarks.sizes import FULL, QUICK, Sizes
from muniment.clock import system_clock
from muniment.instants import moment, to_text


Question = Callable[[Place, Sizes], dict[str, object]]

QUESTIONS: dict[str, Question] = {
    "writes": writes.measure,
    "bulk": bulk.measure,
    "threads": threads.measure,
    "proofs": proofs.measure,
    "reads": reads.measure,
    "erasure": erasure.measure,
    "disk": disk.measure,
}
"""By the name of their file in `results`, in the order in which they are asked."""

_HERE = Path(__file__).resolve().parent


def main(arguments: Sequence[str] | None = None) -> None:
    """Ask the questions that *arguments* name, and write the answers down."""
    asked = _asked(arguments)
    sizes = QUICK if asked.quick else FULL
    asked.results.mkdir(parents=True, exist_ok=True)
    with places(asked.on, directory=asked.dir, server=asked.postgres) as found:
        described = machine.described(found)
        for name in asked.only:
            for place in found:
                sys.stdout.write(f"{name} on {place.backend} ...\n")
                sys.stdout.flush()
                answers: dict[str, object] = {place.backend: QUESTIONS[name](place, sizes)}
                _write(asked.results / f"{name}.json", described, sizes, answers)
    if "reads" in asked.only:
        _draw(asked.results)
    if not asked.quick:
        report.update(_HERE / "README.md", asked.results)
    sys.stdout.write(report.tables(asked.results))


def _asked(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure Muniment.")
    parser.add_argument("--quick", action="store_true", help="small sizes")
    parser.add_argument(
        "--only", nargs="+", choices=QUESTIONS, default=list(QUESTIONS), help="questions"
    )
    parser.add_argument(
        "--on", nargs="+", choices=BACKENDS, default=list(BACKENDS), help="backends"
    )
    parser.add_argument("--dir", type=Path, help="directory on the disk to measure")
    parser.add_argument("--postgres", metavar="URL", help="a server, instead of our own")
    parser.add_argument("--results", type=Path, default=_HERE / "results")
    return parser.parse_args(arguments)


def _write(file: Path, described: object, sizes: Sizes, answers: dict[str, object]) -> None:
    """Write what was measured; a backend that was not asked keeps what it had."""
    before = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    written = {
        "measured_at": to_text(moment(system_clock())),
        "machine": described,
        "sizes": asdict(sizes),
        "backends": {**before.get("backends", {}), **answers},
    }
    file.write_text(json.dumps(written, indent=2) + "\n", encoding="utf-8")


def _draw(results: Path) -> None:
    """Make the picture of the reads, as they were measured last."""
    measured = json.loads((results / "reads.json").read_text(encoding="utf-8"))
    drawn = plot.picture(measured["backends"])
    (results / "reads.svg").write_text(drawn, encoding="utf-8")


if __name__ == "__main__":
    main()
