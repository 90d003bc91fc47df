"""Version vectors in memory: the twin that those in SQL are tested against."""

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import replace
from threading import RLock

from muniment.domain.thinning import Runs, is_among
from muniment.ledger.records import FACT
from muniment.ledger.vault import Subject, Vault
from muniment.projections.ports import Pending, Said, Vector, VersionVector


class MemoryVersionVectors:
    """A `muniment.projections.ports.VersionVectors` that ends with its process."""

    def __init__(self, vault: Vault) -> None:
        self._vault = vault
        self._lock = RLock()
        self._rows: dict[tuple[str, str, int], VersionVector] = {}
        self._attempts: dict[tuple[str, str, int], int] = {}

    def put(self, model: str, vectors: Sequence[VersionVector]) -> None:
        with self._lock:
            for each in vectors:
                if self._has_key(each):
                    self._put(model, each)

    def of(
        self, subject: Subject, model: str, said: Sequence[Said]
    ) -> Mapping[Said, Vector]:
        with self._lock:
            rows = [self._rows.get((model, *each)) for each in said]
        return {
            (row.fact_id, row.version): row.vector
            for row in rows
            if row is not None
            and row.vector is not None
            and row.subject.ref == subject.ref
            and self._has_key(row)
        }

    def like(self, model: str, wanted: Mapping[bytes, Subject]) -> Mapping[bytes, Vector]:
        found: dict[bytes, Vector] = {}
        for name, row in self._all():
            asked = wanted.get(row.text_tag)
            ours = asked is not None and asked.ref == row.subject.ref
            if name == model and ours and row.vector is not None and self._has_key(row):
                found.setdefault(row.text_tag, row.vector)
        return found

    def pending(self, model: str, *, limit: int) -> Sequence[Pending]:
        found = [
            Pending(
                fact_id=row.fact_id,
                version=row.version,
                subject_ref=row.subject.ref,
                position=row.position,
                attempts=self._attempts[model, row.fact_id, row.version],
            )
            for name, row in self._all()
            if name == model and row.vector is None
        ]
        return sorted(found, key=lambda each: (each.attempts, each.position))[:limit]

    def count_pending(self, model: str) -> int:
        return sum(name == model and row.vector is None for name, row in self._all())

    def count(self, subject_ref: str) -> int:
        return sum(row.subject.ref == subject_ref for _, row in self._all())

    def scrub(self) -> bool:
        return True

    def forget(self, subject_ref: str, fact_ids: Sequence[str] | None = None) -> None:
        with self._lock:
            self._rows = {
                key: row
                for key, row in self._rows.items()
                if row.subject.ref != subject_ref
                or (fact_ids is not None and row.fact_id not in fact_ids)
            }

    def thin(self, subject: Subject, fact_id: str, versions: Runs) -> None:
        with self._lock:
            self._rows = {
                key: row
                for key, row in self._rows.items()
                if (row.subject.ref, row.fact_id) != (subject.ref, fact_id)
                or not is_among(row.version, versions)
            }

    def forget_model(self, model: str) -> None:
        with self._lock:
            self._rows = {key: row for key, row in self._rows.items() if key[0] != model}

    def _put(self, model: str, vector: VersionVector) -> None:
        key = model, vector.fact_id, vector.version
        known = self._rows.get(key)
        if vector.vector is not None:
            # As float32, so that it equals what a database gives back.
            kept = replace(vector, vector=array("f", vector.vector))
            self._rows[key], self._attempts[key] = kept, 1
        elif known is None:
            self._rows[key], self._attempts[key] = vector, 1
        elif known.vector is None:
            self._attempts[key] += 1

    def _has_key(self, row: VersionVector) -> bool:
        if row.key_id in self._vault.keys(row.subject, [row.key_id]):
            return True
        said = FACT + row.fact_id, row.version, row.key_id
        return bool(self._vault.payload_keys(row.subject, [said]))

    def _all(self) -> list[tuple[str, VersionVector]]:
        with self._lock:
            return [(key[0], row) for key, row in self._rows.items()]
