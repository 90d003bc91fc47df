"""
What was said, made unreadable: one turn, or all of a session, and the summaries of it.

The turns of a session share a key. To make one of them unreadable, that key is destroyed
and the own keys of all others are kept in its place. So are those of the summaries: one
that has words of the turn goes, the others stay. What is said or summarised afterwards is
sealed under another key from the start, since the event that says so comes first.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from muniment.api.turns import named_turn
from muniment.domain import session as sessions
from muniment.domain.fact import FactState
from muniment.domain.session import (
    RedactSession,
    RedactTurn,
    SessionRedacted,
    SummaryMade,
    SummaryWithdrawn,
    TurnRedacted,
    summaries_in_use,
    summaries_of,
)
from muniment.errors import InvalidValueError, UnknownSessionError, WordsRedactedError
from muniment.ledger.destruction import Destruction, PayloadKey, Step
from muniment.ledger.ledger import Ledger
from muniment.ledger.payload import is_of_first_format
from muniment.ledger.payload_keys import wrapped_payload_key
from muniment.ledger.records import (
    SESSION,
    SUMMARIES,
    TURNS,
    StampedEvent,
)
from muniment.ledger.tombstones import said_again
from muniment.ledger.transaction import Transaction
from muniment.ledger.vault import Subject


@dataclass(frozen=True, slots=True)
class Words:
    """
    What was said.

    Attributes:
        number: Of the one turn, or ``None`` for all of the session.
    """

    session_id: str
    number: int | None

    @property
    def command(self) -> RedactTurn | RedactSession:
        """What makes it unreadable."""
        return RedactSession() if self.number is None else RedactTurn(number=self.number)

    @property
    def stream(self) -> str:
        """What the vault calls it."""
        if self.number is None:
            return SESSION + self.session_id
        return f"{TURNS}{self.session_id}.{self.number}"

    def has(self, turn_id: str) -> bool:
        """Whether a turn is among them."""
        if self.number is None:
            return turn_id.startswith(f"{self.session_id}.")
        return turn_id == f"{self.session_id}.{self.number}"


def refuse_redacted(transaction: Transaction, turn_ids: Iterable[str]) -> None:
    """
    Refuse what is drawn from turns that are unreadable, or wait to be.

    Whoever made them unreadable did not find it. A name that is of no turn of the subject
    is left alone.

    Raises:
        WordsRedactedError: If one of the turns is.
    """
    by_session: dict[str, set[int]] = {}
    for session_id, number in filter(None, map(named_turn, turn_ids)):
        by_session.setdefault(session_id, set()).add(number)
    for session_id, numbers in by_session.items():
        try:
            session = transaction.session(session_id)
        except UnknownSessionError:
            continue
        for number in numbers:
            waits = transaction.state.defers_words(session_id, number)
            if waits or session.unreadable(number):
                raise WordsRedactedError(session_id)


def newly_drawn_from(fact: FactState, turn_ids: Iterable[str], *, says: bool) -> set[str]:
    """
    Return the turns that a change of a fact is drawn from, not those it only keeps.

    Args:
        fact: Before it.
        turn_ids: Of what the change names as its source.
        says: Whether the fact is to say something else.
    """
    turns = set(turn_ids)
    if says:
        return turns
    said = (fact.said(each.version).content for each in fact.beliefs)
    return turns.difference(*(e.evidence.source_turns for e in said if e is not None))


def words_of(destruction: Destruction) -> Words | None:
    """Return what was said that *destruction* is about, if it is about such."""
    stream = destruction.stream
    if stream.startswith(SESSION):
        return Words(stream.removeprefix(SESSION), None)
    if stream.startswith(TURNS):
        session_id, _, number = stream.removeprefix(TURNS).rpartition(".")
        return Words(session_id, int(number))
    return None


class WordsRedactor:
    """Announces, says and carries out that what was said cannot be read any more."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._destructions = ledger.vault.destructions

    def is_done(self, transaction: Transaction, words: Words) -> bool:
        """Whether *words* are unreadable already."""
        state = transaction.session(words.session_id)
        return not sessions.decide(words.command, words.session_id, state)

    def redact(self, transaction: Transaction, words: Words) -> None:
        """Collect that *words* are unreadable, last of all of their streams."""
        if words.number is None:
            key_id = 0
        else:
            key_id = self._key_of(words.session_id, words.number)
            self._withdraw_summaries(transaction, words.session_id, words.number)
        self._destructions.announce(
            Destruction(
                subject_ref=transaction.subject.ref,
                stream=words.stream,
                key_id=key_id,
                position=transaction.next_position,
                step=Step.ANNOUNCED,
            )
        )
        state = transaction.session(words.session_id)
        events = sessions.decide(words.command, words.session_id, state)
        transaction.add_to(SESSION + words.session_id, events)

    def says(self, stamped: StampedEvent, words: Words) -> bool:
        """Whether an event says that *words* are unreadable."""
        if stamped.sealed.originator_id != SESSION + words.session_id:
            return False
        (opened,) = self._ledger.mapper.opened([stamped], None)
        number = words.number
        says = SessionRedacted() if number is None else TurnRedacted(number=number)
        return opened.event == says

    def say_again(self, destruction: Destruction, words: Words) -> int | None:
        """Say it in a restored ledger; return where, or ``None`` if nothing was said."""
        stream = SESSION + words.session_id
        subject = self._ledger.vault.subject(destruction.subject_ref)
        if subject is None or not self._gone(destruction, words):
            return None

        def work(transaction: Transaction) -> None:
            if not self.is_done(transaction, words):
                self._say(transaction, words)

        self._ledger.transact(
            said_again(work, action="redact", done="redacted", session_id=words.session_id)
        )
        stamped = self._ledger.recorder.read_stream(stream)
        return next(each.position for each in stamped if self.says(each, words))

    def destroy(
        self, destruction: Destruction, words: Words, *, also: Collection[int] = ()
    ) -> None:
        """
        Destroy the keys; of those that open other words, too, keep what is left.

        Args:
            destruction: Of *words*.
            words: What was said.
            also: Further keys of its subject, of streams that say what was drawn from it.
        """
        gone = self._gone(destruction, words)
        places = {each.position for each in gone}
        lost = {each.sealed.key_id for each in gone}
        left = [
            each
            for each in self._said(words)
            if each.position not in places and each.sealed.key_id in lost
        ]
        subject = self._ledger.vault.subject(destruction.subject_ref)
        kept = self._own_keys(subject, left) if subject is not None else ()
        places_gone = [_place(each) for each in gone]
        self._destructions.part_keys(destruction, places_gone, kept, also=also)

    def remaining(self, destruction: Destruction, words: Words) -> int:
        """Return how much of it can be read all the same, looked up once more."""
        subject = self._ledger.vault.subject(destruction.subject_ref)
        shown = self._ledger.mapper.shown(self._gone(destruction, words), subject)
        return sum(each.content is not None for each in shown)

    def refuse_what_cannot_be_parted(self, words: Words) -> None:
        """
        Refuse one turn of a session that was recorded before each had a key of its own.

        Raises:
            InvalidValueError: If that is so.
        """
        if words.number is None:
            return
        if any(is_of_first_format(each.sealed.state) for each in self._said(words)):
            turn_id = f"{words.session_id}.{words.number}"
            expected = "of a session recorded by a newer version; redact its whole session"
            raise InvalidValueError("turn_id", turn_id, expected)

    def _own_keys(
        self, subject: Subject, events: Sequence[StampedEvent]
    ) -> list[PayloadKey]:
        """Return the own keys, wrapped, of those of *events* that still have another."""
        found: list[PayloadKey] = []
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
                    found.append((stream, version, key_id, wrapped))
        return found

    def _say(self, transaction: Transaction, words: Words) -> None:
        """Collect it without announcing anything: its keys are gone already."""
        if words.number is not None:
            self._withdraw_summaries(transaction, words.session_id, words.number)
        state = transaction.session(words.session_id)
        events = sessions.decide(words.command, words.session_id, state)
        transaction.add_to(SESSION + words.session_id, events)

    def _withdraw_summaries(
        self, transaction: Transaction, session_id: str, number: int
    ) -> None:
        """Let what was made of a turn be used no longer, so that it is made anew."""
        stream = SUMMARIES + session_id
        made = [
            (version, event)
            for version, event in enumerate(transaction.stream(stream), 1)
            if isinstance(event, SummaryMade | SummaryWithdrawn)
        ]
        gone = summaries_of(made, number)
        for version, summary in summaries_in_use(made).items():
            # What was made of it goes with it.
            if version in gone and summary.level == 1:
                transaction.add_to(stream, [SummaryWithdrawn(summary_version=version)])

    def _key_of(self, session_id: str, number: int) -> int:
        turns = self._ledger.recorder.read_stream(TURNS + session_id)
        return turns[number - 1].sealed.key_id

    def _said(self, words: Words) -> Sequence[StampedEvent]:
        """Return all that shares keys with *words*."""
        streams = [TURNS + words.session_id, SUMMARIES + words.session_id]
        if words.number is None:
            streams.append(SESSION + words.session_id)
        return self._ledger.recorder.read_streams(streams)

    def _gone(self, destruction: Destruction, words: Words) -> Sequence[StampedEvent]:
        """Return the events that hold *words*, or some of them."""
        said = self._said(words)
        if words.number is None:
            return said
        by_name: Mapping[str, list[StampedEvent]] = {
            TURNS: [e for e in said if str(e.sealed.originator_id).startswith(TURNS)],
            SUMMARIES: [
                each
                for each in said
                if str(each.sealed.originator_id).startswith(SUMMARIES)
                # Whatever is made afterwards is made without them.
                and each.position < destruction.position
            ],
        }
        made = summaries_of(
            (
                (each.version, each.event)
                for each in self._ledger.mapper.opened(by_name[SUMMARIES], None)
                if isinstance(each.event, SummaryMade | SummaryWithdrawn)
            ),
            words.number,
        )
        return [
            *(
                each
                for each in by_name[TURNS]
                # In a restored ledger another turn may have taken its number.
                if each.sealed.originator_version == words.number
                and each.sealed.key_id == destruction.key_id
            ),
            *(e for e in by_name[SUMMARIES] if e.sealed.originator_version in made),
        ]


def _place(event: StampedEvent) -> tuple[str, int, int]:
    sealed = event.sealed
    return str(sealed.originator_id), sealed.originator_version, sealed.key_id
