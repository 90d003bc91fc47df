"""What rests on something that was read before: done anew where others wrote in between."""

from collections.abc import Callable
from typing import Final, TypeVar

from muniment.errors import Conflict


Answer = TypeVar("Answer")

_ATTEMPTS: Final = 10
"""How often it is tried before whoever asked is told; each time others were faster."""


def anew(attempt: Callable[[], Answer], *, where: type[Conflict]) -> Answer:
    """
    Return what *attempt* returns, which reads and then writes upon what it has read.

    Args:
        attempt: Reads everything again each time.
        where: What it raises, having written nothing, where that has changed meanwhile;
            this very kind.

    Raises:
        Conflict: The last one, if others were faster each time.
    """
    for _ in range(_ATTEMPTS - 1):
        try:
            return attempt()
        except where as error:
            if type(error) is not where:
                # A narrower kind says that something was done, such as a change kept.
                raise
    return attempt()
