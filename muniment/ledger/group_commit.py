"""
Many callers, one transaction of the database.

The append lock is held across the disk's flush, so batching is the only lever on
throughput. Whoever comes first leads: it carries out everything that waits, commits
once, and hands the lead on. Nobody waits for company that does not come.
"""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from muniment.errors import CommitUncertainError


T = TypeVar("T")
R = TypeVar("R")

BATCH_MAX = 256


@dataclass(slots=True, eq=False)
class Ticket(Generic[T, R]):
    """
    One caller's request and what became of it.

    Attributes:
        request: What is asked for.
        answer: Set when it is durable.
        error: Set when it was refused; nothing of it was written.
    """

    request: T
    answer: R | None = None
    error: BaseException | None = None
    leads: bool = False
    turn: threading.Event = field(default_factory=threading.Event)


class GroupCommit(Generic[T, R]):
    """
    Carries out requests in batches, in the order in which they came.

    Args:
        carry_out: Given a batch, sets each ticket's answer or error; what it raises
            becomes the error of each ticket that has neither.
    """

    def __init__(self, carry_out: Callable[[Sequence[Ticket[T, R]]], None]) -> None:
        self._carry_out = carry_out
        self._mutex = threading.Lock()
        self._waiting: list[Ticket[T, R]] = []
        self._led = False

    def submit(self, request: T) -> R:
        """
        Return the answer to *request* once it is durable.

        Raises:
            BaseException: The request's own error, never another's.
        """
        (ticket,) = self.submit_all([request])
        if ticket.error is not None:
            raise ticket.error
        assert ticket.answer is not None, "a ticket has an answer or an error"
        return ticket.answer

    def submit_all(self, requests: Sequence[T]) -> list[Ticket[T, R]]:
        """Return the tickets of *requests*, handed in together, once each is settled."""
        tickets: list[Ticket[T, R]] = [Ticket(request) for request in requests]
        with self._mutex:
            self._waiting.extend(tickets)
            if tickets and not self._led:
                tickets[0].leads = self._led = True
        for ticket in tickets:
            if not ticket.leads:
                self._wait(ticket)
            if ticket.leads and ticket.answer is None and ticket.error is None:
                self._lead_for(tickets)
        return tickets

    def _lead_for(self, tickets: Sequence[Ticket[T, R]]) -> None:
        try:
            self._lead()
        except BaseException as error:
            # What went wrong with the batch is in each of its tickets.
            if isinstance(error, Exception):
                return
            with self._mutex:
                stranded = [each for each in tickets if each in self._waiting]
                self._waiting = [each for each in self._waiting if each not in stranded]
            if any(each.leads for each in stranded):
                self._hand_on(())
            raise

    def _wait(self, ticket: Ticket[T, R]) -> None:
        try:
            ticket.turn.wait()
        except BaseException:
            # Whoever asked is gone; nobody must wait for it to lead.
            with self._mutex:
                if ticket in self._waiting:
                    self._waiting.remove(ticket)
            if ticket.leads:
                self._hand_on(())
            raise

    def _lead(self) -> None:
        """Carry out what waits, the leader's own among it, and hand the lead on."""
        with self._mutex:
            batch = self._waiting[:BATCH_MAX]
            del self._waiting[:BATCH_MAX]
        try:
            self._carry_out(batch)
        except BaseException as error:
            for ticket in batch:
                if ticket.answer is None and ticket.error is None:
                    ticket.error = _for_all(error)
            raise
        finally:
            self._hand_on(batch)

    def _hand_on(self, done: Sequence[Ticket[T, R]]) -> None:
        with self._mutex:
            heir = self._waiting[0] if self._waiting else None
            self._led = heir is not None
            if heir is not None:
                heir.leads = True
        for ticket in done:
            ticket.turn.set()
        if heir is not None:
            heir.turn.set()


def _for_all(error: BaseException) -> BaseException:
    """Return what an interruption of the leader means to those who only followed."""
    if isinstance(error, Exception):
        return error
    return CommitUncertainError(f"the writing thread was stopped, {error!r}")
