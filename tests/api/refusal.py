"""A bad request, what it is refused with, and what must be as it was then."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from muniment import Fact, MunimentError


Refused = Callable[[Any, Fact], object]


@dataclass(frozen=True)
class Case:
    """
    One bad request.

    Attributes:
        request: Made of a store and a fact in it.
        error: What it raises.
        says: What the message has: what is wrong, and what to do.
    """

    request: Refused
    error: type[MunimentError]
    says: tuple[str, ...]


def remembering(**fields: object) -> Refused:
    """Return a request to remember something with *fields*."""
    return lambda store, _: store.remember("fact", user_id="u", **fields)
