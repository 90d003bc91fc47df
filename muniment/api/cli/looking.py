"""Commands that ask: what is known, what was known, what changed, who said so."""

from typing import Annotated

import typer

from muniment.api.cli.answers import Blamed, Modified
from muniment.api.cli.asking import Looker
from muniment.api.cli.options import AsOf, Cursor, Limit, Memories, ValidAt, Whose
from muniment.api.cli.place import Place


FactId = Annotated[str, typer.Argument(metavar="FACT", help="The id of a fact.")]


def as_of(
    whose: Whose,
    looker: Looker,
    at: Place,
    when: Annotated[
        str | None,
        typer.Argument(
            metavar="TIME",
            help="What was known then; what is known now if left out.",
        ),
    ] = None,
    valid_at: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="About this time; TIME itself if left out."),
    ] = None,
) -> None:
    """
    Show what was believed of somebody at a moment, on two clocks.

    Recorded time is when the store learned something; it alone stamps it, and it never
    changes. TIME is on this clock: what did the agent know then? Whatever was written,
    corrected or rolled back later does not change the answer, today or in a year.

    Valid time is when something holds in the world; whoever says it says that too.
    --valid-at is on this clock: what was known, about which time? Left out, it is TIME.

    So with TIME alone you see what the agent would have answered at that moment. With
    --valid-at alone you see what is known today about another day: corrections made
    since are in it. With both you see what was known then about another day.

    Times are RFC 3339 with an offset, such as 2026-03-15T09:30:00+08:00.
    """
    scope = whose.scope
    with at.opened() as store:
        # The store's own now: a database server has a clock of its own. Nothing else of
        # this is used, so it is nobody's look.
        now = store.get_all(scope=scope, limit=1).recorded_at
        found = looker.asking(store).get_memory_as_of(
            timestamp=now if when is None else when, scope=scope, valid_at=valid_at
        )
    at.answer(found)


def get(
    fact_id: FactId,
    looker: Looker,
    at: Place,
    as_of: AsOf = None,
    valid_at: ValidAt = None,
) -> None:
    """Show what is believed of one fact, now or at a moment before."""
    with looker.asked(at) as store:
        found = store.get(fact_id, as_of=as_of, valid_at=valid_at)
    at.answer(found)


def list_(
    memories: Memories,
    looker: Looker,
    at: Place,
    *,
    category: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only this category.")
    ] = None,
    as_of: AsOf = None,
    valid_at: ValidAt = None,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> None:
    """
    List what is believed of somebody, now or at a moment before, part by part.

    Each part is read at the moment of the first, so nothing is missed or repeated while
    others write.
    """
    scope = memories.scope
    with looker.asked(at) as store:
        found = store.get_all(
            scope=scope,
            scopes=memories.scopes,
            category=category,
            as_of=as_of,
            valid_at=valid_at,
            limit=limit,
            cursor=cursor,
        )
    at.answer(found)


def history(
    fact_id: FactId,
    looker: Looker,
    at: Place,
    as_of: AsOf = None,
    valid_at: ValidAt = None,
) -> None:
    """Show every version of a fact, oldest first, with who made it and why."""
    with looker.asked(at) as store:
        found = store.get_fact_history(fact_id, as_of=as_of, valid_at=valid_at)
    at.answer(found)


def diff(
    first: Annotated[str, typer.Argument(metavar="TIME_A", help="The first side.")],
    second: Annotated[
        str, typer.Argument(metavar="TIME_B", help="The second side; may be earlier.")
    ],
    whose: Whose,
    looker: Looker,
    at: Place,
    valid_at: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Compare what was known about this one time, not each about its own.",
        ),
    ] = None,
) -> None:
    """
    Show what differs between what was believed at two moments, and what caused it.

    Both times are recorded times: see as-of. Facts come or go with time alone, too: then
    the cause shown is the event that said when.
    """
    with looker.asked(at) as store:
        found = store.diff_memory(
            time_a=first, time_b=second, scope=whose.scope, valid_at=valid_at
        )
    at.answer(found)


def modified(
    start: Annotated[
        str, typer.Argument(metavar="START", help="Recorded at or after this time.")
    ],
    whose: Whose,
    looker: Looker,
    at: Place,
    end: Annotated[
        str | None,
        typer.Argument(metavar="END", help="Recorded before this time; now if left out."),
    ] = None,
) -> None:
    """Show the facts of which something was recorded in a span, and what it was."""
    with looker.asked(at) as store:
        found = store.list_modified_facts(start=start, end=end, scope=whose.scope)
    at.answer(Modified(modified=found))


def blame(
    whose: Whose,
    looker: Looker,
    at: Place,
    as_of: AsOf = None,
    valid_at: ValidAt = None,
) -> None:
    """Show for each belief who said it, when, in which transaction and why."""
    with looker.asked(at) as store:
        found = store.blame(scope=whose.scope, as_of=as_of, valid_at=valid_at)
    at.answer(Blamed(blame=found))
