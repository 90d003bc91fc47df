"""What is left of memories that are forgotten, held and restored, as plain lists."""

from dataclasses import dataclass, field

from tests.years import year, year_of


@dataclass
class FactModel:
    """
    One fact.

    Attributes:
        said: What it said from which recorded time on; ``None`` is nothing any more.
        redacted_at: When its content went, if it did.
        gone: Which of what it said was thinned.
    """

    said: list[tuple[int, str | None]]
    redacted_at: int | None = None
    gone: set[int] = field(default_factory=set)

    @property
    def content(self) -> str | None:
        return None if self.redacted_at is not None else self.said[-1][1]

    @property
    def is_gone(self) -> bool:
        """
        Whether nobody can read what it says now.

        What it says in an older ledger that was put back may have been thinned since.
        """
        return len(self.said) - 1 in self.gone

    @property
    def told(self) -> list[str | None]:
        """Return what can be read of all that it said."""
        said = [(n, content) for n, (_, content) in enumerate(self.said)]
        lost = self.redacted_at is not None
        return [None if lost or n in self.gone else c for n, c in said if c is not None]

    def going(self, until: int) -> set[int]:
        """Return what goes when it is thinned: what was not said where a year begins."""
        ends = [at for at, _ in self.said[1:]]
        found = set()
        for number, (start, content) in enumerate(self.said):
            end = ends[number] if number < len(ends) else None
            if content is not None and start < until and end is not None and end <= until:
                years = range(year_of(start), year_of(end) + 1)
                edges = [edge for y in years for edge in (year(y), year(y) - 1)]
                if not any(start <= edge < end for edge in edges):
                    found.add(number)
        return found - self.gone

    def at(self, recorded_at: int) -> tuple[bool, str | None]:
        """Return whether it was believed then, and what can be read of that."""
        if self.redacted_at is not None and self.redacted_at <= recorded_at:
            return False, None
        before = [content for at, content in self.said if at <= recorded_at]
        if not before or before[-1] is None:
            return False, None
        lost = self.redacted_at is not None or len(before) - 1 in self.gone
        return True, None if lost else before[-1]


@dataclass
class MemoryModel:
    """
    The memory of one user in one life.

    Attributes:
        life: How often it was erased before.
        holds: By name what is bound: one fact, or, for ``None``, all of it.
        deferred: Facts to be redacted, in the order that was asked for.
        erasing: Whether it is to be erased once no hold binds it.
        thinned: Since when and until when it was thinned, if it was.
        session_id: The session in which all was said, if something was.
        turns: What was said in it, and when.
    """

    life: int = 0
    facts: dict[str, FactModel] = field(default_factory=dict)
    holds: dict[str, str | None] = field(default_factory=dict)
    deferred: list[str] = field(default_factory=list)
    erasing: bool = False
    thinned: tuple[int, int] | None = None
    session_id: str | None = None
    turns: list[tuple[int, str]] = field(default_factory=list)

    def is_held(self, fact_id: str) -> bool:
        return any(bound in (None, fact_id) for bound in self.holds.values())

    def in_use(self) -> list[str | None]:
        """Return what may be used now, as far as it can be read."""
        if self.erasing:
            return []
        used = (
            fact
            for fact_id, fact in self.facts.items()
            if fact.content is not None and fact_id not in self.deferred
        )
        return sorted((None if e.is_gone else e.content for e in used), key=str)

    def merged(self) -> dict[str, str]:
        """
        Return by fact into which other it is merged now: the first that says the same.

        One that said something else before is left alone, and so is one that is bound, or
        waits for its redaction.
        """
        first: dict[str, str] = {}
        into: dict[str, str] = {}
        for fact_id, fact in sorted(self.facts.items(), key=lambda e: e[1].said[0][0]):
            is_bound = self.erasing or self.is_held(fact_id) or fact_id in self.deferred
            if fact.content is None or fact.is_gone or len(fact.said) > 1 or is_bound:
                continue
            survivor = first.setdefault(fact.content.rstrip("."), fact_id)
            if survivor != fact_id:
                into[fact_id] = survivor
        return into

    def thin(self, fact: FactModel, gone: set[int], until: int) -> None:
        since = min(fact.said[number][0] for number in gone)
        fact.gone |= gone
        spans = [(since, until), *([self.thinned] if self.thinned else [])]
        self.thinned = min(one for one, _ in spans), max(two for _, two in spans)

    def at(self, recorded_at: int) -> list[str | None] | None:
        """
        Return what was believed at a recorded time, as far as it can be read.

        ``None`` where that was thinned.
        """
        since, until = self.thinned or (0, 0)
        began = {year(year_of(recorded_at)), year(year_of(recorded_at + 1)) - 1}
        if since <= recorded_at < until and recorded_at not in began:
            return None
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
        thinned: By fact until when it was thinned, and what went then.
        expired: By session until when what was said in it went.
    """

    users: dict[str, MemoryModel]
    times: list[int] = field(default_factory=list)
    redacted: set[str] = field(default_factory=set)
    erased: set[tuple[str, int]] = field(default_factory=set)
    thinned: dict[str, list[tuple[int, set[int]]]] = field(default_factory=dict)
    expired: dict[str, int] = field(default_factory=dict)

    def expire(self, until: int) -> int:
        """Let what was said before then go, unless it is held; return in how many."""
        found = 0
        for memory in self.users.values():
            gone = self.expired.get(str(memory.session_id), 0)
            due = any(gone <= at < until for at, _ in memory.turns)
            if due and not memory.holds:
                self.expired[str(memory.session_id)] = until
                found += 1
        return found

    def told(self, memory: MemoryModel) -> list[str | None]:
        """Return what can be read of what was said."""
        gone = self.expired.get(str(memory.session_id), 0)
        return [None if memory.erasing or at < gone else said for at, said in memory.turns]

    def thin(self, until: int) -> set[str]:
        """Thin what no hold binds; return the facts of which something went."""
        found = set()
        for memory in self.users.values():
            for fact_id, fact in memory.facts.items():
                if fact.redacted_at is not None or memory.is_held(fact_id):
                    continue
                gone = fact.going(until)
                if gone:
                    memory.thin(fact, gone, until)
                    self.thinned.setdefault(fact_id, []).append((until, gone))
                    found.add(fact_id)
        return found

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
                if fact.redacted_at is None:
                    self._thin_again(memory, fact_id, fact)
        return ForgettingModel(
            users,
            backup.times,
            self.redacted,
            self.erased,
            self.thinned,
            self.expired,
        )

    def _thin_again(self, memory: MemoryModel, fact_id: str, fact: FactModel) -> None:
        for until, gone in self.thinned.get(fact_id, ()):
            again = {number for number in gone if number < len(fact.said)} - fact.gone
            if again:
                memory.thin(fact, again, until)

    def _redact(self, memory: MemoryModel, fact_id: str, now: int) -> None:
        fact = memory.facts[fact_id]
        if fact.redacted_at is None:
            fact.redacted_at = now
            self.redacted.add(fact_id)
