"""A ledger from its archive alone: the same events, positions, times and proofs."""

from collections.abc import Iterator
from dataclasses import dataclass

from muniment.archive import schema, segment
from muniment.archive.archiver import Progress
from muniment.archive.checking import row_of, whole_file
from muniment.archive.segment import Manifest
from muniment.archive.shelf import Shelf, read
from muniment.domain.time import BEGINNING, Instant
from muniment.errors import DamagedArchiveError, LedgerNotEmptyError, VaultMismatchError
from muniment.ledger.attesting import Attestor
from muniment.ledger.cold import Segment
from muniment.ledger.ledger import Ledger
from muniment.ledger.merkle import Tree
from muniment.ledger.proof import RefusedError, TreeHead, check_consistency
from muniment.ledger.recorder import Append


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """
    What was restored.

    Attributes:
        events: How many events.
        last_position: Of the last event.
        signed: The size of the largest tree head that the archive holds: where that is
            above *last_position*, events were recorded that the archive does not have.
    """

    events: int
    last_position: int
    signed: int


class Restorer:
    """
    Restores an empty ledger, whose vault is there.

    Segment by segment, each in one transaction; what was interrupted goes on.

    Args:
        ledger: To be filled.
        shelf: Its archive.
    """

    def __init__(self, ledger: Ledger, shelf: Shelf) -> None:
        self._ledger = ledger
        self._recorder = ledger.recorder
        self._shelf = shelf
        self._attestor = Attestor(ledger)

    def run(self, *, progress: Progress) -> Restored:
        """
        Restore what the archive holds.

        Raises:
            LedgerNotEmptyError: If the ledger holds what the archive did not give it.
            DamagedArchiveError: If a file is not what it was, or one is missing.
            VaultMismatchError: If the vault is another, or older than the archive.
        """
        manifests = list(self._manifests())
        total = manifests[-1][1].last_position if manifests else 0
        known = self._recorder.segments()
        head = self._recorder.present().head
        if head.tx_id != (known[-1].last_tx if known else 0):
            raise LedgerNotEmptyError(f"ledger {self._ledger.name}", head.position)
        for row, manifest in manifests[len(known) :]:
            self._restore(row, manifest)
            progress(manifest.last_position, total)
        heads = {
            self._attestor.read(each.tree_head): each.tree_head for _, each in manifests
        }
        with self._recorder.appending() as append:
            kept = {size for size, _ in self._recorder.tree_heads()}
            for each, note in heads.items():
                if each.size <= total and each.size not in kept:
                    append.add_tree_head(each.size, note)
            # Whatever was answered before, nothing is recorded at or before that time.
            horizons = (each.horizon_us for _, each in manifests)
            append.promise(Instant(max(append.now, *horizons, BEGINNING)))
        return Restored(
            events=total - head.position,
            last_position=total,
            signed=max((each.size for each in heads), default=0),
        )

    def _manifests(self) -> Iterator[tuple[Segment, Manifest]]:
        """Yield every manifest, each found to continue the one before."""
        before, expected = "", 1
        for name in self._shelf.names(f"manifests/ledger={self._ledger.name}"):
            content = read(self._shelf, name)
            found = segment.read_manifest(name, content)
            if found.predecessor != before or found.first_tx != expected:
                raise DamagedArchiveError(name, "it does not continue the one before it")
            if (found.origin, found.ledger) != (self._ledger.origin, self._ledger.name):
                raise VaultMismatchError(f"the archive is of {found.origin}")
            if found.key_mark >= self._ledger.vault.next_key_id():
                raise VaultMismatchError("the vault is older than the archive")
            before, expected = segment.sha256(content), found.last_tx + 1
            yield row_of(name, before, found), found

    def _restore(self, row: Segment, manifest: Manifest) -> None:
        file = manifest.events
        content = whole_file(self._shelf, file)
        events = segment.events_of(segment.decoded(file.name, content, schema.EVENTS))
        file = manifest.transactions
        content = whole_file(self._shelf, file)
        table = segment.decoded(file.name, content, schema.TRANSACTIONS)
        with self._recorder.appending() as append:
            at = 0
            for each in segment.transactions_of(table):
                count = each.last_position - each.first_position + 1
                append.insert(each, [event.sealed for event in events[at : at + count]])
                at += count
            if at != len(events) or append.head.position != manifest.last_position:
                raise DamagedArchiveError(row.manifest, "its events are not all there")
            self._check(append, manifest)
            append.mark_key(manifest.key_mark)
            append.add_segment(row)

    def _check(self, append: Append, manifest: Manifest) -> None:
        """Check that what was restored is what the ledger signed when it was archived."""
        root = Tree(append.tree).root(manifest.leaf_to)
        head = self._attestor.read(manifest.tree_head)
        begun = TreeHead(origin=head.origin, size=manifest.leaf_to, root=root)
        path = tuple(bytes.fromhex(each) for each in manifest.consistency)
        try:
            check_consistency(begun, head, path)
        except RefusedError as error:
            raise DamagedArchiveError(manifest.events.name, str(error)) from error
