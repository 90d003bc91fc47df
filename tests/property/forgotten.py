"""What is left of memories that are forgotten, held and restored, as plain lists."""

from dataclasses import dataclass, field


@dataclass
class FactModel:
    """
    One fact.

    Attributes:
        said: What it said from which recorded time on; ``None`` is nothing any more.
        redacted_at: When its content went, if it did.
    """

    said: list[tuple[int, str | None]]
    redacted_at: int | None = None

    @property
    def content(self) -> str | None:
        return None if self.redacted_at is not None else self.said[-1][1]

    def at(self, recorded_at: int) -> tuple[bool, str | None]:
        """Return whether it was believed then, and what can be read of that."""
        if self.redacted_at is not None and self.redacted_at <= recorded_at:
            return False, None
        before = [content for at, content in self.said if at <= recorded_at]
        if not before or before[-1] is None:
            return False, None
        return True, None if self.redacted_at is not None else before[-1]


@dataclass
class MemoryModel:
    """
    The memory of one user in one life.

    Attributes:
        life: How often it was erased before.
        holds: By name what is bound: one fact, or, for ``None``, all of it.
        deferred: Facts to be redacted, in the order that was asked for.
        erasing: Whether it is to be erased once no hold binds it.
    """

    life: int = 0
    facts: dict[str, FactModel] = field(default_factory=dict)
    holds: dict[str, str | None] = field(default_factory=dict)
    deferred: list[str] = field(default_factory=list)
    erasing: bool = False

    def is_held(self, fact_id: str) -> bool:
        return any(bound in (None, fact_id) for bound in self.holds.values())

    def in_use(self) -> list[str]:
        """Return what may be used now."""
        if self.erasing:
            return []
        return sorted(
            fact.content
            for fact_id, fact in self.facts.items()
            if fact.content is not None and fact_id not in self.deferred
        )

    def at(self, recorded_at: int) -> list[str | None]:
        """Return what was believed at a recorded time, as far as it can be read."""
        found = [fact.at(recorded_at) for fact in self.facts.values()]
        return sorted((content for believed, content in found if believed), key=str)


@dataclass
class ForgettingModel:
    """
    All memories, and what is gone for good, whatever is restored.

    Attributes:
        users: Their memories by name.
        times: Recorded times at which something was written.
        redacted: Facts whose content is gone.
        erased: Users with the number of the life that is gone.
    """

    users: dict[str, MemoryModel]
    times: list[int] = field(default_factory=list)
    redacted: set[str] = field(default_factory=set)
    erased: set[tuple[str, int]] = field(default_factory=set)

    def redact(self, user_id: str, fact_id: str, now: int) -> bool:
        """Redact a fact or defer it; return whether it is deferred."""
        memory = self.users[user_id]
        if memory.facts[fact_id].redacted_at is not None:
            return False
        if memory.is_held(fact_id):
            if fact_id not in memory.deferred:
                memory.deferred.append(fact_id)
            return True
        self._redact(memory, fact_id, now)
        return False

    def erase(self, user_id: str) -> bool:
        """Erase a memory or defer it; return whether it is deferred."""
        memory = self.users[user_id]
        if memory.holds:
            memory.erasing = True
            return True
        self.erased.add((user_id, memory.life))
        self.users[user_id] = MemoryModel(life=memory.life + 1)
        return False

    def release(self, user_id: str, hold_id: str, now: int) -> None:
        """End a hold, and do what waited for it."""
        memory = self.users[user_id]
        del memory.holds[hold_id]
        for fact_id in memory.deferred:
            if not memory.is_held(fact_id):
                self._redact(memory, fact_id, now)
        if memory.erasing and not memory.holds:
            self.erase(user_id)

    def restored(self, backup: "ForgettingModel", now: int) -> "ForgettingModel":
        """Return *backup* without what is gone by now."""
        users = {}
        for user_id, memory in backup.users.items():
            if (user_id, memory.life) in self.erased:
                users[user_id] = MemoryModel(life=self.users[user_id].life)
                continue
            users[user_id] = memory
            for fact_id, fact in memory.facts.items():
                if fact_id in self.redacted and fact.redacted_at is None:
                    fact.redacted_at = now
        return ForgettingModel(users, backup.times, self.redacted, self.erased)

    def _redact(self, memory: MemoryModel, fact_id: str, now: int) -> None:
        fact = memory.facts[fact_id]
        if fact.redacted_at is None:
            fact.redacted_at = now
            self.redacted.add(fact_id)
