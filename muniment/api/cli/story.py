"""The story of the demonstration: what happened to one memory, on a clock of its own."""

import json
from dataclasses import dataclass
from datetime import datetime, timedelta
from importlib import resources
from typing import TYPE_CHECKING, Any, Final

from muniment.domain.scope import Scope


if TYPE_CHECKING:
    import muniment
    from muniment.api.answers import Fact

USER: Final = "customer-001"
CUSTOMER: Final = Scope.user(USER)


class StoryError(Exception):
    """An answer of the store is not what the story says it is."""


class ScriptedClock:
    """
    A source of time that stands still until it is set.

    Attributes:
        now: What it says.
    """

    def __init__(self, start: datetime) -> None:
        self.now = start

    def __call__(self) -> datetime:
        return self.now

    def advance(self, minutes: int) -> None:
        self.now += timedelta(minutes=minutes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Happening:
    """
    One line of the story.

    Attributes:
        happens_at: When; also what the clock says then.
        deed: ``remember``, ``update``, ``correct`` or ``end`` a fact; ``ask`` the agent;
            begin a ``chapter``; look into the ``incident``.
        said: The fields of the deed.
    """

    happens_at: datetime
    deed: str
    said: dict[str, Any]


def script() -> tuple[Happening, ...]:
    """Return the story that comes with Muniment, oldest first."""
    text = resources.files("muniment.api.cli").joinpath("demo.jsonl").read_text("utf-8")
    return tuple(_happening(json.loads(line)) for line in text.splitlines())


class Agent:
    """
    Remembers what happens, and answers from what it remembers.

    Attributes:
        fact_ids: Of the facts that the story names again.
    """

    def __init__(self, store: "muniment.MemoryStore", clock: ScriptedClock) -> None:
        self.fact_ids: dict[str, str] = {}
        self._store = store
        self._clock = clock

    def live_through(self, happening: Happening) -> None:
        """Write what happens."""
        said = dict(happening.said)
        match happening.deed:
            case "remember":
                name = said.pop("name", None)
                fact = self._store.remember(said.pop("content"), scope=CUSTOMER, **said)
                if name is not None:
                    self.fact_ids[name] = fact.fact_id
            case "update":
                self._store.update(self.fact_ids[said.pop("fact")], **said)
            case "correct":
                self._store.correct(self.fact_ids[said.pop("fact")], **said)
            case "end":
                self._store.end(self.fact_ids[said.pop("fact")], **said)
            case _:
                raise AssertionError(f"nobody can {happening.deed}")

    def answer(self, attribute: str, *, at: datetime | None = None) -> str:
        """Return what is known of *attribute*, now or as it was known before."""
        moment = self._clock.now if at is None else at
        found = self._store.get_memory_as_of(timestamp=moment, scope=CUSTOMER)
        return said_of(attribute, found.facts)


def said_of(attribute: str, facts: "tuple[Fact, ...]") -> str:
    """Return the content of the one fact about *attribute*."""
    contents = [each.content or "" for each in facts if each.attribute == attribute]
    if len(contents) != 1:
        raise StoryError(f"the memory has {len(contents)} answers about {attribute}")
    return contents[0]


def _happening(line: dict[str, Any]) -> Happening:
    happens_at = datetime.fromisoformat(line.pop("at"))
    return Happening(happens_at=happens_at, deed=line.pop("do"), said=line)
