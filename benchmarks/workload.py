"""The facts that are remembered, the same for every contender."""

from typing import TypedDict

from muniment import MemoryStore


USERS = 20


class Fields(TypedDict):
    """What is said of a fact."""

    content: str
    category: str
    attribute: str


def user_id(number: int) -> str:
    """Return whose the fact is: one of 20 users in turn."""
    return f"u-{number % USERS}"


def fact_fields(number: int) -> Fields:
    """Return a fact of some sixty characters that nobody has said before."""
    return Fields(
        content=f"told us on occasion {number:08} that the meeting is at noon",
        category="schedule",
        attribute="meeting",
    )


def remember(store: MemoryStore, number: int) -> None:
    """Remember one fact."""
    fields = fact_fields(number)
    store.remember(
        fields["content"],
        user_id=user_id(number),
        category=fields["category"],
        attribute=fields["attribute"],
    )
