"""Carrying out what was announced: keys first, then every derived copy, step by step."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import takewhile

from muniment.api.certificates import SHARED, StoreReport
from muniment.api.certifying import certified
from muniment.api.copies import Copies, Copy, copies_of
from muniment.api.expiring import RecordExpirer, expired_of
from muniment.api.lookup import Lookup
from muniment.api.parting import KeyParter, Parting
from muniment.api.proposals import Proposals
from muniment.api.redacting import WordsRedactor, words_of
from muniment.api.repeating import receipts_of, saying_fact, serve_held
from muniment.domain.events import FactRedacted, SubjectErased
from muniment.domain.subject import SubjectState
from muniment.ledger.codec import topic_of
from muniment.ledger.destruction import Destruction, Parted, Step
from muniment.ledger.records import FACT, SUBJECT, StampedEvent
from muniment.ledger.tombstones import append_tombstone, said_again
from muniment.ledger.transaction import Transaction
from muniment.projections.beliefs import DerivedStore


class Destroyer:
    """
    Makes content unreadable, keys first, then every derived copy, step by step.

    Each step is recorded in the vault and may be repeated, so whoever opens the store
    next goes on where a process died.
    """

    def __init__(self, lookup: Lookup) -> None:
        self._lookup = lookup
        self._ledger = lookup.ledger
        self._destructions = lookup.ledger.vault.destructions
        self._words = WordsRedactor(lookup.ledger)
        self._records = RecordExpirer(lookup.ledger)
        self._copies = Copies(lookup.ledger)

    def announce(self, transaction: Transaction, fact_id: str) -> None:
        """Announce the redaction of a fact, and collect the event that says so."""
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

    def is_bound(self, transaction: Transaction, fact_id: str, state: SubjectState) -> bool:
        """
        Whether a hold in *state* binds a fact, or a receipt that would go with it.

        That is one whose question says the fact, where a fact under a hold was given.
        """
        if state.holds_on(fact_id):
            return True
        if not state.holds:
            return False  # The usual case: no receipt has to be read.
        ledger, subject = self._ledger, transaction.subject
        going = saying_fact(ledger, subject, fact_id, receipts_of(ledger, subject))
        return serve_held(ledger, going, state)

    def resume(self, *, every: bool = False) -> None:
        """
        Go on with everything that is announced and not done, from whatever step.

        Args:
            every: Whether what is done is looked up, too: the ledger may be a backup.
        """
        with self._destructions.turn:
            some = self._destructions
            found = some.all() if every else some.unfinished()
            said, keyless = self._said(found), list[tuple[Destruction, str]]()
            # Copies before what they are copies of, which is done once they are gone.
            for destruction in sorted(found, key=_is_of_subject):
                is_said = destruction in said
                if is_said and destruction.step is Step.DONE:
                    continue
                if not is_said and not self._confirmed(destruction):
                    continue
                expired = expired_of(destruction)
                if expired is None:
                    self._carry_out(destruction, self._copies_of(destruction))
                    continue
                if destruction.step is Step.ANNOUNCED:
                    self._records.destroy(destruction)
                keyless.append((destruction, expired.family))
            self._finish(keyless)

    def _said(self, destructions: Sequence[Destruction]) -> Collection[Destruction]:
        """Return those of which the event that says so is in the ledger."""
        found = self._ledger.recorder.read_at([each.position for each in destructions])
        events = {each.position: each for each in found}
        return {
            each
            for each in destructions
            if each.position in events and self._says(events[each.position], each)
        }

    def _says(self, event: StampedEvent, destruction: Destruction) -> bool:
        parting = self._parting(destruction)
        if parting is not None:
            return parting.says(event, destruction)
        kind = FactRedacted if destruction.stream else SubjectErased
        stream = destruction.stream or SUBJECT + destruction.subject_ref
        sealed = event.sealed
        return sealed.topic == topic_of(kind) and sealed.originator_id == stream

    def _confirmed(self, destruction: Destruction) -> bool:
        """Whether a destruction is to be carried out; if it never was said, forget it."""
        if destruction.step is not Step.ANNOUNCED:
            self._say_again(destruction)
            return True
        with self._ledger.recorder.appending():
            # Whoever announced it held this lock: by now it is said, or never will be.
            if self._said([destruction]):
                return True
            self._destructions.withdraw(destruction)
        return False

    def _say_again(self, destruction: Destruction) -> None:
        """Say it in a ledger that was restored from a backup made before."""
        parting = self._parting(destruction)
        if parting is not None:
            said_at = parting.say_again(destruction)
            if said_at is not None:
                self._destructions.move(destruction, Step.KEYS, position=said_at)
            return
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
        fact_id = _fact_of(destruction)

        def work(transaction: Transaction) -> None:
            if not transaction.fact(fact_id).redacted:
                transaction.add(fact_id, [FactRedacted()])

        self._ledger.transact(
            said_again(work, action="redact", done="redacted", fact_id=fact_id)
        )
        # It may have been there, elsewhere: this is not the first backup restored.
        stamped = self._ledger.recorder.read_stream(destruction.stream)
        topic = topic_of(FactRedacted)
        return next(e.position for e in stamped if e.sealed.topic == topic)

    def _carry_out(self, destruction: Destruction, copies: Sequence[Copy]) -> None:
        """
        Do every step that is left; each is recorded once it is done.

        Args:
            destruction: Which.
            copies: What others were given of it. No more are made of what is gone.
        """
        parting, also = self._parting(destruction), self._others(destruction)
        if destruction.step is Step.ANNOUNCED and parting is not None:
            parting.destroy(destruction, also=self._drawn_from(destruction))
        elif destruction.step is Step.ANNOUNCED or also:
            parted = self._receipts_saying(destruction)
            self._destructions.destroy_keys(destruction, also=also, parted=parted)
        if not destruction.stream:
            for store in self._lookup.derived:
                self._purge(store, destruction)
        self._redact_copies(destruction, copies)
        self._destructions.move(destruction, Step.PURGED)
        stores = self._verified(destruction, copies)
        done = all(each.is_settled for each in stores)
        step = Step.DONE if done else Step.PURGED
        text = "" if destruction.stream else self._certified(destruction, stores)
        self._destructions.move(destruction, step, certificate=text)

    def _finish(self, expired: Sequence[tuple[Destruction, str]]) -> None:
        """Look what is left of records whose keys are gone, of all that went at once."""
        if expired and self._destructions.scrub():
            left = self._records.remaining
            self._destructions.finish([each for each in expired if not left(each[0])])

    def _parting(self, destruction: Destruction) -> Parting | None:
        """Return what carries out destructions that part keys, if this is one of them."""
        if words_of(destruction) is not None:
            return self._words
        return None if expired_of(destruction) is None else self._records

    def _others(self, destruction: Destruction) -> list[int]:
        """
        Return the keys left of what else says what a redacted fact said.

        That is what was proposed to say in its place, and what of the fact itself is under
        a key from before it was thinned: the thinning that destroys it may not be done.
        """
        if not destruction.stream.startswith(FACT):
            return []
        fact_id, ref = _fact_of(destruction), destruction.subject_ref
        stream = self._ledger.recorder.read_stream(destruction.stream)
        # What follows is no content, and has to stay readable.
        said = takewhile(lambda e: e.sealed.topic != topic_of(FactRedacted), stream)
        former = {each.sealed.key_id for each in said} - {destruction.key_id}
        left = self._destructions.left_of(ref, former) if former else []
        return [*left, *Proposals(self._ledger).keys_about(fact_id, ref)]

    def _receipts_saying(self, destruction: Destruction) -> Parted:
        """Return the receipts whose question says what a fact said that is redacted."""
        subject = self._ledger.vault.subject(destruction.subject_ref)
        if destruction.step is not Step.ANNOUNCED or subject is None:
            return (), ()
        if not destruction.stream.startswith(FACT):
            return (), ()
        receipts, fact_id = receipts_of(self._ledger, subject), _fact_of(destruction)
        gone = saying_fact(self._ledger, subject, fact_id, receipts)
        return KeyParter(self._ledger).parted(subject, gone, receipts)

    def _drawn_from(self, destruction: Destruction) -> list[int]:
        """Return the keys of what was proposed to say, drawn from words that go."""
        words, ref = words_of(destruction), destruction.subject_ref
        return Proposals(self._ledger).keys_drawn_from(words, ref) if words else []

    def _copies_of(self, destruction: Destruction) -> list[Copy]:
        """Return the copies of a fact or of what was a subject's, of all there are."""
        if not destruction.stream:
            return self._copies.of_subject(destruction.subject_ref)
        if destruction.stream.startswith(FACT):
            return self._copies.of_facts([_fact_of(destruction)])
        return []

    def _redact_copies(self, destruction: Destruction, copies: Sequence[Copy]) -> None:
        """Make unreadable what others were given of it; where a hold binds that, later."""
        left = self._copies.readable(copies)
        if not left:
            return
        self._destructions.count(destruction, SHARED, len(left))
        self._copies.redact(left, by=self.announce, is_bound=self.is_bound)
        names = {FACT + each.fact_id: each.fact_id for each in left}
        announced = [e for e in self._destructions.unfinished() if e.stream in names]
        said = self._said(announced)
        for each in announced:
            if each in said or self._confirmed(each):
                self._carry_out(each, copies_of([names[each.stream]], copies))

    def _purge(self, store: DerivedStore, destruction: Destruction) -> None:
        """Remove a subject from one store, counted before: another may do it, too."""
        ref = destruction.subject_ref
        self._destructions.count(destruction, store.name, store.remaining(ref))
        self._destructions.count(destruction, store.name, store.purge(ref))

    def _verified(
        self, destruction: Destruction, copies: Sequence[Copy]
    ) -> tuple[StoreReport, ...]:
        """Overwrite what was removed, and look what is left, store by store."""
        parting = self._parting(destruction)
        counts = self._destructions.counts(destruction)
        vault = StoreReport(
            store="vault",
            removed=counts.get("vault", 0),
            remaining=self._destructions.remaining(destruction)
            + len(self._others(destruction))
            if parting is None
            else parting.remaining(destruction) + len(self._drawn_from(destruction)),
            verified=self._destructions.scrub(),
        )
        shared = self._report_of_copies(copies, counts.get(SHARED, 0))
        if destruction.stream:
            return vault, *shared
        derived = (
            StoreReport(
                store=store.name,
                removed=counts.get(store.name, 0),
                remaining=store.remaining(destruction.subject_ref),
                verified=(is_clean := store.scrub()),
                gone=None if is_clean else self._lookup.gone(store.name),
            )
            for store in self._lookup.derived
        )
        return vault, *derived, *shared

    def _report_of_copies(
        self, copies: Sequence[Copy], found: int
    ) -> tuple[StoreReport, ...]:
        """Return what is left of copies, if there ever were any."""
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


def _fact_of(destruction: Destruction) -> str:
    return destruction.stream.removeprefix(FACT)


def _is_of_subject(destruction: Destruction) -> bool:
    return not destruction.stream
