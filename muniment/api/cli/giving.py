"""Commands that give out what is remembered of somebody, and take it in."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from muniment.api.cli import terminal
from muniment.api.cli.asking import Author, Looker
from muniment.api.cli.options import Whose
from muniment.api.cli.place import Place


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What of a memory is asked for."""

    start: Annotated[
        str | None,
        typer.Option("--from", metavar="TIME", help="Recorded at or after."),
    ] = None
    end: Annotated[
        str | None,
        typer.Option("--to", metavar="TIME", help="Recorded before; up to now."),
    ] = None
    point: Annotated[
        list[str] | None,
        typer.Option(
            "--as-of",
            metavar="TIME",
            help="Work out what was known then. May be repeated.",
        ),
    ] = None
    third_party: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="A name to be replaced by a token. May be repeated."
        ),
    ] = None


def evidence(
    whose: Whose,
    asked: Asked,
    author: Author,
    at: Place,
    *,
    out: Annotated[
        Path, typer.Option(metavar="FILE", help="The zip file to write; not there yet.")
    ],
    matter: Annotated[str, typer.Option(metavar="TEXT", help="What it is for.")],
) -> None:
    """
    Write a package of evidence that anyone can check without this store.

    It holds what was recorded of one subject in clear text, and what ties each line to
    the ledger: envelopes, inclusion proofs, a signed tree head, and a key for each payload
    that opens no other. What was redacted is a token. It is checked with muniment-verify,
    or with the verify.py inside of it, which needs only Python and cryptography.

    That it is made is recorded, with --reason and --actor, before anything is written.
    """
    if author.reason is None:
        raise typer.TyperException("--reason is needed: it is recorded with the package")
    given: Any = {name: each for name, each in author.by.items() if name != "reason"}
    with author.asked(at) as store:
        made = store.export_evidence(
            out,
            scope=whose.scope,
            matter=matter,
            reason=author.reason,
            start=asked.start,
            end=asked.end,
            points=tuple(asked.point or ()),
            third_parties=tuple(asked.third_party or ()),
            **given,
        )
    at.answer(made)


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Which part of everything is given out."""

    hide_others: Annotated[
        bool,
        typer.Option(
            "--hide-others", help="Replace ids of other users and teams by tokens."
        ),
    ] = False
    source: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Only facts that it said first, and conversations. May be repeated.",
        ),
    ] = None
    third_party: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="A name to be replaced by a token; says --hide-others, too. May be "
            "repeated.",
        ),
    ] = None


def export(
    whose: Whose,
    part: Part,
    author: Author,
    at: Place,
    *,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the JSON there, not to the output."),
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write a page to read there, too."),
    ] = None,
    matter: Annotated[
        str, typer.Option(metavar="TEXT", help="What it is for.")
    ] = "subject access",
) -> None:
    """
    Give out everything about a subject: facts, versions, sources, requests, holds.

    It is JSON by the schema in docs/reference/export.schema.json, which import reads
    again. It is whole or it fails. That it was given out is recorded.
    """
    from muniment.api.giving import given_out  # noqa: PLC0415 - slow, not for --help

    with author.asked(at) as store:
        found = store.export(
            scope=whose.scope,
            matter=matter,
            hide_others=part.hide_others,
            third_parties=tuple(part.third_party or ()),
            sources=tuple(part.source or ()),
            **author.by,
        )
    if html is not None:
        given_out(html, lambda: found.html().encode())
    if out is None:
        terminal.emit_text(found.json())
    else:
        at.answer(given_out(out, lambda: found.json().encode()))


def import_(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            exists=True,
            dir_okay=False,
            readable=True,
            help="What export wrote.",
        ),
    ],
    looker: Looker,
    at: Place,
) -> None:
    """
    Take in what another store exported of a subject that is not remembered here.

    Ids, valid times, provenance and the order of history are kept. Recorded times are
    this ledger's own; those of the other are kept as claimed_at. Importing the same file
    again adds nothing, so an import that was interrupted is finished by repeating it.
    """
    with looker.asked(at) as store:
        found = store.import_export(file)
    at.answer(found)
