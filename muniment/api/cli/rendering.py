"""Each kind of answer as a person reads it."""

from typing import assert_never

from rich.console import Group, RenderableType
from rich.text import Text

from muniment.api import answers, certificates, custody, explaining
from muniment.api.badcases import summary_of
from muniment.api.cli import custodial, differences, findings, tables
from muniment.api.cli.answers import (
    Answer,
    Blamed,
    Certified,
    Due,
    Held,
    Indexed,
    Made,
    Modified,
    Rebuilt,
    Reconciled,
    Reproduced,
    Retained,
    Rotated,
    Told,
)
from muniment.api.cli.terminal import visible
from muniment.api.found import SearchHits
from muniment.api.loading import Loaded


def rendered(answer: Answer) -> RenderableType:  # noqa: C901, PLR0911, PLR0912 - one case each
    """Return *answer* for a terminal."""
    match answer:
        case answers.Fact():
            return tables.facts([answer])
        case answers.FactHistory():
            return tables.history(answer)
        case answers.MemoryDiff():
            return differences.diff(answer)
        case answers.MemorySnapshot():
            return tables.snapshot(answer)
        case answers.Page():
            return tables.page(answer)
        case answers.Receipt():
            return differences.receipt(answer)
        case answers.RollbackPlan():
            return differences.plan(answer)
        case SearchHits():
            return findings.hits(answer)
        case Indexed():
            return findings.indexed(answer)
        case Reconciled():
            return findings.reconciled(answer)
        case Blamed():
            return tables.blame(answer.blame)
        case Modified():
            return tables.modified(answer.modified)
        case Made():
            return Text(_made(answer), "green")
        case Rebuilt():
            return Text(f"folded anew: {answer.beliefs:,} beliefs", "green")
        case Loaded():
            return Text(_loaded(answer), "green")
        case (
            custody.Verification()
            | certificates.ErasurePlan()
            | certificates.ErasureCertificate()
            | Certified()
            | Due()
            | Held()
            | Retained()
            | Rotated()
        ):
            return custodial.rendered(answer)
        case explaining.Diagnosis():
            return _diagnosed(answer)
        case Reproduced():
            files = "".join(f"\n{each}" for each in answer.files)
            return Text(visible(summary_of(answer.case)) + visible(files))
        case Told():
            return Text("\n".join(["Go on asking:", *(f"  {e}" for e in answer.try_next)]))
        case _:
            assert_never(answer)


def _diagnosed(found: explaining.Diagnosis) -> RenderableType:
    """Return what was looked at, one a row, and the sentence below it."""
    table = tables.columns("looked at", "", "by what one can tell")
    for check in found.checks:
        mark = {True: "yes", False: "no", None: "open"}[check.passed]
        table.add_row(visible(check.question), mark, visible(check.evidence))
    return Group(table, Text(visible(f"{found.stage}: {found.sentence}"), "bold"))


def _made(made: Made) -> str:
    did = "made" if made.created else "is there already:"
    return visible(f"store {did} {made.store}, ledger {made.ledger}")


def _loaded(loaded: Loaded) -> str:
    known = f", {loaded.known:,} were loaded before" if loaded.known else ""
    return f"{loaded.facts:,} facts loaded from {loaded.lines:,} lines{known}"
