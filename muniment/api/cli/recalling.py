"""Commands about what agents are given: the prompt, receipts of it, how they are set up."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any

import typer

from muniment.api.cli.answers import Configuration, Lost, Receipts, Uses
from muniment.api.cli.asking import KeyedDoer, Looker
from muniment.api.cli.looking import FactId
from muniment.api.cli.options import (
    AsOf,
    Memories,
    Newest,
    SaidBy,
    ValidAt,
    Whose,
    parsed,
)
from muniment.api.cli.place import Place
from muniment.api.cli.searching import say_unserved


class Language(StrEnum):
    """Of the words around the memory."""

    EN = "en"
    ZH = "zh"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """What a context is to be: see `muniment.api.contexts.Wishes`."""

    budget_tokens: Annotated[
        int, typer.Option(metavar="N", help="Most tokens that it may have.")
    ] = 2_000
    session: Annotated[
        str | None,
        typer.Option(metavar="ID", help="The conversation; the newest ones if left out."),
    ] = None
    agent: Annotated[str | None, typer.Option(metavar="NAME", help="Whom it serves.")] = (
        None
    )
    limit: Annotated[
        int, typer.Option(metavar="N", help="Most facts that are looked for.")
    ] = 10
    recent_turns: Annotated[
        int, typer.Option(metavar="N", help="Most turns, the newest.")
    ] = 10
    language: Annotated[Language, typer.Option(help="Of the words around the memory.")] = (
        Language.EN
    )

    @property
    def fields(self) -> Any:  # noqa: ANN401 - fields of a TypedDict
        """The fields, by the names of the store."""
        return {
            "budget_tokens": self.budget_tokens,
            "session_id": self.session,
            "agent": self.agent,
            "limit": self.limit,
            "recent_turns": self.recent_turns,
            "language": self.language.value,
        }


def context(
    query: Annotated[str, typer.Argument(metavar="QUERY", help="What is to be answered.")],
    memories: Memories,
    wishes: Wishes,
    looker: Looker,
    at: Place,
    *,
    as_of: AsOf = None,
    valid_at: ValidAt = None,
    receipt: Annotated[
        bool,
        typer.Option(
            "--receipt/--no-receipt",
            help="Whether it leaves a receipt, as what serves an agent does.",
        ),
    ] = True,
) -> None:
    """
    Show what a model should know to answer a question, as it would be put before it.

    Core facts, profile, what answers, summaries and the last turns, within a budget of
    tokens; what found no room is named. With --no-receipt nothing is recorded of it: you
    only want to see. What could not be served is said as by search.
    """
    scope = memories.scope
    # A command ends at once: it is not the one to keep the index.
    with looker.asked(at, upkeep=False) as store:
        found = store.build_context(
            query,
            scope=scope,
            scopes=memories.scopes,
            as_of=as_of,
            valid_at=valid_at,
            receipt=receipt,
            **wishes.fields,
        )
    at.answer(found)
    say_unserved(found.unserved)


Start = Annotated[
    str | None, typer.Option("--from", metavar="TIME", help="Asked for then or later.")
]
End = Annotated[
    str | None, typer.Option("--to", metavar="TIME", help="Asked for before then.")
]


def receipts(
    whose: Whose,
    looker: Looker,
    at: Place,
    start: Start = None,
    end: End = None,
    limit: Newest = None,
) -> None:
    """Show what was recalled from a memory for agents, oldest first."""
    scope = whose.scope
    with looker.asked(at) as store:
        found = store.get_receipts(scope=scope, start=start, end=end, limit=limit)
    at.answer(Receipts(receipts=found))


def stray(
    looker: Looker,
    at: Place,
    start: Start = None,
    end: End = None,
    limit: Newest = None,
) -> None:
    """
    Show the receipts of recalls from memories that there were not, oldest first.

    Such as one with a mistyped name: an agent was served with nothing then.
    """
    with looker.asked(at) as store:
        found = store.get_stray_receipts(start=start, end=end, limit=limit)
    at.answer(Receipts(receipts=found))


def uses(
    fact_id: FactId,
    looker: Looker,
    at: Place,
    as_of: AsOf = None,
    valid_at: SaidBy = None,
) -> None:
    """Show when a fact was given to an agent, in order."""
    with looker.asked(at) as store:
        found = store.get_uses(fact_id, as_of=as_of, valid_at=valid_at)
    at.answer(Uses(uses=found))


def lost(looker: Looker, at: Place, as_of: AsOf = None, valid_at: ValidAt = None) -> None:
    """Show how many receipts killed processes lost, at most."""
    with looker.asked(at) as store:
        found = store.count_lost_receipts(as_of=as_of, valid_at=valid_at)
    at.answer(Lost(lost=found))


def record(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Of what is set.")],
    value: Annotated[
        str, typer.Argument(metavar="VALUE", help="JSON; null ends it. See --text.")
    ],
    doer: KeyedDoer,
    at: Place,
    *,
    text: Annotated[
        bool, typer.Option("--text", help="VALUE is text as it is, not JSON.")
    ] = False,
) -> None:
    """
    Keep how agents are set up from now on: a prompt, weights, the name of a model.

    It belongs to the ledger and outlasts every subject: nothing personal.
    """
    set_to = value if text else parsed("VALUE", value)
    with doer.asked(at) as store:
        receipt = store.record_config(name, set_to, **doer.by)
    at.answer(receipt)


def as_of(
    when: Annotated[str, typer.Argument(metavar="TIME", help="What was in force then.")],
    looker: Looker,
    at: Place,
) -> None:
    """Show how agents were set up at a recorded time."""
    with looker.asked(at) as store:
        found = store.get_config_as_of(when)
    at.answer(Configuration(configuration=found))
