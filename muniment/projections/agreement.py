"""
Whether the rows of a timeline are what a ledger adds up to, told as quickly as can be.

A verification compares every rectangle with a fresh fold. Where all is well, which is
almost always, nothing has to be named: so rows are compared as the database gives them,
and most facts, which were remembered once, are not folded but written down. Whoever is
told that they differ goes by `muniment.projections.beliefs.differences`, which says where.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, islice, starmap, zip_longest
from operator import eq, itemgetter

import msgspec

from muniment.domain.time import FOREVER
from muniment.errors import BrokenSealError
from muniment.ledger import codec, stated
from muniment.ledger.mapper import Parts, SealingMapper, tag_of
from muniment.ledger.prepared import Row
from muniment.ledger.records import FACT, stamped
from muniment.ledger.vault import Subject
from muniment.projections.beliefs import LOST, BeliefRow, in_order, rows_of
from muniment.projections.rectangles import values_of


_CHUNK = 2_000
"""Facts that are opened together, their keys fetched at once."""

_OF_A_FACT = itemgetter(3)
_UNEQUAL = object()
"""In the place of the digest of what no key opens, though no event says why."""

_Values = tuple[object, ...]


def agree(expected: Iterable[_Values], stored: Iterable[Row]) -> bool:
    """Whether both are the same rows in the same order."""
    return all(starmap(eq, zip_longest(expected, stored)))


def rows_expected(mapper: SealingMapper, events: Iterable[Row]) -> Iterator[_Values]:
    """
    Yield the rows of the timeline that *events* add up to, in its order.

    Args:
        mapper: Opens them.
        events: Of all facts, fact by fact, each with its payload, as a statement on
            `muniment.ledger.statements.EVENT_COLUMNS` gives them.

    Raises:
        Corruption: If one of them does not open.
    """
    facts = (list(rows) for _, rows in groupby(events, key=_OF_A_FACT))
    while chunk := list(islice(facts, _CHUNK)):
        once = [_is_all(fact) for fact in chunk]
        pairs = list(zip(chunk, once, strict=True))
        parts = mapper.unsealed([fact[0] for fact, is_all in pairs if is_all])
        opened = mapper.opened_of_all(
            [stamped(row) for fact, is_all in pairs if not is_all for row in fact]
        )
        for fact, is_all in pairs:
            if is_all:
                yield _said_once(fact[0], *next(parts))
            else:
                rows = in_order(rows_of(list(islice(opened, len(fact)))))
                yield from (_plain(row) for row in rows)


def _is_all(fact: Sequence[Row]) -> bool:
    """Whether a fact was remembered, and nothing has happened to it since."""
    row = fact[0]
    return len(fact) == 1 and row[4] == 1 and row[5] == codec.ASSERTED


def _said_once(event: Row, subject: Subject | None, parts: Parts) -> _Values:
    """Return the one row of a fact to which nothing has happened since."""
    header, content = parts
    position, _, recorded_at, stream, version, _, ref, _, _ = event
    try:
        said = stated.header_of(header)
        text = stated.sealed_of(content).text if content else None
    except msgspec.MsgspecError as error:
        raise BrokenSealError(f"{stream} version {version}") from error
    traits = said.traits
    return (
        stream[len(FACT) :],
        recorded_at,
        said.valid[0],
        FOREVER,
        said.valid[1],
        ref,
        version,
        position,
        traits.category,
        traits.attribute,
        traits.status,
        traits.confidence,
        traits.importance,
        traits.core,
        traits.expires_at,
        _UNEQUAL if subject is None or text is None else tag_of(subject, text, traits),
    )


def _plain(row: BeliefRow) -> _Values:
    values = values_of("", row)[1:]
    return (*values[:-1], _UNEQUAL) if row.content_tag == LOST else values
