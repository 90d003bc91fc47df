"""
Documents, arranged to be ranked: what follows from them and not from the question.

The documents of a subject change with what is remembered, questions come in between. So
where each term is, who stands beside whom, and the vectors as one matrix are made once and
kept for the next question about the same.
"""

from collections import OrderedDict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from typing import Final

from muniment.recall import legs, ranking
from muniment.recall.believed import Document, Found
from muniment.recall.rows import Rows


class Arranged:
    """
    Documents with what is worth keeping of them, each made when it is first asked for.

    Safe to use from many threads.
    """

    def __init__(self, documents: Sequence[Document]) -> None:
        self.documents: Final = documents
        self._rows: dict[str, Rows] = {}

    @cached_property
    def index(self) -> ranking.TermIndex:
        """Where each term is."""
        return ranking.TermIndex(
            [each.opened.counts for each in self.documents],
            [each.opened.length for each in self.documents],
        )

    @cached_property
    def facts(self) -> Mapping[str, Sequence[int]]:
        """By id, where the beliefs of a fact stand."""
        found: dict[str, list[int]] = {}
        for place, each in enumerate(self.documents):
            found.setdefault(each.row.fact_id, []).append(place)
        return found

    @cached_property
    def entities(self) -> legs.Entities:
        """Where each entity is."""
        return legs.Entities([each.opened.entities for each in self.documents])

    @cached_property
    def neighbours(self) -> legs.Neighbours | None:
        """Where the one said just before and just after each stands, if any has one."""
        before, after = legs.neighbours(self.documents)
        return (before, after) if any(each is not None for each in before) else None

    def in_context(self, scores: list[float]) -> list[float]:
        """
        Return *scores* with a share of those of the neighbours in a conversation.

        Where nothing has any, that is *scores* itself.
        """
        if self.neighbours is None:
            return scores
        return ranking.in_context(scores, *self.neighbours)

    def has_every_vector(self, model: str) -> bool:
        """Return whether each document is known to have its vector in memory."""
        return model in self._rows

    def rows(self, model: str) -> Rows:
        """Return the vectors by *model*, as far as they are in memory."""
        rows = self._rows.get(model)
        if rows is None:
            rows = Rows([each.opened.vectors.get(model) for each in self.documents])
            if rows.is_whole:
                self._rows[model] = rows
        return rows


@dataclass(frozen=True, slots=True)
class _Entry:
    """*founds* are held so that no other object gets their names."""

    arranged: Arranged
    founds: Sequence[Found]

    @property
    def size(self) -> int:
        # All that was found stays in memory, even if little of it, or nothing, is ranked.
        return 1 + sum(len(each.documents) for each in self.founds)


class Arrangements:
    """
    What was arranged lately.

    Safe to use from many threads.

    Args:
        documents_max: So many documents are kept arranged, those included that are left
            out of what they were found with; an empty memory counts as one.
    """

    def __init__(self, *, documents_max: int) -> None:
        self._documents_max = documents_max
        self._lock = Lock()
        self._entries: OrderedDict[Hashable, _Entry] = OrderedDict()
        self._count = 0
        self._epoch: int | None = None

    def get(self, founds: Sequence[Found], chosen_by: Hashable) -> Arranged | None:
        """
        Return what was kept of *founds*.

        Args:
            founds: The very objects it was made of.
            chosen_by: What decided which of their documents are among it.
        """
        name = _name(founds, chosen_by)
        with self._lock:
            entry = self._entries.get(name)
            if entry is None:
                return None
            self._entries.move_to_end(name)
            return entry.arranged

    def keep(
        self, arranged: Arranged, founds: Sequence[Found], chosen_by: Hashable
    ) -> None:
        """Keep *arranged*, if it can be asked for again and all of it may be kept."""
        if not all(each.lasts for each in founds):
            return
        name = _name(founds, chosen_by)
        with self._lock:
            # What was read before a key was destroyed is not kept after it.
            if name in self._entries or any(each.epoch != self._epoch for each in founds):
                return
            entry = self._entries[name] = _Entry(arranged, founds)
            self._count += entry.size
            while self._count > self._documents_max and len(self._entries) > 1:
                _, oldest = self._entries.popitem(last=False)
                self._count -= oldest.size

    def clear(self, epoch: int | None) -> None:
        """Keep nothing but what is read at *epoch*."""
        with self._lock:
            self._entries.clear()
            self._count = 0
            self._epoch = epoch


def _name(founds: Sequence[Found], chosen_by: Hashable) -> Hashable:
    return tuple(map(id, founds)), chosen_by
