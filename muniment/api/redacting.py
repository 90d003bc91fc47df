"""
What was said, made unreadable: one turn, or all of a session, and the summaries of it.

The turns of a session share a key. To make one of them unreadable, that key is destroyed
and the own keys of all others are kept in its place. So are those of the summaries: one
that has words of the turn goes, the others stay. What is said or summarised afterwards is
sealed under another key from the start, since the event that says so comes first. So are
the receipts of recalls: one whose question says the words again goes with them, and so
does one that was made because of them, whatever its question made of them.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

from muniment.api.parting import KeyParter, in_summaries, withdraw_summaries
from muniment.api.repeating import receipts_of, repeating, serve_held
from muniment.api.turns import named_turn
from muniment.domain import session as sessions
from muniment.domain.fact import FactState
from muniment.domain.receipt import Recall, ReceiptLeft
from muniment.domain.session import (
    RedactSession,
    RedactTurn,
    Role,
    SessionRedacted,
    TurnAdded,
    TurnRedacted,
)
from muniment.domain.subject import SubjectState
from muniment.errors import InvalidValueError, UnknownSessionError, WordsRedactedError
from muniment.ledger.destruction import Destruction, Step
from muniment.ledger.ledger import Ledger
from muniment.ledger.payload import is_of_first_format
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
        self._parter = KeyParter(ledger)

    def is_done(self, transaction: Transaction, words: Words) -> bool:
        """Whether *words* are unreadable already."""
        state = transaction.session(words.session_id)
        return not sessions.decide(words.command, words.session_id, state)

    def is_held(self, transaction: Transaction, words: Words, state: SubjectState) -> bool:
        """
        Whether a hold in *state* on one fact binds a receipt that would go with *words*.

        It does if that says that the fact was given in answer to them.
        """
        if not state.holds:
            return False
        said, subject = self._said(words), transaction.subject
        turns = [
            each
            for each in said
            if str(each.sealed.originator_id).startswith(TURNS)
            and words.number in (None, each.sealed.originator_version)
        ]
        going = repeating(
            self._ledger,
            subject,
            receipts_of(self._ledger, subject),
            self._texts(subject, turns),
            because=self._because(words, said),
        )
        return serve_held(self._ledger, going, state)

    def redact(self, transaction: Transaction, words: Words) -> None:
        """Collect that *words* are unreadable, last of all of their streams."""
        if words.number is None:
            key_id = 0
        else:
            key_id = self._key_of(words.session_id, words.number)
            numbers = range(words.number, words.number + 1)
            withdraw_summaries(transaction, words.session_id, numbers)
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

    def says(self, stamped: StampedEvent, destruction: Destruction) -> bool:
        """Whether an event says that the words are unreadable."""
        words = _words(destruction)
        if stamped.sealed.originator_id != SESSION + words.session_id:
            return False
        (opened,) = self._ledger.mapper.opened([stamped], None)
        number = words.number
        says = SessionRedacted() if number is None else TurnRedacted(number=number)
        return opened.event == says

    def say_again(self, destruction: Destruction) -> int | None:
        """Say it in a restored ledger; return where, or ``None`` if nothing was said."""
        words = _words(destruction)
        stream = SESSION + words.session_id
        subject = self._ledger.vault.subject(destruction.subject_ref)
        if subject is None or not self._gone(destruction):
            return None

        def work(transaction: Transaction) -> None:
            if not self.is_done(transaction, words):
                self._say(transaction, words)

        self._ledger.transact(
            said_again(work, action="redact", done="redacted", session_id=words.session_id)
        )
        stamped = self._ledger.recorder.read_stream(stream)
        return next(each.position for each in stamped if self.says(each, destruction))

    def destroy(self, destruction: Destruction, *, also: Collection[int] = ()) -> None:
        """Destroy the keys; of those that open other words, too, keep what is left."""
        subject = self._ledger.vault.subject(destruction.subject_ref)
        words = _words(destruction)
        gone, said = [*self._gone(destruction)], [*self._said(words)]
        if subject is not None:
            receipts = receipts_of(self._ledger, subject)
            # Only here: once the key of the words is gone, nobody can tell any more.
            texts, because = self._texts(subject, gone), self._because(words, said)
            gone += repeating(self._ledger, subject, receipts, texts, because=because)
            said += receipts
        self._parter.destroy(destruction, gone, said, also=also)

    def remaining(self, destruction: Destruction) -> int:
        """Return how much of it can be read all the same, looked up once more."""
        return self._parter.remaining(destruction, self._gone(destruction))

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

    def _because(
        self, words: Words, said: Sequence[StampedEvent]
    ) -> Callable[[ReceiptLeft, Recall], bool]:
        """
        Return what tells whether a recall was made because of *words*.

        One for their session was, from when they were said until the user said something
        else; so was one for a prompt of which they were the last.
        """
        opened = self._ledger.mapper.opened(said, None)
        turns = [(e, e.event) for e in opened if isinstance(e.event, TurnAdded)]
        number = words.number or 0
        since = next((each.position for each, _ in turns if each.version == number), 0)
        later = (
            each.position
            for each, turn in turns
            if number and each.version > number and turn.role is Role.USER
        )
        until = next(later, None)

        def because(left: ReceiptLeft, recall: Recall) -> bool:
            at = left.at_position
            in_time = since <= at and (until is None or at < until)
            for_it = recall.session_id == words.session_id and in_time
            return for_it or any(map(words.has, recall.turns[-1:]))

        return because

    def _texts(self, subject: Subject, gone: Sequence[StampedEvent]) -> list[str]:
        """Return what was said in those of *gone* that are turns."""
        said = (each.event for each in self._ledger.mapper.opened(gone, subject))
        return [
            each.words.text
            for each in said
            if isinstance(each, TurnAdded) and each.words is not None
        ]

    def _say(self, transaction: Transaction, words: Words) -> None:
        """Collect it without announcing anything: its keys are gone already."""
        if words.number is not None:
            numbers = range(words.number, words.number + 1)
            withdraw_summaries(transaction, words.session_id, numbers)
        state = transaction.session(words.session_id)
        events = sessions.decide(words.command, words.session_id, state)
        transaction.add_to(SESSION + words.session_id, events)

    def _key_of(self, session_id: str, number: int) -> int:
        turns = self._ledger.recorder.read_stream(TURNS + session_id)
        return turns[number - 1].sealed.key_id

    def _said(self, words: Words) -> Sequence[StampedEvent]:
        """Return all that shares keys with *words*."""
        streams = [TURNS + words.session_id, SUMMARIES + words.session_id]
        if words.number is None:
            streams.append(SESSION + words.session_id)
        return self._ledger.recorder.read_streams(streams)

    def _gone(self, destruction: Destruction) -> Sequence[StampedEvent]:
        """Return the events that hold the words, or some of them."""
        words = _words(destruction)
        said, number = self._said(words), words.number
        if number is None:
            return said
        turns = [e for e in said if str(e.sealed.originator_id).startswith(TURNS)]
        summaries = [
            each
            for each in said
            if str(each.sealed.originator_id).startswith(SUMMARIES)
            # Whatever is made afterwards is made without them.
            and each.position < destruction.position
        ]
        return [
            *(
                each
                for each in turns
                # In a restored ledger another turn may have taken its number.
                if each.sealed.originator_version == number
                and each.sealed.key_id == destruction.key_id
            ),
            *in_summaries(self._ledger, summaries, range(number, number + 1)),
        ]


def _words(destruction: Destruction) -> Words:
    words = words_of(destruction)
    assert words is not None, "it is about what was said"
    return words
