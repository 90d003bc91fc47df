"""
What a process does that is killed while it erases, redacts, unsays or thins.

*death* names a step and a side of it, such as ``before keys``, or a number of
microseconds after which the process is killed wherever it is.
"""

import os
import signal
from collections.abc import Mapping
from typing import Any, Final

from muniment import MemoryStore, RetentionRule, Settings
from muniment.api import destroying
from muniment.api.forgetting import Forgetter
from muniment.domain.policy import YEAR_US
from muniment.ledger.attesting import Attestor
from muniment.ledger.destruction import Destructions
from muniment.ledger.ledger import Ledger
from muniment.ledger.sql_append import SqlAppend
from muniment.ledger.thinnings import Thinnings
from muniment.projections.timeline import SqlTimeline
from muniment.projections.vectors import SqlVersionVectors
from tests.stores import NEW_YEAR, SettableClock


USER, TO_REDACT = "ann", "CANARY to be redacted"
ERASE, REDACT, UNSAY, THIN = "erase", "redact", "unsay", "thin"
LONG_AGO = RetentionRule(thin_older_than_us=YEAR_US)
YEARS_LATER = NEW_YEAR + 3 * YEAR_US

_RECORD = (Destructions, "move")
STEPS: Final[dict[str, tuple[Any, str, int]]] = {
    "announcement": (Destructions, "announce", 1),
    "event": (SqlAppend, "insert", 1),
    "transaction": (Forgetter, "_transact", 1),
    "keys": (Destructions, "destroy_keys", 1),
    "purge": (SqlTimeline, "purge", 1),
    "record of the purge": (*_RECORD, 1),
    "scrub of the vault": (Destructions, "scrub", 1),
    "scrub of the timeline": (SqlTimeline, "scrub", 1),
    "tree head": (Attestor, "tree_head", 1),
    "certificate": (destroying, "certified", 1),
    "record of the end": (*_RECORD, 2),
}
"""Each step of an erasure, in order: which call of what carries it out."""

STEPS_OF_THINNING: Final[dict[str, tuple[Any, str, int]]] = {
    "announcement": (Thinnings, "announce", 1),
    "event": (SqlAppend, "insert", 1),
    "transaction": (Ledger, "transact", 1),
    "vectors": (SqlVersionVectors, "thin", 1),
    "keys": (Thinnings, "destroy_keys", 1),
    "scrub of the vault": (Thinnings, "scrub", 1),
    "record of the end": (Thinnings, "finish", 1),
}
"""The same of a thinning."""

OF_ERASURE_ALONE = frozenset({"purge", "scrub of the timeline", "tree head", "certificate"})
COMMITTED = "after transaction"
"""From here on the ledger says that it is done."""


def deaths(verb: str) -> list[str]:
    """Return every way to die of a process that does *verb*, in order."""
    if verb == THIN:
        # After one step is before the next; a transaction before it began is nothing.
        return [f"after {step}" for step in STEPS_OF_THINNING]
    steps = [e for e in STEPS if verb == ERASE or e not in OF_ERASURE_ALONE]
    if verb == UNSAY:
        return [f"after {step}" for step in steps]
    return [f"{side} {step}" for step in steps for side in ("before", "after")]


def die_at(death: str, steps: Mapping[str, tuple[Any, str, int]] = STEPS) -> None:
    """Let the process die as *death* says; nothing of it is cleaned up."""
    if death.isdigit():
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, int(death) / 1_000_000)
        return
    side, _, step = death.partition(" ")
    owner, name, fatal = steps[step]
    whole, calls = getattr(owner, name), [0]

    def deadly(*args: Any, **rest: Any) -> Any:  # noqa: ANN401
        calls[0] += 1
        if calls[0] == fatal and side == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        answer = whole(*args, **rest)
        if calls[0] == fatal:
            os.kill(os.getpid(), signal.SIGKILL)
        return answer

    setattr(owner, name, deadly)


def forget(settings: str, verb: str, death: str) -> None:
    """Open a store and do *verb*; the process does not return from it alive."""
    if verb == THIN:
        clock = SettableClock(YEARS_LATER)
        with MemoryStore.open(Settings.model_validate_json(settings), clock=clock) as store:
            die_at(death, STEPS_OF_THINNING)
            store.retain([LONG_AGO])
        return
    with MemoryStore.open(Settings.model_validate_json(settings)) as store:
        (fact,) = [e for e in store.get_all(user_id=USER) if e.content == TO_REDACT]
        die_at(death)
        if verb == ERASE:
            store.erase(user_id=USER, reason="asked", actor="dpo")
        elif verb == UNSAY:
            store.redact_turn(*fact.source_turns, reason="asked", actor="dpo")
        else:
            store.forget(fact.fact_id, mode="redact", reason="asked", actor="dpo")
