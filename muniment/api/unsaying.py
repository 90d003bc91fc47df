"""Making what was said unreadable for good: one turn, or all of a session."""

from typing import Literal, Unpack

from muniment.api import inputs
from muniment.api.answers import Receipt
from muniment.api.conversing import ConversingStore
from muniment.api.fields import KeyedDeed
from muniment.api.forgetting import Forgetter
from muniment.api.redacting import Words
from muniment.api.turns import named_turn
from muniment.api.verbs import write_verb
from muniment.errors import (
    InvalidValueError,
    UnknownSessionError,
    UnknownTurnError,
)
from muniment.ledger.records import Origin


DrawnFacts = Literal["redact", "keep"]
"""What becomes of the facts that were drawn from what is made unreadable."""


class UnsayingStore(ConversingStore):
    """A store in which what was said can be made unreadable."""

    @write_verb
    def redact_turn(
        self, turn_id: str, *, facts: DrawnFacts = "redact", **by: Unpack[KeyedDeed]
    ) -> Receipt:
        """
        Make the words of one turn unreadable at every as-of; that it was said stays.

        Summaries in which words of it may be become unreadable, too, and what they stood
        for can be summarised anew. A legal hold on the memory, or on a fact drawn from the
        turn, defers it all; until then the words are not used. Done before, it
        changes nothing, but redacts facts that were to stay then and are not to now.

        Args:
            turn_id: The turn.
            facts: ``redact`` every fact of which a version was drawn from it, or ``keep``
                them. A fact that was only heard again in it stays either way.
            by: See `KeyedDeed`.

        Returns:
            The receipt, with the facts that were redacted.

        Raises:
            UnknownTurnError: If there is no such turn, or its subject was erased.
            InvalidValueError: If it was recorded before one turn could be redacted alone.
            SubjectFrozenError: If writes to the subject are refused for now.
        """
        named = named_turn(inputs.name("turn_id", turn_id))
        if named is None or self._talker.turn(turn_id) is None:
            raise UnknownTurnError(turn_id)
        return self._unsaid(Words(*named), facts, inputs.origin(by))

    @write_verb
    def redact_session(
        self, session_id: str, *, facts: DrawnFacts = "redact", **by: Unpack[KeyedDeed]
    ) -> Receipt:
        """
        Make all that was said in a session unreadable at every as-of, as `redact_turn`.

        What was said of the session goes with it. It takes no more turns.

        Args:
            session_id: The session.
            facts: As of `redact_turn`, for all of its turns.
            by: See `KeyedDeed`.

        Raises:
            UnknownSessionError: If there is none, or its subject was erased.
            SubjectFrozenError: If writes to the subject are refused for now.
        """
        if self._talker.session(inputs.name("session_id", session_id)) is None:
            raise UnknownSessionError(session_id)
        return self._unsaid(Words(session_id, None), facts, inputs.origin(by))

    def _unsaid(self, words: Words, facts: DrawnFacts, origin: Origin) -> Receipt:
        """Look up what was drawn from it and redact all, anew where that has changed."""
        if facts not in ("redact", "keep"):
            raise InvalidValueError("facts", facts, "redact or keep")
        row = self._conversation.session(words.session_id)
        subject = self._ledger.vault.subject(row.subject_ref) if row else None
        if subject is None:
            raise UnknownSessionError(words.session_id)
        # What was asked in these words goes with them, if it is recorded.
        self._settle()
        return Forgetter(self._lookup).redact_words(
            subject, words, origin, with_facts=facts == "redact"
        )
