"""
Loading facts from a file of JSON Lines: all of it or what is good of it, only once.

Lines are written in transactions, one for each subject in a stretch of the file. Where a
stretch ends is decided by the lines themselves, and the idempotency key of a transaction
is made of them, too. So the same file repeats the same transactions: loading it again adds
nothing, and a load that was killed goes on where it ended. A line added or mended changes
its own stretch alone; what stands beside it there is kept as said again, never twice.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from muniment.api import lines
from muniment.api.answers import Receipt
from muniment.api.drafting import Drafting
from muniment.api.fields import By
from muniment.api.lines import Line, Problem
from muniment.domain.scope import Scope
from muniment.errors import MunimentError
from muniment.ledger.codec import canonical


if TYPE_CHECKING:
    from muniment.api.store import MemoryStore

TRIGGER: Final = "load"
"""What set off the writes of a load that does not say."""

_STRETCH_LINES: Final = 1_000
_STRETCH_LINES_MAX: Final = 4_000
_STRETCH_BYTES_MAX: Final = 8 * 1024 * 1024

OnProgress = Callable[[str, int], None]
"""Told what is being done, ``check`` or ``write``, and how many bytes of it are done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """
    What a load did.

    Attributes:
        lines: How many lines hold a fact, blank and bad ones not counted.
        facts: How many of them this load wrote, as a fact or as one said again.
        known: How many of them an earlier load had written.
        problems: The bad lines that were left out.
    """

    lines: int
    facts: int
    known: int
    problems: tuple[Problem, ...]


@dataclass(slots=True)
class _Stretch:
    """Lines of a file that follow each other, by the transaction that will write them."""

    batches: dict[object, list[Line]] = field(default_factory=dict)
    lines: int = 0
    size: int = 0

    def add(self, line: Line) -> None:
        # A line with a key of its own is a transaction of its own.
        whole = (line.scope, tuple(sorted(line.by.items())))
        key = whole if line.key is None else line.number
        self.batches.setdefault(key, []).append(line)
        self.lines += 1
        self.size += line.size

    def ends_after(self, line: Line) -> bool:
        """Whether *line* is the last; said by the line, wherever in a file it stands."""
        return (
            int.from_bytes(line.digest[:4]) % _STRETCH_LINES == 0
            or self.lines >= _STRETCH_LINES_MAX
            or self.size >= _STRETCH_BYTES_MAX
        )


def load(
    store: "MemoryStore",
    file: Path,
    *,
    keep_going: bool = False,
    by: By | None = None,
    on_progress: OnProgress | None = None,
    remember_many: Callable[..., Receipt] | None = None,
) -> Loaded:
    """
    Remember the fact of each line of a file of JSON Lines.

    Args:
        store: Where to.
        file: UTF-8, one JSON object a line: ``content``; ``user_id`` or ``scope`` (such as
            ``team:eng``); the fields of `NewFact`; ``claimed_at``. Blank lines are passed
            over. A line with an ``idempotency_key`` is a transaction of its own.
        keep_going: Leave out bad lines and load the rest; otherwise all lines are
            checked before the first is written.
        by: Who loads and why, for lines that do not say; the trigger is ``load``.
        on_progress: Called now and then.
        remember_many: Writes in somebody's name; as whoever owns *store* if left out.

    Returns:
        What was loaded, and what was left out.

    Raises:
        LoadError: If a line is bad and *keep_going* is false; names every bad line.
        MunimentError: If a write is refused. What was written before stays; its notes
            say how much that is, and loading the file again goes on from there.
    """
    loading = _Loading(store, file, {"trigger": TRIGGER, **(by or {})}, on_progress)
    if remember_many is not None:
        loading.remember_many = remember_many
    if not keep_going:
        problems = [each for each in loading.read("check") if isinstance(each, Problem)]
        if problems:
            raise lines.load_error(problems, loaded=0)
    for each in loading.read("write"):
        if isinstance(each, Line):
            loading.take(each)
            continue
        if not keep_going:
            raise lines.load_error([each], loaded=loading.facts)
        loading.problems.append(each)
    loading.write()
    return loading.loaded()


class _Loading:
    """One load under way."""

    def __init__(
        self,
        store: "MemoryStore",
        file: Path,
        by: dict[str, Any],
        on_progress: OnProgress | None,
    ) -> None:
        self.problems: list[Problem] = []
        self.facts = 0
        self.known = 0
        self.remember_many: Callable[..., Receipt] = store.remember_many
        self._file = file
        self._by = by
        self._on_progress = on_progress
        self._drafting = Drafting(content_limit=store.settings.content_limit)
        self._stretch = _Stretch()
        self._repeats: Counter[str] = Counter()
        # What is recorded up to here, an earlier load wrote.
        self._began_at = store.get_all(scope=Scope.org(), limit=1).position

    def read(self, stage: str) -> Iterator[Line | Problem]:
        """Yield the lines of the file, each checked as far as it can be without writing."""
        reader = lines.Reader(self._drafting, self._by)
        with self._file.open("rb") as stream:
            for number, each in enumerate(reader.read(stream)):
                yield each
                if self._on_progress and number % 500 == 0:
                    self._on_progress(stage, stream.tell())
            if self._on_progress:
                self._on_progress(stage, stream.tell())

    def take(self, line: Line) -> None:
        """Write *line*, now or with those that follow it."""
        self._stretch.add(line)
        if self._stretch.ends_after(line):
            self.write()

    def write(self) -> None:
        """Write what was taken."""
        stretch, self._stretch = self._stretch, _Stretch()
        for batch in stretch.batches.values():
            try:
                self._write(batch)
            except MunimentError as error:
                error.add_note(
                    f"the load stopped at line {batch[0].number} with {self.facts:,} facts "
                    "written; load the file again to go on"
                )
                raise

    def loaded(self) -> Loaded:
        return Loaded(
            lines=self.facts + self.known,
            facts=self.facts,
            known=self.known,
            problems=tuple(self.problems),
        )

    def _write(self, batch: Sequence[Line]) -> None:
        first = batch[0]
        by: Any = {**first.by, "idempotency_key": first.key or self._key(batch)}
        receipt = self.remember_many([each.item for each in batch], scope=first.scope, **by)
        if receipt.position <= self._began_at:
            self.known += len(batch)
        else:
            self.facts += len(batch)

    def _key(self, batch: Sequence[Line]) -> str:
        """Return the key of a transaction: the same for the same lines, in their order."""
        first = batch[0]
        digest = hashlib.sha256(canonical([str(first.scope), first.by]))
        for each in batch:
            digest.update(each.digest)
        key = f"load:{digest.hexdigest()}"
        # The same lines once more in one file say it once more.
        self._repeats[key] += 1
        return key if self._repeats[key] == 1 else f"{key}:{self._repeats[key]}"
