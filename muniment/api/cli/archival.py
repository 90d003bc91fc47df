"""What was archived, given out and taken in, as a person reads it."""

from typing import TypeAlias, assert_never

from rich.console import RenderableType
from rich.text import Text

from muniment.api.cli.answers import ArchiveRun, FromArchive
from muniment.api.cli.tables import columns, words
from muniment.api.giving import Evidence
from muniment.api.importing import Imported
from muniment.archive.told import ArchivePlan, Rows


Archival: TypeAlias = ArchivePlan | ArchiveRun | FromArchive | Rows | Evidence | Imported
KINDS = (ArchivePlan, ArchiveRun, FromArchive, Rows, Evidence, Imported)


def rendered(answer: Archival) -> RenderableType:
    """Return *answer* for a terminal."""
    match answer:
        case ArchivePlan():
            return _plan(answer)
        case ArchiveRun():
            return Text(_run(answer), "green")
        case FromArchive():
            return _restored(answer)
        case Rows():
            return _rows(answer)
        case Evidence():
            return words(
                f"{answer.file}, {answer.byte_count:,} bytes, SHA-256 {answer.sha256}"
            )
        case Imported():
            known = f", {answer.known:,} were there" if answer.known else ""
            return words(
                f"{answer.scope}: {answer.facts:,} facts, {answer.events:,} events{known}"
            )
        case _:
            assert_never(answer)


def _plan(plan: ArchivePlan) -> RenderableType:
    if not plan.events:
        return Text(f"nothing to write, {plan.archived:,} events are archived", "dim")
    months = f"{plan.months[0]} to {plan.months[-1]}"
    return Text(
        f"{plan.events:,} events, positions {plan.first_position:,} to "
        f"{plan.last_position:,}, {months}; {plan.archived:,} are archived already"
    )


def _run(run: ArchiveRun) -> str:
    left = f"; {run.pruned:,} payloads left the database" if run.pruned else ""
    return (
        f"{run.events:,} events written in {run.segments:,} segments, "
        f"{run.byte_count:,} bytes; archived up to position {run.last_position:,}{left}"
    )


def _restored(found: FromArchive) -> RenderableType:
    text = f"{found.events:,} events restored, up to position {found.last_position:,}"
    if found.signed > found.last_position:
        missing = (
            f"; {found.signed:,} were recorded when the archive was last written, "
            f"those past {found.last_position:,} are not in it"
        )
        return Text(text + missing, "bold yellow")
    return Text(text, "green")


def _rows(found: Rows) -> RenderableType:
    table = columns(*found.columns)
    for row in found.rows:
        table.add_row(*(words("" if each is None else str(each)) for each in row))
    return table
