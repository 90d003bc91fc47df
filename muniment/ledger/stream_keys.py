"""Keys of streams, each wrapped by the key of its subject, in the vault."""

from collections.abc import Collection, Iterator, Mapping, Sequence

import sqlalchemy as sa

from muniment.errors import BrokenSealError
from muniment.ledger import sealing
from muniment.ledger import vault_statements as statements
from muniment.ledger.prepared import Row, rows_of_each


def wrapped_stream_keys(
    subject_key: bytes,
    keys: Sequence[tuple[int, bytes]],
    *,
    ledger: str,
    subject_ref: str,
) -> list[tuple[object, ...]]:
    """Return numbered *keys* of one subject as rows of the vault."""
    places = [(key, _place(ledger, subject_ref, key_id)) for key_id, key in keys]
    wrapped = sealing.seal_each(subject_key, places)
    return [
        (ledger, key_id, subject_ref, each)
        for (key_id, _), each in zip(keys, wrapped, strict=True)
    ]


def opened_stream_keys(
    connection: sa.Connection,
    wanted: Mapping[str, tuple[bytes, Collection[int]]],
    *,
    ledger: str,
) -> dict[str, dict[int, bytes]]:
    """
    Return by subject and number those of the *wanted* keys that are there.

    Args:
        connection: To the vault.
        wanted: By subject, the key that wraps its keys, and their numbers.
        ledger: Whose.

    Raises:
        BrokenSealError: If one of them is another subject's.
    """
    numbers = {each for _, key_ids in wanted.values() for each in key_ids}
    rows = {row[0]: row for row in _rows(connection, list(numbers), ledger=ledger)}
    return {
        ref: dict(_opened(subject_key, ref, key_ids, rows, ledger=ledger))
        for ref, (subject_key, key_ids) in wanted.items()
    }


def _opened(
    subject_key: bytes,
    subject_ref: str,
    key_ids: Collection[int],
    rows: Mapping[int, Row],
    *,
    ledger: str,
) -> Iterator[tuple[int, bytes]]:
    for key_id in key_ids:
        if key_id not in rows:
            continue
        _, owner, wrapped = rows[key_id]
        if owner != subject_ref:
            raise BrokenSealError(f"key {key_id}, which is another subject's")
        place = _place(ledger, subject_ref, key_id)
        yield key_id, sealing.unseal(subject_key, wrapped, place=place)


def _rows(
    connection: sa.Connection, numbers: Sequence[int], *, ledger: str
) -> Sequence[Row]:
    return rows_of_each(
        connection,
        numbers,
        one=(statements.KEY, "key_id"),
        every=statements.KEYS,
        ledger=ledger,
    )


def _place(ledger: str, subject_ref: str, key_id: int) -> bytes:
    return f"stream-key/{ledger}/{subject_ref}/{key_id}".encode()
