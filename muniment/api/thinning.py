"""Thinning of old history: what is kept gets keys of its own, then the others go."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from muniment.api.lookup import Lookup
from muniment.domain.events import (
    FactAsserted,
    FactCorroborated,
    FactRevised,
    FactThinned,
    SubjectThinned,
)
from muniment.domain.fact import FactState
from muniment.domain.thinning import Runs, going, is_among, runs_of, since
from muniment.domain.time import Instant
from muniment.errors import UnknownFactError
from muniment.ledger.codec import topic_of
from muniment.ledger.destruction import Step
from muniment.ledger.records import FACT
from muniment.ledger.thinnings import Thinning
from muniment.ledger.tombstones import said_again
from muniment.ledger.transaction import Transaction


@dataclass(frozen=True, slots=True)
class _Planned:
    """What goes of one fact, since when it was there, and the keys of what stays."""

    fact_id: str
    event: FactThinned
    since: Instant
    own_keys: Mapping[int, bytes]


class Thinner:
    """
    Makes unreadable what of old history is not kept.

    Each step is recorded in the vault and may be repeated, so whoever opens the store
    next goes on where a process died.
    """

    def __init__(self, lookup: Lookup) -> None:
        self._lookup = lookup
        self._ledger = lookup.ledger
        self._thinnings = lookup.ledger.vault.thinnings

    def thin(self, transaction: Transaction, due: Mapping[str, Instant]) -> None:
        """
        Collect what thins facts, and announce which keys it destroys.

        Args:
            transaction: Nothing else of these facts was collected in it.
            due: By fact until when; what goes is decided here, under the lock.
        """
        planned = [
            found
            for fact_id, until in due.items()
            if not transaction.state.holds_on(fact_id)
            and (found := self._planned(transaction, fact_id, until)) is not None
        ]
        if not planned:
            return
        announced = [
            (self._announced(transaction, each, place), each.own_keys)
            for place, each in enumerate(planned)
        ]
        key = transaction.subject.key
        self._thinnings.announce(announced, subject_key=key)
        for each in planned:
            transaction.add_under_new_key(each.fact_id, each.event)
        begun = min(each.since for each in planned)
        until = max(each.event.until for each in planned)
        transaction.add_to_subject([SubjectThinned(since=begun, until=until)])

    def resume(self, *, every: bool = False) -> None:
        """
        Go on with what is announced and not done, from whatever step.

        Args:
            every: Whether what is done is looked up, too: the ledger may be a backup.
        """
        with self._ledger.vault.destructions.turn:
            listed = self._thinnings.all() if every else self._thinnings.unfinished()
            said = self._said(listed)
            found = [e if e in said else self._confirmed(e) for e in listed]
            left = [e for e in found if e is not None and e.step is not Step.DONE]
            self._carry_out(left)

    def _planned(
        self, transaction: Transaction, fact_id: str, until: Instant
    ) -> _Planned | None:
        fact, recorded = transaction.fact(fact_id), transaction.recorded_times(fact_id)
        runs = going(fact, recorded, until)
        own_keys = transaction.own_keys(fact_id) if runs else None
        if own_keys is None:
            return None
        event = FactThinned(until=until, versions=runs)
        kept = {v: key for v, key in own_keys.items() if not _is_gone(v, fact, runs)}
        return _Planned(fact_id, event, since(fact, recorded, runs), kept)

    def _announced(
        self, transaction: Transaction, planned: _Planned, place: int
    ) -> Thinning:
        return Thinning(
            subject_ref=transaction.subject.ref,
            stream=FACT + planned.fact_id,
            until=planned.event.until,
            versions=planned.event.versions,
            key_id=transaction.key_id(planned.fact_id),
            position=transaction.next_position + place,
            step=Step.ANNOUNCED,
        )

    def _said(self, thinnings: Sequence[Thinning]) -> Collection[Thinning]:
        """Return those of which the event that says so is in the ledger."""
        found = self._ledger.recorder.read_at([each.position for each in thinnings])
        topic = topic_of(FactThinned)
        said = {
            (each.position, each.sealed.originator_id)
            for each in found
            if each.sealed.topic == topic
        }
        return {each for each in thinnings if (each.position, each.stream) in said}

    def _confirmed(self, thinning: Thinning) -> Thinning | None:
        """Return what is to be carried out, once said; what never was is forgotten."""
        if thinning.step is not Step.ANNOUNCED:
            return self._said_again(thinning)
        with self._ledger.recorder.appending():
            # Whoever announced it held this lock: by now it is said, or never will be.
            if self._said([thinning]):
                return thinning
            self._thinnings.withdraw(thinning)
        return None

    def _said_again(self, thinning: Thinning) -> Thinning | None:
        """Say it in a ledger that was restored from a backup made before, if it can be."""
        fact_id = thinning.stream.removeprefix(FACT)
        positions: list[int] = []

        def work(transaction: Transaction) -> None:
            fact = transaction.fact(fact_id)
            runs = runs_of(_unexplained(fact, thinning.versions))
            if not runs or fact.redacted:
                return
            positions.append(transaction.next_position)
            event = FactThinned(until=thinning.until, versions=runs)
            transaction.add_under_new_key(fact_id, event)
            begun = since(fact, transaction.recorded_times(fact_id), runs)
            said = SubjectThinned(since=begun, until=thinning.until)
            transaction.add_to_subject([said])

        try:
            self._ledger.transact(
                said_again(work, action="retain", done="thinned", fact_id=fact_id)
            )
        except UnknownFactError:
            # The backup is older than the fact, or its subject was erased since.
            return None
        if not positions:
            return None
        self._thinnings.move_to(thinning, positions[-1])
        return replace(thinning, position=positions[-1], step=Step.KEYS)

    def _carry_out(self, thinnings: Sequence[Thinning]) -> None:
        """Do every step that is left; each is recorded once it is done."""
        if not thinnings:
            return
        vectors = self._lookup.vectors
        for each in thinnings:
            subject = self._ledger.vault.subject(each.subject_ref)
            if subject is not None:
                # Sealed by what goes: what is kept of them has to be sealed anew before.
                for kept in vectors:
                    kept.thin(subject, each.stream.removeprefix(FACT), each.versions)
        self._thinnings.destroy_keys(thinnings)
        scrubbed = [self._thinnings.scrub(), *(each.scrub() for each in vectors)]
        if all(scrubbed) and not any(map(self._thinnings.remaining, thinnings)):
            self._thinnings.finish(thinnings)


def _is_gone(version: int, fact: FactState, runs: Runs) -> bool:
    return version in fact.thinned or is_among(version, runs)


def _unexplained(fact: FactState, runs: Runs) -> Iterator[int]:
    """Yield those versions of *runs* that nobody can read, and no event says why."""
    for version, event in enumerate(fact.events, 1):
        if is_among(version, runs) and version not in fact.thinned:
            match event:
                case FactAsserted(content=None) | FactRevised(content=None):
                    yield version
                case FactCorroborated(evidence=None):
                    yield version
                case _:
                    pass
