"""The moment in which an agent answered wrongly, rebuilt."""

from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final

from muniment.api import inputs
from muniment.api.accounting import RECEIPTS_MAX, ReceivingStore
from muniment.api.answers import MemorySnapshot
from muniment.api.conversing import TURNS_MAX
from muniment.api.gone import Gone, Missing, in_their_place
from muniment.api.receipts import RecallReceipt
from muniment.api.turns import Turn
from muniment.api.verbs import verb
from muniment.domain.scope import Scope
from muniment.domain.session import Role
from muniment.domain.text import Json, copied
from muniment.domain.time import Instant, Period
from muniment.errors import InvalidValueError
from muniment.instants import Time, moment, to_instant
from muniment.projections.conversation import NO_END, TurnQuery


TURNS_REPLAYED: Final = 1_000
RECEIPTS_REPLAYED: Final = 100

Agent = Callable[..., Any]
"""Called with ``memory``, ``convo`` and ``config``; gives its answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Badcase:
    """
    All that an agent had when it answered, as it was known then.

    Of a memory that was erased nothing is left to replay: the case is empty, as that of a
    memory nobody ever had.

    Attributes:
        scope: Whose memory.
        timestamp: The moment that was asked for.
        memory: What was believed; a token is the content of what was redacted since.
        convo: What had been said, oldest first, likewise.
        config: How the agent was set up, by name.
        receipts: What it had recalled, oldest first; the last is of the answer itself.
        answered: What was really said next, in the session of the last turn; ``None``
            where nothing was.
        gone: What cannot be read any more of all this, and since when.
        result: What the agent says now, given exactly this; ``None`` without an agent.
    """

    scope: Scope
    timestamp: datetime
    memory: MemorySnapshot
    convo: tuple[Turn, ...]
    config: Mapping[str, Json] = field(hash=False)
    receipts: tuple[RecallReceipt, ...]
    answered: Turn | None
    gone: tuple[Gone, ...] = ()
    result: Any = None

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing: nobody ever had that memory, or it was erased."""
        return not (self.memory.facts or self.convo or self.receipts)

    @property
    def is_reproduced(self) -> bool | None:
        """Whether the agent says now what was said then; ``None`` where that is open."""
        if self.answered is None or self.answered.token or self.result is None:
            return None
        return bool(self.result == self.answered.content)


class ReplayingStore(ReceivingStore):
    """A store that can rebuild the moment of an answer."""

    @verb
    def reproduce_badcase(
        self,
        *,
        timestamp: Time,
        user_id: str | None = None,
        scope: Scope | None = None,
        agent: Agent | None = None,
        turns: int = TURNS_REPLAYED,
        receipts: int = RECEIPTS_REPLAYED,
    ) -> Badcase:
        """
        Return what an agent had at a moment, and what it says now given exactly that.

        The same for ever after; in the place of what was redacted since stands a token.

        Args:
            timestamp: The moment: when the wrong answer was given, or its recall asked.
            user_id: Whose memory; or *scope*.
            scope: Whose memory; or *user_id*.
            agent: Called as ``agent(memory=…, convo=…, config=…)``; its answer is the
                result.
            turns: Most turns, the newest.
            receipts: Most receipts, the newest.

        Raises:
            FutureAsOfError: If *timestamp* has not come.
        """
        whose, at = inputs.scope_of(user_id, scope), to_instant(timestamp)
        if agent is not None and not callable(agent):
            raise InvalidValueError("agent", agent, "something that can be called")
        inputs.count("turns", turns, least=1, most=TURNS_MAX)
        inputs.count("receipts", receipts, least=1, most=RECEIPTS_MAX)
        convo = self.get_turns_before(timestamp=timestamp, scope=whose, limit=turns)
        memory = self.get_memory_as_of(timestamp=timestamp, scope=whose)
        recalled = self.receipts_of(
            whose, Period(NO_END.start, Instant(at + 1)), limit=receipts
        )
        facts, said = in_their_place(memory.facts, convo)
        case = Badcase(
            scope=whose,
            timestamp=moment(at),
            memory=replace(memory, facts=facts),
            convo=said,
            config=self.get_config_as_of(timestamp),
            receipts=recalled,
            answered=self._answered_after(convo, at),
            gone=Missing(self._ledger).of(memory.facts, convo, recalled),
        )
        return case if agent is None else replayed(case, agent)

    def _answered_after(self, convo: tuple[Turn, ...], at: Instant) -> Turn | None:
        """Return what was said to the last turn of *convo*, after a moment."""
        row = self._conversation.session(convo[-1].session_id) if convo else None
        if row is None:
            return None
        query = TurnQuery(
            subject_ref=row.subject_ref,
            session_id=row.session_id,
            known_at=self._lookup.now().asked_at,
            said=Period(Instant(at + 1)),
            limit=_LOOKED_AT,
        )
        found = self._talker.turns(query) or ()
        said = (each for each in found if each.role == Role.ASSISTANT)
        _, answers = in_their_place((), said)
        return answers[0] if answers else None


def replayed(case: Badcase, agent: Agent) -> Badcase:
    """Return *case* with what *agent* says now, given exactly this."""
    # An agent that changes what it is given must not change the case.
    facts = tuple(
        replace(each, metadata=copied(each.metadata)) for each in case.memory.facts
    )
    convo = tuple(replace(each, metadata=copied(each.metadata)) for each in case.convo)
    memory = replace(case.memory, facts=facts)
    result = agent(memory=memory, convo=convo, config=deepcopy(dict(case.config)))
    return replace(case, result=result)


_LOOKED_AT = 20
"""So many turns of tools may stand between a question and its answer."""
