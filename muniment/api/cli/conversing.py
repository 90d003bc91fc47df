"""Commands about conversations: sessions, what was said in them, and summaries."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from muniment.api.cli.answers import Drawn, Sessions, Summaries, Turns, Withdrawn
from muniment.api.cli.asking import Doer, KeyedDoer, Looker
from muniment.api.cli.looking import FactId
from muniment.api.cli.options import (
    AsOf,
    JsonLines,
    Newest,
    SaidBy,
    Whose,
    given,
    parsed,
)
from muniment.api.cli.place import Place
from muniment.domain.session import Role
from muniment.errors import InvalidValueError


if TYPE_CHECKING:
    from collections.abc import Iterator

SessionId = Annotated[str, typer.Argument(metavar="SESSION", help="The id of a session.")]

TurnId = Annotated[
    str,
    typer.Argument(metavar="TURN", help="Its id: session and number, a dot between."),
]

Metadata = Annotated[str | None, typer.Option(metavar="JSON", help="Your own JSON object.")]


def start(
    whose: Whose,
    doer: KeyedDoer,
    at: Place,
    agent: Annotated[
        str | None, typer.Option(metavar="NAME", help="Who serves in it.")
    ] = None,
    metadata: Metadata = None,
) -> None:
    """Begin a conversation; the answer names it."""
    scope, said = whose.scope, parsed("--metadata", metadata)
    with doer.asked(at) as store:
        found = store.start_session(scope=scope, agent=agent, metadata=said, **doer.by)
    at.answer(found)


def list_(
    whose: Whose,
    looker: Looker,
    at: Place,
    as_of: AsOf = None,
    valid_at: SaidBy = None,
) -> None:
    """List the conversations of somebody, the first begun first."""
    scope = whose.scope
    with looker.asked(at) as store:
        found = store.list_sessions(scope=scope, as_of=as_of, valid_at=valid_at)
    at.answer(Sessions(sessions=found))


def get(
    session_id: SessionId,
    looker: Looker,
    at: Place,
    as_of: AsOf = None,
    valid_at: SaidBy = None,
) -> None:
    """Show whose a conversation is, when it began and ended, and who served in it."""
    with looker.asked(at) as store:
        found = store.get_session(session_id, as_of=as_of, valid_at=valid_at)
    at.answer(found)


def end(session_id: SessionId, doer: KeyedDoer, at: Place) -> None:
    """Say that nothing more is said in a conversation."""
    with doer.asked(at) as store:
        receipt = store.end_session(session_id, **doer.by)
    at.answer(receipt)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spoken:
    """What is said of a turn besides who said what."""

    uttered_at: Annotated[
        str | None,
        typer.Option(
            metavar="TIME", help="When it was said, by the speaker's clock; now if not."
        ),
    ] = None
    agent: Annotated[
        str | None, typer.Option(metavar="NAME", help="Which agent spoke.")
    ] = None
    tool: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Which tool answered, or was called."),
    ] = None
    entity: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A name it mentions; may be repeated."),
    ] = None
    metadata: Metadata = None

    @property
    def fields(self) -> Any:  # noqa: ANN401 - fields of a TypedDict
        """The fields given, by the names of the store."""
        return given(
            uttered_at=self.uttered_at,
            agent=self.agent,
            tool=self.tool,
            entities=tuple(self.entity or ()) or None,
            metadata=parsed("--metadata", self.metadata),
        )


def add(
    session_id: SessionId,
    content: Annotated[str, typer.Argument(metavar="CONTENT", help="What was said.")],
    spoken: Spoken,
    doer: KeyedDoer,
    at: Place,
    *,
    role: Annotated[Role, typer.Option(help="Who said it.")] = Role.USER,
) -> None:
    """Keep what somebody said in a conversation."""
    fields = spoken.fields
    with doer.asked(at) as store:
        found = store.add_turn(
            session_id, role=role.value, content=content, **fields, **doer.by
        )
    at.answer(found)


def load(
    session_id: SessionId,
    file: JsonLines,
    doer: KeyedDoer,
    at: Place,
) -> None:
    """
    Keep the turn of each line of a file, 10,000 at most: all of them, or none.

    A line is an object with role and content, and with any of uttered_at, agent, tool,
    entities and metadata.
    """
    turns = list(_objects(file))
    with doer.asked(at) as store:
        found = store.add_turns(session_id, turns=turns, **doer.by)
    at.answer(Turns(turns=found))


def said(
    session_id: SessionId,
    looker: Looker,
    at: Place,
    *,
    limit: Newest = None,
    before: Annotated[
        str | None,
        typer.Option(metavar="TURN", help="Only what was said before this turn."),
    ] = None,
    as_of: AsOf = None,
    valid_at: SaidBy = None,
) -> None:
    """Show what was said in a conversation, in the order in which it was said."""
    with looker.asked(at) as store:
        found = store.get_turns(
            session_id, limit=limit, before=before, as_of=as_of, valid_at=valid_at
        )
    at.answer(Turns(turns=found))


def before(
    when: Annotated[str, typer.Argument(metavar="TIME", help="Said then or before.")],
    whose: Whose,
    looker: Looker,
    at: Place,
    limit: Newest = None,
    as_of: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="What was known then; at TIME if left out."),
    ] = None,
) -> None:
    """Show what had been said to and by somebody up to a moment, oldest first."""
    scope = whose.scope
    with looker.asked(at) as store:
        found = store.get_turns_before(
            timestamp=when, scope=scope, as_of=as_of, limit=limit
        )
    at.answer(Turns(turns=found))


def turn(
    turn_id: TurnId,
    looker: Looker,
    at: Place,
    as_of: AsOf = None,
    valid_at: SaidBy = None,
) -> None:
    """Show one turn."""
    with looker.asked(at) as store:
        found = store.get_turn(turn_id, as_of=as_of, valid_at=valid_at)
    at.answer(found)


def facts(
    turn_id: TurnId,
    looker: Looker,
    at: Place,
    as_of: AsOf = None,
    valid_at: SaidBy = None,
) -> None:
    """Show what was drawn from a turn: versions of facts, with who made them and why."""
    with looker.asked(at) as store:
        found = store.get_facts_of_turn(turn_id, as_of=as_of, valid_at=valid_at)
    at.answer(Drawn(versions=found))


def sources(
    fact_id: FactId,
    looker: Looker,
    at: Place,
    as_of: AsOf = None,
    valid_at: SaidBy = None,
) -> None:
    """Show the turns that a fact was drawn from, in order."""
    with looker.asked(at) as store:
        found = store.get_source_turns(fact_id, as_of=as_of, valid_at=valid_at)
    at.answer(Turns(turns=found))


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunks:
    """How much goes into a summary."""

    every: Annotated[
        int, typer.Option(metavar="N", help="Most turns of one, 2 to 1,000.")
    ] = 20
    keep: Annotated[
        int, typer.Option(metavar="N", help="The last turns, which stay as they are.")
    ] = 6
    meta_every: Annotated[
        int,
        typer.Option(metavar="N", help="So many summaries make one of the next level."),
    ] = 5
    budget_tokens: Annotated[
        int | None,
        typer.Option(metavar="N", help="Of the prompt that the turns are to fit in."),
    ] = None


def summarize(
    session_id: SessionId,
    chunks: Chunks,
    doer: Doer,
    at: Place,
    *,
    force: Annotated[
        bool, typer.Option("--force", help="Also where nothing is due.")
    ] = False,
) -> None:
    """
    Put older turns of a conversation in fewer words, where that is due; extracts them.

    What was made is shown: nothing when nothing was due. See --force.
    """
    with doer.asked(at) as store:
        found = store.summarize_session(
            session_id,
            every=chunks.every,
            keep=chunks.keep,
            meta_every=chunks.meta_every,
            budget_tokens=chunks.budget_tokens,
            force=force,
            **doer.by,
        )
    at.answer(Summaries(summaries=found))


def summaries(
    session_id: SessionId,
    looker: Looker,
    at: Place,
    as_of: AsOf = None,
    valid_at: SaidBy = None,
) -> None:
    """Show the summaries of a conversation in use, by level, then by turn."""
    with looker.asked(at) as store:
        found = store.get_summaries(session_id, as_of=as_of, valid_at=valid_at)
    at.answer(Summaries(summaries=found))


def withdraw(
    session_id: SessionId,
    version: Annotated[
        int, typer.Argument(metavar="VERSION", help="Of the summary, as list shows it.")
    ],
    doer: KeyedDoer,
    at: Place,
) -> None:
    """Use a summary no longer, nor what was made of it; its turns can be done anew."""
    with doer.asked(at) as store:
        store.withdraw_summary(session_id, version=version, **doer.by)
    at.answer(Withdrawn(session_id=session_id, version=version))


def _objects(file: Path) -> "Iterator[dict[str, Any]]":
    """Yield what stands on each line that is not blank."""
    from muniment.api import lines  # noqa: PLC0415 - slow, and not for --help

    with file.open("rb") as stream:
        for number, raw in enumerate(stream, 1):
            line = lines.bare(number, raw)
            if not line:
                continue
            try:
                yield lines.parsed(line)
            except lines.BadLineError as error:
                text = line.decode(errors="replace")
                wrong = InvalidValueError(f"line {number}", text, "a JSON object in UTF-8")
                wrong.add_note(f"it {error}")
                raise wrong from error
