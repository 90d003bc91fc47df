"""What of a ledger in SQL lies in its archive, and how long its streams are."""

from collections.abc import Mapping, Sequence

import sqlalchemy as sa

from muniment.ledger import statements
from muniment.ledger.cold import Segment


def segments(connection: sa.Connection, ledger: str) -> Sequence[Segment]:
    """Return the segments of the archive, oldest first."""
    names = Segment.__dataclass_fields__
    rows = statements.SEGMENTS.rows(connection, ledger=ledger)
    return [Segment(**dict(zip(names, row, strict=True))) for row in rows]


def add_segment(connection: sa.Connection, ledger: str, segment: Segment) -> None:
    """Remember a segment."""
    values = {each: getattr(segment, each) for each in Segment.__dataclass_fields__}
    statements.NEW_SEGMENT.run(connection, ledger=ledger, **values)


def payload_bytes(connection: sa.Connection, ledger: str, *, first: int, last: int) -> int:
    """Return how many bytes of events *first* to *last* are sealed here."""
    statement = statements.PAYLOAD_BYTES
    row = statement.first(connection, ledger=ledger, first=first, last=last)
    assert row is not None, "a sum has a row"
    return int(row[0])


def droppable(
    connection: sa.Connection, ledger: str, *, first: int, last: int
) -> Sequence[int]:
    """Return where facts' events *first* to *last* have their payload here."""
    rows = statements.DROPPABLE.rows(connection, ledger=ledger, first=first, last=last)
    return [int(position) for (position,) in rows]


def drop_payloads(connection: sa.Connection, ledger: str, positions: Sequence[int]) -> None:
    """Let go of payloads."""
    statements.DROP_PAYLOAD.run_many(
        connection,
        [
            {"this_ledger": ledger, "this_position": each, "nothing": b""}
            for each in positions
        ],
    )


def stream_lengths(
    connection: sa.Connection, ledger: str, streams: Sequence[str], *, until: int
) -> Mapping[str, int]:
    """Return how many events each of *streams* has up to position *until*."""
    found: dict[str, int] = {}
    for first in range(0, len(streams), statements.LIST_MAX):
        some = list(streams[first : first + statements.LIST_MAX])
        values = {"ledger": ledger, "streams": some, "until": until}
        rows = connection.execute(statements.STREAM_LENGTHS, values)
        found.update((row[0], row[1]) for row in rows)
    return found
