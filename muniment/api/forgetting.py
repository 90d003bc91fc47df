"""Forgetting for good: redaction, erasure, and the holds that stand against them."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import msgspec

from muniment.api.answers import Receipt
from muniment.api.certificates import (
    SHARED,
    ErasureCertificate,
    ErasurePlan,
    ErasureStatus,
)
from muniment.api.certifying import kept_certificate
from muniment.api.copies import Copies
from muniment.api.destroying import Destroyer
from muniment.api.drawn import drawn_from
from muniment.api.lookup import Lookup
from muniment.api.redacting import Words, WordsRedactor
from muniment.api.retrying import anew
from muniment.api.transacting import receipt
from muniment.domain import subject as subjects
from muniment.domain.commands import (
    DeferRedaction,
    DeferWordsRedaction,
    EraseSubject,
    PlaceHold,
    RedactFact,
    ReleaseHold,
    SubjectCommand,
)
from muniment.domain.decision import decide
from muniment.domain.events import (
    HoldPlaced,
    RedactionDeferred,
    SubjectErased,
    SubjectEvent,
    WordsRedactionDeferred,
)
from muniment.domain.scope import Scope
from muniment.domain.subject import redactions_due, words_due
from muniment.errors import PlanOutdatedError, SubjectErasedError
from muniment.ledger.destruction import Destruction, Step
from muniment.ledger.ledger import Committed
from muniment.ledger.records import FACT, SHARE, Origin
from muniment.ledger.transaction import Request, Transaction
from muniment.ledger.vault import Subject


class Forgetter:
    """Decides what is made unreadable, or waits; see `Destroyer` for how it is done."""

    def __init__(self, lookup: Lookup) -> None:
        self._lookup = lookup
        self._ledger = lookup.ledger
        self._destructions = lookup.ledger.vault.destructions
        self._copies = Copies(lookup.ledger)
        self._words = WordsRedactor(lookup.ledger)
        self._destroyer = Destroyer(lookup)

    def redact(
        self, fact_id: str, origin: Origin, *, expected_version: int | None
    ) -> Receipt:
        """Make the content of a fact unreadable, now or when no hold binds it."""
        asked = RedactFact(expected_version=expected_version)
        waiting: set[str] = set()

        def work(transaction: Transaction) -> None:
            waiting.clear()
            fact = transaction.fact(fact_id)
            recorded_at = transaction.recorded_at
            if not decide(asked, fact_id, fact, recorded_at=recorded_at):
                return
            if self._destroyer.is_bound(transaction, fact_id, transaction.state):
                waiting.add(fact_id)
                command = DeferRedaction(fact_id=fact_id)
                transaction.add_to_subject(subjects.decide(command, transaction.state))
                return
            self._destroyer.announce(transaction, fact_id)

        committed = self._transact(
            "redact", origin, work, fact_id=fact_id, expected_version=expected_version
        )
        self.resume()
        # Asked for again it waits still, and no event says so anew.
        waiting |= _deferred_by(committed)
        self._copies.set_aside(self._copies.of_facts(waiting))
        waits = bool(waiting) or self._is_left_in_copies([fact_id])
        return replace(receipt(committed), deferred=waits)

    def redact_words(
        self, subject: Subject, words: Words, origin: Origin, *, with_facts: bool
    ) -> Receipt:
        """
        Make what was said unreadable, now or when no hold binds it.

        A hold on a fact that was drawn from it binds it, too, and so does one on a fact
        that was given in answer to it, as a receipt says that would go.

        Args:
            subject: Who said it.
            words: What.
            origin: Who asks, and why.
            with_facts: Whether the facts drawn from it are redacted with it.
        """
        self._words.refuse_what_cannot_be_parted(words)
        attempt = partial(self._redact_words, subject, words, origin, with_facts=with_facts)
        # Which facts those are is looked up, while others are written.
        return anew(attempt, where=PlanOutdatedError)

    def _redact_words(
        self, subject: Subject, words: Words, origin: Origin, *, with_facts: bool
    ) -> Receipt:
        planned_at = self._lookup.now().position
        drawn = drawn_from(self._lookup, subject, words)
        facts = drawn if with_facts else ()
        waiting: set[str] = set()
        waits = False

        def work(transaction: Transaction) -> None:
            nonlocal waits
            waiting.clear()
            waits = False
            _refuse_outdated(transaction, planned_at)
            left = [each for each in facts if not transaction.fact(each).redacted]
            if self._words.is_done(transaction, words):
                # Facts that were to stay then may be to go by now.
                waiting.update(self._redact_each(transaction, left))
                waits = bool(waiting)
                return
            state = transaction.state
            if (
                state.holds_on_words(drawn)
                or self._words.is_held(transaction, words, state)
                or any(self._destroyer.is_bound(transaction, e, state) for e in left)
            ):
                waiting.update(left)
                waits = True
                self._defer(transaction, words, drawn, left)
                return
            for fact_id in left:
                self._destroyer.announce(transaction, fact_id)
            self._words.redact(transaction, words)

        committed = self._transact(
            "redact", origin, work, session_id=words.session_id, words=words.stream
        )
        self.resume()
        waits |= any(isinstance(e.event, WordsRedactionDeferred) for e in committed.events)
        self._copies.set_aside(self._copies.of_facts(waiting | _deferred_by(committed)))
        waits = waits or self._is_left_in_copies(facts)
        return replace(receipt(committed), deferred=waits)

    def _redact_each(self, transaction: Transaction, fact_ids: Sequence[str]) -> list[str]:
        """Announce the redaction of facts; return those for which it waits."""
        state, is_bound = transaction.state, self._destroyer.is_bound
        held = [each for each in fact_ids if is_bound(transaction, each, state)]
        for fact_id in fact_ids:
            if fact_id not in held:
                self._destroyer.announce(transaction, fact_id)
                continue
            command = DeferRedaction(fact_id=fact_id)
            transaction.add_to_subject(subjects.decide(command, transaction.state))
        return held

    def _defer(
        self,
        transaction: Transaction,
        words: Words,
        drawn: Sequence[str],
        facts: Sequence[str],
    ) -> None:
        """Collect that all of it waits, the facts that are to go with it included."""
        commands: list[SubjectCommand] = [
            *(DeferRedaction(fact_id=each) for each in facts),
            DeferWordsRedaction(
                session_id=words.session_id, number=words.number, fact_ids=tuple(drawn)
            ),
        ]
        for command in commands:
            transaction.add_to_subject(subjects.decide(command, transaction.state))

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
                if _waits_for_another(transaction, fact_id):
                    continue
                assert after is not None, "something is due in it"
                if transaction.fact(fact_id).redacted:
                    continue
                if not self._destroyer.is_bound(transaction, fact_id, after):
                    self._destroyer.announce(transaction, fact_id)
            for each in words_due(after) if after else ():
                assert after is not None, "something is due in it"
                words = Words(each.session_id, each.number)
                if self._words.is_done(transaction, words):
                    continue
                if not self._words.is_held(transaction, words, after):
                    self._words.redact(transaction, words)
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
        """Go on with everything that is announced and not done, see `Destroyer`."""
        self._destroyer.resume(every=every)

    def _is_left_in_copies(self, fact_ids: Sequence[str]) -> bool:
        """
        Whether copies can still be read of facts that were made unreadable.

        A hold on such a copy, or a freeze of the memory it is in, is in the way of it; the
        release, or the thaw, carries it out.
        """
        undone = {each.stream for each in self._destructions.unfinished()}
        gone = [each for each in fact_ids if FACT + each in undone]
        return bool(self._copies.readable(self._copies.of_facts(gone)))

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
        session_id: str | None = None,
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
                passes_freeze=action in ("place_hold", "release_hold"),
                session_id=session_id,
            )
        )

    def _erase(self, transaction: Transaction, events: Sequence[SubjectEvent]) -> None:
        """Collect *events*, announcing what the last of them destroys."""
        if events and isinstance(events[-1], SubjectErased):
            position = transaction.next_position + len(events) - 1
            self._destructions.announce(_of(transaction.subject.ref, position=position))
        transaction.add_to_subject(events)


def _refuse_outdated(transaction: Transaction, planned_at: int) -> None:
    moved_at = transaction.moved_at()
    if moved_at > planned_at:
        raise PlanOutdatedError(planned_at, moved_at)


def _waits_for_another(transaction: Transaction, fact_id: str) -> bool:
    """
    Whether the redaction of a copy waits for something else than a hold on it.

    That is the thaw of its memory, or the release of what it is a copy of: then it goes
    with that.
    """
    state = transaction.state
    if state.holds_on(fact_id) or not transaction.stream(SHARE + fact_id):
        return False
    return not any(fact_id in each.fact_ids for each in state.deferred_words)


def _deferred_by(committed: Committed) -> set[str]:
    """Return the facts whose redaction was deferred by what was committed."""
    happened = (each.event for each in committed.events)
    return {each.fact_id for each in happened if isinstance(each, RedactionDeferred)}


def _of(subject_ref: str, *, position: int) -> Destruction:
    return Destruction(
        subject_ref=subject_ref, stream="", key_id=0, position=position, step=Step.ANNOUNCED
    )
