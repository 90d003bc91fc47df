"""What is said of an archive; apart, since it needs no Arrow."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivePlan:
    """
    What an archive run would write.

    Attributes:
        first_position: Of the first event; one past *last_position* when there is none.
        last_position: Of the last event.
        archived: How many events are in the archive already.
        months: The months of recorded time it reaches, such as ``2026-11``.
    """

    first_position: int
    last_position: int
    archived: int
    months: tuple[str, ...]

    @property
    def events(self) -> int:
        """How many events it would write."""
        return self.last_position - self.first_position + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Archived:
    """
    What an archive run wrote.

    Attributes:
        segments: How many segments.
        events: How many events.
        byte_count: How large their files are, all together.
        last_position: Of the last event that is in the archive now.
    """

    segments: int
    events: int
    byte_count: int
    last_position: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """
    What a question found.

    Attributes:
        columns: Their names, in order.
        rows: The values of each row; instants are aware datetimes, bytes are hexadecimal.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
