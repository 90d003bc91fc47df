"""Keys of single payloads, which outlive the key of their stream; wrapped, in the vault."""

from collections.abc import Collection, Mapping

import sqlalchemy as sa

from muniment.ledger import sealing
from muniment.ledger import vault_tables as tables
from muniment.ledger.prepared import Prepared


def wrapped_payload_key(
    subject_key: bytes, key: bytes, *, ledger: str, subject_ref: str, said: tuple[str, int]
) -> bytes:
    """Return the key of the payload of *said*, a stream and a version, wrapped."""
    return sealing.seal(subject_key, key, place=_place(ledger, subject_ref, *said))


def opened_payload_keys(
    connection: sa.Connection,
    subject_key: bytes,
    events: Collection[tuple[str, int, int]],
    *,
    ledger: str,
    subject_ref: str,
) -> Mapping[tuple[str, int], bytes]:
    """
    Return by stream and version the keys there are of *events* of one subject.

    Args:
        connection: To the vault.
        subject_key: Wraps them.
        events: Of each the stream, the version and the key it was sealed with.
        ledger: Whose.
        subject_ref: Likewise.
    """
    whose = {"ledger": ledger, "subject_ref": subject_ref}
    streams = {stream for stream, _, _ in events}
    if len(streams) == 1:
        rows = _OF_STREAM.rows(connection, stream=streams.pop(), **whose)
    else:
        rows = _OF_SUBJECT.rows(connection, **whose)
    wanted = set(events)
    return {
        (stream, version): sealing.unseal(
            subject_key, wrapped, place=_place(ledger, subject_ref, stream, version)
        )
        for stream, version, key_id, wrapped in rows
        if (stream, version, key_id) in wanted
    }


def _place(ledger: str, subject_ref: str, stream: str, version: int) -> bytes:
    return f"payload-key/{ledger}/{subject_ref}/{stream}/{version}".encode()


_p = tables.payload_key.c
_THEIRS = sa.select(_p.stream, _p.version, _p.key_id, _p.wrapped).where(
    _p.ledger == sa.bindparam("ledger"), _p.subject_ref == sa.bindparam("subject_ref")
)
_OF_SUBJECT = Prepared(_THEIRS)
_OF_STREAM = Prepared(_THEIRS.where(_p.stream == sa.bindparam("stream")))
