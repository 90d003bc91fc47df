"""The memory store: opened, read, written, rolled back. The one composition root."""

import atexit
import weakref
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Self, Unpack

from muniment.api import inputs
from muniment.api.answers import Receipt, RollbackPlan
from muniment.api.fields import By
from muniment.api.forgetting import Forgetter
from muniment.api.forked import told_when_forked
from muniment.api.key_files import rotate_key
from muniment.api.opening import ClockSource, OpenLedger, open_ledger, settings_for
from muniment.api.recalling import RecallStores
from muniment.api.receipting import ReceiptBook
from muniment.api.restoring import RestorableStore
from muniment.api.retrying import anew
from muniment.api.rollbacks import Cause, OnConflict, Planner, plan_fact
from muniment.api.sources import Kept
from muniment.api.thinning import Thinner
from muniment.api.verbs import verb, write_verb
from muniment.domain.commands import RollBackFact
from muniment.domain.scope import Scope
from muniment.errors import InvalidValueError, PlanOutdatedError
from muniment.instants import Time, to_instant
from muniment.ledger.records import Origin
from muniment.settings import Settings


class MemoryStore(RestorableStore):
    """
    What agents remember of people, at every moment it was remembered.

    Safe to use from many threads, and from many processes at once. Everything but the
    first argument of a verb is keyword-only; times are aware datetimes or RFC 3339.
    """

    def __init__(self, opened: OpenLedger, settings: Settings) -> None:
        super().__init__(
            opened.ledger, opened.timeline, content_limit=settings.content_limit
        )
        self._place = opened.place
        self._archive_place = opened.archive
        self._content_limit = settings.content_limit
        self._timestamp_url = settings.timestamp_url
        self._open_recall = opened.recall
        lookup = self._lookup
        self._conversation = opened.conversation
        recall = RecallStores(opened.recall, opened.ledger, keeps_up=settings.upkeep)
        lookup.derived = (*lookup.derived, opened.conversation, recall)
        lookup.vectors, lookup.gone = (opened.recall.vectors,), recall.gone
        lookup.generation = opened.recall.generations.active
        lookup.last_use = (opened.conversation,)
        self._receipts = ReceiptBook(
            opened.ledger,
            window=settings.receipt_window,
            capacity=settings.receipt_queue,
            patience=settings.lock_timeout,
            tally=opened.tally,
        )
        self.sources = Kept("turns", self.turns_of), Kept("receipts", self.receipts_of)
        self._leave = opened.leave
        self._settings = settings

    @classmethod
    def open(
        cls,
        target: Settings | Path | str | None = None,
        *,
        clock: ClockSource | None = None,
        create: bool = True,
    ) -> Self:
        """
        Open a store: a directory, a PostgreSQL URL, or what settings say.

        Args:
            target: A directory for an embedded store, ``postgresql://…``,
                ``memory://``, or `Settings`; the environment's settings if left out.
            clock: A source of time for tests and demonstrations; recorded time rises
                strictly whatever it says.
            create: Make the store if there is none.

        Raises:
            StoreNotFoundError: If there is none, and *create* is false.
            NotAStoreError: If the place holds something else.
            MissingKeyError: If its key-encryption key is gone.
            NewerSchemaError: If a newer version of Muniment wrote it.
        """
        settings = settings_for(target)
        store = cls(open_ledger(settings, clock=clock, create=create), settings)
        try:
            # Before anything is read: a process may have died, or a backup been restored.
            Forgetter(store._lookup).resume(every=True)
            Thinner(store._lookup).resume(every=True)
        except BaseException:
            store.close()
            raise
        told_when_forked(store)
        return store

    @property
    def place(self) -> str:
        """The directory or URL it was opened at, without a password."""
        return self._place

    @property
    def settings(self) -> Settings:
        """What it was opened with."""
        return self._settings

    def close(self) -> None:
        """
        Record the receipts that wait, then let go of connections and keys.

        Raises:
            LedgerBusyError: If the database does not take those receipts; all else is
                let go of then, too.
        """
        if self._open_lookup is not None:
            try:
                self._receipts.close()
            finally:
                self._open_recall.close()
                self._ledger.close()
                if self._leave is not None:
                    self._leave()
                self._open_lookup = None

    def leave_to_parent(self) -> None:
        """Be closed, in a process forked from the one that opened it; see `forked`."""
        self._receipts.leave_to_parent()
        atexit.unregister(self._open_recall.upkeep.close)
        if isinstance(self._leave, weakref.finalize):
            self._leave.detach()
        self._open_lookup = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "closed" if self._open_lookup is None else "open"
        return f"<MemoryStore {self._place}, ledger {self._settings.ledger}, {state}>"

    @verb
    def plan_rollback(
        self,
        *,
        fact_id: str | None = None,
        to_version: int | None = None,
        user_id: str | None = None,
        scope: Scope | None = None,
        to: Time | None = None,
        where: Cause | None = None,
    ) -> RollbackPlan:
        """
        Return what a rollback would do; nothing is written.

        Say one of: *fact_id* and *to_version*; a subject and *to*, a time; a subject and
        *where*, a cause.

        Args:
            fact_id: One fact …
            to_version: … back to what it was right after this version; 0 for nothing.
            user_id: Whose memory; or *scope*.
            scope: Whose memory; or *user_id*.
            to: Every fact back to what it was at this recorded time.
            where: Without what this cause wrote.

        Raises:
            InvalidInput: If it is not exactly one of the three, or names a time or a
                version that there is not.
            UnknownFactError: If the fact was never recorded.
        """
        by_fact = fact_id is not None or to_version is not None
        if by_fact + (to is not None) + (where is not None) != 1:
            raise InvalidValueError(
                "the rollback", "this", "one of fact_id and to_version, to, or where"
            )
        planner = Planner(self._lookup)
        if by_fact:
            named = user_id is not None or scope is not None
            whose = inputs.scope_of(user_id, scope) if named else None
            return plan_fact(planner, fact_id, to_version, scope=whose)
        whose = inputs.scope_of(user_id, scope)
        if to is not None:
            return planner.to_time(whose, to_instant(to))
        if not isinstance(where, Cause):
            raise InvalidValueError("where", where, "a Cause")
        return planner.without(whose, where.in_ledger_time())

    @write_verb
    def apply(
        self, plan: RollbackPlan, *, on_conflict: OnConflict = "abort", **by: Unpack[By]
    ) -> Receipt:
        """
        Do what *plan* says, if its subject has not changed since.

        Args:
            plan: From `plan_rollback`.
            on_conflict: What to do about facts on which others wrote on top: ``abort``
                and write nothing, ``skip`` them, or ``force`` and take back both.
            by: See `By`.

        Raises:
            PlanOutdatedError: If the subject changed after the plan was made.
            RollbackConflictError: If there are conflicts and *on_conflict* is ``abort``.
            SubjectFrozenError: If writes to the subject are refused for now.
        """
        if not isinstance(plan, RollbackPlan):
            raise InvalidValueError("plan", plan, "a plan from plan_rollback")
        planner = Planner(self._lookup)
        return planner.apply(plan, inputs.origin(by), on_conflict=on_conflict)

    @write_verb
    def rollback_fact(self, fact_id: str, *, to_version: int, **by: Unpack[By]) -> Receipt:
        """
        Bring one fact back to what it was right after a version.

        Args:
            fact_id: The fact.
            to_version: 0, for before it existed, to its current version.
            by: See `By`.

        Raises:
            UnknownFactError: If it was never recorded.
            VersionBeyondHeadError: If it never had that version.
        """
        inputs.name("fact_id", fact_id)
        inputs.count("to_version", to_version, least=0, most=2**31)
        command = RollBackFact(to_version=to_version)
        committed = self._transactor.change(
            fact_id, command, inputs.origin(by), action="rollback"
        )
        return Planner(self._lookup).receipt(committed)

    @write_verb
    def rollback_to_timestamp(
        self,
        *,
        rollback_to: Time,
        user_id: str | None = None,
        scope: Scope | None = None,
        **by: Unpack[By],
    ) -> Receipt:
        """
        Bring every fact of a subject back to what it was at a recorded time.

        Facts created since go to version 0; redacted ones stay so.

        Args:
            rollback_to: The recorded time.
            user_id: Whose memory; or *scope*.
            scope: Whose memory; or *user_id*.
            by: See `By`.

        Raises:
            FutureAsOfError: If *rollback_to* has not come.
        """
        whose, then = inputs.scope_of(user_id, scope), to_instant(rollback_to)
        return self._planned(
            lambda planner: planner.to_time(whose, then),
            inputs.origin(by),
            asked={"to": then},
        )

    @write_verb
    def rollback_where(
        self,
        *,
        user_id: str | None = None,
        scope: Scope | None = None,
        session_id: str | None = None,
        source: str | None = None,
        actor: str | None = None,
        trigger: str | None = None,
        since: Time | None = None,
        until: Time | None = None,
        on_conflict: OnConflict = "abort",
        by_actor: str | None = None,
        on_behalf_of: str | None = None,
        reason: str | None = None,
        idempotency_key: str | None = None,
    ) -> Receipt:
        """
        Take back what one cause wrote, and keep what others wrote on top.

        Args:
            user_id: Whose memory; or *scope*.
            scope: Whose memory; or *user_id*.
            session_id, source, actor, trigger, since, until: The cause; see `Cause`.
            on_conflict: As of `apply`.
            by_actor: Who takes it back; *actor* is who wrote it.
            reason: Why it is taken back.
            on_behalf_of, idempotency_key: As of `By`.

        Raises:
            InvalidInput: If no field but the times is given.
            RollbackConflictError: If there are conflicts and *on_conflict* is ``abort``.
        """
        whose = inputs.scope_of(user_id, scope)
        cause = Cause(
            session_id=session_id,
            source=source,
            actor=actor,
            trigger=trigger,
            since=since,
            until=until,
        ).in_ledger_time()
        by = By(actor=by_actor, on_behalf_of=on_behalf_of, reason=reason)
        origin = inputs.origin({**by, "idempotency_key": idempotency_key})
        return self._planned(
            lambda planner: planner.without(whose, cause),
            origin,
            asked={"where": repr(cause)},
            on_conflict=on_conflict,
        )

    @write_verb
    def undo(
        self, tx_id: int, *, on_conflict: OnConflict = "abort", **by: Unpack[By]
    ) -> Receipt:
        """
        Take back one transaction, a rollback or another undo included.

        The one that made a summary is taken back by withdrawing that, which is not undone
        in turn: its turns can be done anew.

        Args:
            tx_id: Its number.
            on_conflict: As of `apply`.
            by: See `By`.

        Raises:
            UnknownTransactionError: If there is none.
            NothingToUndoError: If it changed no fact, and made no summary.
            FactRedactedError: If all it is about was made unreadable since, or by it.
            RollbackConflictError: If others wrote on top and *on_conflict* is ``abort``.
        """
        inputs.count("tx_id", tx_id, least=1, most=2**62)
        origin = inputs.origin(by)
        if withdrawn := self._summary_undone(tx_id, origin):
            return withdrawn
        return self._planned(
            lambda planner: planner.undo(tx_id),
            origin,
            asked={"tx_id": tx_id},
            on_conflict=on_conflict,
        )

    def rotate_key(self, *, progress: Callable[[int], None] | None = None) -> int:
        """
        Replace the key-encryption key while the store is in use.

        With a key file, a new key is made, put beside the old one, and is alone in the
        file at the end. With ``MUNIMENT_KEY``, name the old and the new key there first,
        and the new one alone afterwards. A rotation that was interrupted goes on.

        Args:
            progress: Told how many keys are wrapped anew.

        Returns:
            How many keys were wrapped anew.

        Raises:
            ConfigurationError: If the environment names no second key.
        """
        return rotate_key(self._settings, self._ledger.vault, progress or _silent)

    def _planned(
        self,
        make: Callable[[Planner], RollbackPlan],
        origin: Origin,
        *,
        asked: Mapping[str, object],
        on_conflict: OnConflict = "abort",
    ) -> Receipt:
        """Plan and apply, anew where the subject changed in between."""

        def attempt() -> Receipt:
            planner = Planner(self._lookup)
            return planner.apply(
                make(planner), origin, on_conflict=on_conflict, asked=asked
            )

        return anew(attempt, where=PlanOutdatedError)


def _silent(_done: int) -> None:
    """Tell nobody."""
