"""Questions that say again what was said, found among the receipts of a memory."""

from collections.abc import Callable, Collection, Sequence
from typing import Final

from muniment.domain.events import FactAsserted, FactRevised
from muniment.domain.receipt import Recall, ReceiptLeft
from muniment.domain.subject import SubjectState
from muniment.ledger.ledger import Ledger
from muniment.ledger.payload import is_of_first_format
from muniment.ledger.records import FACT, RECEIPTS, StampedEvent
from muniment.ledger.vault import Subject


_QUOTED_LEAST: Final = 4
"""So many characters of a turn in a longer question are its words, and no chance."""


def receipts_of(ledger: Ledger, subject: Subject) -> list[StampedEvent]:
    """Return the receipts of a memory of which each can be made unreadable alone."""
    stamped = ledger.recorder.read_stream(RECEIPTS + subject.ref)
    whole = {e.sealed.key_id for e in stamped if is_of_first_format(e.sealed.state)}
    return [each for each in stamped if each.sealed.key_id not in whole]


def repeating(
    ledger: Ledger,
    subject: Subject,
    receipts: Collection[StampedEvent],
    texts: Collection[str],
    *,
    because: Callable[[ReceiptLeft, Recall], bool] = lambda *_: False,
) -> list[StampedEvent]:
    """
    Return those of *receipts* whose question is one of *texts*, or has it in it.

    Letters and blanks count as in `says_again`.

    Args:
        ledger: Where they are.
        subject: Whose they are.
        receipts: Of which each can be made unreadable alone.
        texts: What is made unreadable.
        because: Whether a recall was made because of that, in whatever words.
    """
    opened = ledger.mapper.opened(list(receipts), subject)
    return [
        stamped
        for stamped, left in zip(receipts, opened, strict=True)
        if isinstance(left.event, ReceiptLeft)
        and left.event.recall is not None
        and (
            any(says_again(left.event.recall.query, each) for each in texts)
            or because(left.event, left.event.recall)
        )
    ]


def saying_fact(
    ledger: Ledger,
    subject: Subject,
    fact_id: str,
    receipts: Collection[StampedEvent],
) -> list[StampedEvent]:
    """Return those of *receipts* whose question says what any version of a fact said."""
    said = ledger.recorder.read_stream(FACT + fact_id)
    texts = {
        each.event.content.text
        for each in ledger.mapper.opened(said, subject)
        if isinstance(each.event, FactAsserted | FactRevised) and each.event.content
    }
    return repeating(ledger, subject, receipts, texts)


def serve_held(
    ledger: Ledger, receipts: Sequence[StampedEvent], state: SubjectState
) -> bool:
    """Whether one of *receipts* says that a fact was given which a hold binds by itself."""
    held = {each.fact_id for each in state.holds}
    lefts = (each.event for each in ledger.mapper.opened(receipts, None))
    return any(
        isinstance(left, ReceiptLeft)
        and not held.isdisjoint(fact_id for fact_id, _ in left.served)
        for left in lefts
    )


def says_again(question: str, said: str) -> bool:
    """
    Whether a question says what was said, in the same words and in that order.

    Large and small letters are the same, and so are all blanks. What has fewer than four
    characters is found only as the whole question: most questions have a "no" in them.
    """
    asked, words = _plain(question), _plain(said)
    return asked == words or (len(words) >= _QUOTED_LEAST and words in asked)


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())
