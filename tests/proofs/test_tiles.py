"""Trees kept as tiles, where one tile ends and the next begins."""

from itertools import accumulate, combinations_with_replacement, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.ledger import merkle, proof
from muniment.ledger.merkle import WIDTH, Tree
from tests.proofs.trees import (
    Tiles,
    Uniform,
    defined_consistency,
    defined_path,
    defined_root,
    head,
    leaf,
    uniform_root,
)


SECOND_LEVEL = WIDTH**2
THIRD_LEVEL = WIDTH**3
EDGES = [
    edge + step
    for edge in (WIDTH, 2 * WIDTH, SECOND_LEVEL, SECOND_LEVEL + WIDTH)
    for step in (-1, 0, 1)
]
LEAVES = [leaf(number) for number in range(EDGES[-1])]


@pytest.fixture(scope="module")
def tiles() -> Tiles:
    store = Tiles()
    store.grow(LEAVES)
    return store


@pytest.fixture(scope="module")
def roots() -> dict[int, bytes]:
    return {size: defined_root(LEAVES[:size]) for size in EDGES}


def test_every_complete_tile_of_either_level_is_kept_and_no_other(tiles: Tiles) -> None:
    kept = sorted(tiles.tiles)

    assert kept == [*((0, number) for number in range(WIDTH + 1)), (1, 0)]
    assert tiles.tiles[1, 0].root == defined_root(LEAVES[:SECOND_LEVEL])
    assert tiles.tiles[1, 0].hashes[3] == tiles.tiles[0, 3].root


@pytest.mark.slow
def test_roots_and_proofs_across_the_edges_of_tiles_are_as_defined(
    tiles: Tiles, roots: dict[int, bytes]
) -> None:
    for size in EDGES:
        tree = Tree(tiles)
        assert tree.root(size) == roots[size]
        for index in {0, size // 2, *(edge for edge in EDGES if edge < size), size - 1}:
            path = tree.inclusion(index, size)
            proof.check_inclusion(LEAVES[index], index, path, head(size, roots[size]))
    for size in EDGES[:6]:
        for index in (0, WIDTH - 2, size - 1):
            assert Tree(tiles).inclusion(index, size) == defined_path(index, LEAVES[:size])


@pytest.mark.slow
def test_trees_on_either_side_of_an_edge_are_consistent(
    tiles: Tiles, roots: dict[int, bytes]
) -> None:
    for first, second in combinations_with_replacement(EDGES, 2):
        path = Tree(tiles).consistency(first, second)

        heads = head(first, roots[first]), head(second, roots[second])
        proof.check_consistency(*heads, path)
        if first != second:
            with pytest.raises(proof.RefusedError):
                proof.check_consistency(*heads, path[:-1])
    small = EDGES[:6]
    for first, second in combinations_with_replacement(small, 2):
        expected = defined_consistency(first, LEAVES[:second])
        assert Tree(tiles).consistency(first, second) == expected


@given(steps=st.lists(st.integers(0, 2 * WIDTH + 3), max_size=6))
def test_a_tree_is_the_same_in_whatever_steps_it_grew(steps: list[int]) -> None:
    grown, at_once = Tiles(), Tiles()
    for first, last in pairwise([0, *accumulate(steps)]):
        grown.grow(LEAVES[first:last])
    at_once.grow(LEAVES[: sum(steps)])

    assert grown.tiles == at_once.tiles
    assert Tree(grown).root(sum(steps)) == defined_root(LEAVES[: sum(steps)])


@pytest.mark.parametrize("size", [THIRD_LEVEL - 1, THIRD_LEVEL, THIRD_LEVEL + 1, 10**9])
def test_a_proof_reads_a_few_tiles_however_long_the_ledger_is(size: int) -> None:
    store = Uniform(size)
    root = uniform_root(size)
    for index in (0, 255, 256, SECOND_LEVEL, size // 3, size - 1):
        store.reads = 0
        path = Tree(store).inclusion(index, size)

        proof.check_inclusion(leaf(0), index, path, head(size, root))
        assert len(path) <= (size - 1).bit_length()
        # A tile of each level at the leaf and one at the right edge; a tile that is not
        # complete costs a second question.
        assert store.reads <= 4 * len(range(0, size.bit_length(), 8))


@pytest.mark.parametrize("before", [1, 255, 256, 257, SECOND_LEVEL, THIRD_LEVEL - 1])
def test_a_ledger_of_sixteen_million_continues_every_earlier_one(before: int) -> None:
    size = THIRD_LEVEL + 1

    path = Tree(Uniform(size)).consistency(before, size)

    heads = head(before, uniform_root(before)), head(size, uniform_root(size))
    proof.check_consistency(*heads, path)


def test_a_leap_over_several_levels_completes_lower_tiles_first() -> None:
    store = Uniform(SECOND_LEVEL)

    levels = [tile.level for tile in merkle.completed(store, 0, SECOND_LEVEL)]

    assert levels == [0] * WIDTH + [1]
