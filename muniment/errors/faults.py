"""Failures that are nobody's request: of a database, of stored data."""

from muniment.errors.categories import Corruption, Unavailable
from muniment.errors.wording import shown


class DatabaseUnavailableError(Unavailable):
    """The database cannot be reached, or gave up."""

    def __init__(self, problem: str) -> None:
        self.problem = problem
        super().__init__(f"the database is unavailable: {problem}; nothing was written")


class LedgerBusyError(Unavailable):
    """The append lock did not come free in time."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        super().__init__(
            f"another writer held the ledger for {seconds:g} s; nothing was written, "
            "try again"
        )


class WitnessUnavailableError(Unavailable):
    """A tree head could not be published."""

    def __init__(self, witness: str, problem: str) -> None:
        self.witness, self.problem = witness, problem
        super().__init__(
            f"the tree head was not published to {witness}: {problem}; it is kept in the "
            "ledger, publish it again"
        )


class ArchiveUnavailableError(Unavailable):
    """The archive cannot be reached, or somebody else writes to it."""

    def __init__(self, place: str, problem: str) -> None:
        self.place, self.problem = place, problem
        super().__init__(
            f"{place} is unavailable: {problem}; nothing was lost, try again later"
        )


class TimeStampUnavailableError(Unavailable):
    """The authority that stamps evidence did not, or not what it was asked."""

    def __init__(self, url: str, problem: str) -> None:
        self.url, self.problem = url, problem
        super().__init__(
            f"no time stamp from {url}: {problem}; try again later, or without "
            "MUNIMENT_TIMESTAMP_URL"
        )


class DamagedArchiveError(Corruption):
    """A file of the archive is not what its manifest says."""

    def __init__(self, file: str, problem: str) -> None:
        self.file, self.problem = file, problem
        super().__init__(
            f"{file} of the archive: {problem}; stop, keep the files, and put a copy of it "
            "back"
        )


class IncompleteExportError(Corruption):
    """An export does not add up to what the store holds."""

    def __init__(self, what: str, expected: int, found: int) -> None:
        self.what, self.expected, self.found = what, expected, found
        super().__init__(
            f"the export has {found:,} of {expected:,} {what}; nothing was given out, see: "
            "muniment verify"
        )


class KeyServiceUnavailableError(Unavailable):
    """The service that has the key-encryption key cannot be reached, or refuses."""

    def __init__(self, problem: str) -> None:
        self.problem = problem
        super().__init__(
            f"the key service is unavailable: {problem}; nothing was written, try again"
        )


class CommitUncertainError(Unavailable):
    """The answer to a commit was lost; it may or may not have been stored."""

    def __init__(self, problem: str) -> None:
        self.problem = problem
        super().__init__(
            f"the connection broke during commit ({problem}); it may have been stored. "
            "Repeat the request with the same idempotency_key to learn which"
        )


class StoreClosedError(Unavailable):
    """The store was closed, or opened by the process that this one was forked from."""

    def __init__(self) -> None:
        super().__init__(
            "the store is closed, or another process than this opened it; open it again "
            "with MemoryStore.open"
        )


class UnknownEventError(Corruption):
    """The ledger holds an event this version of Muniment cannot read."""

    def __init__(self, topic: str, place: str) -> None:
        self.topic, self.place = topic, place
        super().__init__(f"unknown event {shown(topic)} at {place}; upgrade Muniment")


class NewerSchemaError(Corruption):
    """An event or a store written by a newer version of Muniment."""

    def __init__(self, what: str, found: str, known: str) -> None:
        self.what, self.found, self.known = what, found, known
        super().__init__(
            f"{what} has schema {found}, this version knows {known}; upgrade Muniment, "
            "nothing was touched"
        )


class BrokenSealError(Corruption):
    """A sealed payload does not open under its key: it was altered or moved."""

    def __init__(self, place: str) -> None:
        self.place = place
        super().__init__(
            f"the sealed content at {place} does not open under its key; it was altered "
            "or moved. Stop, keep the files, and compare with a backup"
        )


class DamagedDatabaseError(Corruption):
    """A file of the store is damaged: the database cannot read it."""

    def __init__(self, problem: str) -> None:
        self.problem = problem
        super().__init__(
            f"the database is damaged ({problem}); stop, keep the files, and restore a "
            "backup of the ledger"
        )


class VaultMismatchError(Corruption):
    """The vault belongs to another store, or to another key."""

    def __init__(self, problem: str) -> None:
        self.problem = problem
        super().__init__(f"{problem}; put the vault and the key of this store back")


class TamperedError(Corruption):
    """What is stored is not what was recorded."""

    def __init__(self, position: int | None, kind: str, problem: str) -> None:
        self.position, self.kind, self.problem = position, kind, problem
        where = "" if position is None else f" at position {position}"
        super().__init__(
            f"{kind}{where}: {problem}; stop, keep the files, and see: muniment verify"
        )


class ProjectionError(Corruption):
    """A projection does not follow from the ledger."""

    def __init__(self, projection: str, position: int, problem: str) -> None:
        self.projection, self.position, self.problem = projection, position, problem
        super().__init__(
            f"projection {projection} stops at position {position}: {problem}; "
            "the ledger is untouched, see: muniment rebuild"
        )


class IndexUnavailableError(Unavailable):
    """The engine that holds the current facts cannot answer; the ledger goes on."""

    def __init__(self, problem: str) -> None:
        self.problem = problem
        super().__init__(
            f"the index of current facts is unavailable: {problem}; nothing is lost, it "
            "catches up by itself, and exact reads go on"
        )


class IndexHeldError(Unavailable):
    """Another process holds the engine of an embedded store."""

    def __init__(self, place: str) -> None:
        self.place = place
        super().__init__(
            f"another process holds the index at {place}; search goes on from the "
            "vectors in the database, or name a Qdrant server with MUNIMENT_QDRANT_URL"
        )


class SummarizerUnavailableError(Unavailable):
    """A model cannot summarise now, or answered something that is no summary."""

    def __init__(self, model: str, problem: str) -> None:
        self.model, self.problem = model, problem
        super().__init__(
            f"model {model} cannot summarise: {problem}; see that its server answers, or "
            "use the extractive summaries"
        )


class EmbedderUnavailableError(Unavailable):
    """The embedder cannot embed now, or answered something that is not a vector."""

    def __init__(self, model: str, problem: str) -> None:
        self.model, self.problem = model, problem
        super().__init__(
            f"embedder {model} cannot embed: {problem}; facts are kept and embedded later"
        )
