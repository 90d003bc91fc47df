"""
What a subject believed at a point, opened and cut into terms, to be ranked.

Opening and cutting cost more than ranking, so both are kept in memory, for as long as the
key of their stream is there: what a redaction or an erasure makes unreadable is gone from
here before the next answer.
"""

from collections import Counter, OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Final

from muniment.domain.events import Content, FactAsserted, FactRevised
from muniment.domain.time import AsOf, Instant
from muniment.ledger.ledger import Ledger
from muniment.ledger.records import RecordedEvent
from muniment.ledger.vault import Subject
from muniment.projections.batches import Statement
from muniment.projections.beliefs import BeliefQuery, BeliefRow, Believed, Timeline
from muniment.projections.ports import Said, Vector
from muniment.recall.tokens import normal, terms


_KEPT_MAX: Final = 50_000
"""So many versions stay opened in memory; some 3 kB each, with a vector."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """
    What one version says, made ready to be ranked.

    Attributes:
        event: Opened.
        content: Of it.
        plain: Its text as it is compared.
        counts: How often each of its terms is in it.
        length: How many terms it has, repeats included.
        entities: The terms of each entity it mentions, in order.
        vectors: By model, as far as they were asked for.
    """

    event: RecordedEvent
    key_id: int
    content: Content
    plain: str
    counts: Mapping[str, int]
    length: int
    entities: tuple[tuple[str, ...], ...]
    vectors: dict[str, Vector] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One belief of one subject, with what it says."""

    subject: Subject
    row: BeliefRow
    opened: Opened

    @property
    def said(self) -> Said:
        return self.row.fact_id, self.row.version

    @property
    def statement(self) -> Statement:
        """What is embedded of it."""
        return Statement(
            subject=self.subject,
            fact_id=self.row.fact_id,
            version=self.row.version,
            position=self.row.position,
            key_id=self.opened.key_id,
            text=self.opened.content.text,
        )


class Documents:
    """
    The believed facts of subjects, read from the timeline.

    Safe to use from many threads.
    """

    def __init__(self, ledger: Ledger, timeline: Timeline) -> None:
        self._ledger = ledger
        self._timeline = timeline
        self._lock = Lock()
        self._kept: OrderedDict[str, tuple[Subject, dict[int, Opened]]] = OrderedDict()
        self._count = 0

    def of(self, subject: Subject, as_of: AsOf, *, expired_at: Instant) -> list[Document]:
        """
        Return what *subject* believed at *as_of*, by valid start, then fact.

        What cannot be read any more is left out.
        """
        found = self._timeline.of_subject(
            BeliefQuery(
                subject_ref=subject.ref,
                as_of=as_of,
                category=None,
                after=None,
                limit=None,
                expired_at=expired_at,
            )
        )
        return self._documents(subject, found)

    def of_facts(
        self,
        subject: Subject,
        fact_ids: Iterable[str],
        as_of: AsOf,
        *,
        expired_at: Instant,
    ) -> list[Document]:
        """Return what *subject* believed of some facts at *as_of*, by fact."""
        found = [
            each
            for fact_id in sorted(fact_ids)
            if (each := self._timeline.of_fact(fact_id, as_of)) is not None
            and each.row.subject_ref == subject.ref
            and (
                each.row.traits.expires_at is None
                or expired_at < each.row.traits.expires_at
            )
        ]
        return self._documents(subject, found)

    def clear(self) -> None:
        """Keep nothing in memory."""
        with self._lock:
            self._kept.clear()
            self._count = 0

    def _documents(self, subject: Subject, found: Sequence[Believed]) -> list[Document]:
        readable = self._ledger.vault.keys(
            subject, {each.said.sealed.key_id for each in found}
        )
        opened = self._opened(
            subject, [each for each in found if each.said.sealed.key_id in readable]
        )
        return [
            Document(subject=subject, row=each.row, opened=opened[each.row.position])
            for each in found
            if each.row.position in opened
        ]

    def _opened(self, subject: Subject, found: Sequence[Believed]) -> Mapping[int, Opened]:
        with self._lock:
            kept = self._of_subject(subject)
            known = {
                each.row.position: kept[each.row.position]
                for each in found
                if each.row.position in kept
            }
        missing = [each.said for each in found if each.row.position not in known]
        if not missing:
            return known
        keys = {each.position: each.sealed.key_id for each in missing}
        fresh = {
            event.position: made
            for event in self._ledger.mapper.opened(missing, subject)
            if (made := _made_ready(event, keys[event.position])) is not None
        }
        self._keep(subject, fresh)
        return {**known, **fresh}

    def _of_subject(self, subject: Subject) -> dict[int, Opened]:
        holder, kept = self._kept.get(subject.ref, (subject, {}))
        if holder is not subject:
            # The vault has let go of its subjects: somewhere a key was destroyed, and it
            # does not say whose. So everything goes.
            self._kept.clear()
            self._count = 0
            return {}
        if subject.ref in self._kept:
            self._kept.move_to_end(subject.ref)
        return kept

    def _keep(self, subject: Subject, fresh: Mapping[int, Opened]) -> None:
        with self._lock:
            kept = self._of_subject(subject)
            self._count += len(fresh.keys() - kept.keys())
            self._kept[subject.ref] = (subject, {**kept, **fresh})
            while self._count > _KEPT_MAX and len(self._kept) > 1:
                _, (_, gone) = self._kept.popitem(last=False)
                self._count -= len(gone)


def statements(documents: Iterable[Document]) -> list[Statement]:
    """Return what is embedded of *documents*."""
    return [each.statement for each in documents]


def _made_ready(event: RecordedEvent, key_id: int) -> Opened | None:
    """Return what *event* says, ready to be ranked; ``None`` where it has no words."""
    match event.event:
        case FactAsserted(content=content) | FactRevised(content=content) if content:
            found = terms(content.text)
            return Opened(
                event=event,
                key_id=key_id,
                content=content,
                plain=normal(content.text),
                counts=Counter(found),
                length=len(found),
                entities=tuple(tuple(terms(each)) for each in content.evidence.entities),
            )
        case _:
            return None
