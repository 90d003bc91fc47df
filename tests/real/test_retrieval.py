"""What answers a question is found as often as it was when this was written, or nearly."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from benchmarks import locomo, shared_data


pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (shared_data.LOCOMO.is_file() and shared_data.MADIAL.is_dir()),
        reason=shared_data.ABSENT,
    ),
]


SESSIONS = 6


def english() -> locomo.Conversation:
    """Return how a conversation of LoCoMo began, and what the answer to is in that."""
    whole = next(locomo.locomo())
    begun = whole.batches[:SESSIONS]
    said = {turn.name for batch in begun for turn in batch}
    questions = [
        each
        for each in whole.questions
        if each.kind != locomo.ADVERSARIAL and each.wanted <= said
    ]
    return replace(whole, batches=begun, questions=questions)


def chinese() -> locomo.Conversation:
    """Return the memories of one user of MADial, and the dialogues that are looked at."""
    return next(each for each in locomo.madial() if each.half == 1)


@pytest.mark.parametrize(
    ("of", "least"), [(english, 0.91), (chinese, 0.69)], ids=["english", "chinese"]
)
def test_enough_of_what_answers_is_among_the_first_ten(
    of: Callable[[], locomo.Conversation], least: float
) -> None:
    outcomes = list(locomo.measured(of(), "local"))

    found = {
        who: rows[locomo.ANSWERED]["R@10"] for who, rows in locomo.table(outcomes).items()
    }
    assert found["search"] >= least, found
    assert found["search"] > max(found["BM25"], found["embedder"])
