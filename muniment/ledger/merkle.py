"""
The tree over a ledger's envelopes, kept as tiles: complete subtrees, append-only.

A tile of level L holds 256 hashes, each the root of 256**L leaves, and its own root. It
is written once, in the transaction that completes it. What is right of the last complete
tile is read from the events themselves, so a proof reads a few tiles and at most 255
leaves, however long the ledger is.

Source:
    RFC 6962 §2.1; the tiling follows c2sp.org/tlog-tiles.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from muniment.ledger.proof import EMPTY_ROOT, node_hash


WIDTH = 256
"""Hashes of a tile."""

_HEIGHT = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Tile:
    """
    256 neighbouring hashes of one level.

    Attributes:
        level: 0 for leaves; the hashes of level L are roots of 256**L leaves.
        number: 0 for the leftmost.
        hashes: The 256 hashes.
        root: Of the tree over them.
    """

    level: int
    number: int
    hashes: tuple[bytes, ...]
    root: bytes


class TreeStore(Protocol):
    """Where leaves and complete tiles are kept."""

    def leaves(self, first: int, count: int) -> Sequence[bytes]:
        """Return *count* leaf hashes from leaf *first* on, 0 for the first."""

    def tile(self, level: int, number: int) -> Tile | None:
        """Return a tile, if it is complete."""

    def tile_roots(self, level: int, first: int, count: int) -> Sequence[bytes]:
        """Return the roots of *count* complete tiles from tile *first* on."""


def completed(store: TreeStore, before: int, after: int) -> Iterator[Tile]:
    """
    Yield the tiles that a tree completes by growing from *before* to *after* leaves.

    Each is to be stored before the next is asked for.
    """
    level, span = 0, WIDTH
    while span <= after:
        for number in range(before // span, after // span):
            first = number * WIDTH
            if level == 0:
                hashes = tuple(store.leaves(first, WIDTH))
            else:
                hashes = tuple(store.tile_roots(level - 1, first, WIDTH))
            yield Tile(level=level, number=number, hashes=hashes, root=root_of(hashes))
        level, span = level + 1, span * WIDTH


def root_of(hashes: Sequence[bytes]) -> bytes:
    """Return the root of the tree over *hashes*, which are roots of equal, full trees."""
    if not hashes:
        return EMPTY_ROOT
    level = list(hashes)
    while len(level) > 1:
        paired = [node_hash(level[at], level[at + 1]) for at in range(0, len(level) - 1, 2)]
        level = paired + level[len(paired) * 2 :]
    return level[0]


class Tree:
    """
    A tree as its store has it; reads each tile once.

    Args:
        store: Where leaves and tiles are.
    """

    def __init__(self, store: TreeStore) -> None:
        self._store = store
        self._rows: dict[tuple[int, int], Sequence[bytes]] = {}

    def root(self, size: int) -> bytes:
        """Return the root of the first *size* leaves."""
        return self._range(0, size) if size else EMPTY_ROOT

    def inclusion(self, index: int, size: int) -> tuple[bytes, ...]:
        """Return the path from leaf *index* to the root of the first *size* leaves."""
        assert 0 <= index < size, "the leaf is in the tree"
        path: list[bytes] = []
        first, last = 0, size
        while last - first > 1:
            middle = first + _largest_power_below(last - first)
            if index < middle:
                path.append(self._range(middle, last))
                last = middle
            else:
                path.append(self._range(first, middle))
                first = middle
        return tuple(reversed(path))

    def consistency(self, before: int, size: int) -> tuple[bytes, ...]:
        """Return the proof that the first *before* of *size* leaves are its beginning."""
        assert 0 <= before <= size, "a tree begins with a smaller one"
        if before in (0, size):
            return ()
        path: list[bytes] = []
        first, last, is_whole = 0, size, True
        while before != last:
            middle = first + _largest_power_below(last - first)
            if before <= middle:
                path.append(self._range(middle, last))
                last = middle
            else:
                path.append(self._range(first, middle))
                first, is_whole = middle, False
        if not is_whole:
            path.append(self._range(first, last))
        return tuple(reversed(path))

    def _range(self, first: int, last: int) -> bytes:
        """Return the root of the leaves *first* to *last*, exclusive."""
        size = last - first
        if size & (size - 1) == 0 and first % size == 0:
            return self._complete(first, size)
        middle = first + _largest_power_below(size)
        return node_hash(self._range(first, middle), self._range(middle, last))

    def _complete(self, first: int, size: int) -> bytes:
        """Return the root of a full subtree of *size* leaves, a power of two."""
        level = (size.bit_length() - 1) // _HEIGHT
        span = WIDTH**level
        row = self._row(level, first // span // WIDTH)
        start = first // span % WIDTH
        return root_of(row[start : start + size // span])

    def _row(self, level: int, number: int) -> Sequence[bytes]:
        """Return the hashes of a tile, as far as they are there."""
        known = self._rows.get((level, number))
        if known is None:
            tile = self._store.tile(level, number)
            known = tile.hashes if tile else self._partial(level, number)
            self._rows[level, number] = known
        return known

    def _partial(self, level: int, number: int) -> Sequence[bytes]:
        read: Callable[[int, int], Sequence[bytes]] = self._store.leaves
        if level:
            return self._store.tile_roots(level - 1, number * WIDTH, WIDTH)
        return read(number * WIDTH, WIDTH)


def _largest_power_below(size: int) -> int:
    """Return the largest power of two below *size*, which is above one."""
    return 1 << (size - 1).bit_length() - 1
