"""
Receipts of recalls, recorded behind the recall's back and never lost by an orderly stop.

A recall hands its receipt in and goes on. A thread of its own records what has come
together within a short window, in one commit of the database. Where too many wait,
recalls wait for them: there is no recall without a receipt.
"""

import atexit
import os
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from muniment.api import inputs
from muniment.api.found import SearchHits
from muniment.domain.receipt import Recall, ReceiptLeft
from muniment.domain.scope import Scope
from muniment.errors import (
    LedgerBusyError,
    StoreClosedError,
    SubjectErasedError,
    Unavailable,
)
from muniment.instants import to_instant
from muniment.ledger.destruction import Destructions
from muniment.ledger.ledger import Ledger
from muniment.ledger.records import NOBODY, RECEIPTS, Origin
from muniment.ledger.tally import Tally
from muniment.ledger.transaction import Request, Transaction


BATCH_MAX: Final = 256
SERVED_MAX: Final = 1_000
RANKER: Final = "fusion-5"
"""Changes whenever the same store answers the same question in another order."""

_RETRY_SECONDS: Final = 0.2
_SETTLED: Final = (type(None), Unavailable, SubjectErasedError)
"""What may become of a receipt: kept, to be tried again, or gone with its subject."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Handed:
    """
    A receipt on its way; the version of the configuration is filled in on the way.

    Attributes:
        subject_ref: Whose memory was asked; empty where nobody's was that there is.
    """

    subject_ref: str
    left: ReceiptLeft


class ReceiptBook:
    """
    Records receipts in the background.

    Safe to use from many threads.

    Args:
        ledger: Where they go.
        window: Seconds a receipt may wait for others.
        capacity: Most receipts that wait.
        patience: Seconds a recall waits for room, and an orderly stop for the database.
        tally: Counts what a killed process would lose.
    """

    def __init__(
        self, ledger: Ledger, *, window: float, capacity: int, patience: float, tally: Tally
    ) -> None:
        self._ledger = ledger
        self._window = window
        self._capacity = capacity
        self._patience = patience
        self._tally = tally
        self._waiting: list[Handed] = []
        self._writing = self._taken = self._settled = 0
        self._urgent = False
        self._closing = False
        self._failure: Exception | None = None
        self._moved = threading.Condition()
        self._thread: threading.Thread | None = None

    def leave(self, handed: Handed) -> None:
        """
        Take a receipt; it is durable once `flush` or `close` returns, or soon by itself.

        Raises:
            LedgerBusyError: If too many wait, and the database takes none of them.
        """
        with self._moved:
            self._raise_failure()
            room = self._moved.wait_for(self._has_room, self._patience)
            self._raise_failure()
            if not room:
                raise LedgerBusyError(self._patience)
            self._tally.accept()
            self._taken += 1
            self._waiting.append(handed)
            self._start()
            if len(self._waiting) == 1 or len(self._waiting) >= BATCH_MAX:
                self._moved.notify_all()

    def flush(self) -> None:
        """
        Return once every receipt taken so far is durable.

        Raises:
            LedgerBusyError: If the database takes none of them in time.
        """
        with self._moved:
            self._urgent = True
            self._moved.notify_all()
            taken = self._taken
            done = self._moved.wait_for(lambda: self._is_settled(taken), self._patience)
            self._raise_failure()
            if not done:
                raise LedgerBusyError(self._patience)

    def close(self) -> None:
        """
        Record what waits, and stop; closing again changes nothing.

        Raises:
            LedgerBusyError: If the database takes none of them in time: then they are
                lost, and whoever opens the store next is told how many.
        """
        atexit.unregister(self.close)
        try:
            if self._thread is not None:
                self.flush()
        finally:
            with self._moved:
                self._closing = True
                self._moved.notify_all()
            if self._thread is not None:
                self._thread.join()
            self._thread = None
            self._tally.close()

    def leave_to_parent(self) -> None:
        """Take no more, in a process forked from the one whose thread records them."""
        atexit.unregister(self.close)
        # A thread that is not here may have held the old one.
        self._moved = threading.Condition()
        self._failure = StoreClosedError()

    def _start(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(
                target=self._run, name="muniment-receipts", daemon=True
            )
            self._thread.start()
            # Whoever forgets to close the store does not forget its receipts.
            atexit.register(self.close)

    def _run(self) -> None:
        try:
            while batch := self._next_batch():
                self._record(batch)
        except Exception as error:  # noqa: BLE001 - raised to who recalls next
            with self._moved:
                self._failure = error
                self._moved.notify_all()

    def _next_batch(self) -> Sequence[Handed]:
        """Return what to record next, once it is time to; nothing when it is to stop."""
        with self._moved:
            self._moved.wait_for(lambda: bool(self._waiting) or self._closing)
            if not self._closing:
                self._moved.wait_for(self._is_time, self._window)
            batch = self._waiting[:BATCH_MAX]
            del self._waiting[: len(batch)]
            self._writing = len(batch)
            self._urgent = self._urgent and bool(self._waiting)
            self._moved.notify_all()
            return batch

    def _record(self, batch: Sequence[Handed]) -> None:
        """Record *batch*, again and again while the database is not to be had."""
        theirs: dict[str, list[ReceiptLeft]] = {}
        for each in batch:
            theirs.setdefault(each.subject_ref, []).append(each.left)
        gone = self._ledger.vault.destructions
        due = [_request(gone, ref, receipts) for ref, receipts in theirs.items()]
        while due:
            errors = self._ledger.transact_all(due)
            for error in errors:
                if not isinstance(error, _SETTLED):
                    raise error
            with self._moved:
                left = [
                    request
                    for request, error in zip(due, errors, strict=True)
                    if isinstance(error, Unavailable)
                ]
                waiting = sum(len(theirs[each.subject_ref or ""]) for each in left)
                self._tally.keep(self._writing - waiting)
                self._settled += self._writing - waiting
                self._writing, due = waiting, left
                self._moved.notify_all()
                if due:
                    self._moved.wait_for(lambda: self._closing, _RETRY_SECONDS)
                if self._closing:
                    return

    def _has_room(self) -> bool:
        return len(self._waiting) < self._capacity or self._failure is not None

    def _is_time(self) -> bool:
        return self._urgent or self._closing or len(self._waiting) >= BATCH_MAX

    def _is_settled(self, taken: int) -> bool:
        return self._failure is not None or self._settled >= taken

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise self._failure


def search_receipt(
    query: str,
    hits: SearchHits,
    scopes: Sequence[Scope],
    asked: Mapping[str, Any],
) -> ReceiptLeft:
    """Return the receipt of a search; *asked* may say for which session and agent."""
    items = hits.items[:SERVED_MAX]
    return ReceiptLeft(
        action="search",
        at_position=hits.position,
        asked_at=to_instant(hits.recorded_at),
        valid_at=to_instant(hits.valid_at),
        model=hits.model,
        ranker=RANKER,
        configuration=0,
        served=tuple((each.fact_id, each.fact.version) for each in items),
        recall=Recall(
            query=query,
            scopes=tuple(str(each) for each in scopes),
            session_id=inputs.name_or_none("session_id", asked.get("session_id")),
            agent=inputs.name_or_none("agent", asked.get("agent")),
            scores=tuple(each.score for each in items),
            placed=None,
            turns=(),
            summaries=(),
            budget=None,
            tokens=None,
            template=None,
            prompt_digest=None,
        ),
    )


def unaddressed(left: ReceiptLeft) -> ReceiptLeft:
    """
    Return the receipt of a recall from a memory that there is not.

    It says that an agent was served with nothing, when, and by what. Not whom it asked for
    nor what: they have no key with which that could ever be erased.
    """
    recall = left.recall
    assert recall is not None, "a receipt is whole when it is left"
    return replace(left, recall=replace(recall, query="", scopes=(), session_id=None))


def impersonal(left: ReceiptLeft) -> ReceiptLeft:
    """
    Return the receipt of a recall for a person as a team or the organisation may have it.

    It says when which of their facts were given; not for whom, to whom, nor for what.
    """
    told = unaddressed(left)
    assert told.recall is not None, "a receipt is whole when it is left"
    return replace(told, recall=replace(told.recall, agent=None, turns=(), summaries=()))


def _request(
    destructions: Destructions, subject_ref: str, receipts: Sequence[ReceiptLeft]
) -> Request:
    def work(transaction: Transaction) -> None:
        if transaction.state.erased:
            # Its keys are about to go, and what was given with them.
            raise SubjectErasedError(subject_ref)
        # Whoever made it unreadable did not find what was not recorded yet, and whether
        # that says it again nobody can tell any more.
        until = transaction.next_position - 1
        gone_at = destructions.last_of_words(subject_ref, until=until)
        transaction.add_at_end(
            RECEIPTS + (subject_ref or NOBODY),
            [
                replace(
                    each,
                    configuration=transaction.configuration(each.at_position),
                    recall=each.recall if each.at_position >= gone_at else None,
                )
                for each in receipts
            ],
        )

    return Request(
        action="leave_receipts",
        # By which a retry after a lost answer finds that it is recorded already.
        origin=Origin(idempotency_key=f"receipts {os.urandom(12).hex()}"),
        scope=None,
        fact_id=None,
        body={},
        work=work,
        # What was given while writes are refused was given all the same.
        passes_freeze=True,
        subject_ref=subject_ref or None,
    )
