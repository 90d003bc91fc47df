"""Each kind of answer as a person reads it."""

from typing import assert_never

from rich.console import RenderableType
from rich.text import Text

from muniment.api import answers, diagnoses
from muniment.api.cli import (
    accounts,
    archival,
    custodial,
    differences,
    findings,
    investigated,
    recalled,
    tables,
    talked,
    together,
)
from muniment.api.cli.answers import (
    Answer,
    Blamed,
    Indexed,
    Made,
    Modified,
    Rebuilt,
    Reconciled,
    Reproduced,
    Told,
)
from muniment.api.cli.terminal import visible
from muniment.api.found import SearchHits
from muniment.api.loading import Loaded


def rendered(answer: Answer) -> RenderableType:  # noqa: C901, PLR0911, PLR0912 - one case each
    """Return *answer* for a terminal."""
    if isinstance(answer, custodial.KINDS):
        return custodial.rendered(answer)
    if isinstance(answer, archival.KINDS):
        return archival.rendered(answer)
    if isinstance(answer, accounts.Account):
        return accounts.rendered(answer)
    if isinstance(answer, together.Together):
        return together.rendered(answer)
    if isinstance(answer, talked.Talked):
        return talked.rendered(answer)
    if isinstance(answer, recalled.Recalled):
        return recalled.rendered(answer)
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
        case Made() | Rebuilt() | Loaded():
            return Text(_done(answer), "green")
        case diagnoses.Diagnosis() | Reproduced():
            return investigated.rendered(answer)
        case Told():
            return Text("\n".join(["Go on asking:", *(f"  {e}" for e in answer.try_next)]))
        case _:
            assert_never(answer)


def _done(done: Made | Rebuilt | Loaded) -> str:
    match done:
        case Made():
            return _made(done)
        case Rebuilt():
            return f"folded anew: {done.beliefs:,} beliefs"
        case Loaded():
            return _loaded(done)
        case _:
            assert_never(done)


def _made(made: Made) -> str:
    did = "made" if made.created else "is there already:"
    return visible(f"store {did} {made.store}, ledger {made.ledger}")


def _loaded(loaded: Loaded) -> str:
    known = f", {loaded.known:,} were loaded before" if loaded.known else ""
    return f"{loaded.facts:,} facts loaded from {loaded.lines:,} lines{known}"
