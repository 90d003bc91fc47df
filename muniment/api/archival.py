"""The archive of a store: what is old, written for good; and what leaves the database."""

from datetime import timedelta
from typing import TYPE_CHECKING

from muniment.api import inputs
from muniment.api.custody import CustodialStore
from muniment.api.verbs import verb
from muniment.archive.cold import named
from muniment.domain.time import Instant
from muniment.errors import InvalidValueError
from muniment.instants import Time


if TYPE_CHECKING:
    from muniment.archive.archiver import Archived, Archiver, ArchivePlan, Progress


class ArchivalStore(CustodialStore):
    """A store whose past can be kept outside of its database."""

    @verb
    def plan_archive(
        self, *, until: Time | None = None, older_than: timedelta | None = None
    ) -> "ArchivePlan":
        """
        Return what `archive` would write; nothing is written.

        Args:
            until: Recorded up to then; up to now if left out.
            older_than: Recorded so long ago; instead of *until*.
        """
        return self._archiver().plan(self._until(until, older_than))

    @verb
    def archive(
        self,
        *,
        until: Time | None = None,
        older_than: timedelta | None = None,
        progress: "Progress | None" = None,
    ) -> "Archived":
        """
        Write what was recorded to the archive, from where the last run ended.

        Nothing leaves the database by it; see `prune`. A run that was interrupted is
        finished by the next.

        Args:
            until: Recorded up to then; up to now if left out.
            older_than: Recorded so long ago; instead of *until*.
            progress: Told how many events of how many are written.

        Raises:
            ArchiveUnavailableError: If the archive cannot be written, or another process
                writes to it.
            TamperedError: If an event is not what was recorded.
        """
        instant = self._until(until, older_than)
        return self._archiver().run(instant, progress=progress or _silent)

    @verb
    def prune(self, *, progress: "Progress | None" = None) -> int:
        """
        Let go of the payloads that the archive holds and no belief of today rests on.

        Every answer stays what it was: what is asked for comes from the archive.

        Args:
            progress: Told how many events of how many were looked at.

        Returns:
            How many payloads left the database.

        Raises:
            DamagedArchiveError: If a segment is not what it was when it was written.
        """
        return self._archiver().prune(self._lookup.timeline, progress=progress or _silent)

    def _archiver(self) -> "Archiver":
        # Imported here: a store that is not archived needs no Arrow.
        from muniment.archive.archiver import Archiver  # noqa: PLC0415
        from muniment.archive.shelf import shelf_at  # noqa: PLC0415

        return Archiver(self._ledger, shelf_at(named(self._archive_place)))

    def _until(self, until: Time | None, older_than: timedelta | None) -> Instant:
        if until is not None and older_than is not None:
            raise InvalidValueError("until", until, "left out where older_than is given")
        now = self._ledger.present().now
        if older_than is None:
            given = inputs.time_or_none(until)
            return now if given is None else min(given, now)
        if not isinstance(older_than, timedelta) or older_than < timedelta(0):
            raise InvalidValueError("older_than", older_than, "a timedelta, not negative")
        return Instant(now - older_than // timedelta(microseconds=1))


def _silent(_done: int, _of: int) -> None:
    """Tell nobody."""
