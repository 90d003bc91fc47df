"""Conversations, as a person reads them."""

from collections.abc import Sequence
from typing import TypeAlias, assert_never

from rich.console import RenderableType
from rich.text import Text

from muniment.api.cli import tables
from muniment.api.cli.answers import Drawn, Sessions, Summaries, Turns, Withdrawn
from muniment.api.cli.tables import columns, instant, words
from muniment.api.turns import Session, Turn


Talked: TypeAlias = Session | Sessions | Turn | Turns | Summaries | Withdrawn | Drawn


def rendered(answer: Talked) -> RenderableType:
    """Return *answer* for a terminal."""
    match answer:
        case Session():
            return _sessions((answer,))
        case Sessions():
            return _sessions(answer.sessions)
        case Turn():
            return _turns((answer,))
        case Turns():
            return _turns(answer.turns)
        case Summaries():
            return _summaries(answer)
        case Withdrawn():
            return Text(f"summary {answer.version} is no longer used", "green")
        case Drawn():
            return _drawn(answer)
        case _:
            assert_never(answer)


def _sessions(listed: Sequence[Session]) -> RenderableType:
    table = columns("session", "of", "began, ended", "served by")
    for each in listed:
        ended = "goes on" if each.ended_at is None else instant(each.ended_at)
        table.add_row(
            each.session_id,
            words(str(each.scope)),
            Text(f"{instant(each.started_at)}\n{ended}", "cyan"),
            words(each.token or each.agent or ""),
        )
    return table if listed else Text("no conversation", "dim")


def _turns(listed: Sequence[Turn]) -> RenderableType:
    """Return what was said, one a row, when it was by the speaker's own clock."""
    table = columns("turn", "said", "by", "words")
    for each in listed:
        who = [each.role, *(name for name in (each.agent, each.tool) if name)]
        what = Text(each.token, "dim") if each.token else words(each.content)
        at = each.local_time.isoformat(sep="\n", timespec="seconds")
        table.add_row(each.turn_id, Text(at, "cyan"), words("\n".join(who)), what)
    return table if listed else Text("nothing was said", "dim")


def _summaries(found: Summaries) -> RenderableType:
    table = columns("version", "covers", "made", "words")
    for each in found.summaries:
        made = f"{each.maker}, {each.trigger}"
        if each.refused is not None:
            made += f"\nnot taken: {each.refused}"
        table.add_row(
            str(each.version),
            f"level {each.level}\nturns {each.first_turn} to {each.last_turn}",
            words(made),
            Text(each.token, "dim") if each.token else words(each.content),
        )
    return table if found.summaries else Text("no summary", "dim")


def _drawn(found: Drawn) -> RenderableType:
    if not found.versions:
        return Text("nothing was drawn from it", "dim")
    return tables.versions(found.versions)
