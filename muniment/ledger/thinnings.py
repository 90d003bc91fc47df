"""
What was thinned, in the vault: which payloads outlive the key of their stream.

Each such payload has a key of its own, kept here from before the event that says so is
committed. Then the key of the stream is destroyed: what was not kept opens no more, in
the ledger, in its archive and in every backup of both. As a destruction, a thinning
stays listed, so that a ledger restored from an older backup is told of it.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

import sqlalchemy as sa

from muniment.domain.thinning import Runs, is_among
from muniment.domain.time import Instant
from muniment.ledger import vault_tables as tables
from muniment.ledger.bulk import insert_rows
from muniment.ledger.database import reading, scrub, writing
from muniment.ledger.destruction import Destructions, Step
from muniment.ledger.payload_keys import wrapped_payload_key
from muniment.ledger.prepared import Prepared


@dataclass(frozen=True, slots=True, kw_only=True)
class Thinning:
    """
    A stream to be thinned, or thinned.

    Attributes:
        subject_ref: Whose.
        stream: Of the fact.
        until: See `muniment.domain.events.FactThinned`.
        versions: Whose content goes, in runs.
        key_id: Of the key that is destroyed.
        position: Of the event that says so.
        step: How far it has come; ``KEYS`` once nothing opens any more.
    """

    subject_ref: str
    stream: str
    until: Instant
    versions: Runs
    key_id: int
    position: int
    step: Step


class Thinnings:
    """The thinnings of one ledger, in its vault."""

    def __init__(
        self,
        engine: sa.Engine,
        destructions: Destructions,
        *,
        ledger: str,
        lock_timeout: float,
    ) -> None:
        self._engine = engine
        self._destructions = destructions
        self._ledger = ledger
        self._lock_timeout = lock_timeout

    def announce(
        self,
        thinnings: Sequence[tuple[Thinning, Mapping[int, bytes]]],
        *,
        subject_key: bytes,
    ) -> None:
        """
        Say what will be thinned; durable once this returns.

        Args:
            thinnings: Of one subject, not carried out yet; each with the keys of the
                payloads that stay readable, by version.
            subject_key: Wraps them.
        """
        with self._writing() as connection:
            for thinning, own_keys in thinnings:
                each_alone = [(version, version) for version in own_keys]
                self._drop_payload_keys(connection, thinning, each_alone)
                connection.execute(sa.delete(_table).where(self._is(thinning)))
            insert_rows(
                connection,
                tables.payload_key,
                [
                    row
                    for thinning, own_keys in thinnings
                    for row in self._kept(thinning, own_keys, subject_key)
                ],
            )
            rows = [self._row(thinning) for thinning, _ in thinnings]
            connection.execute(sa.insert(_table), rows)

    def withdraw(self, thinning: Thinning) -> None:
        """Take back what was announced and never said in the ledger, and the keys made."""
        own = tables.payload_key.c
        with self._writing() as connection:
            connection.execute(sa.delete(_table).where(self._is(thinning)))
            # Of another one, announced since, the same keys may be all that opens what it
            # keeps.
            others = sa.exists().where(
                _table.c.ledger == own.ledger,
                _table.c.subject_ref == own.subject_ref,
                _table.c.stream == own.stream,
                _table.c.key_id == own.key_id,
            )
            left = sa.delete(tables.payload_key).where(
                own.ledger == self._ledger,
                own.subject_ref == thinning.subject_ref,
                own.stream == thinning.stream,
                own.key_id == thinning.key_id,
                ~others,
            )
            connection.execute(left)

    def destroy_keys(self, thinnings: Sequence[Thinning]) -> None:
        """Destroy the keys of the streams, and those kept before of what goes now."""
        keys = tables.stream_key.c
        with self._writing() as connection:
            for each in thinnings:
                ours = (keys.ledger == self._ledger) & (keys.key_id == each.key_id)
                ours &= keys.subject_ref == each.subject_ref
                connection.execute(sa.delete(tables.stream_key).where(ours))
                self._drop_payload_keys(connection, each, each.versions)
                self._update(connection, each, step=Step.KEYS.value)
            epoch = tables.vault.c.epoch + 1
            connection.execute(sa.update(tables.vault).values(epoch=epoch))
        self._destructions.on_destroyed()

    def move_to(self, thinning: Thinning, position: int) -> None:
        """Record where the event that says so stands now, all else to be done again."""
        with self._writing() as connection:
            self._update(connection, thinning, step=Step.KEYS.value, position=position)

    def finish(self, thinnings: Sequence[Thinning]) -> None:
        """Record that nothing is left of what went."""
        with self._writing() as connection:
            for each in thinnings:
                self._update(connection, each, step=Step.DONE.value)

    def all(self) -> Sequence[Thinning]:
        """Return every thinning there is, in the order they were said."""
        return self._found(_ALL)

    def unfinished(self) -> Sequence[Thinning]:
        """Return those that are not done."""
        return self._found(_UNFINISHED)

    def remaining(self, thinning: Thinning) -> int:
        """Return how many keys are left of what went."""
        keys, own = tables.stream_key.c, tables.payload_key.c
        of_stream = sa.select(keys.key_id).where(
            keys.ledger == self._ledger, keys.key_id == thinning.key_id
        )
        of_payloads = sa.select(own.version).where(
            own.ledger == self._ledger,
            own.subject_ref == thinning.subject_ref,
            own.stream == thinning.stream,
        )
        with reading(self._engine) as connection:
            streams = connection.execute(of_stream).all()
            versions = connection.execute(of_payloads).scalars().all()
        return len(streams) + sum(is_among(each, thinning.versions) for each in versions)

    def scrub(self) -> bool:
        """Overwrite what was deleted; whether no trace is left in files of the vault."""
        return scrub(self._engine, ("stream_key", "payload_key"))

    def _found(self, query: Prepared) -> Sequence[Thinning]:
        with reading(self._engine) as connection:
            rows = query.rows(connection, ledger=self._ledger)
        return [
            Thinning(
                subject_ref=subject_ref,
                stream=stream,
                until=Instant(until_us),
                versions=tuple((one, other) for one, other in json.loads(versions)),
                key_id=key_id,
                position=position,
                step=Step(step),
            )
            for subject_ref, stream, position, until_us, key_id, versions, step in rows
        ]

    def _drop_payload_keys(
        self,
        connection: sa.Connection,
        thinning: Thinning,
        versions: Iterable[tuple[int, int]],
    ) -> None:
        rows = [
            {
                "this_ledger": self._ledger,
                "this_subject": thinning.subject_ref,
                "this_stream": thinning.stream,
                "first": first,
                "last": last,
            }
            for first, last in versions
        ]
        if rows:
            connection.execute(_DROP_PAYLOAD_KEYS, rows)

    def _writing(self) -> AbstractContextManager[sa.Connection]:
        return writing(self._engine, lock_timeout=self._lock_timeout)

    def _update(
        self, connection: sa.Connection, thinning: Thinning, **values: str | int
    ) -> None:
        connection.execute(sa.update(_table).where(self._is(thinning)).values(**values))

    def _kept(
        self, thinning: Thinning, own_keys: Mapping[int, bytes], subject_key: bytes
    ) -> Iterator[tuple[object, ...]]:
        """Yield the rows of the keys that are kept, as the table has its columns."""
        ref, stream = thinning.subject_ref, thinning.stream
        for version, key in own_keys.items():
            wrapped = wrapped_payload_key(
                subject_key,
                key,
                ledger=self._ledger,
                subject_ref=ref,
                said=(stream, version),
            )
            yield self._ledger, ref, stream, version, thinning.key_id, wrapped

    def _row(self, thinning: Thinning) -> dict[str, object]:
        return {
            "ledger": self._ledger,
            "subject_ref": thinning.subject_ref,
            "stream": thinning.stream,
            "until_us": thinning.until,
            "key_id": thinning.key_id,
            "versions": json.dumps(thinning.versions),
            "position": thinning.position,
            "step": thinning.step.value,
        }

    def _is(self, thinning: Thinning) -> sa.ColumnElement[bool]:
        return (
            (_table.c.ledger == self._ledger)
            & (_table.c.subject_ref == thinning.subject_ref)
            & (_table.c.stream == thinning.stream)
            & (_table.c.position == thinning.position)
        )


_table = tables.thinning
_of_ledger = (
    sa.select(*(each for each in _table.c if each is not _table.c.ledger))
    .where(_table.c.ledger == sa.bindparam("ledger"))
    .order_by(_table.c.position)
)
_ALL = Prepared(_of_ledger)
_UNFINISHED = Prepared(_of_ledger.where(_table.c.step != Step.DONE.value))

_own = tables.payload_key.c
_DROP_PAYLOAD_KEYS = sa.delete(tables.payload_key).where(
    _own.ledger == sa.bindparam("this_ledger"),
    _own.subject_ref == sa.bindparam("this_subject"),
    _own.stream == sa.bindparam("this_stream"),
    _own.version.between(sa.bindparam("first"), sa.bindparam("last")),
)
