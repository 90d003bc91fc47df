"""What the current facts hold that they should not, and the other way round."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from muniment.ledger.ledger import Ledger
from muniment.projections.beliefs import BeliefRow
from muniment.projections.catch_up import ALL_POSITIONS, CatchUp, Sources
from muniment.projections.current import point_id
from muniment.projections.ports import CurrentFacts, Held


_PAGE: Final = 1_000


class Fault(StrEnum):
    """How a point differs from what the ledger says."""

    MISSING = "missing"
    """It is believed and not held."""

    ORPHANED = "orphaned"
    """It is held and not believed."""

    STALE = "stale"
    """It is held as it was before, or without an embedding that there is."""

    WRONG_SCOPE = "wrong_scope"
    """It is held as another subject's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """
    One point that is not as the ledger says.

    Attributes:
        subject_ref: Whose it is by the ledger, or, where it says nothing, as held.
    """

    fault: Fault
    point_id: str
    fact_id: str
    subject_ref: str


def differences(sources: Sources, catch_up: CatchUp) -> Sequence[Difference]:
    """
    Return what differs at the checkpoint of *catch_up*, by point id.

    Nothing may be applied meanwhile.

    Raises:
        IndexUnavailableError: If the engine cannot be reached.
    """
    expected = _expected(sources, catch_up)
    pending = _pending(sources, catch_up)
    found: list[Difference] = []
    for point in _held(catch_up.facts):
        row = expected.pop(point.point_id, None)
        fault = Fault.ORPHANED if row is None else _fault(point, row, pending)
        if fault is not None:
            ref = point.subject_ref if row is None else row.subject_ref
            found.append(_difference(fault, point.point_id, point.fact_id, ref))
    found += [
        _difference(Fault.MISSING, name, row.fact_id, row.subject_ref)
        for name, row in expected.items()
    ]
    return sorted(found, key=lambda each: each.point_id)


def mend(catch_up: CatchUp, found: Sequence[Difference]) -> None:
    """Hold again what the ledger says where *found* says otherwise."""
    orphaned = [each.point_id for each in found if each.fault is Fault.ORPHANED]
    others = [each for each in found if each.fault is not Fault.ORPHANED]
    for start in range(0, len(orphaned), _PAGE):
        catch_up.facts.delete(orphaned[start : start + _PAGE], until=ALL_POSITIONS)
    fact_ids = sorted({each.fact_id for each in others})
    for start in range(0, len(fact_ids), _PAGE):
        # A point may be of a ledger that was restored from a backup since: whatever its
        # position says, it gives way.
        catch_up.apply_again(fact_ids[start : start + _PAGE], until=ALL_POSITIONS)
    catch_up.facts.flush()


def _expected(sources: Sources, catch_up: CatchUp) -> dict[str, BeliefRow]:
    prefix = catch_up.prefix()
    if prefix is None:
        return {}
    readable = _Readable(sources.ledger)
    return {
        point_id(sources.ledger.name, row.fact_id, row.valid.start): row
        for row in sources.timeline.rows()
        if prefix.recorded_at in row.recorded and row.content_tag and readable.has(row)
    }


class _Readable:
    """Whose memory can be read: an erased subject's beliefs have no points."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._known: dict[str, bool] = {}

    def has(self, row: BeliefRow) -> bool:
        ref = row.subject_ref
        if ref not in self._known:
            self._known[ref] = self._ledger.vault.subject(ref) is not None
        return self._known[ref]


def _pending(sources: Sources, catch_up: CatchUp) -> Mapping[tuple[str, int], bool] | None:
    """Return which versions have no vector yet; ``None`` where none has one."""
    model = catch_up.generation.model
    if not model:
        return None
    found = sources.vectors.pending(model, limit=ALL_POSITIONS)
    return {(each.fact_id, each.version): True for each in found}


def _held(facts: CurrentFacts) -> Iterator[Held]:
    after: str | None = None
    while True:
        page, after = facts.scroll(after=after, limit=_PAGE)
        yield from page
        if after is None:
            return


def _fault(
    point: Held, row: BeliefRow, pending: Mapping[tuple[str, int], bool] | None
) -> Fault | None:
    if point.subject_ref != row.subject_ref:
        return Fault.WRONG_SCOPE
    same = (
        point.fact_id == row.fact_id
        and point.version == row.version
        and point.valid == row.valid
        and point.traits == row.traits
    )
    lacks_vector = (
        pending is not None
        and not point.has_dense
        and (row.fact_id, row.version) not in pending
    )
    return None if same and not lacks_vector else Fault.STALE


def _difference(fault: Fault, name: str, fact_id: str, subject_ref: str) -> Difference:
    return Difference(fault=fault, point_id=name, fact_id=fact_id, subject_ref=subject_ref)
