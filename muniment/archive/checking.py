"""Whether the archive holds what it should: every file, and the chain of manifests."""

from collections.abc import Iterator

from muniment.archive import segment
from muniment.archive.segment import File, Manifest
from muniment.archive.shelf import Shelf, read
from muniment.errors import ArchiveUnavailableError, DamagedArchiveError
from muniment.ledger.cold import Segment
from muniment.ledger.recorder import LedgerRecorder
from muniment.ledger.verification import Finding


def check_segment(shelf: Shelf, row: Segment) -> Manifest:
    """
    Read every file of a segment again and return its manifest.

    Raises:
        DamagedArchiveError: If one is not what it was when the segment was written.
        ArchiveUnavailableError: If one cannot be read.
    """
    content = read(shelf, row.manifest)
    if segment.sha256(content) != row.manifest_sha256:
        raise DamagedArchiveError(row.manifest, "it is not the one the ledger names")
    manifest = segment.read_manifest(row.manifest, content)
    for each in manifest.files:
        whole_file(shelf, each)
    return manifest


def whole_file(shelf: Shelf, file: File) -> bytes:
    """
    Return what a file holds.

    Raises:
        DamagedArchiveError: If that is not what its manifest says.
    """
    content = read(shelf, file.name)
    if segment.sha256(content) != file.sha256:
        raise DamagedArchiveError(file.name, "its SHA-256 is not that of its manifest")
    return content


def archive_findings(recorder: LedgerRecorder, shelf: Shelf) -> Iterator[Finding]:
    """Yield what is wrong with the archive of a ledger; nothing when all is as written."""
    before, expected = "", 1
    for row in recorder.segments():
        at = row.first_position
        try:
            manifest = check_segment(shelf, row)
        except (DamagedArchiveError, ArchiveUnavailableError) as error:
            yield Finding(position=at, kind="archive", problem=str(error))
            before, expected = row.manifest_sha256, row.last_tx + 1
            continue
        if manifest.predecessor != before or row.first_tx != expected:
            problem = f"{row.manifest} does not continue the segment before it"
            yield Finding(position=at, kind="archive", problem=problem)
        before, expected = row.manifest_sha256, row.last_tx + 1


def row_of(name: str, digest: str, manifest: Manifest) -> Segment:
    """Return a segment as the ledger remembers it; *digest* is of its manifest."""
    return Segment(
        first_tx=manifest.first_tx,
        last_tx=manifest.last_tx,
        first_position=manifest.first_position,
        last_position=manifest.last_position,
        manifest=name,
        manifest_sha256=digest,
    )
