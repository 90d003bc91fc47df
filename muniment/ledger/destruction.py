"""
The destruction of keys, and what is left to do after it: the vault's tombstones.

A destruction is announced before the event that says so is committed, so that a process
that dies in between leaves a trace. Each step is recorded once it is done and may be
done again. What was destroyed stays listed, so that a ledger restored from an older
backup is purged before it opens.
"""

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import sqlalchemy as sa

from muniment.ledger import vault_tables as tables
from muniment.ledger.database import reading, scrub, writing


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
            that of its turns, a dot and a number, for one turn; empty for the subject
            itself.
        key_id: Of the key that opens it; 0 for a session or a subject, which have many.
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

    def announce(self, destruction: Destruction) -> None:
        """Say what will be destroyed; durable once this returns."""
        row = {"ledger": self._ledger, **_values(destruction)}
        with self._writing() as connection:
            connection.execute(sa.delete(_table).where(self._is(destruction)))
            connection.execute(sa.insert(_table), row)

    def withdraw(self, destruction: Destruction) -> None:
        """Take back what was announced and never said in the ledger."""
        with self._writing() as connection:
            connection.execute(sa.delete(_table).where(self._is(destruction)))

    def destroy_keys(self, destruction: Destruction) -> None:
        """Destroy the keys, for every process from then on, and count them."""
        keys = tables.stream_key.c
        ours = (keys.ledger == self._ledger) & (keys.subject_ref == destruction.subject_ref)
        with self._writing() as connection:
            if destruction.stream:
                ours &= keys.key_id == destruction.key_id
            else:
                _destroy_subject(connection, self._ledger, destruction.subject_ref)
            gone = connection.execute(sa.delete(tables.stream_key).where(ours)).rowcount
            connection.execute(
                sa.update(tables.vault).values(epoch=tables.vault.c.epoch + 1)
            )
            self._count(connection, destruction, "vault", int(gone))
            self._move(connection, destruction, Step.KEYS)
        self.on_destroyed()

    def replace_keys(
        self, destruction: Destruction, remnants: Mapping[int, bytes | None], gone: int
    ) -> None:
        """
        Destroy keys but for what is left of them, for every process from then on.

        Args:
            destruction: Which.
            remnants: By key, what stands in its place, wrapped; ``None`` for nothing.
            gone: How many payloads cannot be read any more.
        """
        keys = tables.stream_key.c
        ours = (keys.ledger == self._ledger) & (keys.subject_ref == destruction.subject_ref)
        with self._writing() as connection:
            for key_id, wrapped in sorted(remnants.items()):
                this = ours & (keys.key_id == key_id)
                if wrapped is None:
                    connection.execute(sa.delete(tables.stream_key).where(this))
                else:
                    changed = sa.update(tables.stream_key).values(wrapped=wrapped)
                    connection.execute(changed.where(this))
            connection.execute(
                sa.update(tables.vault).values(epoch=tables.vault.c.epoch + 1)
            )
            self._count(connection, destruction, "vault", gone)
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

    def all(self) -> Sequence[Destruction]:
        """Return every destruction there is, finished or not."""
        query = sa.select(_table).where(_table.c.ledger == self._ledger)
        with reading(self._engine) as connection:
            rows = connection.execute(query.order_by(_table.c.position)).mappings().all()
        return [
            Destruction(
                **{
                    **{name: row[name] for name in Destruction.__dataclass_fields__},
                    "step": Step(row["step"]),
                }
            )
            for row in rows
        ]

    def remaining(self, destruction: Destruction) -> int:
        """Return how many of its keys the vault still holds."""
        keys = tables.stream_key.c
        ours = (keys.ledger == self._ledger) & (keys.subject_ref == destruction.subject_ref)
        if destruction.stream:
            ours &= keys.key_id == destruction.key_id
        count = sa.select(sa.func.count()).select_from(tables.stream_key).where(ours)
        with reading(self._engine) as connection:
            return int(connection.execute(count).scalar_one())

    def scrub(self) -> bool:
        """Overwrite what was deleted; whether no trace is left in files of the vault."""
        return scrub(self._engine, ("stream_key", "subject_key"))

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


def _destroy_subject(connection: sa.Connection, ledger: str, subject_ref: str) -> None:
    """Delete the key of a subject, and with it the way from its id to its name inside."""
    subject = tables.subject_key.c
    ours = (subject.ledger == ledger) & (subject.subject_ref == subject_ref)
    connection.execute(sa.delete(tables.subject_key).where(ours))


def _values(destruction: Destruction) -> dict[str, object]:
    named = {name: getattr(destruction, name) for name in Destruction.__dataclass_fields__}
    return {**named, "step": destruction.step.value}
