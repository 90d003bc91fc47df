"""
How long records of a memory are kept that are no facts: what is due, and since when. Pure.

What goes is a beginning: all records of a kind that were recorded before a cut. So the
ledger itself tells what went, from the kind and the cut alone.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from muniment.domain.time import Instant


class Records(StrEnum):
    """What is kept of a memory besides its facts."""

    RECEIPT = "receipt"
    """What an agent was given: the question, its session, how it was ranked."""

    LOOK = "look"
    """That somebody looked: why, what they asked, what they were shown."""

    EMERGENCY = "emergency"
    """A look for which the glass was broken."""

    TURN = "turn"
    """What was said, the summaries of it, and what was said of its session."""


DAY_US: Final = 86_400_000_000

LEAST_DAYS: Final[Mapping[Records, int]] = {
    # Any six months: logs of a network (Cybersecurity Law 21) and of a high-risk system
    # (EU AI Act 19 and 26(6)).
    Records.RECEIPT: 184,
    Records.LOOK: 184,
    # Any six years: 45 CFR 164.316(b)(2)(i).
    Records.EMERGENCY: 2_192,
}
"""Days that a law wants records kept; no rule takes them before."""


def cut(older_than_us: int, *, now: Instant) -> Instant:
    """
    Return before which recorded time records go whose time to live is *older_than_us*.

    The beginning of a day (UTC), so that what is due all day long goes at one time: a
    record stays up to a day longer, never shorter.
    """
    return Instant((now - older_than_us) // DAY_US * DAY_US)
