"""Making what was said unreadable for good: one turn, or all of a session."""

from collections.abc import Callable
from typing import Final, Literal, Unpack

from muniment.api import inputs, showing
from muniment.api.answers import Receipt
from muniment.api.conversing import ConversingStore
from muniment.api.fields import KeyedDeed
from muniment.api.forgetting import Forgetter
from muniment.api.redacting import Words
from muniment.api.turns import named_turn
from muniment.api.verbs import write_verb
from muniment.domain.events import FactAsserted, FactRevised
from muniment.errors import (
    InvalidValueError,
    PlanOutdatedError,
    UnknownSessionError,
    UnknownTurnError,
)
from muniment.ledger.records import Origin


DrawnFacts = Literal["redact", "keep"]
"""What becomes of the facts that were drawn from what is made unreadable."""

_ATTEMPTS: Final = 10
"""How often it is looked up anew which facts those are, while others are written."""


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
        turn, defers it all; until then the words are not used. Done before, it changes
        nothing.

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
        words = Words(*named)
        return self._unsaid(words, lambda each: each == turn_id, facts, inputs.origin(by))

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
        prefix = f"{session_id}."
        return self._unsaid(
            Words(session_id, None),
            lambda each: each.startswith(prefix),
            facts,
            inputs.origin(by),
        )

    def _unsaid(
        self,
        words: Words,
        is_gone: Callable[[str], bool],
        facts: DrawnFacts,
        origin: Origin,
    ) -> Receipt:
        """Look up what was drawn from it and redact all, anew where that has changed."""
        if facts not in ("redact", "keep"):
            raise InvalidValueError("facts", facts, "redact or keep")
        for attempt in range(_ATTEMPTS):
            planned_at = self._lookup.now().position
            try:
                return Forgetter(self._lookup).redact_words(
                    words,
                    origin,
                    drawn=self._drawn(words.session_id, is_gone),
                    planned_at=planned_at,
                    with_facts=facts == "redact",
                )
            except PlanOutdatedError:
                if attempt == _ATTEMPTS - 1:
                    raise
        raise AssertionError("the last attempt returns or raises")

    def _drawn(self, session_id: str, is_gone: Callable[[str], bool]) -> list[str]:
        """Return the facts of which a version was drawn from such turns, in order."""
        row = self._conversation.session(session_id)
        subject = self._ledger.vault.subject(row.subject_ref) if row else None
        if subject is None:
            raise UnknownSessionError(session_id)
        events = self._ledger.subject_events(subject)
        of_facts = [each for some in showing.by_fact(events).values() for each in some]
        says = {
            each.position
            for each in of_facts
            if isinstance(each.event, FactAsserted | FactRevised)
        }
        drawn = (
            each.fact_id
            for each in self._lookup.versions(subject, of_facts)
            if each.position in says and any(map(is_gone, each.source_turns))
        )
        return sorted(set(drawn))
