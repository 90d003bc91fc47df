"""Erasure certificates: what was destroyed and purged, signed by the ledger."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final


SHARED: Final = "shared"
"""What an erasure calls the copies of facts in memories they were shared with."""
RECALL: Final = "recall"
"""What it calls vectors and the index of current facts."""

_BEYOND_REACH = (
    "beyond reach: write-ahead logs, replicas and backups; what they hold of the ledger is "
    "ciphertext whose keys are destroyed, but a backup of the vault from before has them"
)


class ErasureStatus(StrEnum):
    """How far an erasure has come."""

    DONE = "DONE"
    """Every store was purged, and looked at afterwards."""

    PARTIAL = "PARTIAL"
    """
    The keys of the memory are gone, so nothing of it can be read, but something is left: a
    store is not verified yet, or a shared copy is held, or in a frozen memory.
    """

    DEFERRED = "DEFERRED"
    """A legal hold stands against it; the subject is stored and not used until then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreReport:
    """
    What an erasure did in one store.

    Attributes:
        store: ``vault`` or the name of a projection.
        removed: Keys or rows removed.
        remaining: What is left of the subject there.
        verified: Whether that was looked up, and no trace is left in files of ours.
        gone: Why it cannot be looked up any more, as somebody recorded who gave it up.
    """

    store: str
    removed: int
    remaining: int
    verified: bool
    gone: str | None = None

    @property
    def is_settled(self) -> bool:
        """Whether nothing is left to be done there."""
        return not self.remaining and (self.verified or self.gone is not None)

    @property
    def finding(self) -> str:
        """How sure that is, as the certificate says it."""
        if self.verified:
            return "verified"
        return "unverified" if self.gone is None else f"unverified, {self.gone}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasureCertificate:
    """
    What became of a request to erase.

    Attributes:
        status: How far it has come.
        subject_ref: The erased subject's name inside; random. ``None`` when nothing was
            remembered under that name.
        position: Of the event that says so; ``None`` likewise.
        stores: What was done, store by store.
        skeletons: Events that remain in the ledger, without content or name.
        text: The certificate, signed like a tree head; empty until there is one.
        proof: The inclusion proof of the event; empty until there is one.
    """

    status: ErasureStatus
    subject_ref: str | None = None
    position: int | None = None
    stores: tuple[StoreReport, ...] = ()
    skeletons: int = 0
    text: str = ""
    proof: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasurePlan:
    """
    What an erasure would reach; nothing is destroyed.

    Attributes:
        facts: Facts of the subject.
        events: Events of the subject, whose content would be unreadable.
        rows: Rows and keys that would be removed, by store.
        holds: Legal holds that would defer it.
    """

    facts: int
    events: int
    rows: dict[str, int]
    holds: tuple[str, ...]


def certificate_text(
    origin: str,
    head: Sequence[str],
    certificate: ErasureCertificate,
    *,
    asked: Sequence[str],
) -> str:
    """
    Return the text of a certificate, to be signed: one statement on each line.

    Args:
        origin: Names the ledger.
        head: Size and root of the tree that proves the rest.
        certificate: What is certified.
        asked: When it was recorded, by whom and why.
    """
    lines = [
        origin,
        "muniment erasure certificate 2",
        f"status {certificate.status}",
        f"subject {certificate.subject_ref}",
        f"position {certificate.position}",
        *asked,
        *(
            f"store {each.store} removed {each.removed} remaining {each.remaining} "
            f"{each.finding}"
            for each in certificate.stores
        ),
        f"remains {certificate.skeletons} events without content and without a name",
        _BEYOND_REACH,
        *head,
    ]
    return "".join(f"{line}\n" for line in lines)
