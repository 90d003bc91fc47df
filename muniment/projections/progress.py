"""How far the current facts are behind the ledger, as whoever asks is told."""

from collections.abc import Callable
from dataclasses import dataclass

from muniment.errors import MunimentError
from muniment.projections.ports import Generation


Told = Callable[[int, int], None]
"""Is told how many events of how many are applied."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """
    How far the current facts are.

    Attributes:
        reached: Position up to which all was applied; or all was embedded, where no
            engine would outlive this process.
        head: Position of the last event of the ledger.
        pending: How many versions could not be embedded so far.
        generation: In use; ``None`` while this process has not opened it.
        waiting: Why it goes on later by itself, or ``None``.
        stopped: Why it has stopped until somebody mends it, or ``None``.
    """

    reached: int
    head: int
    pending: int
    generation: Generation | None
    waiting: MunimentError | None
    stopped: Exception | None
