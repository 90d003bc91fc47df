"""
Making some payloads unreadable that share their keys with others.

The keys are destroyed, and the own keys of all others they open are kept in their place.
Whatever is appended afterwards is sealed under another key from the start, since the
event that says so comes first.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Protocol

from muniment.domain.session import (
    SummaryMade,
    SummaryWithdrawn,
    summaries_in_use,
    summaries_of,
)
from muniment.ledger.destruction import Destruction, Parted, PayloadKey
from muniment.ledger.ledger import Ledger
from muniment.ledger.payload import is_of_first_format
from muniment.ledger.payload_keys import wrapped_payload_key
from muniment.ledger.records import SUMMARIES, StampedEvent
from muniment.ledger.transaction import Transaction
from muniment.ledger.vault import Subject


class Parting(Protocol):
    """Carries out destructions of one sort, of which each parts keys."""

    def says(self, stamped: StampedEvent, destruction: Destruction) -> bool:
        """Whether an event says so, that stands where it was announced."""

    def say_again(self, destruction: Destruction) -> int | None:
        """Say it in a restored ledger; return where, or ``None`` if nothing was said."""

    def destroy(self, destruction: Destruction, *, also: Collection[int] = ()) -> None:
        """
        Destroy the keys; of those that open something else, too, keep what is left.

        Args:
            destruction: Which.
            also: Further keys of its subject, of streams that say what was drawn from it.
        """

    def remaining(self, destruction: Destruction) -> int:
        """Return how much of it can be read all the same, looked up once more."""


class KeyParter:
    """Destroys keys, and keeps what of them opens something else."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def destroy(
        self,
        destruction: Destruction,
        gone: Sequence[StampedEvent],
        among: Sequence[StampedEvent],
        *,
        also: Collection[int] = (),
    ) -> None:
        """
        Destroy the keys of the payloads that go.

        Args:
            destruction: Which this is.
            gone: What is to be unreadable.
            among: All that may be sealed with the same keys.
            also: Further keys of its subject.
        """
        subject = self._ledger.vault.subject(destruction.subject_ref)
        parted = self.parted(subject, gone, among)
        self._ledger.vault.destructions.part_keys(destruction, parted, also=also)

    def parted(
        self,
        subject: Subject | None,
        gone: Sequence[StampedEvent],
        among: Sequence[StampedEvent],
    ) -> Parted:
        """Return which payloads go, and the own keys by which others of *among* stay."""
        left = sharing(gone, among)
        kept = list(self._own_keys(subject, left)) if subject is not None else []
        return [_place(each) for each in gone], kept

    def remaining(self, destruction: Destruction, gone: Sequence[StampedEvent]) -> int:
        """Return how many of the payloads can be read all the same."""
        subject = self._ledger.vault.subject(destruction.subject_ref)
        shown = self._ledger.mapper.shown(gone, subject)
        # What says in a restored ledger that it went is sealed anew, and holds nothing.
        return sum(bool(each.content) for each in shown)

    def _own_keys(
        self, subject: Subject, events: Sequence[StampedEvent]
    ) -> Iterator[PayloadKey]:
        """Yield the own keys, wrapped, of those of *events* that still have another."""
        for stream in dict.fromkeys(str(each.sealed.originator_id) for each in events):
            theirs = [each for each in events if each.sealed.originator_id == stream]
            own_keys = self._ledger.mapper.own_keys(subject, theirs)
            assert own_keys is not None, "what has no own keys is not parted"
            for each in theirs:
                _, version, key_id = place = _place(each)
                if version in own_keys:
                    wrapped = wrapped_payload_key(
                        subject.key,
                        own_keys[version],
                        ledger=self._ledger.name,
                        subject_ref=subject.ref,
                        said=place[:2],
                    )
                    yield stream, version, key_id, wrapped


def sharing(
    gone: Iterable[StampedEvent], among: Iterable[StampedEvent]
) -> list[StampedEvent]:
    """Return those of *among* that are not *gone* and share a key with what is."""
    places, lost = set(), set()
    for each in gone:
        places.add(each.position)
        lost.add(each.sealed.key_id)
    return [e for e in among if e.position not in places and e.sealed.key_id in lost]


def can_be_parted(gone: Iterable[StampedEvent], among: Iterable[StampedEvent]) -> bool:
    """Whether what shares keys with what goes has keys of its own, by which it stays."""
    return not any(is_of_first_format(e.sealed.state) for e in sharing(gone, among))


def in_summaries(
    ledger: Ledger, stamped: Sequence[StampedEvent], numbers: range
) -> list[StampedEvent]:
    """Return those events of a session's summaries in which words of turns may be."""
    opened = ledger.mapper.opened(stamped, None)
    made = summaries_of(
        (
            (each.version, each.event)
            for each in opened
            if isinstance(each.event, SummaryMade | SummaryWithdrawn)
        ),
        numbers,
    )
    return [each for each in stamped if each.sealed.originator_version in made]


def withdraw_summaries(transaction: Transaction, session_id: str, numbers: range) -> None:
    """Let what was made of turns be used no longer, so that it is made anew."""
    stream = SUMMARIES + session_id
    made = [
        (version, event)
        for version, event in enumerate(transaction.stream(stream), 1)
        if isinstance(event, SummaryMade | SummaryWithdrawn)
    ]
    gone = summaries_of(made, numbers)
    for version, summary in summaries_in_use(made).items():
        # What was made of it goes with it.
        if version in gone and summary.level == 1:
            transaction.add_to(stream, [SummaryWithdrawn(summary_version=version)])


def _place(event: StampedEvent) -> tuple[str, int, int]:
    sealed = event.sealed
    return str(sealed.originator_id), sealed.originator_version, sealed.key_id
