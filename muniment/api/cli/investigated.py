"""A wrong answer looked into, as a person reads it."""

from typing import assert_never

from rich.console import Group, RenderableType
from rich.text import Text

from muniment.api.badcases import summary_of
from muniment.api.cli import tables
from muniment.api.cli.answers import Reproduced
from muniment.api.cli.terminal import visible
from muniment.api.diagnoses import Diagnosis


def rendered(answer: Diagnosis | Reproduced) -> RenderableType:
    """Return *answer* for a terminal."""
    match answer:
        case Diagnosis():
            return _diagnosed(answer)
        case Reproduced():
            return Text(visible("\n".join([summary_of(answer.case), *answer.files])))
        case _:
            assert_never(answer)


def _diagnosed(found: Diagnosis) -> RenderableType:
    """Return what was looked at, one a row, and the sentence below it."""
    table = tables.columns("looked at", "", "by what one can tell")
    for check in found.checks:
        mark = {True: "yes", False: "no", None: "open"}[check.passed]
        table.add_row(visible(check.question), mark, visible(check.evidence))
    return Group(table, Text(visible(f"{found.stage}: {found.sentence}"), "bold"))
