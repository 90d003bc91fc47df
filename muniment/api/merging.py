"""Near duplicates in one memory: what is compared, and by which vectors."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TypeAlias

from muniment.api import showing
from muniment.api.lookup import Lookup
from muniment.domain.duplicates import Merge, Remembered, merges
from muniment.domain.events import FactRetired
from muniment.domain.policy import RetentionRule, merged_from
from muniment.domain.scope import ScopeKind
from muniment.domain.time import Instant
from muniment.ledger.records import SHARE, RecordedEvent
from muniment.ledger.vault import Subject
from muniment.recall.alike import alike


Streams: TypeAlias = Mapping[str, Sequence[RecordedEvent]]
"""The events of facts, by fact."""


class Merging:
    """Finds what rules merge."""

    def __init__(self, lookup: Lookup, rules: Sequence[RetentionRule]) -> None:
        self._lookup = lookup
        self._rules = rules

    def of(self, subject: Subject, streams: Streams, now: Instant) -> Iterator[Merge]:
        """Yield what is to be merged of *subject*, among the facts in *streams*."""
        if all(rule.merge_alike is None for rule in self._rules):
            return
        copies = self._copies(subject, streams)
        groups: dict[float, dict[str, tuple[Remembered, int]]] = defaultdict(dict)
        for fact_id, events in streams.items():
            found = None if fact_id in copies else _remembered(fact_id, events, now)
            if found is None:
                continue
            traits = found[0].traits
            least = merged_from(
                category=traits.category, core=traits.core, rules=self._rules
            )
            if least is not None:
                groups[least][fact_id] = found
        for least, facts in groups.items():
            near = alike(self._vectors(subject, facts), least) if least < 1 else ()
            yield from merges([fact for fact, _ in facts.values()], near)

    def _copies(self, subject: Subject, fact_ids: Collection[str]) -> Collection[str]:
        """Return the facts that go with what they are copies of, and stand for no other."""
        if subject.scope.kind is ScopeKind.USER or not fact_ids:
            return ()
        streams = [SHARE + each for each in fact_ids]
        found = self._lookup.ledger.recorder.read_streams(streams)
        return {str(e.sealed.originator_id).removeprefix(SHARE) for e in found}

    def _vectors(
        self, subject: Subject, facts: Mapping[str, tuple[Remembered, int]]
    ) -> Mapping[str, Sequence[float]]:
        """Return the vectors there are; what has none yet is compared by its words."""
        generation = self._lookup.generation()
        if generation is None or not generation.model:
            return {}
        said = [(fact_id, version) for fact_id, (_, version) in facts.items()]
        return {
            fact_id: vector
            for vectors in self._lookup.vectors
            for (fact_id, _), vector in vectors.of(subject, generation.model, said).items()
        }


def _remembered(
    fact_id: str, events: Sequence[RecordedEvent], now: Instant
) -> tuple[Remembered, int] | None:
    """Return what a fact says now, and its version; ``None`` if it says more or nothing."""
    fact = showing.state(events)
    belief = fact.at(now)
    if belief is None or len(fact.beliefs) > 1:
        return None
    said = fact.said(belief.version)
    ends = said.traits.expires_at
    if said.content is None or (ends is not None and ends <= now):
        return None
    merged = (each.event for each in events if isinstance(each.event, FactRetired))
    return (
        Remembered(
            fact_id=fact_id,
            text=said.content.text,
            traits=said.traits,
            valid=belief.valid,
            entities=frozenset(said.content.evidence.entities),
            metadata=said.content.evidence.metadata,
            said_at=events[belief.version - 1].recorded_at,
            apart=frozenset(each.survivor for each in merged if each.survivor),
        ),
        belief.version,
    )
