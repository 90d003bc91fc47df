"""What answers a question is found as often as it was when this was written, or nearly."""

from collections.abc import Callable, Iterator
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


def english() -> Iterator[locomo.Conversation]:
    """Yield the first conversation of LoCoMo, without what has no answer in it."""
    first = next(locomo.locomo())
    answered = [each for each in first.questions if each.kind != locomo.ADVERSARIAL]
    yield replace(first, questions=answered[::2])


def chinese() -> Iterator[locomo.Conversation]:
    """Yield the memories of MADial, with the half of the dialogues that is looked at."""
    return (each for each in locomo.madial() if each.half == 1)


@pytest.mark.parametrize(
    ("conversations", "least"), [(english, 0.74), (chinese, 0.67)], ids=["en", "zh"]
)
def test_enough_of_what_answers_is_among_the_first_ten(
    conversations: Callable[[], Iterator[locomo.Conversation]], least: float
) -> None:
    outcomes = [
        outcome
        for conversation in conversations()
        for outcome in locomo.measured(conversation, "local")
    ]

    found = {
        who: rows[locomo.ANSWERED]["R@10"] for who, rows in locomo.table(outcomes).items()
    }
    assert len(outcomes) > 3 * 40
    assert found["search"] >= least
    assert found["search"] > max(found["BM25"], found["embedder"])
