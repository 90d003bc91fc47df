"""What is derived, made anew from the ledger; and the ledger, from its archive."""

from pathlib import Path
from typing import TYPE_CHECKING

from muniment.api.explaining import ExplainingStore
from muniment.api.opening import ClockSource, archive_place, open_ledger, settings_for
from muniment.archive.cold import named
from muniment.errors import StoreNotFoundError
from muniment.settings import Settings


if TYPE_CHECKING:
    from muniment.archive.archiver import Progress
    from muniment.archive.restoring import Restored


class RestorableStore(ExplainingStore):
    """A store of which everything that is derived can be made anew, or all of it."""

    @classmethod
    def rebuild_from_archive(
        cls,
        target: Settings | Path | str | None = None,
        *,
        clock: ClockSource | None = None,
        progress: "Progress | None" = None,
    ) -> "Restored":
        """
        Make the ledger of a store anew from its archive; the vault and its key are there.

        Every answer, position and proof is what it was, as far as the archive reaches.
        What was erased after it was archived is erased again when the store is opened. A
        run that was interrupted goes on.

        Args:
            target: As of `open`.
            clock: As of `open`.
            progress: Told how many events of how many are there.

        Raises:
            StoreNotFoundError: If there is no archive.
            LedgerNotEmptyError: If the ledger holds what the archive did not give it.
            DamagedArchiveError: If a file of the archive is not what it was.
            VaultMismatchError: If the vault is gone, another, or older than the archive.
        """
        return _rebuilt(settings_for(target), clock=clock, progress=progress)

    def rebuild(self) -> int:
        """
        Replace timeline and conversation by a fresh fold of the ledger; writers wait.

        Returns:
            How many rectangles the timeline has.
        """
        self._conversation.rebuild()
        return self._lookup.timeline.rebuild()


def _rebuilt(
    settings: Settings, *, clock: ClockSource | None, progress: "Progress | None"
) -> "Restored":
    """Make the ledger that *settings* name anew, and what is derived from it."""
    from muniment.archive.restoring import Restorer  # noqa: PLC0415 - as above
    from muniment.archive.shelf import shelf_at  # noqa: PLC0415 - as above

    place = named(archive_place(settings))
    shelf = shelf_at(place)
    if not shelf.names(f"manifests/ledger={settings.ledger}"):
        raise StoreNotFoundError(place)
    opened = open_ledger(settings, clock=clock, create=True, with_vault=True)
    try:
        found = Restorer(opened.ledger, shelf).run(progress=progress or _silent)
        opened.timeline.rebuild()
        opened.conversation.rebuild()
    finally:
        opened.ledger.close()
    return found


def _silent(_done: int, _of: int) -> None:
    """Tell nobody."""
