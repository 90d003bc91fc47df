"""Summaries, what they are made of, and when they are due."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from muniment.api import inputs
from muniment.api.turns import Turn, unreadable
from muniment.domain.session import SummaryMade, SummaryTrigger
from muniment.instants import moment
from muniment.ledger.records import RecordedEvent
from muniment.recall.context import approximate_tokens
from muniment.recall.summary import Line, has_turned


_TOPIC_WINDOW: Final = 4
_TOKEN_SHARE: Final = 0.5
"""What was not summarised may take so much of a budget before it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """
    Turns, or summaries of turns, in fewer words.

    Attributes:
        version: Names it within its session.
        level: 1 for a summary of turns, 2 for one of summaries, and so on.
        first_turn: Number of the first turn it covers.
        last_turn: Number of the last one.
        sources: Versions of the summaries it was made of; none on level 1.
        maker: ``extractive``, or the name of a model.
        trigger: Why: ``asked``, ``count``, ``tokens`` or ``topic``.
        content: The words; ``None`` where they cannot be read.
        token: What stands in their place then, as of a turn.
        tx_id: Of the transaction that made it, which `undo` takes back.
        refused: Why another maker's words were not taken; only when it is made.
    """

    session_id: str
    version: int
    level: int
    first_turn: int
    last_turn: int
    sources: tuple[int, ...]
    maker: str
    trigger: str
    content: str | None
    recorded_at: datetime
    position: int
    tx_id: int
    token: str | None = None
    refused: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """What one summary is to be made of."""

    level: int
    first_turn: int
    last_turn: int
    sources: tuple[int, ...]
    lines: tuple[Line, ...]


def due(older: Sequence[Turn], *, every: int, budget: int | None) -> SummaryTrigger | None:
    """Return why turns are to be summarised now, if they are."""
    texts = [each.content or "" for each in older]
    if len(older) >= every:
        return SummaryTrigger.COUNT
    if budget is not None:
        inputs.count("budget_tokens", budget, least=1, most=2**31)
        if sum(map(approximate_tokens, texts)) > _TOKEN_SHARE * budget:
            return SummaryTrigger.TOKENS
    before, after = texts[:-_TOPIC_WINDOW], texts[-_TOPIC_WINDOW:]
    if len(before) >= _TOPIC_WINDOW and has_turned(before, after):
        return SummaryTrigger.TOPIC
    return None


def runs(turns: Sequence[Turn]) -> list[list[Turn]]:
    """Return *turns* in stretches between which others are summarised already."""
    runs: list[list[Turn]] = []
    for turn in turns:
        if not runs or runs[-1][-1].number + 1 != turn.number:
            runs.append([])
        runs[-1].append(turn)
    return runs


def of_turns(turns: Sequence[Turn]) -> Piece:
    """Return what a summary of *turns* is made of: of those that can be read."""
    return Piece(
        level=1,
        first_turn=turns[0].number,
        last_turn=turns[-1].number,
        sources=(),
        lines=tuple(
            Line(
                who=each.tool or each.agent or each.role,
                text=each.content,
                entities=each.entities,
            )
            for each in turns
            if each.content is not None
        ),
    )


def next_level(used: dict[int, Summary], meta_every: int) -> Piece | None:
    """Return what the next summary of summaries is to be made of, if one is due."""
    inner = {source for each in used.values() for source in each.sources}
    for level in sorted({each.level for each in used.values()}):
        free = sorted(
            (
                each
                for each in used.values()
                if each.level == level and each.version not in inner
            ),
            key=lambda each: each.first_turn,
        )[:meta_every]
        if len(free) == meta_every:
            return Piece(
                level=level + 1,
                first_turn=free[0].first_turn,
                last_turn=free[-1].last_turn,
                sources=tuple(each.version for each in free),
                lines=tuple(Line(who="summary", text=e.content or "") for e in free),
            )
    return None


def summary_of(
    recorded: RecordedEvent, refused: str | None = None, *, expired: bool = False
) -> Summary:
    """Return the summary that *recorded* is; *expired* tells why it cannot be read."""
    event = recorded.event
    assert isinstance(event, SummaryMade), "what is in use was made"
    return Summary(
        session_id=recorded.session_id,
        version=recorded.version,
        level=event.level,
        first_turn=event.first_turn,
        last_turn=event.last_turn,
        sources=event.sources,
        maker=event.maker,
        trigger=event.trigger.value,
        content=event.summary,
        token=unreadable(expired=expired) if event.summary is None else None,
        recorded_at=moment(recorded.recorded_at),
        position=recorded.position,
        tx_id=recorded.tx_id,
        refused=refused,
    )
