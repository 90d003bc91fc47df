"""
The destruction of keys, and what is left to do after it: the vault's tombstones.

A destruction is announced before the event that says so is committed, so that a process
that dies in between leaves a trace. Each step is recorded once it is done and may be
done again. What was destroyed stays listed, so that a ledger restored from an older
backup is purged before it opens.
"""

import json
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import sqlalchemy as sa

from muniment.ledger import vault_tables as tables
from muniment.ledger.bulk import insert_rows
from muniment.ledger.database import reading, scrub, writing
from muniment.ledger.prepared import Prepared
from muniment.ledger.vault_statements import LAST_OF_WORDS


class Step(StrEnum):
    """How far a destruction has come."""

    ANNOUNCED = "announced"
    """The event that says so may or may not be in the ledger."""

    KEYS = "keys"
    """The keys are gone: nothing can be read any more."""

    PURGED = "purged"
    """What was derived is gone from every store that is ours."""

    DONE = "done"
    """No store holds anything, as was looked up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Destruction:
    """
    Keys to be destroyed, or destroyed.

    Attributes:
        subject_ref: Whose.
        stream: What: the stream of a fact, or of a session, for all that was said in it;
            that of its turns, a dot and a number, for one turn; ``expired`` and which
            records, see `muniment.api.expiring.Expired`; empty for the subject itself.
        key_id: Of the key that opens it; 0 for what may have many.
        position: Of the event that says so.
        step: How far it has come.
        counts: What was removed, store by store, as JSON.
        certificate: What was signed at the end, if it has ended.
    """

    subject_ref: str
    stream: str
    key_id: int
    position: int
    step: Step
    counts: str = "{}"
    certificate: str | None = None


PayloadKey = tuple[str, int, int, bytes]
"""Of a payload: stream, version, the key it was sealed with, and its own key, wrapped."""

Parted = tuple[Sequence[tuple[str, int, int]], Sequence[PayloadKey]]
"""Payloads that go: stream, version, key; and own keys of others that would go along."""


class Destructions:
    """
    The destructions of one ledger, in its vault.

    Attributes:
        turn: Held by the thread that carries them out, so that each counts what it did.
        on_destroyed: Called by that thread, once keys are destroyed.
    """

    def __init__(self, engine: sa.Engine, *, ledger: str, lock_timeout: float) -> None:
        self._engine = engine
        self._ledger = ledger
        self._lock_timeout = lock_timeout
        self.turn = threading.Lock()
        self.on_destroyed: Callable[[], None] = lambda: None

    def announce(self, *destructions: Destruction) -> None:
        """Say what will be destroyed; durable once this returns."""
        with self._writing() as connection:
            for each in destructions:
                connection.execute(sa.delete(_table).where(self._is(each)))
                row = {"ledger": self._ledger, **_values(each)}
                connection.execute(sa.insert(_table), row)

    def withdraw(self, destruction: Destruction) -> None:
        """Take back what was announced and never said in the ledger."""
        with self._writing() as connection:
            connection.execute(sa.delete(_table).where(self._is(destruction)))

    def destroy_keys(
        self,
        destruction: Destruction,
        *,
        also: Collection[int] = (),
        parted: Parted = ((), ()),
    ) -> None:
        """
        Destroy the keys, for every process from then on, and count them.

        Args:
            destruction: Which.
            also: Further keys of its subject, of streams that say what this one does.
            parted: Payloads of other streams that say it, and the keys that are kept, as
                of `part_keys`.
        """
        with self._writing() as connection:
            if any(parted) and self._is_announced(connection, destruction):
                self._part(connection, destruction, parted, ())
            if not destruction.stream:
                _destroy_subject(connection, self._ledger, destruction.subject_ref)
            gone = sum(
                int(connection.execute(sa.delete(table).where(ours)).rowcount)
                for table, ours in self._keys(destruction)
            )
            whose = self._ledger, destruction.subject_ref
            further = [(key_id,) for key_id in also]
            _delete(connection, tables.stream_key, whose, ("key_id",), further)
            connection.execute(
                sa.update(tables.vault).values(epoch=tables.vault.c.epoch + 1)
            )
            self._count(connection, destruction, "vault", gone + len(further))
            self._move(connection, destruction, Step.KEYS)
        self.on_destroyed()

    def part_keys(
        self,
        destruction: Destruction,
        parted: Parted,
        *,
        also: Collection[int] = (),
    ) -> None:
        """
        Destroy the keys of some payloads, for every process from then on.

        Nothing where another process has done it: what it kept may be less by now.

        Args:
            destruction: Which.
            parted: Of each payload that goes the stream, the version and the key it was
                sealed with, which is destroyed; and the own keys of other payloads that
                were sealed with those keys.
            also: Further keys of its subject, of streams of which all is to go.
        """
        with self._writing() as connection:
            if not self._is_announced(connection, destruction):
                return
            self._part(connection, destruction, parted, also)
            connection.execute(
                sa.update(tables.vault).values(epoch=tables.vault.c.epoch + 1)
            )
            self._count(connection, destruction, "vault", len(parted[0]) + len(also))
            self._move(connection, destruction, Step.KEYS)
        self.on_destroyed()

    def count(self, destruction: Destruction, store: str, number: int) -> None:
        """Keep how much was found in a store; of several numbers, the largest."""
        with self._writing() as connection:
            self._count(connection, destruction, store, number)

    def counts(self, destruction: Destruction) -> Mapping[str, int]:
        """Return how much was found, store by store, by whichever process."""
        with reading(self._engine) as connection:
            return self._counts(connection, sa.select(_table.c.counts), destruction)

    def move(self, destruction: Destruction, step: Step, **values: str | int) -> None:
        """Record that a step is done."""
        with self._writing() as connection:
            self._move(connection, destruction, step, **values)

    def finish(self, done: Sequence[tuple[Destruction, str]]) -> None:
        """
        Record that some are done, and forget those done before that they cover.

        Args:
            done: Each, with how the streams begin of those that, if they stand before it,
                destroyed nothing which it did not.
        """
        with self._writing() as connection:
            for destruction, family in done:
                self._move(connection, destruction, Step.DONE)
                self._drop_covered(connection, destruction, family)

    def all(self) -> Sequence[Destruction]:
        """Return every destruction there is, finished or not."""
        return self._found(_ALL)

    def unfinished(self) -> Sequence[Destruction]:
        """Return those that are not done."""
        return self._found(_UNFINISHED)

    def of_subject(self, subject_ref: str) -> Destruction | None:
        """Return the destruction of all keys of a subject, if there is one."""
        return next(iter(self._found(_OF_SUBJECT, subject_ref=subject_ref)), None)

    def last_of_words(self, subject_ref: str, *, until: int) -> int:
        """Return where, up to *until*, a fact or words last were made unreadable; or 0."""
        whose = {"ledger": self._ledger, "subject_ref": subject_ref}
        with reading(self._engine) as connection:
            row = LAST_OF_WORDS.first(connection, **whose, until=until)
        return row[0] or 0 if row else 0

    def _found(self, query: Prepared, **values: str) -> Sequence[Destruction]:
        with reading(self._engine) as connection:
            rows = query.rows(connection, ledger=self._ledger, **values)
        return [
            Destruction(
                subject_ref=subject_ref,
                stream=stream,
                key_id=key_id,
                position=position,
                step=Step(step),
                counts=counts,
                certificate=certificate,
            )
            for subject_ref, stream, key_id, position, step, counts, certificate in rows
        ]

    def remaining(self, destruction: Destruction) -> int:
        """Return how many of its keys the vault still holds."""
        with reading(self._engine) as connection:
            return sum(
                int(connection.execute(_count_of(table, ours)).scalar_one())
                for table, ours in self._keys(destruction)
            )

    def left_of(self, subject_ref: str, key_ids: Collection[int]) -> list[int]:
        """Return those of *key_ids* that the vault still holds for a subject."""
        table = tables.stream_key
        ours = (table.c.ledger == self._ledger) & (table.c.subject_ref == subject_ref)
        query = sa.select(table.c.key_id).where(ours & table.c.key_id.in_(key_ids))
        with reading(self._engine) as connection:
            return list(connection.execute(query).scalars())

    def scrub(self) -> bool:
        """Overwrite what was deleted; whether no trace is left in files of the vault."""
        return scrub(self._engine, ("stream_key", "payload_key", "subject_key"))

    def _is_announced(self, connection: sa.Connection, destruction: Destruction) -> bool:
        """Whether nobody else has destroyed keys for it, nor does meanwhile."""
        step = sa.select(_table.c.step).where(self._is(destruction)).with_for_update()
        return bool(connection.execute(step).scalar_one_or_none() == Step.ANNOUNCED)

    def _part(
        self,
        connection: sa.Connection,
        destruction: Destruction,
        parted: Parted,
        also: Collection[int],
    ) -> None:
        gone, kept = parted
        whose = self._ledger, destruction.subject_ref
        # In a restored ledger others may have stood in these places.
        places = [each[:2] for each in (*gone, *kept)]
        _delete(connection, tables.payload_key, whose, ("stream", "version"), places)
        keys = [(key_id,) for key_id in sorted({each[2] for each in gone} | {*also})]
        _delete(connection, tables.stream_key, whose, ("key_id",), keys)
        insert_rows(connection, tables.payload_key, [(*whose, *each) for each in kept])

    def _keys(
        self, destruction: Destruction
    ) -> Iterator[tuple[sa.Table, sa.ColumnElement[bool]]]:
        """Yield where its keys are: of streams, and of payloads that outlived them."""
        for table in (tables.stream_key, tables.payload_key):
            ours = (table.c.ledger == self._ledger) & (
                table.c.subject_ref == destruction.subject_ref
            )
            if destruction.stream and table is tables.stream_key:
                ours &= table.c.key_id == destruction.key_id
            elif destruction.stream:
                ours &= table.c.stream == destruction.stream
            yield table, ours

    def _writing(self) -> AbstractContextManager[sa.Connection]:
        return writing(self._engine, lock_timeout=self._lock_timeout)

    def _move(
        self,
        connection: sa.Connection,
        destruction: Destruction,
        step: Step,
        **values: str | int,
    ) -> None:
        connection.execute(
            sa.update(_table).where(self._is(destruction)).values(step=step.value, **values)
        )

    def _count(
        self,
        connection: sa.Connection,
        destruction: Destruction,
        store: str,
        number: int,
    ) -> None:
        # Two processes may carry out one destruction: what the one removes, the other
        # does not find, and must not say that there was nothing.
        query = sa.select(_table.c.counts).with_for_update()
        counts = self._counts(connection, query, destruction)
        counts[store] = max(counts.get(store, 0), number)
        connection.execute(
            sa.update(_table).where(self._is(destruction)).values(counts=json.dumps(counts))
        )

    def _drop_covered(
        self, connection: sa.Connection, destruction: Destruction, family: str
    ) -> None:
        # Where it stands now: in a restored ledger it was said again elsewhere.
        where = sa.select(_table.c.position).where(self._is(destruction))
        position = connection.execute(where).scalar_one_or_none()
        covered = (
            (_table.c.ledger == self._ledger)
            & (_table.c.subject_ref == destruction.subject_ref)
            & _table.c.stream.startswith(family, autoescape=True)
            & (_table.c.position < position)
            & (_table.c.step == Step.DONE.value)
        )
        connection.execute(sa.delete(_table).where(covered))

    def _counts(
        self,
        connection: sa.Connection,
        query: sa.Select[Any],
        destruction: Destruction,
    ) -> dict[str, int]:
        found = connection.execute(query.where(self._is(destruction))).scalar_one_or_none()
        counts: dict[str, int] = json.loads(found or "{}")
        return counts

    def _is(self, destruction: Destruction) -> sa.ColumnElement[bool]:
        return (
            (_table.c.ledger == self._ledger)
            & (_table.c.subject_ref == destruction.subject_ref)
            & (_table.c.stream == destruction.stream)
        )


_table = tables.destruction
_of_ledger = (
    sa.select(*(_table.c[name] for name in Destruction.__dataclass_fields__))
    .where(_table.c.ledger == sa.bindparam("ledger"))
    .order_by(_table.c.position)
)
# Compiled once for a process: each store asks when it is opened.
_ALL = Prepared(_of_ledger)
_UNFINISHED = Prepared(_of_ledger.where(_table.c.step != Step.DONE.value))
_OF_SUBJECT = Prepared(
    _of_ledger.where(
        _table.c.subject_ref == sa.bindparam("subject_ref"), _table.c.stream == ""
    )
)


def _destroy_subject(connection: sa.Connection, ledger: str, subject_ref: str) -> None:
    """Delete the key of a subject, and with it the way from its id to its name inside."""
    # What was thinned of it before has not to be said again: nothing of it is left.
    for table in (tables.subject_key, tables.thinning):
        ours = (table.c.ledger == ledger) & (table.c.subject_ref == subject_ref)
        connection.execute(sa.delete(table).where(ours))


def _delete(
    connection: sa.Connection,
    table: sa.Table,
    whose: tuple[str, str],
    names: Sequence[str],
    values: Sequence[tuple[object, ...]],
) -> None:
    """Delete those rows of a subject in which the columns *names* have one of *values*."""
    every = ("ledger", "subject_ref", *names)
    these = [table.c[name] == sa.bindparam(f"this_{name}") for name in every]
    rows = [
        {f"this_{name}": each for name, each in zip(every, (*whose, *one), strict=True)}
        for one in values
    ]
    if rows:
        connection.execute(sa.delete(table).where(*these), rows)


def _count_of(table: sa.Table, where: sa.ColumnElement[bool]) -> sa.Select[Any]:
    return sa.select(sa.func.count()).select_from(table).where(where)


def _values(destruction: Destruction) -> dict[str, object]:
    named = {name: getattr(destruction, name) for name in Destruction.__dataclass_fields__}
    return {**named, "step": destruction.step.value}
