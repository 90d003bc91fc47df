"""
Copies of facts in memories they were shared with, found by what they are copies of.

Whoever makes the one unreadable has to reach the others: what is erased is gone
everywhere. Which is a copy of which stays readable, so it is found after every key of
the first is destroyed.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Final

from muniment.domain import subject as subjects
from muniment.domain.access_events import FactShared
from muniment.domain.commands import DeferRedaction
from muniment.domain.subject import SubjectState
from muniment.errors import SubjectErasedError, UnknownFactError
from muniment.ledger.ledger import Ledger
from muniment.ledger.records import FACT, SHARE, Origin
from muniment.ledger.transaction import Request, Transaction


@dataclass(frozen=True, slots=True, kw_only=True)
class Copy:
    """
    A copy of a fact.

    Attributes:
        fact_id: Of the copy.
        subject_ref: Whose memory it is in.
        shared: What it is a copy of.
    """

    fact_id: str
    subject_ref: str
    shared: FactShared


@dataclass(frozen=True, slots=True)
class Copies:
    """The copies that a ledger knows of."""

    ledger: Ledger

    def of_subject(self, subject_ref: str) -> list[Copy]:
        """Return the copies of what was a subject's, and the copies of those."""
        return _reached(
            list(self._all()), lambda each: each.shared.source_ref == subject_ref
        )

    def of_facts(self, fact_ids: Collection[str]) -> list[Copy]:
        """Return the copies of some facts, and the copies of those."""
        return copies_of(fact_ids, list(self._all())) if fact_ids else []

    def readable(self, copies: Sequence[Copy]) -> list[Copy]:
        """Return those of *copies* whose content can be read still."""
        return [each for each in copies if self._is_readable(each)]

    def redact(
        self,
        copies: Sequence[Copy],
        *,
        by: Callable[[Transaction, str], None],
        is_bound: Callable[[Transaction, str, SubjectState], bool],
    ) -> None:
        """
        Make *copies* unreadable; one that a hold binds, or a freeze, waits for its end.

        What waits is not used from now on. That it waits is said in a frozen memory, too:
        it changes nothing that is remembered.

        Args:
            copies: To be made unreadable.
            by: Announces the redaction of one fact, and collects it.
            is_bound: Whether a hold stands against that.
        """

        def work(transaction: Transaction, fact_id: str) -> None:
            state = transaction.state
            if state.frozen or is_bound(transaction, fact_id, state):
                _defer(transaction, fact_id)
            elif not transaction.fact(fact_id).redacted:
                by(transaction, fact_id)

        self._each(copies, work, why="was made unreadable")

    def set_aside(self, copies: Sequence[Copy]) -> None:
        """Stop using *copies* of what is kept for a legal hold alone, and to be erased."""
        self._each(self.readable(copies), _defer, why="is to be unreadable")

    def _each(
        self,
        copies: Sequence[Copy],
        work: Callable[[Transaction, str], None],
        *,
        why: str,
    ) -> None:
        for copy in copies:
            with suppress(SubjectErasedError, UnknownFactError):
                self.ledger.transact(
                    Request(
                        action="redact",
                        origin=Origin(reason=f"what it is a copy of {why}"),
                        scope=None,
                        fact_id=copy.fact_id,
                        body={},
                        work=partial(_on, copy.fact_id, work),
                        passes_freeze=True,
                    )
                )

    def _is_readable(self, copy: Copy) -> bool:
        subject = self.ledger.vault.subject(copy.subject_ref)
        stamped = self.ledger.recorder.read_stream(FACT + copy.fact_id)
        if subject is None or not stamped:
            return False
        return bool(self.ledger.vault.keys(subject, [stamped[0].sealed.key_id]))

    def _all(self) -> Iterator[Copy]:
        before = None
        while True:
            stamped = self.ledger.recorder.read_prefix(
                SHARE, before=before, subject_ref=None, limit=_AT_ONCE
            )
            for each in self.ledger.mapper.opened(stamped, None):
                assert isinstance(each.event, FactShared), (
                    "its stream holds this kind alone"
                )
                yield Copy(
                    fact_id=each.stream.removeprefix(SHARE),
                    subject_ref=each.subject_ref,
                    shared=each.event,
                )
            if len(stamped) < _AT_ONCE:
                return
            before = str(stamped[-1].sealed.originator_id)


def copies_of(fact_ids: Collection[str], known: Sequence[Copy]) -> list[Copy]:
    """Return those of *known* that are copies of some facts, and the copies of those."""
    return _reached(known, lambda each: each.shared.source_fact_id in fact_ids)


def _reached(known: Sequence[Copy], is_direct: Callable[[Copy], bool]) -> list[Copy]:
    found = {each.fact_id: each for each in known if is_direct(each)}
    while True:
        further = [
            each
            for each in known
            if each.fact_id not in found and each.shared.source_fact_id in found
        ]
        if not further:
            return list(found.values())
        found.update((each.fact_id, each) for each in further)


def _defer(transaction: Transaction, fact_id: str) -> None:
    """Collect that the redaction of a copy waits, and that it is not used until then."""
    if not transaction.fact(fact_id).redacted:
        command = DeferRedaction(fact_id=fact_id)
        transaction.add_to_subject(subjects.decide(command, transaction.state))


def _on(
    fact_id: str, work: Callable[[Transaction, str], None], transaction: Transaction
) -> None:
    if not transaction.state.erased:
        # Or the keys of all of it are about to go.
        work(transaction, fact_id)


_AT_ONCE: Final = 1_000
