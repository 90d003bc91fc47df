"""Rectangles of the timeline as rows of its table in SQL, and back."""

from typing import Final

from muniment.domain.events import Status, Traits
from muniment.domain.time import Period
from muniment.ledger.prepared import Row
from muniment.projections import tables
from muniment.projections.beliefs import BeliefRow


ROW_COLUMNS: Final = tuple(
    column for column in tables.belief.columns if column.name != "ledger"
)
"""In this order `row_of` takes them."""


def values_of(ledger: str, row: BeliefRow) -> tuple[object, ...]:
    """Return *row* in the order of the table's columns."""
    traits = row.traits
    return (
        ledger,
        row.fact_id,
        row.recorded.start,
        row.valid.start,
        row.recorded.end,
        row.valid.end,
        row.subject_ref,
        row.version,
        row.position,
        traits.category,
        traits.attribute,
        traits.status.value,
        traits.confidence,
        traits.importance,
        traits.core,
        traits.expires_at,
        row.content_tag,
    )


def row_of(values: Row) -> BeliefRow:
    """Return the rectangle that a row of `ROW_COLUMNS` holds."""
    (fact_id, recorded_from, valid_from, recorded_to, valid_to, subject_ref) = values[:6]
    version, position, category, attribute, status = values[6:11]
    confidence, importance, core, expires_at, content_tag = values[11:16]
    return BeliefRow(
        fact_id=fact_id,
        subject_ref=subject_ref,
        version=version,
        position=position,
        recorded=Period(recorded_from, recorded_to),
        valid=Period(valid_from, valid_to),
        traits=Traits(
            category=category,
            attribute=attribute,
            status=Status(status),
            confidence=confidence,
            importance=importance,
            core=bool(core),
            expires_at=expires_at,
        ),
        content_tag=None if content_tag is None else bytes(content_tag),
    )
