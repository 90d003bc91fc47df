"""What commands answer that the store itself does not give back."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from muniment.api import answers


if TYPE_CHECKING:
    from muniment.api.loading import Loaded


@dataclass(frozen=True, slots=True, kw_only=True)
class Modified:
    """The facts of which something was recorded in a span."""

    modified: tuple[answers.ModifiedFact, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Blamed:
    """Who said what is believed."""

    blame: tuple[answers.BlameEntry, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """
    A store that is there now.

    Attributes:
        store: Its directory or URL, without a password.
        created: Whether it was not there before.
    """

    store: str
    ledger: str
    created: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Rebuilt:
    """A timeline folded anew; *beliefs* counts its rectangles."""

    beliefs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """
    A story that came out as it says.

    Attributes:
        store: Where it can be asked about.
        user: Whose memory it is.
        events: How many lines of the story happened.
        checked: How many answers were compared with what the story says.
        try_next: Commands to go on with.
    """

    store: str
    user: str
    events: int
    checked: int
    try_next: tuple[str, ...]


Answer: TypeAlias = (
    "answers.Fact | answers.FactHistory | answers.MemoryDiff | answers.MemorySnapshot"
    "| answers.Page | answers.Receipt | answers.RollbackPlan"
    "| Blamed | Loaded | Made | Modified | Rebuilt | Told"
)
"""What a command answers, once."""
