"""Comparing what is derived from a ledger with a fresh fold of it."""

from collections.abc import Iterator
from itertools import islice

from muniment.errors import ProjectionError
from muniment.errors.categories import Corruption
from muniment.ledger.ledger import Ledger
from muniment.ledger.verification import FINDINGS_MAX, Finding, unreadable
from muniment.projections import beliefs, conversation
from muniment.projections.beliefs import Timeline
from muniment.projections.conversation import Conversation


def projections_astray(
    ledger: Ledger, timeline: Timeline, talk: Conversation
) -> list[Finding]:
    """
    Return the rows that do not follow from the ledger.

    Args:
        ledger: Which.
        timeline: What is believed, derived from it.
        talk: What was said and recalled, derived from it.
    """
    before = ledger.present().head
    found = _compared(ledger, timeline, talk)
    if found and ledger.present().head != before:
        # Ledger and projection were read one after the other, and written meanwhile.
        with ledger.recorder.appending():
            found = _compared(ledger, timeline, talk)
    return found or _damaged(ledger)


def _damaged(ledger: Ledger) -> list[Finding]:
    """Return what an answer may go by that all rows taken together do not show: indexes."""
    return [
        Finding(position=None, kind="database", problem=f"{each}; restore a backup of it")
        for each in ledger.recorder.damages()
    ]


def _compared(ledger: Ledger, timeline: Timeline, talk: Conversation) -> list[Finding]:
    try:
        return [
            Finding(position=position, kind="projection", problem=problem)
            for position, problem in (
                *_timeline_astray(timeline),
                *conversation.differences(talk.fresh_rows(), talk.rows()),
            )
        ]
    except ProjectionError as error:
        problem = f"a row that no event leads to: {error.problem}"
        return [Finding(position=error.position, kind="projection", problem=problem)]
    except Corruption:
        # Its hashes were made to fit, but nobody can seal without the key.
        found = list(islice(unreadable(ledger), FINDINGS_MAX))
        if not found:
            raise
        return found


def _timeline_astray(timeline: Timeline) -> Iterator[tuple[int, str]]:
    """Yield where beliefs do not follow from the ledger, if it is not told at once."""
    if not timeline.is_level():
        yield from beliefs.differences(timeline.fresh_rows(), timeline.rows())
