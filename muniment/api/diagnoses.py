"""Why an agent did not know something, as the store says it."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from muniment.domain.scope import Scope


Stage = Literal[
    "never said",
    "perhaps gone",
    "never remembered",
    "proposed",
    "too late",
    "not yet",
    "expired",
    "changed",
    "ended",
    "retired",
    "rolled back",
    "redacted",
    "held",
    "hidden",
    "quarantined",
    "not asked",
    "not recalled",
    "not known",
    "not found",
    "no room",
    "not used",
]
"""
Where it was lost, from first to last; ``not used``: the agent had it.

``perhaps gone``: nothing that can be read says it, and something cannot be read any more;
``proposed``: it waits for others to agree; ``not yet``: it holds only later; ``changed``:
it said something else by then; ``held``: it waits to be forgotten, and a legal hold or a
freeze keeps it; ``hidden``: so is its memory; ``quarantined``: nobody has vouched for it;
``not asked``: it is in a memory that the recall did not ask; ``not known``: it may have
been recalled, the receipts that would tell are gone.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """
    One question of the list, and its answer.

    Attributes:
        question: What was looked at.
        passed: Whether that was in order; ``None`` where it could not be asked.
        evidence: By what one can tell.
    """

    question: str
    passed: bool | None
    evidence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """
    Why something expected was not in an answer.

    Attributes:
        scope: Whose memory was looked at first.
        stage: Which stage lost it.
        sentence: The same in a sentence.
        checks: What was looked at, in order, up to the stage that lost it.
        fact_id: The fact that says what was expected; ``None`` if none does.
    """

    scope: Scope
    expect: str
    at: datetime
    stage: str
    sentence: str
    checks: tuple[Check, ...]
    fact_id: str | None


@dataclass(frozen=True, slots=True)
class Lost:
    """The stage that lost it, and a sentence that says so."""

    stage: Stage
    sentence: str


def check(question: str, evidence: str, *, passed: bool | None) -> Check:
    """Return a question of the list with its answer."""
    return Check(question=question, passed=passed, evidence=evidence)
