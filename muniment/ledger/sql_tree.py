"""The tree of a ledger in SQL: leaves beside their events, tiles in a table."""

from collections.abc import Sequence

import sqlalchemy as sa

from muniment.ledger import merkle, statements
from muniment.ledger.merkle import Tile
from muniment.ledger.proof import HASH_BYTES


class SqlTree:
    """
    A `muniment.ledger.merkle.TreeStore` over one connection.

    Args:
        connection: Open for as long as the tree is used.
        ledger: Whose tree.
    """

    def __init__(self, connection: sa.Connection, ledger: str) -> None:
        self._connection = connection
        self._ledger = ledger

    def leaves(self, first: int, count: int) -> Sequence[bytes]:
        rows = statements.LEAVES.rows(
            self._connection, ledger=self._ledger, after=first, until=first + count
        )
        return [bytes(leaf) for (leaf,) in rows]

    def tile(self, level: int, number: int) -> Tile | None:
        row = statements.TILE.first(
            self._connection, ledger=self._ledger, level=level, number=number
        )
        if row is None:
            return None
        root, hashes = bytes(row[0]), bytes(row[1])
        split = range(0, len(hashes), HASH_BYTES)
        return Tile(
            level=level,
            number=number,
            hashes=tuple(hashes[at : at + HASH_BYTES] for at in split),
            root=root,
        )

    def tile_roots(self, level: int, first: int, count: int) -> Sequence[bytes]:
        rows = statements.TILE_ROOTS.rows(
            self._connection,
            ledger=self._ledger,
            level=level,
            first=first,
            end=first + count,
        )
        return [bytes(root) for (root,) in rows]

    def grow(self, before: int, after: int) -> None:
        """Store the tiles that are complete once there are *after* leaves."""
        for tile in merkle.completed(self, before, after):
            statements.NEW_TILE.run(
                self._connection,
                ledger=self._ledger,
                level=tile.level,
                number=tile.number,
                root=tile.root,
                hashes=b"".join(tile.hashes),
            )
