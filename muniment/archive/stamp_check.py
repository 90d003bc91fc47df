"""
What a time stamp after RFC 3161 proves: that an authority saw a manifest, and when.

It is checked by the package `rfc3161-client`. Where that is not installed, or no root
certificate was given, the check says what was not checked.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from muniment.archive.container import AlteredError


TIME_STAMP = "timestamp.tsr"


_NONE = (
    "When the package was made, but by the ledger's own clock: it has no time stamp of a "
    "third party."
)
_NOT_INSTALLED = (
    "When an authority saw the manifest: there is a time stamp of one, and the package "
    "rfc3161-client, which checks it, is not installed."
)


@dataclass(frozen=True, kw_only=True)
class Stamped:
    """
    What is known of a time stamp.

    Attributes:
        is_proven: Whether it was checked up to a root that the verifier gave.
        said: That in a sentence.
    """

    is_proven: bool
    said: str


def stamp_check(stamp: bytes | None, manifest: bytes, roots: Sequence[bytes]) -> Stamped:
    """
    Check a time stamp.

    Args:
        stamp: The answer of the authority, DER; ``None`` where there is none.
        manifest: What it is for.
        roots: Certificates, PEM, to one of which the authority's own has to lead.

    Raises:
        AlteredError: If it is for something else, or does not lead to one of *roots*.
    """
    if stamp is None:
        return Stamped(is_proven=False, said=_NONE)
    try:
        import rfc3161_client as tsp  # noqa: PLC0415 - all the rest is checked without
        from cryptography import x509  # noqa: PLC0415 - as before, and slow to load
    except ImportError:
        return Stamped(is_proven=False, said=_NOT_INSTALLED)
    try:
        answer = tsp.decode_timestamp_response(stamp)
        seen_at, imprint = answer.tst_info.gen_time, answer.tst_info.message_imprint
    except ValueError as error:
        raise AlteredError(TIME_STAMP, f"it is no time stamp ({error})") from error
    if imprint.message != hashlib.sha256(manifest).digest():
        raise AlteredError(TIME_STAMP, "it is not of this manifest")
    at = f"{seen_at:%Y-%m-%dT%H:%M:%SZ}"
    if not roots:
        return Stamped(
            is_proven=False,
            said=f"That an authority saw the manifest at {at}, as its time stamp says: get "
            "its root certificate by another way and name that with --stamp-root.",
        )
    known = [found for root in roots for found in x509.load_pem_x509_certificates(root)]
    try:
        tsp.VerifierBuilder(roots=known).build().verify_message(answer, manifest)
    except tsp.VerificationError as error:
        problem = f"it does not lead to a root certificate that you gave ({error})"
        raise AlteredError(TIME_STAMP, problem) from error
    return Stamped(
        is_proven=True,
        said=f"The manifest existed at {at}: an authority that a root certificate of yours "
        "vouches for has stamped it.",
    )
