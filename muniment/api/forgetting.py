"""Forgetting for good: redaction, erasure, and the holds that stand against them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

import msgspec

from muniment.api.answers import Receipt
from muniment.api.certificates import (
    ErasureCertificate,
    ErasurePlan,
    ErasureStatus,
    StoreReport,
)
from muniment.api.certifying import certified, kept_certificate
from muniment.api.copies import Copies, Copy
from muniment.api.lookup import Lookup
from muniment.api.transacting import receipt
from muniment.domain import subject as subjects
from muniment.domain.commands import (
    DeferRedaction,
    EraseSubject,
    PlaceHold,
    RedactFact,
    ReleaseHold,
)
from muniment.domain.decision import decide
from muniment.domain.events import (
    FactRedacted,
    HoldPlaced,
    RedactionDeferred,
    SubjectErased,
    SubjectEvent,
)
from muniment.domain.scope import Scope
from muniment.domain.subject import redactions_due
from muniment.errors import SubjectErasedError
from muniment.ledger.codec import topic_of
from muniment.ledger.destruction import Destruction, Step
from muniment.ledger.ledger import Committed
from muniment.ledger.records import FACT, SUBJECT, Origin
from muniment.ledger.tombstones import append_tombstone
from muniment.ledger.transaction import Request, Transaction
from muniment.projections.beliefs import DerivedStore


SHARED: Final = "shared"
"""What an erasure calls the copies of facts in memories they were shared with."""


class Forgetter:
    """
    Makes content unreadable, keys first, then every derived copy, step by step.

    Each step is recorded in the vault and may be repeated, so whoever opens the store
    next goes on where a process died.
    """

    def __init__(self, lookup: Lookup) -> None:
        self._lookup = lookup
        self._ledger = lookup.ledger
        self._destructions = lookup.ledger.vault.destructions
        self._copies = Copies(lookup.ledger)

    def redact(
        self, fact_id: str, origin: Origin, *, expected_version: int | None
    ) -> Receipt:
        """Make the content of a fact unreadable, now or when no hold binds it."""
        asked = RedactFact(expected_version=expected_version)

        def work(transaction: Transaction) -> None:
            fact = transaction.fact(fact_id)
            recorded_at = transaction.recorded_at
            if not decide(asked, fact_id, fact, recorded_at=recorded_at):
                return
            if transaction.state.holds_on(fact_id):
                command = DeferRedaction(fact_id=fact_id)
                transaction.add_to_subject(subjects.decide(command, transaction.state))
                return
            self._redact(transaction, fact_id)

        committed = self._transact(
            "redact", origin, work, fact_id=fact_id, expected_version=expected_version
        )
        self.resume()
        kinds = {type(each.event) for each in committed.events}
        if RedactionDeferred in kinds:
            self._copies.set_aside(self._copies.of_fact(fact_id))
        return replace(receipt(committed), deferred=RedactionDeferred in kinds)

    def erase(self, scope: Scope, origin: Origin) -> ErasureCertificate:
        """Erase a subject, now or when no hold binds it; erasing again changes nothing."""
        subject = self._ledger.vault.find(scope)
        if subject is None:
            return self._nothing_left()

        def work(transaction: Transaction) -> None:
            self._erase(transaction, subjects.decide(EraseSubject(), transaction.state))

        try:
            committed = self._transact("erase", origin, work, scope=scope)
        except SubjectErasedError:
            # Somebody else erased it meanwhile, and may not have come to the end.
            self.resume()
            return self.certificate(subject.ref) or self._nothing_left()
        ref = committed.subject.ref
        self.resume()
        certificate = self.certificate(ref)
        if certificate is not None:
            return certificate
        self._copies.set_aside(self._copies.of_subject(ref))
        return ErasureCertificate(
            status=ErasureStatus.DEFERRED, subject_ref=ref, position=committed.position
        )

    def plan(self, scope: Scope) -> ErasurePlan:
        """Return what erasing a subject would reach."""
        subject = self._ledger.vault.find(scope)
        if subject is None:
            return ErasurePlan(facts=0, events=0, rows={}, holds=())
        events = self._ledger.recorder.read_subject(subject.ref)
        streams = {str(each.sealed.originator_id) for each in events}
        state = self._ledger.subject_state(subject)
        derived = {e.name: e.remaining(subject.ref) for e in self._lookup.derived}
        keys = self._destructions.remaining(_of(subject.ref, position=0))
        copies = self._copies.readable(self._copies.of_subject(subject.ref))
        return ErasurePlan(
            facts=sum(each.startswith(FACT) for each in streams),
            events=len(events),
            rows={**derived, **({SHARED: len(copies)} if copies else {}), "vault": keys},
            holds=state.holds_on(None),
        )

    def place_hold(
        self, scope: Scope, command: PlaceHold, origin: Origin, *, is_named: bool
    ) -> Receipt:
        """
        Bind a subject, or one fact of it.

        Args:
            scope: Whose memory.
            command: The hold.
            origin: Who places it, and why.
            is_named: Whether the caller named it; a name that was made up is another one
                when the request is repeated.
        """
        asked = msgspec.to_builtins(command)
        if not is_named:
            del asked["hold_id"]

        def work(transaction: Transaction) -> None:
            if transaction.state.erased:
                raise SubjectErasedError(str(scope))
            if command.fact_id is not None:
                transaction.fact(command.fact_id)
            transaction.add_to_subject(subjects.decide(command, transaction.state))

        committed = self._transact("place_hold", origin, work, scope=scope, hold=asked)
        events = (each.event for each in committed.events)
        placed = (each.hold_id for each in events if isinstance(each, HoldPlaced))
        return replace(receipt(committed), hold_id=next(placed, command.hold_id))

    def release_hold(self, scope: Scope, hold_id: str, origin: Origin) -> Receipt:
        """End a hold, and do what waited for it, in the order it was asked for."""

        def work(transaction: Transaction) -> None:
            events = subjects.decide(ReleaseHold(hold_id=hold_id), transaction.state)
            after = subjects.evolve(transaction.state, events[0]) if events else None
            for fact_id in redactions_due(after) if after else ():
                if not transaction.fact(fact_id).redacted:
                    self._redact(transaction, fact_id)
            self._erase(transaction, events)

        committed = self._transact(
            "release_hold", origin, work, scope=scope, hold_id=hold_id
        )
        self.resume()
        return receipt(committed)

    def certificate(self, subject_ref: str) -> ErasureCertificate | None:
        """Return the certificate of an erased subject, if it was erased."""
        found = self._destructions.of_subject(subject_ref)
        return kept_certificate(found) if found and found.certificate else None

    def resume(self, *, every: bool = False) -> None:
        """
        Go on with everything that is announced and not done, from whatever step.

        Args:
            every: Whether what is done is looked up, too: the ledger may be a backup.
        """
        with self._destructions.turn:
            some = self._destructions
            found = some.all() if every else some.unfinished()
            # Copies before what they are copies of, which is done once they are gone.
            for destruction in sorted(found, key=_is_of_subject):
                if destruction.step is Step.DONE and self._is_said(destruction):
                    continue
                if self._confirmed(destruction):
                    self._carry_out(destruction)

    def _nothing_left(self) -> ErasureCertificate:
        """Return what is said where nothing is known under the name that was given."""
        self.resume()
        # The name of an erased subject leads nowhere: any that is not done may be it.
        undone = any(not each.stream for each in self._destructions.unfinished())
        return ErasureCertificate(
            status=ErasureStatus.PARTIAL if undone else ErasureStatus.DONE
        )

    def _transact(
        self,
        action: str,
        origin: Origin,
        work: Callable[[Transaction], None],
        *,
        scope: Scope | None = None,
        fact_id: str | None = None,
        passes_freeze: bool = False,
        **asked: object,
    ) -> Committed:
        return self._ledger.transact(
            Request(
                action=action,
                origin=origin,
                scope=scope,
                fact_id=fact_id,
                body={"origin": msgspec.to_builtins(origin), "fact_id": fact_id, **asked},
                work=work,
                passes_freeze=passes_freeze or action in ("place_hold", "release_hold"),
            )
        )

    def _redact(self, transaction: Transaction, fact_id: str) -> None:
        self._destructions.announce(
            Destruction(
                subject_ref=transaction.subject.ref,
                stream=FACT + fact_id,
                key_id=transaction.key_id(fact_id),
                position=transaction.next_position,
                step=Step.ANNOUNCED,
            )
        )
        transaction.add(fact_id, [FactRedacted()])

    def _erase(self, transaction: Transaction, events: Sequence[SubjectEvent]) -> None:
        """Collect *events*, announcing what the last of them destroys."""
        if events and isinstance(events[-1], SubjectErased):
            position = transaction.next_position + len(events) - 1
            self._destructions.announce(_of(transaction.subject.ref, position=position))
        transaction.add_to_subject(events)

    def _is_said(self, destruction: Destruction) -> bool:
        """Whether the event that says so is in the ledger."""
        found = self._ledger.recorder.read(after=destruction.position - 1, limit=1)
        kind = FactRedacted if destruction.stream else SubjectErased
        stream = destruction.stream or SUBJECT + destruction.subject_ref
        return any(
            each.sealed.topic == topic_of(kind) and each.sealed.originator_id == stream
            for each in found
        )

    def _confirmed(self, destruction: Destruction) -> bool:
        """Whether a destruction is to be carried out; if it never was said, forget it."""
        if self._is_said(destruction):
            return True
        if destruction.step is not Step.ANNOUNCED:
            self._say_again(destruction)
            return True
        with self._ledger.recorder.appending():
            # Whoever announced it held this lock: by now it is said, or never will be.
            if self._is_said(destruction):
                return True
            self._destructions.withdraw(destruction)
        return False

    def _say_again(self, destruction: Destruction) -> None:
        """Say it in a ledger that was restored from a backup made before."""
        if not destruction.stream:
            position = append_tombstone(self._ledger, destruction.subject_ref)
        elif self._ledger.recorder.read_stream(destruction.stream):
            position = self._redact_again(destruction)
        else:
            # The backup is older than the fact: there is nothing to be said of it.
            return
        self._destructions.move(destruction, Step.KEYS, position=position)

    def _redact_again(self, destruction: Destruction) -> int:
        """Say in a restored ledger that a fact was redacted; return where that stands."""
        if self._ledger.vault.subject(destruction.subject_ref) is None:
            return destruction.position
        fact_id = destruction.stream.removeprefix(FACT)

        def work(transaction: Transaction) -> None:
            if not transaction.fact(fact_id).redacted:
                transaction.add(fact_id, [FactRedacted()])

        origin = Origin(reason="redacted before, said again after a restore")
        self._transact("redact", origin, work, fact_id=fact_id, passes_freeze=True)
        # It may have been there, elsewhere: this is not the first backup restored.
        stamped = self._ledger.recorder.read_stream(destruction.stream)
        topic = topic_of(FactRedacted)
        return next(e.position for e in stamped if e.sealed.topic == topic)

    def _carry_out(self, destruction: Destruction) -> None:
        """Do every step that is left; each is recorded once it is done."""
        if destruction.step is Step.ANNOUNCED:
            self._destructions.destroy_keys(destruction)
        if not destruction.stream:
            for store in self._lookup.derived:
                self._purge(store, destruction)
        self._redact_copies(destruction)
        self._destructions.move(destruction, Step.PURGED)
        stores = self._verified(destruction, self._destructions.counts(destruction))
        done = all(each.verified and not each.remaining for each in stores)
        step = Step.DONE if done else Step.PURGED
        text = "" if destruction.stream else self._certified(destruction, stores)
        self._destructions.move(destruction, step, certificate=text)

    def _copies_of(self, destruction: Destruction) -> list[Copy]:
        if destruction.stream:
            return self._copies.of_fact(destruction.stream.removeprefix(FACT))
        return self._copies.of_subject(destruction.subject_ref)

    def _redact_copies(self, destruction: Destruction) -> None:
        """Make unreadable what others were given of it; where a hold binds that, later."""
        copies = self._copies.readable(self._copies_of(destruction))
        if not copies:
            return
        self._destructions.count(destruction, SHARED, len(copies))
        self._copies.redact(copies, by=self._redact)
        streams = {FACT + each.fact_id for each in copies}
        for announced in self._destructions.unfinished():
            if announced.stream in streams and self._confirmed(announced):
                self._carry_out(announced)

    def _purge(self, store: DerivedStore, destruction: Destruction) -> None:
        """Remove a subject from one store, counted before: another may do it, too."""
        ref = destruction.subject_ref
        self._destructions.count(destruction, store.name, store.remaining(ref))
        self._destructions.count(destruction, store.name, store.purge(ref))

    def _verified(
        self, destruction: Destruction, counts: Mapping[str, int]
    ) -> tuple[StoreReport, ...]:
        """Overwrite what was removed, and look what is left, store by store."""
        vault = StoreReport(
            store="vault",
            removed=counts.get("vault", 0),
            remaining=self._destructions.remaining(destruction),
            verified=self._destructions.scrub(),
        )
        shared = self._report_of_copies(destruction, counts.get(SHARED, 0))
        if destruction.stream:
            return vault, *shared
        derived = (
            StoreReport(
                store=store.name,
                removed=counts.get(store.name, 0),
                remaining=store.remaining(destruction.subject_ref),
                verified=store.scrub(),
            )
            for store in self._lookup.derived
        )
        return vault, *derived, *shared

    def _report_of_copies(
        self, destruction: Destruction, found: int
    ) -> tuple[StoreReport, ...]:
        """Return what is left of copies, if there ever were any."""
        copies = self._copies_of(destruction)
        if not copies:
            return ()
        left = len(self._copies.readable(copies))
        return (
            StoreReport(store=SHARED, removed=found - left, remaining=left, verified=True),
        )

    def _certified(self, destruction: Destruction, stores: Sequence[StoreReport]) -> str:
        """Return what is kept of the certificate."""
        said = replace(destruction, position=self._position(destruction))
        return certified(self._ledger, said, stores)

    def _position(self, destruction: Destruction) -> int:
        found = self._destructions.of_subject(destruction.subject_ref)
        return found.position if found else destruction.position


def _is_of_subject(destruction: Destruction) -> bool:
    return not destruction.stream


def _of(subject_ref: str, *, position: int) -> Destruction:
    return Destruction(
        subject_ref=subject_ref, stream="", key_id=0, position=position, step=Step.ANNOUNCED
    )
