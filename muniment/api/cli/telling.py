"""How the demonstration goes: what happens, is found out, taken back and kept."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final

import muniment
from muniment.api.answers import MemorySnapshot, Receipt
from muniment.api.cli.answers import Blamed, Modified
from muniment.api.cli.narrator import Narrator
from muniment.api.cli.story import (
    CUSTOMER,
    USER,
    Agent,
    Happening,
    ScriptedClock,
    StoryError,
    said_of,
)
from muniment.errors import SubjectFrozenError


REFUND: Final = "refund_account"
RIGHT: Final = "Refunds go to the card ending in 4417"
WRONG: Final = "Refunds go to account 9900-1138, confirmed by the customer"
POISON: Final = ("refund", "no_checks", "no_messages")
SESSION: Final = "chat-0324"
SOURCE: Final = "web:reviews.example"

BEFORE: Final = "2026-03-24T14:00:00+08:00"
AFTER: Final = "2026-03-24T14:10:00+08:00"
ANSWERED: Final = "2026-03-25T10:30:00+08:00"
OFFICER: Final = "officer-1"


def tell(
    script: Sequence[Happening],
    store: "muniment.MemoryStore",
    clock: ScriptedClock,
    narrator: Narrator,
) -> None:
    """
    Let *script* happen on *store*, look into the incident, and check each claim.

    Raises:
        StoryError: If the store answers otherwise than the story says.
    """
    agent = Agent(store, clock)
    incident = Incident(store, clock, narrator, agent)
    for happening in script:
        clock.now = happening.happens_at
        match happening.deed:
            case "chapter":
                narrator.chapter(happening.said["text"])
            case "ask":
                _ask(agent, narrator, happening)
            case "incident":
                incident.look_into()
            case _:
                agent.live_through(happening)
    incident.look_back()


def _ask(agent: Agent, narrator: Narrator, happening: Happening) -> None:
    said = happening.said
    day = happening.happens_at.date()
    narrator.say(f"{day} the customer asks: {said['question']}")
    narrator.expect(
        agent.answer(said["attribute"]), said["answer"], f"the agent: {said['answer']}"
    )


class Incident:
    """What an officer does about the wrong answer, step by step."""

    def __init__(
        self,
        store: "muniment.MemoryStore",
        clock: ScriptedClock,
        narrator: Narrator,
        agent: Agent,
    ) -> None:
        self._store = store
        self._clock = clock
        self._narrator = narrator
        self._agent = agent
        self._wrong_day: MemorySnapshot | None = None

    def look_into(self) -> None:
        """Find what happened, stop writes meanwhile, take it back, undo, redo."""
        self._narrator.chapter("26 March: find out what the agent knew, and since when.")
        self._wrong_day = self._known_then()
        self._what_changed()
        self._who_said_so()
        self._frozen()
        self._narrator.chapter("Take back what that page wrote, and nothing else.")
        self._plan()
        rolled_back = self._step(self._roll_back, RIGHT, "the agent is right again")
        self._narrator.chapter("A rollback is an event like any other: undo it, redo it.")
        undone = self._step(
            lambda: self._undo(rolled_back, "to look again"), WRONG, "the poison is back"
        )
        self._step(lambda: self._undo(undone, "it was right"), RIGHT, "and gone again")

    def look_back(self) -> None:
        """Show that what was known then is what was known then, whatever came since."""
        self._narrator.chapter("What was known then does not change.")
        self._narrator.command(f"as-of {ANSWERED} --user {USER}")
        again = self._store.get_memory_as_of(timestamp=ANSWERED, scope=CUSTOMER)
        self._narrator.expect(
            again == self._wrong_day,
            True,  # noqa: FBT003 - the values to compare
            f"the answer of 25 March is the same to the letter: {len(again)} beliefs, "
            "the false ones among them",
        )
        fact_id = self._agent.fact_ids["refund"]
        self._narrator.command(f"history {fact_id}")
        history = self._store.get_fact_history(fact_id)
        self._narrator.show(history)
        self._narrator.expect(
            [each.kind for each in history],
            ["asserted", "revised", "rolled_back", "rolled_back", "rolled_back"],
            "every step is in the history: said, poisoned, taken back, undone, redone",
        )

    def _known_then(self) -> MemorySnapshot:
        self._narrator.command(f"as-of {ANSWERED} --user {USER}")
        known = self._store.get_memory_as_of(timestamp=ANSWERED, scope=CUSTOMER)
        self._narrator.expect(
            said_of(REFUND, known.facts),
            WRONG,
            f"when it gave the wrong answer it knew: {WRONG} (1 of {len(known)} beliefs)",
        )
        self._narrator.command(f"as-of {BEFORE} --user {USER}")
        self._narrator.expect(
            self._agent.answer(REFUND, at=datetime.fromisoformat(BEFORE)),
            RIGHT,
            f"before it read that page, it knew: {RIGHT}",
        )
        return known

    def _what_changed(self) -> None:
        self._narrator.command(f"modified {BEFORE} {AFTER} --user {USER}")
        found = self._store.list_modified_facts(start=BEFORE, end=AFTER, scope=CUSTOMER)
        self._narrator.show(Modified(modified=found))
        poison = {self._agent.fact_ids[each] for each in POISON}
        self._narrator.expect(
            poison <= {each.fact_id for each in found},
            True,  # noqa: FBT003 - the values to compare
            f"{len(found)} facts changed in those minutes, {len(poison)} by a web page",
        )

    def _who_said_so(self) -> None:
        self._narrator.command(f"blame --user {USER}")
        found = self._store.blame(scope=CUSTOMER)
        fact_id = self._agent.fact_ids["refund"]
        guilty = tuple(each for each in found if each.fact_id == fact_id)
        self._narrator.show(Blamed(blame=guilty))
        self._narrator.expect(
            [(each.session_id, each.source, each.trigger) for each in guilty],
            [(SESSION, SOURCE, "tool_result")],
            "the customer never said so: a tool result did",
        )

    def _frozen(self) -> None:
        reason = "poisoned by a web page"
        self._deed(f"freeze --user {USER}", reason)
        self._store.freeze(scope=CUSTOMER, actor=OFFICER, reason=reason)
        try:
            self._store.remember("…", scope=CUSTOMER, source=SOURCE)
        except SubjectFrozenError as error:
            self._narrator.expect(
                error.scope, str(CUSTOMER), "while we look, nothing can be written"
            )
        else:
            raise StoryError("a frozen memory was written to")
        self._clock.advance(30)
        self._deed(f"thaw --user {USER}", "looked into")
        self._store.thaw(scope=CUSTOMER, actor=OFFICER, reason="looked into")

    def _plan(self) -> None:
        self._narrator.command(f"{self._spelled_rollback()} --dry-run")
        plan = self._store.plan_rollback(scope=CUSTOMER, where=self._cause())
        self._narrator.show(plan)
        entries = [*plan.diff.added, *plan.diff.removed, *plan.diff.changed]
        self._narrator.expect(
            ({each.fact_id for each in entries}, plan.conflicts),
            ({self._agent.fact_ids[each] for each in POISON}, ()),
            "just the three facts; what the customer said in the same session stays, and "
            "so does what that site said in February",
        )

    def _roll_back(self) -> Receipt:
        reason = "prompt injection through a tool result"
        self._deed(self._spelled_rollback(), reason)
        return self._store.rollback_where(
            scope=CUSTOMER,
            session_id=SESSION,
            source=SOURCE,
            by_actor=OFFICER,
            reason=reason,
        )

    def _undo(self, done: Receipt, reason: str) -> Receipt:
        assert done.tx_id is not None, "there was something to do"
        self._deed(f"undo {done.tx_id}", reason)
        return self._store.undo(done.tx_id, actor=OFFICER, reason=reason)

    def _deed(self, arguments: str, reason: str) -> None:
        """Show the command of a deed, with who does it and why."""
        self._narrator.command(f'{arguments} --actor {OFFICER} --reason "{reason}"')

    def _step(self, do: Callable[[], Receipt], answer: str, claim: str) -> Receipt:
        """Do something, some minutes later, and ask the agent again."""
        self._clock.advance(5)
        receipt = do()
        self._narrator.expect(self._agent.answer(REFUND), answer, f"{claim}: {answer}")
        return receipt

    def _cause(self) -> "muniment.Cause":
        return muniment.Cause(session_id=SESSION, source=SOURCE)

    def _spelled_rollback(self) -> str:
        return f"rollback --user {USER} --where-session {SESSION} --where-source {SOURCE}"
