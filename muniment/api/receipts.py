"""What a recall gave to an agent, as the store gives it back."""

from dataclasses import dataclass
from datetime import datetime

from muniment.api.turns import unreadable
from muniment.domain.receipt import ReceiptLeft
from muniment.domain.scope import Scope
from muniment.instants import moment
from muniment.ledger.records import RecordedEvent
from muniment.ledger.vault import Subject


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedFact:
    """
    One version of a fact that an agent was given.

    Attributes:
        rank: 1 for the best.
        score: By which it was ranked; ``None`` once the receipt is unreadable.
        placed: Whether it went into the prompt; ``None`` where no prompt was made.
    """

    fact_id: str
    version: int
    rank: int
    score: float | None
    placed: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallReceipt:
    """
    The record of one recall that served an agent.

    Attributes:
        scope: Whose memory was asked first; the receipt is erased with it. ``None`` where
            there was no such memory: then it says neither whose nor what was asked.
        action: ``search`` or ``context``.
        query: What was looked for.
        scopes: Whose memory was asked, in that order.
        asked_at: What was known at this recorded time …
        valid_at: … about this time.
        at_position: Of the last event that was known.
        recorded_at: When the receipt itself was recorded.
        position: Of the receipt.
        model: Which embedder ranked; empty for none.
        ranker: Which ranking, by name.
        configuration: Version of the configuration in force; 0 for none.
        facts: What was found, best first.
        turns: Ids of the turns that went into the prompt, in order.
        summaries: The summaries that did, each as session and version.
        budget: Most tokens the prompt was to have.
        tokens: How many it had.
        template: What the prompt was made with.
        prompt_digest: SHA-256 of the prompt, in hexadecimal.
        token: What stands in the place of the query where that cannot be read any more:
            ``[redacted]``, since it said again what a redacted turn or fact had said, or
            was asked because of such a turn; or ``[expired]``, since it was kept as long
            as a rule says. How the recall went, whom it served and what went into the
            prompt is gone with it.
    """

    scope: Scope | None
    action: str
    query: str | None
    scopes: tuple[str, ...]
    session_id: str | None
    agent: str | None
    asked_at: datetime
    valid_at: datetime
    at_position: int
    recorded_at: datetime
    position: int
    model: str
    ranker: str
    configuration: int
    facts: tuple[ServedFact, ...]
    turns: tuple[str, ...]
    summaries: tuple[tuple[str, int], ...]
    budget: int | None
    tokens: int | None
    template: str | None
    prompt_digest: str | None
    token: str | None = None


def receipt_of(
    subject: Subject | None, left: RecordedEvent, *, expired: bool = False
) -> RecallReceipt:
    """Return the receipt that *left* is; *subject* is whose, ``None`` for nobody's."""
    event = left.event
    assert isinstance(event, ReceiptLeft), "the stream of receipts holds receipts"
    recall = event.recall
    return RecallReceipt(
        scope=subject.scope if subject else None,
        action=event.action,
        query=recall.query if recall else None,
        scopes=recall.scopes if recall else (),
        session_id=recall.session_id if recall else None,
        agent=recall.agent if recall else None,
        asked_at=moment(event.asked_at),
        valid_at=moment(event.valid_at),
        at_position=event.at_position,
        recorded_at=moment(left.recorded_at),
        position=left.position,
        model=event.model,
        ranker=event.ranker,
        configuration=event.configuration,
        facts=tuple(_served(event)),
        turns=recall.turns if recall else (),
        summaries=recall.summaries if recall else (),
        budget=recall.budget if recall else None,
        tokens=recall.tokens if recall else None,
        template=recall.template if recall else None,
        prompt_digest=recall.prompt_digest if recall else None,
        token=None if recall else unreadable(expired=expired),
    )


def _served(event: ReceiptLeft) -> list[ServedFact]:
    recall = event.recall
    placed = None if recall is None else recall.placed
    return [
        ServedFact(
            fact_id=fact_id,
            version=version,
            rank=place + 1,
            score=recall.scores[place] if recall else None,
            placed=None if placed is None else place in placed,
        )
        for place, (fact_id, version) in enumerate(event.served)
    ]
