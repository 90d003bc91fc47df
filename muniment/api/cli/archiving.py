"""Commands about the archive: what is written there, and questions about it."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated

import typer

from muniment.api.cli import terminal
from muniment.api.cli.answers import ArchiveRun
from muniment.api.cli.asking import Looker
from muniment.api.cli.place import Place


@dataclass(frozen=True, slots=True, kw_only=True)
class Age:
    """How old what is archived is: one of two."""

    older_than: Annotated[
        str | None,
        typer.Option(metavar="DURATION", help="Recorded so long ago, such as 365d."),
    ] = None
    until: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Recorded up to then, with an offset."),
    ] = None

    @property
    def span(self) -> timedelta | None:
        """
        How long ago, if that was said.

        Raises:
            InvalidValueError: If it is no duration.
        """
        from muniment.api.rules import seconds  # noqa: PLC0415 - slow, not for --help

        if self.older_than is None:
            return None
        return timedelta(seconds=seconds(self.older_than, field="--older-than"))


def archive(
    context: typer.Context,
    age: Age,
    looker: Looker,
    at: Place,
    *,
    plan: Annotated[
        bool, typer.Option("--plan", help="Show what would be written, and write nothing.")
    ] = False,
    prune: Annotated[
        bool,
        typer.Option(
            "--prune",
            help="Then let go of payloads that are archived and no belief rests on.",
        ),
    ] = False,
) -> None:
    """
    Write what was recorded to the archive, from where the last run ended.

    Segments of Parquet hold what is sealed as it stands, with a column for everything
    that is not content; each is read back and tied to a signed tree head before the next.
    A run that failed or was killed is finished by the next.

    Nothing leaves the database unless --prune is given, and no answer changes by it: what
    is asked for then comes from the archive.
    """
    if context.invoked_subcommand is not None:
        _refuse_before(context)
        return
    with looker.asked(at) as store:
        if plan:
            at.answer(store.plan_archive(until=age.until, older_than=age.span))
            return
        with terminal.counting("events written") as progress:
            written = store.archive(until=age.until, older_than=age.span, progress=progress)
        pruned = 0
        if prune:
            with terminal.counting("events looked at") as progress:
                pruned = store.prune(progress=progress)
    at.answer(
        ArchiveRun(
            segments=written.segments,
            events=written.events,
            byte_count=written.byte_count,
            last_position=written.last_position,
            pruned=pruned,
        )
    )


def _refuse_before(context: typer.Context) -> None:
    """Refuse options before the name of another command, which has its own."""
    for name in context.params:
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            raise typer.TyperException(
                f"say options after {context.invoked_subcommand}: those before it are of "
                "archive alone, and would not be used"
            )


def query(
    sql: Annotated[str, typer.Argument(metavar="SQL", help="One SELECT.")],
    looker: Looker,
    at: Place,
) -> None:
    """
    Ask the archive in SQL, where the package duckdb is installed.

    There are two views, events and transactions. Content is sealed there, so what can be
    asked is who, when, what kind, how many. A question reads the archive and nothing else.
    """
    with looker.asked(at) as store:
        found = store.query_archive(sql)
    at.answer(found)
