"""Whose memory may be used now, and what of it may not."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from muniment.domain.subject import SubjectState
from muniment.ledger.vault import Subject


@dataclass(frozen=True, slots=True, kw_only=True)
class Usable:
    """
    Subjects that may be used.

    Attributes:
        hidden: Facts of them that may not.
        states: By the name inside, what binds each that was asked for; of the present.
    """

    subjects: Sequence[Subject]
    hidden: frozenset[str] = frozenset()
    states: Mapping[str, SubjectState] = field(default_factory=dict)

    def state(self, subject_ref: str) -> SubjectState:
        """Return what binds a subject; nothing where the past is looked at."""
        return self.states.get(subject_ref, SubjectState())
