"""
That something was recalled for an agent, and what was in force then. Pure.

Stored forever: rename nothing, only add and upcast.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from muniment.domain.text import Json
from muniment.domain.time import Instant


Served = tuple[str, int]
"""A fact and the version of it that was given to an agent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recall:
    """
    How facts were recalled. Sealed.

    Attributes:
        query: What was looked for; empty where all of a kind was taken.
        scopes: Whose memory was asked, in that order.
        session_id: The conversation it was for, or ``None``.
        agent: Whom it served, or ``None``.
        scores: Of the facts served, in their order, as they were ranked.
        placed: Which of the facts served went into the prompt, by their place among
            them, in the order of the prompt; ``None`` where no prompt was made.
        turns: The turns that went into the prompt, in order.
        summaries: The summaries that did, each as session and version, in order.
        budget: Most tokens the prompt was to have, or ``None``.
        tokens: How many it had, or ``None``.
        template: Name of what the prompt was made with, or ``None``.
        prompt_digest: SHA-256 of the prompt, in hexadecimal, or ``None``.
    """

    query: str
    scopes: tuple[str, ...]
    session_id: str | None
    agent: str | None
    scores: tuple[float, ...]
    placed: tuple[int, ...] | None
    turns: tuple[str, ...]
    summaries: tuple[tuple[str, int], ...]
    budget: int | None
    tokens: int | None
    template: str | None
    prompt_digest: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceiptLeft:
    """
    Facts were recalled for an agent.

    Attributes:
        action: ``search`` or ``context``.
        at_position: Of the last event that was known to it.
        asked_at: What was known at this recorded time …
        valid_at: … about this time.
        model: Which embedder ranked; empty for none.
        ranker: Which ranking, by name.
        configuration: Version of the configuration in force; 0 for none.
        served: The facts given, best first; at most 1,000.
        recall: How. Sealed.
    """

    action: str
    at_position: int
    asked_at: Instant
    valid_at: Instant
    model: str
    ranker: str
    configuration: int
    served: tuple[Served, ...]
    recall: Recall | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceiptsLost:
    """
    A process was killed before it had recorded its last receipts.

    Attributes:
        count: How many recalls have no receipt.
    """

    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One named part of how the agent was set up. Sealed with the key of the ledger."""

    name: str
    value: Json


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigurationRecorded:
    """From here on a part of the configuration has this value; none ends it."""

    setting: Setting | None


AccountEvent = ReceiptLeft | ReceiptsLost | ConfigurationRecorded


def configuration_of(settings: Mapping[int, Setting], version: int) -> dict[str, Json]:
    """Return by name what was in force right after *version*, in order of name."""
    found: dict[str, Json] = {}
    for each in sorted(settings):
        if each <= version:
            found[settings[each].name] = settings[each].value
    return {name: found[name] for name in sorted(found) if found[name] is not None}
