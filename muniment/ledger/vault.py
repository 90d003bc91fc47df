"""
The vault: every key of a store, wrapped, in a database of its own.

A stream's key is wrapped by its subject's key, that by the key-encryption key. What is
destroyed here is unreadable everywhere, in every copy and backup of the ledger. The map
from a subject's id to its `subject_ref` is kept here too, so that it can go.

Stream keys are made in batches that double, and are durable before the first is used:
so a write seldom costs a second commit.
"""

import os
import threading
from collections.abc import (
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
)
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

import sqlalchemy as sa

from muniment.domain.scope import Scope
from muniment.ledger import rotation, sealing
from muniment.ledger import vault_making as making
from muniment.ledger import vault_statements as statements
from muniment.ledger import vault_tables as tables
from muniment.ledger.bulk import insert_rows
from muniment.ledger.database import StandingConnection, dispose, writing
from muniment.ledger.destruction import Destructions, Step
from muniment.ledger.keys import KeyRing
from muniment.ledger.payload_keys import opened_payload_keys
from muniment.ledger.stream_keys import opened_stream_keys, wrapped_stream_keys
from muniment.ledger.thinnings import Thinnings


_BATCH_MAX = 1024
_CACHED_MAX = 200_000


@dataclass(frozen=True, slots=True)
class Subject:
    """
    A subject with the keys that are its own.

    Attributes:
        ref: Its name inside the ledger; random, says nothing.
        scope: Its name outside.
        key: Wraps its stream keys.
        header_key: Seals who did what to its memory, and why.
        tag_key: Makes the digests by which its content is found again.
        request_key: Makes the digests by which a repeated request is known.
    """

    ref: str
    scope: Scope
    key: bytes = field(repr=False)
    header_key: bytes = field(repr=False)
    tag_key: bytes = field(repr=False)
    request_key: bytes = field(repr=False)


class Vault:
    """
    The keys of one ledger.

    Safe to use from many threads. What it hands out was durable before. Several
    processes may use one vault; what one destroys, the others refuse from then on.

    Attributes:
        vault_id: Names the vault; random.
        ledger_key: What digests and signatures of this ledger are derived from.
        destructions: Keys that were destroyed, and those that are to be.
        thinnings: The same of keys of which something was kept.

    Raises:
        VaultMismatchError: If the vault was made with another key-encryption key.
    """

    def __init__(
        self, engine: sa.Engine, *, ledger: str, keys: KeyRing, lock_timeout: float
    ) -> None:
        self._engine = engine
        self._standing = StandingConnection(
            engine.execution_options(isolation_level="AUTOCOMMIT"),
            lock_timeout=lock_timeout,
        )
        self._ledger, self._keys, self._lock_timeout = ledger, keys, lock_timeout
        self._lock, self._epoch = threading.RLock(), -1
        self._subjects: dict[str, Subject] = {}
        self._by_scope: dict[Scope, Subject] = {}
        self._stream_keys: dict[tuple[str, int], bytes] = {}
        self._spare: dict[str, list[tuple[int, bytes]]] = {}
        self.destructions = Destructions(engine, ledger=ledger, lock_timeout=lock_timeout)
        self.thinnings = Thinnings(
            engine, self.destructions, ledger=ledger, lock_timeout=lock_timeout
        )
        self._batch: dict[str, int] = {}
        self.vault_id = making.vault(engine, keys, lock_timeout=lock_timeout)
        self.ledger_key = making.ledger_key(engine, keys, ledger, lock_timeout=lock_timeout)
        self._scope_key = sealing.derived(self.ledger_key, "scope")

    def find(self, scope: Scope) -> Subject | None:
        """Return the subject that *scope* names, or ``None`` when it has no memory."""
        with self._standing.held() as connection:
            self._forget_if_destroyed(connection)
            known = self._by_scope.get(scope)
            if known is not None:
                return known
            tag = self._scope_tag(scope)
            row = statements.BY_SCOPE.first(connection, ledger=self._ledger, scope_tag=tag)
            return None if row is None else self._opened(*row)

    def known(self, scopes: Iterable[Scope]) -> set[Scope]:
        """Return those of *scopes* that have a memory; for many, of which few have one."""
        by_tag = {self._scope_tag(each): each for each in scopes}
        tags = list(by_tag)
        found: set[bytes] = set()
        for first in range(0, len(tags), statements.TAGS_AT_ONCE):
            # Whoever waits for the connection has a turn after each.
            with self._standing.held() as connection:
                asked = tags[first : first + statements.TAGS_AT_ONCE]
                found |= statements.known_tags(connection, asked, ledger=self._ledger)
        return {by_tag[each] for each in found}

    def recalled(self, scope: Scope) -> tuple[Subject, int] | None:
        """
        Return the subject that *scope* named when the vault was last asked, and the epoch.

        ``None`` when it is not in memory. It costs nothing, and holds if the vault, asked
        for a key or `epoch` afterwards, still has that `known_epoch`.
        """
        # The epoch first: what is filled in meanwhile is of a later one.
        epoch = self.known_epoch
        subject = self._by_scope.get(scope)
        return None if subject is None else (subject, epoch)

    def find_or_make(self, scope: Scope) -> Subject:
        """Return the subject that *scope* names; make it if there is none."""
        return self.find(scope) or self._make(scope)

    def subject(self, ref: str) -> Subject | None:
        """Return the subject known inside as *ref*, or ``None`` when it was erased."""
        with self._standing.held() as connection:
            self._forget_if_destroyed(connection)
            return self._subject(connection, ref)

    def owner(
        self, ref: str, *, key_id: int | None = None
    ) -> tuple[Subject, bytes | None] | None:
        """
        Return `subject`, and its key *key_id*; as much is asked where there is neither.

        So that how long it takes tells nothing to those who may not know.
        """
        with self._standing.held() as connection:
            self._forget_if_destroyed(connection)
            row = statements.BY_REF.first(connection, ledger=self._ledger, subject_ref=ref)
            found = None if row is None else self._opened(*row)
            known: Mapping[str, Mapping[int, bytes]] = {ref: {}}
            if key_id is not None:
                theirs = {ref: (found.key, {key_id}) if found else (b"", {0})}
                known = opened_stream_keys(connection, theirs, ledger=self._ledger)
        return None if found is None else (found, known[ref].get(key_id or 0))

    def subject_with_keys(
        self, ref: str, key_ids: Iterable[int]
    ) -> tuple[Subject, Mapping[int, bytes]] | None:
        """Return what `subject` and `keys` do, of one moment; ``None`` when erased."""
        with self._standing.held() as connection:
            self._forget_if_destroyed(connection)
            subject = self._subject(connection, ref)
            if subject is None:
                return None
            return subject, self._keys_of(connection, subject, set(key_ids))

    def subjects_with_keys(
        self, wanted: Iterable[tuple[str, int]]
    ) -> Mapping[str, tuple[Subject, Mapping[int, bytes]] | None]:
        """
        Return by name inside what `subject_with_keys` does, of many subjects.

        For whoever reads all there is: what is fetched is not kept in memory. *wanted*
        are names of subjects, each with the number of a stream key.
        """
        key_ids: dict[str, set[int]] = {}
        for ref, key_id in wanted:
            key_ids.setdefault(ref, set()).add(key_id)
        with self._standing.held() as connection:
            self._forget_if_destroyed(connection)
            known = {ref: self._subject(connection, ref) for ref in key_ids}
            theirs = {r: (one.key, key_ids[r]) for r, one in known.items() if one}
            keys = opened_stream_keys(connection, theirs, ledger=self._ledger)
        return {ref: (one, keys[ref]) if one else None for ref, one in known.items()}

    def next_key_id(self) -> int:
        """Return the number the next stream key will have; all before were given out."""
        with self._standing.held() as connection:
            row = statements.NEXT_KEY_ID.first(connection)
        assert row is not None, "the vault has its one row"
        return int(row[0])

    def keys_at_hand(self) -> tuple[str, ...]:
        """Return the names of the key-encryption keys at hand, in the order given."""
        return self._keys.ids()

    def rotate(self, kek_id: str, *, progress: Callable[[int], None]) -> int:
        """
        Go by another key-encryption key, and wrap again what others wrapped.

        Args:
            kek_id: Of the new key; every process finds it beside the old one.
            progress: Told how many keys are wrapped anew.

        Returns:
            How many keys were wrapped anew.
        """
        self._keys.key(kek_id)
        rotation.go_by(self._engine, kek_id, lock_timeout=self._lock_timeout)
        return rotation.wrap_again(
            self._engine,
            self._keys,
            kek_id,
            lock_timeout=self._lock_timeout,
            progress=progress,
        )

    def subjects(self) -> Iterator[Subject]:
        """Yield every subject that has a memory."""
        with self._standing.held() as connection:
            self._forget_if_destroyed(connection)
            rows = statements.ALL_SUBJECTS.rows(connection, ledger=self._ledger)
            subjects = [self._opened(*row) for row in rows]
        yield from subjects

    def take(self, subject: Subject, count: int) -> list[tuple[int, bytes]]:
        """Return *count* stream keys of *subject* that nothing else will use."""
        with self._lock:
            spare = self._spare.setdefault(subject.ref, [])
            if len(spare) < count:
                spare.extend(self._make_keys(subject, count - len(spare)))
            return [spare.pop() for _ in range(count)]

    def keys(self, subject: Subject, key_ids: Iterable[int]) -> Mapping[int, bytes]:
        """
        Return those of the stream keys of *subject* that were not destroyed.

        Raises:
            BrokenSealError: If one of them is another subject's.
        """
        with self._standing.held() as connection:
            self._forget_if_destroyed(connection)
            return self._keys_of(connection, subject, set(key_ids))

    def payload_keys(
        self, subject: Subject, events: Collection[tuple[str, int, int]]
    ) -> Mapping[tuple[str, int], bytes]:
        """
        Return by stream and version the keys of *events* that outlived their stream's.

        Of each event: the stream, the version, the key that it was sealed with.
        """
        if not events:
            return {}
        with self._standing.held() as connection:
            return opened_payload_keys(
                connection,
                subject.key,
                events,
                ledger=self._ledger,
                subject_ref=subject.ref,
            )

    def is_parting(self, subject_ref: str) -> bool:
        """Whether keys of a subject are about to be destroyed: announced, and not done."""
        whose = {"ledger": self._ledger, "subject_ref": subject_ref}
        with self._standing.held() as connection:
            step = Step.ANNOUNCED.value
            row = statements.ANNOUNCED.first(connection, **whose, step=step)
        return row is not None

    def epoch(self) -> int:
        """Return a number that rises when a key is destroyed, by whatever process."""
        with self._standing.held() as connection:
            self._forget_if_destroyed(connection)
            return self._epoch

    @property
    def known_epoch(self) -> int:
        """The same as it was when anything was last asked for; nothing is asked for it."""
        return self._epoch

    def close(self) -> None:
        """Let go of the keys and of the database."""
        self._subjects.clear()
        self._by_scope.clear()
        self._stream_keys.clear()
        self._standing.close()
        dispose(self._engine)

    def _make(self, scope: Scope) -> Subject:
        ref, key = os.urandom(10).hex(), sealing.new_key()
        place = self._place(ref)
        with writing(self._engine, lock_timeout=self._lock_timeout) as connection:
            kek_id, wrapped = making.wrapped(connection, self._keys, key, place)
            # Another process may have made it meanwhile; then its row stands.
            statements.new_subject(connection.dialect.name).run(
                connection,
                ledger=self._ledger,
                subject_ref=ref,
                scope_tag=self._scope_tag(scope),
                scope_sealed=sealing.seal(key, str(scope).encode(), place=place),
                kek_id=kek_id,
                wrapped=wrapped,
            )
        found = self.find(scope)
        assert found is not None, "the subject was made, or another process made it"
        return found

    def _make_keys(self, subject: Subject, count: int) -> list[tuple[int, bytes]]:
        """Return at least *count* new keys, durable in the vault."""
        batch = min(_BATCH_MAX, 2 * self._batch.get(subject.ref, 1))
        self._batch[subject.ref] = batch
        made = [sealing.new_key() for _ in range(max(count, batch))]
        with writing(self._engine, lock_timeout=self._lock_timeout) as connection:
            after = statements.TAKE_KEY_IDS.first(connection, count=len(made))
            assert after is not None, "the vault has its one row"
            numbered = list(enumerate(made, int(after[0]) - len(made)))
            rows = wrapped_stream_keys(
                subject.key, numbered, ledger=self._ledger, subject_ref=subject.ref
            )
            insert_rows(connection, tables.stream_key, rows)
        return numbered

    def _subject(self, connection: sa.Connection, ref: str) -> Subject | None:
        known = self._subjects.get(ref)
        if known is not None:
            return known
        row = statements.BY_REF.first(connection, ledger=self._ledger, subject_ref=ref)
        return None if row is None else self._opened(*row)

    def _keys_of(
        self, connection: sa.Connection, subject: Subject, wanted: AbstractSet[int]
    ) -> Mapping[int, bytes]:
        cached, ref = self._stream_keys, subject.ref
        found = {each: cached[ref, each] for each in wanted if (ref, each) in cached}
        if len(found) < len(wanted):
            theirs = {ref: (subject.key, wanted - found.keys())}
            fetched = opened_stream_keys(connection, theirs, ledger=self._ledger)[ref]
            self._keep({(ref, each): key for each, key in fetched.items()})
            found.update(fetched)
        return found

    def _keep(self, opened: Mapping[tuple[str, int], bytes]) -> None:
        if len(self._stream_keys) + len(opened) > _CACHED_MAX:
            self._stream_keys = {}
        self._stream_keys.update(opened)

    def _opened(
        self, ref: str, kek_id: str, wrapped: bytes, scope_sealed: bytes
    ) -> Subject:
        known = self._subjects.get(ref)
        if known is not None:
            return known
        key = self._keys.unwrap(kek_id, wrapped, place=self._place(ref))
        scope = Scope.parse(
            sealing.unseal(key, scope_sealed, place=self._place(ref)).decode()
        )
        own = (sealing.derived(key, each) for each in ("header", "content-tag", "request"))
        subject = Subject(ref, scope, key, *own)
        if len(self._subjects) > _CACHED_MAX:
            self._subjects, self._by_scope = {}, {}
        self._subjects[ref] = self._by_scope[scope] = subject
        return subject

    def _forget_if_destroyed(self, connection: sa.Connection) -> None:
        """
        Drop every key in memory when one was destroyed, by whatever process.

        Called with the standing connection held, as everything that reads or fills the
        memory: so what was read before a destruction is not kept after it.
        """
        row = statements.EPOCH.first(connection)
        epoch = -1 if row is None else int(row[0])
        if epoch == self._epoch:
            return
        self._subjects, self._by_scope, self._stream_keys = {}, {}, {}
        with self._lock:
            self._spare = {}
        # Last: what `recalled` finds beside this epoch was not destroyed before it.
        self._epoch = epoch

    def _scope_tag(self, scope: Scope) -> bytes:
        return sealing.tag(self._scope_key, str(scope).encode())

    def _place(self, ref: str) -> bytes:
        return f"subject-key/{self._ledger}/{ref}".encode()
