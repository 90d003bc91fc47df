"""The archive as the ledger asks it, opened when it is first needed."""

from collections.abc import Sequence

from muniment.errors import ConfigurationError
from muniment.ledger.cold import ColdStore
from muniment.ledger.recorder import LedgerRecorder
from muniment.ledger.records import StampedEvent


class ColdArchive:
    """
    A `muniment.ledger.cold.ColdStore` that costs nothing until a payload is cold.

    Args:
        recorder: Knows the segments.
        place: See `muniment.archive.shelf.shelf_at`; ``None`` where none was named.
    """

    def __init__(self, recorder: LedgerRecorder, place: str | None) -> None:
        self._recorder = recorder
        self._place = place
        self._reader: ColdStore | None = None

    def whole(self, events: Sequence[StampedEvent]) -> Sequence[StampedEvent]:
        reader = self._reader
        if reader is None:
            # Imported here: a store opens in a third of the time without Arrow.
            from muniment.archive.reading import ArchiveReader  # noqa: PLC0415
            from muniment.archive.shelf import shelf_at  # noqa: PLC0415

            reader = ArchiveReader(self._recorder.segments, shelf_at(named(self._place)))
            self._reader = reader
        return reader.whole(events)


def named(place: str | None) -> str:
    """
    Return where the archive is.

    Raises:
        ConfigurationError: If nobody said.
    """
    if place is None:
        raise ConfigurationError(
            "no place for the archive is set", "name one with MUNIMENT_ARCHIVE_URL"
        )
    return place
