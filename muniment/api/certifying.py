"""Certificates of erasure: made, signed, kept in the vault, and read again."""

import json
from collections.abc import Sequence
from dataclasses import astuple

from muniment.api.certificates import (
    ErasureCertificate,
    ErasureStatus,
    StoreReport,
    certificate_text,
)
from muniment.instants import moment, to_text
from muniment.ledger.attesting import Attestor
from muniment.ledger.destruction import Destruction
from muniment.ledger.ledger import Ledger
from muniment.ledger.records import Origin


def certified(
    ledger: Ledger, destruction: Destruction, stores: Sequence[StoreReport]
) -> str:
    """
    Return what is kept of a certificate: its fields, signed text and proof.

    Args:
        ledger: Signs it.
        destruction: Of a whole subject; its position is that of the event that says so.
        stores: What was found there, after it was removed.
    """
    (said,) = ledger.recorder.read(after=destruction.position - 1, limit=1)
    row = ledger.recorder.transaction(said.tx_id)
    origin = ledger.mapper.origin(None, row) if row else Origin()
    done = all(each.is_settled for each in stores)
    certificate = ErasureCertificate(
        status=ErasureStatus.DONE if done else ErasureStatus.PARTIAL,
        subject_ref=destruction.subject_ref,
        position=said.position,
        stores=tuple(stores),
        skeletons=len(ledger.recorder.read_subject(destruction.subject_ref)),
    )
    attestor = Attestor(ledger)
    proof = attestor.inclusion(said.position)
    head = proof.text.partition("\n\n")[2].split("\n")[1:3]
    text = certificate_text(
        attestor.origin,
        [f"tree size {head[0]}", f"tree root {head[1]}"],
        certificate,
        asked=[
            f"recorded {to_text(moment(said.recorded_at))}",
            f"actor {one_line(origin.actor)}",
            f"reason {one_line(origin.reason)}",
        ],
    )
    return json.dumps(
        {
            "status": certificate.status,
            "position": certificate.position,
            "skeletons": certificate.skeletons,
            "stores": [astuple(each) for each in stores],
            "text": attestor.signed(text),
            "proof": proof.text,
        }
    )


def kept_certificate(destruction: Destruction) -> ErasureCertificate:
    """Return the certificate that was kept of a destruction."""
    kept = json.loads(destruction.certificate or "{}")
    return ErasureCertificate(
        status=ErasureStatus(kept["status"]),
        subject_ref=destruction.subject_ref,
        position=kept["position"],
        stores=tuple(
            StoreReport(
                store=store,
                removed=removed,
                remaining=remaining,
                verified=verified,
                gone=gone[0] if gone else None,
            )
            for store, removed, remaining, verified, *gone in kept["stores"]
        ),
        skeletons=kept["skeletons"],
        text=kept["text"],
        proof=kept["proof"],
    )


def one_line(text: str | None) -> str:
    """Return a text as one line of something that is signed."""
    return "not said" if text is None else " ".join(text.split())
