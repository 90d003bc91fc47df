"""
How a point of the current facts is named and written, whatever engine holds it.

An engine gets ids, scope, bounds and fields to filter by; no text, and nothing a person
could be named by. A start nobody knows and an end that has not come are numbers like any
other, so that facts come and go by the bounds alone, without an event.
"""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from muniment.domain.events import Status, Traits
from muniment.domain.time import BEGINNING, Instant, Period
from muniment.projections.ports import Found, Held, Point, Within


DENSE: Final = "dense"
SPARSE: Final = "terms"
"""Names of the two vectors of a point."""

TENANT: Final = "subject_ref"
KEYWORDS: Final = ("category", "status")
NUMBERS: Final = ("valid_from", "valid_to", "expires_at")
"""
Other fields with an index, by kind: what every search is bound by, and most others.

The rest is read point by point from among those of one subject, which takes as long as
all else of a search many times over; each index costs time to make and to keep.
"""

_NAMESPACE: Final = uuid.uuid5(uuid.NAMESPACE_URL, "muniment:current")

Payload = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Among:
    """A field has one of *values*."""

    field: str
    values: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Between:
    """A field lies within bounds; one that is ``None`` does not bind."""

    field: str
    at_least: float | None = None
    above: float | None = None
    at_most: float | None = None
    below: float | None = None


Condition = Among | Between


def point_id(ledger: str, fact_id: str, valid_from: Instant) -> str:
    """Return the name of the point of one believed period: the same every time."""
    return str(uuid.uuid5(_NAMESPACE, f"{ledger}/{fact_id}/{valid_from}"))


def payload(point: Point) -> Payload:
    """Return what an engine keeps beside the vectors of *point*."""
    traits = point.traits
    fields: Payload = {
        TENANT: point.subject_ref,
        "fact_id": point.fact_id,
        "version": point.version,
        "position": point.position,
        "valid_from": point.valid.start,
        "valid_to": point.valid.end,
        "category": traits.category,
        "attribute": traits.attribute,
        "status": traits.status.value,
        "confidence": traits.confidence,
        "importance": traits.importance,
        "core": traits.core,
        "expires_at": traits.expires_at,
    }
    return {name: value for name, value in fields.items() if value is not None}


def blank(fields: Payload) -> Payload:
    """Return what stands for a moment in the place of what is deleted: never found."""
    return {
        TENANT: fields.get(TENANT, ""),
        "fact_id": "",
        "version": 0,
        "position": 0,
        "valid_from": -1,
        "valid_to": 0,
        "status": Status.ACTIVE.value,
        "confidence": 0.0,
        "importance": 0.0,
        "core": False,
    }


def held(name: str, fields: Payload, *, has_dense: bool) -> Held:
    """Return the point that an engine holds under *name* with *fields*."""
    return Held(
        point_id=name,
        fact_id=fields["fact_id"],
        subject_ref=fields[TENANT],
        version=fields["version"],
        position=fields["position"],
        valid=Period(Instant(fields["valid_from"]), Instant(fields["valid_to"])),
        traits=Traits(
            category=fields.get("category"),
            attribute=fields.get("attribute"),
            status=Status(fields["status"]),
            confidence=float(fields["confidence"]),
            importance=float(fields["importance"]),
            core=fields["core"],
            expires_at=fields.get("expires_at"),
        ),
        has_dense=has_dense,
    )


FOUND_FIELDS: Final = [TENANT, "fact_id", "version"]
"""What a hit is read from."""


def found(name: str, fields: Mapping[str, Any], score: float) -> Found:
    """Return the hit that an engine found under *name* with *fields*."""
    return Found(
        point_id=name,
        fact_id=fields["fact_id"],
        subject_ref=fields[TENANT],
        version=fields["version"],
        score=score,
    )


def conditions(within: Within) -> tuple[list[Condition], list[Condition]]:
    """Return what must hold of a point for *within*, and what must not."""
    assert within.subject_refs, "a search without a subject cannot be expressed"
    must: list[Condition] = [
        of_subjects(within),
        Between(field="valid_from", at_most=within.valid_at),
        Between(field="valid_to", above=within.valid_at),
    ]
    if within.categories is not None:
        must.append(Among("category", within.categories))
    if within.attributes is not None:
        must.append(Among("attribute", within.attributes))
    if within.statuses is not None:
        must.append(Among("status", [each.value for each in within.statuses]))
    if within.min_confidence is not None:
        must.append(Between(field="confidence", at_least=within.min_confidence))
    if within.since is not None or within.until is not None:
        must.append(
            Between(
                field="valid_from",
                at_least=within.since,
                above=BEGINNING,
                below=within.until,
            )
        )
    return must, [Between(field="expires_at", at_most=within.expired_at)]


def of_subjects(within: Within) -> Condition:
    """Return what bounds a search to its subjects, and the rarity of a term."""
    return Among(TENANT, within.subject_refs)
