"""Commands that find facts, and keep the index they are found by."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from muniment.api.cli import exits, terminal
from muniment.api.cli.answers import Indexed, Reconciled
from muniment.api.cli.asking import Looker
from muniment.api.cli.options import AsOf, Memories, ValidAt, given
from muniment.api.cli.place import Place


@dataclass(frozen=True, slots=True, kw_only=True)
class Narrowing:
    """What a search is narrowed by, and whom it serves: see `muniment.api.searching`."""

    category: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Only of this category. May be repeated.",
            rich_help_panel="Narrowing",
        ),
    ] = None
    attribute: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Only of this attribute. May be repeated.",
            rich_help_panel="Narrowing",
        ),
    ] = None
    source: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Only from this source. May be repeated.",
            rich_help_panel="Narrowing",
        ),
    ] = None
    status: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Only of this status; active if left out. May be repeated.",
            rich_help_panel="Narrowing",
        ),
    ] = None
    since: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Only what holds from then or later.",
            rich_help_panel="Narrowing",
        ),
    ] = None
    until: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Only what holds from before then.",
            rich_help_panel="Narrowing",
        ),
    ] = None
    min_confidence: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            help="Only if at least that sure, 0 to 1.",
            rich_help_panel="Narrowing",
        ),
    ] = None
    recent_turn: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TEXT",
            help="What was said just before, oldest first. May be repeated.",
            rich_help_panel="Narrowing",
        ),
    ] = None
    past: Annotated[
        bool,
        typer.Option(
            "--past",
            help="Also what ended, expired or was retired, each marked so.",
            rich_help_panel="Narrowing",
        ),
    ] = False
    min_position: Annotated[
        int | None,
        typer.Option(
            metavar="POSITION",
            help="What must be known at least; all that is recorded if left out.",
            rich_help_panel="Narrowing",
        ),
    ] = None

    receipt: Annotated[
        bool,
        typer.Option(
            "--receipt/--no-receipt",
            help="Whether it leaves a receipt, as what serves an agent does.",
            rich_help_panel="Whom it serves",
        ),
    ] = True
    agent: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Which agent.", rich_help_panel="Whom it serves"),
    ] = None
    session: Annotated[
        str | None,
        typer.Option(
            metavar="ID", help="In which conversation.", rich_help_panel="Whom it serves"
        ),
    ] = None

    @property
    def fields(self) -> Any:  # noqa: ANN401 - fields of a TypedDict
        """The fields given, by the names of the store."""
        return given(
            category=self.category,
            attribute=self.attribute,
            source=self.source,
            status=self.status,
            since=self.since,
            until=self.until,
            recent_turns=self.recent_turn,
            past=self.past or None,
            min_confidence=self.min_confidence,
            min_position=self.min_position,
            receipt=self.receipt,
            agent=self.agent,
            session_id=self.session,
        )


def search(
    query: Annotated[
        str, typer.Argument(metavar="QUERY", help="Words, a question, or a fact's id.")
    ],
    memories: Memories,
    narrowing: Narrowing,
    looker: Looker,
    at: Place,
    *,
    as_of: AsOf = None,
    valid_at: ValidAt = None,
    limit: Annotated[int, typer.Option(help="At most so many, 1 to 1,000.")] = 10,
    explain: Annotated[
        bool, typer.Option("--explain", help="Say where each leg puts each fact.")
    ] = False,
) -> None:
    """
    Find what answers a question, by words and by meaning, best first.

    What is retired, ended or expired is not found, unless --past asks for it. As of a
    time before, the answer is the one that was given then, by the model of then.

    What could not be served is said on standard error, and in the answer as unserved:
    without an embedder, for example, facts are found by their words alone.
    """
    scope = memories.scope
    # A command ends at once: it is not the one to keep the index.
    with looker.asked(at, upkeep=False) as store:
        hits = store.search(
            query,
            scope=scope,
            scopes=memories.scopes,
            limit=limit,
            as_of=as_of,
            valid_at=valid_at,
            explain=explain,
            **narrowing.fields,
        )
    at.answer(hits)
    say_unserved(hits.unserved)


def say_unserved(unserved: Mapping[str, str]) -> None:
    """Say on standard error what a search could not serve, why, and the way out."""
    for leg, why in unserved.items():
        terminal.note(f"not served: {leg}, {why}{_way_out(why)}")


def catch_up(at: Place, looker: Looker) -> None:
    """
    Embed and index what was recorded since, in this process.

    A store that is open in an agent does so by itself. Interrupt it whenever you like:
    what was embedded stays.
    """
    with looker.asked(at) as store, terminal.counting("events") as progress:
        found = store.catch_up(progress=progress)
    at.answer(Indexed.of(found))
    problem = found.stopped or found.waiting
    if problem is not None:
        raise problem


def reindex(
    looker: Looker,
    at: Place,
    *,
    embedder: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="local, openai, hashing or none from now on; the one in use if left out.",
        ),
    ] = None,
) -> None:
    """
    Embed every version anew, and search by that from then on.

    Reads and writes go on meanwhile, and searches too, by the vectors there were. What is
    asked as of a time before is answered by the model of then for ever after.

    Set MUNIMENT_EMBEDDER to the same name for whoever opens the store next, or to auto.
    """
    name: Any = embedder  # the store refuses what is none
    # The settings may name the new one already, which the store would not open with.
    changed = {} if name is None else {"embedder": "auto"}
    with looker.asked(at, **changed) as store, terminal.counting("events") as progress:
        found = store.reindex(embedder=name, progress=progress)
    at.answer(Indexed.of(found))


def reconcile(
    looker: Looker,
    at: Place,
    *,
    mend: Annotated[
        bool, typer.Option("--mend", help="Put right what differs, too.")
    ] = False,
) -> None:
    """
    Compare the index of current facts with the ledger, point by point.

    What differs is listed: missing, orphaned, stale, or of the wrong scope. No search has
    ever shown it, since every hit is read from the ledger first; with --mend it is put
    right. Without, the exit code is 4 when something differs.
    """
    with looker.asked(at) as store:
        found = store.reconcile(mend=mend)
    at.answer(Reconciled(differences=found, mended=mend))
    if found and not mend:
        terminal.note(f"{len(found):,} points differ; put them right with --mend")
        raise typer.Exit(exits.REFUSED_FOR_NOW)


def _way_out(why: str) -> str:
    if why == "no embedder is set":
        return "; muniment reindex --embedder local sets one"
    return "; muniment catch-up makes them" if why.endswith("no vector yet") else ""
