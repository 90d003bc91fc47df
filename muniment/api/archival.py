"""The archive of a store: what is old, written for good; and what leaves the database."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from muniment.api import inputs
from muniment.api.custody import CustodialStore
from muniment.api.fields import By, Who
from muniment.api.verbs import verb, write_verb
from muniment.archive.cold import named
from muniment.domain.scope import Scope
from muniment.domain.time import Instant
from muniment.errors import InvalidValueError
from muniment.instants import Time


if TYPE_CHECKING:
    from muniment.api.exporting import Export
    from muniment.api.giving import Evidence
    from muniment.api.importing import Imported
    from muniment.archive.archiver import Archiver, Progress
    from muniment.archive.portable import Document
    from muniment.archive.sources import Source
    from muniment.archive.told import Archived, ArchivePlan, Rows


class ArchivalStore(CustodialStore):
    """
    A store whose past can be kept outside of its database, and shown to others.

    Attributes:
        sources: What else is kept of subjects, to be given out with their memory.
    """

    sources: "tuple[Source, ...]" = ()
    _content_limit: int
    _timestamp_url: str | None

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
        return self._archiver().prune(progress=progress or _silent)

    @verb
    def query_archive(self, sql: str) -> "Rows":
        """
        Return what a question in SQL finds in the archive; needs ``muniment[duckdb]``.

        Args:
            sql: One SELECT from the views ``events`` and ``transactions``.

        Raises:
            ConfigurationError: If DuckDB is not installed.
            InvalidValueError: If it is no question DuckDB understands.
        """
        from muniment.archive.query import answered  # noqa: PLC0415 - as below
        from muniment.archive.shelf import shelf_at  # noqa: PLC0415 - as below

        shelf = shelf_at(named(self._archive_place))
        return answered(self._ledger.recorder, shelf, sql)

    @write_verb
    def export_evidence(
        self,
        file: Path | str,
        *,
        matter: str,
        reason: str,
        user_id: str | None = None,
        scope: Scope | None = None,
        start: Time | None = None,
        end: Time | None = None,
        points: Sequence[Time | tuple[Time, Time | None]] = (),
        third_parties: Sequence[str] = (),
        **who: Unpack[Who],
    ) -> "Evidence":
        """
        Write a package of evidence that anyone can check without this store.

        That it is made is recorded with its reason before anything is given out.

        Args:
            file: Where the zip file is written; not there yet.
            matter: What it is for; *reason* says why.
            user_id: Whose memory; or *scope*.
            start: Recorded at or after; from the beginning if left out.
            end: Recorded before; up to now if left out.
            points: Recorded times of which to say what was known, or pairs with about when.
            third_parties: Names to be replaced by tokens, besides the ledger's other users.
            who: See `Who`.

        Raises:
            InvalidValueError: If *file* is there already.
            FutureAsOfError: If a time has not come.
            TimeStampUnavailableError: If the authority set does not answer.
        """
        from muniment.api.evidencing import Asked, EvidenceMaker  # noqa: PLC0415 - as below
        from muniment.api.giving import given_out, points_of  # noqa: PLC0415 - as below

        asked = Asked(
            scope=inputs.scope_of(user_id, scope),
            start=inputs.time_or_none(start),
            end=inputs.time_or_none(end),
            as_of=points_of(points),
            matter=inputs.name("matter", matter),
            third_parties=inputs.names("third_parties", third_parties),
        )
        origin = inputs.origin({**who, "reason": inputs.reason(reason)})
        self._settle()
        url = self._timestamp_url
        maker = EvidenceMaker(self._lookup, asked, self.sources, timestamp_url=url)
        return given_out(Path(file), lambda: maker.make(origin))

    @write_verb
    def export(
        self,
        *,
        user_id: str | None = None,
        scope: Scope | None = None,
        matter: str = "subject access",
        hide_others: bool = False,
        third_parties: Sequence[str] = (),
        sources: Sequence[str] = (),
        **by: Unpack[By],
    ) -> "Export":
        """
        Return everything about a subject: for itself, or to go elsewhere.

        Args:
            user_id: Whose memory; or *scope*.
            scope: Whose memory; or *user_id*.
            matter: What it is for; that it was given out is recorded.
            hide_others: Replace the ids of other users and teams by tokens. Such a copy
                is for reading: it cannot be imported.
            third_parties: Names to be replaced as well; this says *hide_others*, too.
            sources: Only facts that one of these said first, such as ``user_explicit``,
                and conversations: what somebody provided, and not what was inferred.
            by: See `By`.

        Raises:
            IncompleteExportError: If what was read is not all there is.
        """
        from muniment.api.exporting import Exporter, Part  # noqa: PLC0415 - as below

        whose = inputs.scope_of(user_id, scope)
        named = inputs.name("matter", matter)
        exporter = Exporter(self._lookup, self.sources)
        self._settle()
        hidden = inputs.names("third_parties", third_parties)
        return exporter.export(
            whose,
            matter=named,
            origin=inputs.origin(by),
            part=Part(
                sources=inputs.names("sources", sources),
                third_parties=hidden if hide_others or hidden else None,
            ),
        )

    @write_verb
    def import_export(
        self, document: "Document | Mapping[str, Any] | Path | str | bytes"
    ) -> "Imported":
        """
        Record what an export of another store holds.

        Ids, valid times, provenance and the order of history are kept; recorded times are
        this ledger's own, and those of the other are kept as ``claimed_at``. What was
        imported already is left alone, so a second import adds nothing.

        Args:
            document: An export, its JSON, or the file it is in.

        Raises:
            InvalidValueError: If it is no whole export.
            LedgerNotEmptyError: If the subject has a memory here already, other than what
                an earlier import of the same memory brought.
            SubjectFrozenError: If it was frozen here.
            ErasedImportError: If it was imported here before, and erased since.
        """
        from muniment.api.importing import Importer, read_document  # noqa: PLC0415 - as below

        importer = Importer(self._ledger, content_limit=self._content_limit)
        return importer.run(read_document(document))

    def _archiver(self) -> "Archiver":
        # Imported here: a store that is not archived needs no Arrow.
        from muniment.archive.archiver import Archiver  # noqa: PLC0415
        from muniment.archive.shelf import shelf_at  # noqa: PLC0415

        shelf = shelf_at(named(self._archive_place))
        return Archiver(self._ledger, shelf, self._lookup.timeline)

    def _until(self, until: Time | None, older_than: timedelta | None) -> Instant:
        if until is not None and older_than is not None:
            raise InvalidValueError("until", until, "left out where older_than is given")
        now = self._ledger.present().now
        if older_than is None:
            given = inputs.time_or_none(until)
            return now if given is None else min(given, now)
        if older_than < timedelta(0):
            raise InvalidValueError("older_than", older_than, "a timedelta, not negative")
        return Instant(now - older_than // timedelta(microseconds=1))


def _silent(_done: int, _of: int) -> None:
    """Tell nobody."""
