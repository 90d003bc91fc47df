"""Merkle trees as RFC 6962 §2.1 defines them, word for word, and stores for ours."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache

from muniment.ledger import merkle
from muniment.ledger.merkle import WIDTH, Tile
from muniment.ledger.proof import EMPTY_ROOT, TreeHead, node_hash


ORIGIN = "muniment/vault/ledger"

VECTOR_ENTRIES = tuple(
    bytes.fromhex(each)
    for each in (
        "",
        "00",
        "10",
        "2021",
        "3031",
        "40414243",
        "5051525354555657",
        "606162636465666768696a6b6c6d6e6f",
    )
)
"""Of the certificate-transparency project's own tests of RFC 6962."""

VECTOR_ROOTS = tuple(
    bytes.fromhex(each)
    for each in (
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
        "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
        "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
        "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
        "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
        "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
        "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
        "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
    )
)
"""Of the trees of the first 0, 1, ... 8 entries."""


def leaf(number: int) -> bytes:
    """Return a leaf hash that no other number has."""
    return hashlib.sha256(b"\x00leaf %d" % number).digest()


def defined_root(leaves: Sequence[bytes]) -> bytes:
    """MTH of RFC 6962 §2.1."""
    if not leaves:
        return EMPTY_ROOT
    if len(leaves) == 1:
        return leaves[0]
    k = split(len(leaves))
    return node_hash(defined_root(leaves[:k]), defined_root(leaves[k:]))


def defined_path(index: int, leaves: Sequence[bytes]) -> tuple[bytes, ...]:
    """PATH of RFC 6962 §2.1.1."""
    if len(leaves) == 1:
        return ()
    k = split(len(leaves))
    if index < k:
        return (*defined_path(index, leaves[:k]), defined_root(leaves[k:]))
    return (*defined_path(index - k, leaves[k:]), defined_root(leaves[:k]))


def defined_consistency(size: int, leaves: Sequence[bytes]) -> tuple[bytes, ...]:
    """PROOF of RFC 6962 §2.1.2."""
    return _subproof(size, leaves, is_whole=True)


def _subproof(size: int, leaves: Sequence[bytes], *, is_whole: bool) -> tuple[bytes, ...]:
    if size == len(leaves):
        return () if is_whole else (defined_root(leaves),)
    k = split(len(leaves))
    if size <= k:
        left = _subproof(size, leaves[:k], is_whole=is_whole)
        return (*left, defined_root(leaves[k:]))
    right = _subproof(size - k, leaves[k:], is_whole=False)
    return (*right, defined_root(leaves[:k]))


def split(size: int) -> int:
    """Return the largest power of two below *size*."""
    k = 1
    while k * 2 < size:
        k *= 2
    return k


def head(size: int, root: bytes, *, origin: str = ORIGIN) -> TreeHead:
    return TreeHead(origin=origin, size=size, root=root)


@dataclass
class Tiles:
    """
    Leaves and tiles in memory, grown as a database's are.

    Attributes:
        kept: The leaves.
        tiles: Those that are complete, by level and number.
        reads: How often something was asked for.
    """

    kept: list[bytes] = field(default_factory=list)
    tiles: dict[tuple[int, int], Tile] = field(default_factory=dict)
    reads: int = 0

    def grow(self, leaves: Sequence[bytes]) -> None:
        before = len(self.kept)
        self.kept.extend(leaves)
        for tile in merkle.completed(self, before, len(self.kept)):
            assert (tile.level, tile.number) not in self.tiles, "a tile is written once"
            self.tiles[tile.level, tile.number] = tile

    def leaves(self, first: int, count: int) -> Sequence[bytes]:
        assert count <= WIDTH, "no more leaves than a tile has"
        self.reads += 1
        return self.kept[first : first + count]

    def tile(self, level: int, number: int) -> Tile | None:
        self.reads += 1
        return self.tiles.get((level, number))

    def tile_roots(self, level: int, first: int, count: int) -> Sequence[bytes]:
        self.reads += 1
        wanted = (self.tiles.get((level, first + at)) for at in range(count))
        return [tile.root for tile in wanted if tile is not None]


@dataclass
class Uniform:
    """
    A tree of any size whose leaves are all equal, so that it needs no room.

    Attributes:
        size: How many leaves.
        reads: How often something was asked for.
    """

    size: int
    reads: int = 0

    def leaves(self, first: int, count: int) -> Sequence[bytes]:
        self.reads += 1
        return [leaf(0)] * max(0, min(count, self.size - first))

    def tile(self, level: int, number: int) -> Tile | None:
        self.reads += 1
        if (number + 1) * WIDTH ** (level + 1) > self.size:
            return None
        hashes = (uniform_root(WIDTH**level),) * WIDTH
        root = uniform_root(WIDTH ** (level + 1))
        return Tile(level=level, number=number, hashes=hashes, root=root)

    def tile_roots(self, level: int, first: int, count: int) -> Sequence[bytes]:
        self.reads += 1
        span = WIDTH ** (level + 1)
        return [uniform_root(span)] * max(0, min(count, self.size // span - first))


@cache
def uniform_root(size: int) -> bytes:
    """Return the root of *size* equal leaves, by definition."""
    if size == 1:
        return leaf(0)
    k = split(size)
    return node_hash(uniform_root(k), uniform_root(size - k))
