"""How far a text says what somebody expects it to say, in whatever words they remember."""

from typing import Final

from muniment.recall.tokens import asked as telling


ALIKE_LEAST: Final = 0.6
"""So much of what is expected a text has to say."""


def likeness(expect: str, text: str | None) -> float:
    """Return how far *text* says what is expected: 1 where it holds the words as such."""
    if text is None:
        return 0.0
    if expect.casefold() in text.casefold():
        return 1.0
    wanted = set(telling(expect))
    return len(wanted & set(telling(text))) / len(wanted) if wanted else 0.0


def is_alike(expect: str, text: str | None) -> bool:
    """Whether *text* says what is expected."""
    return likeness(expect, text) >= ALIKE_LEAST
