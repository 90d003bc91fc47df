"""Commands that look into a wrong answer: rebuild its moment, say which stage lost what."""

from pathlib import Path
from typing import Annotated

import typer

from muniment.api.cli.answers import Reproduced
from muniment.api.cli.asking import Looker
from muniment.api.cli.options import Memories, Whose
from muniment.api.cli.place import Place


At = Annotated[
    str | None,
    typer.Option(metavar="TIME", help="When it was answered; now if left out."),
]


def reproduce(
    whose: Whose,
    looker: Looker,
    at_place: Place,
    at: Annotated[
        str, typer.Option(metavar="TIME", help="When it was answered, or recalled.")
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Write the case into this directory, to be run elsewhere."
        ),
    ] = None,
    *,
    agent: Annotated[
        str | None,
        typer.Option(metavar="MODULE:FUNCTION", help="Ask this agent again, and compare."),
    ] = None,
    turns: Annotated[
        int, typer.Option(metavar="N", help="Most turns, the newest.")
    ] = 1_000,
    receipts: Annotated[
        int, typer.Option(metavar="N", help="Most receipts, the newest.")
    ] = 100,
) -> None:
    """
    Rebuild the moment of an answer: memory, words, configuration and receipts of then.

    With --out, DIR gets the data as JSON, a script that asks an agent again on another
    machine where nothing but this package is installed, and a test to go on with. They
    hold what was remembered and said in plain text.

    TIME is RFC 3339 with an offset, such as 2026-03-15T09:30:00+08:00.
    """
    from muniment.api.badcases import (  # noqa: PLC0415 - slow, and not for --help
        named_agent,
        write_badcase,
    )

    called = None if agent is None else named_agent(agent)
    with looker.asked(at_place) as store:
        case = store.reproduce_badcase(
            scope=whose.scope, timestamp=at, agent=called, turns=turns, receipts=receipts
        )
    files = () if out is None else write_badcase(case, out)
    at_place.answer(Reproduced(case=case, files=tuple(str(each) for each in files)))


def why(
    memories: Memories,
    looker: Looker,
    at_place: Place,
    expect: Annotated[
        str, typer.Option(metavar="TEXT", help="What the agent should have known.")
    ],
    query: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT",
            help="What it was asked, more or less; what the last receipt says if left out.",
        ),
    ] = None,
    at: At = None,
) -> None:
    """
    Say why an agent did not know something: which stage lost it, and by what one can tell.

    It asks in order whether it was ever said, written (when, by whom), still believed,
    would be found by a search then and now, was recalled, and went into the prompt. With
    --scope it looks into further memories that may say it, such as that of a team.
    """
    with looker.asked(at_place) as store:
        found = store.why(
            expect, scope=memories.scope, scopes=memories.scopes, query=query, at=at
        )
    at_place.answer(found)
