"""Every proof of every tree of up to 70 leaves, and what is not a proof of them."""

from collections.abc import Iterator

import pytest

from muniment.ledger import proof
from muniment.ledger.merkle import Tree
from muniment.ledger.proof import EMPTY_ROOT, RefusedError, TreeHead
from tests.proofs.trees import (
    VECTOR_ENTRIES,
    VECTOR_ROOTS,
    Tiles,
    defined_consistency,
    defined_path,
    defined_root,
    head,
    leaf,
)


MOST = 70
LEAVES = [leaf(number) for number in range(MOST)]
HEADS = [head(size, defined_root(LEAVES[:size])) for size in range(MOST + 1)]
VECTOR_LEAVES = [proof.leaf_hash(entry) for entry in VECTOR_ENTRIES]

D1, D2 = (
    "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7",
    "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
)
D3 = "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4"
LEAF_5 = "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b"
NODE_67 = "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0"
ROOT_4 = "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7"
NODE_45 = "0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a"


def tree_of(leaves: list[bytes]) -> Tree:
    store = Tiles()
    store.grow(leaves)
    return Tree(store)


def hexed(path: tuple[bytes, ...]) -> list[str]:
    return [each.hex() for each in path]


@pytest.mark.parametrize("size", range(9))
def test_the_roots_of_the_rfc_6962_vectors_are_ours(size: int) -> None:
    assert tree_of(VECTOR_LEAVES).root(size) == VECTOR_ROOTS[size]


@pytest.mark.parametrize(
    ("index", "size", "path"),
    [
        (0, 1, []),
        (0, 8, [D1, D2, D3]),
        (5, 8, [LEAF_5, NODE_67, ROOT_4]),
        (2, 3, [VECTOR_ROOTS[2].hex()]),
        (1, 5, [VECTOR_ROOTS[1].hex(), D2, LEAF_5]),
    ],
)
def test_the_inclusion_proofs_of_the_rfc_6962_vectors_are_ours(
    index: int, size: int, path: list[str]
) -> None:
    found = tree_of(VECTOR_LEAVES).inclusion(index, size)

    assert hexed(found) == path
    proof.check_inclusion(
        VECTOR_LEAVES[index], index, found, head(size, VECTOR_ROOTS[size])
    )


@pytest.mark.parametrize(
    ("first", "second", "path"),
    [
        (1, 1, []),
        (1, 8, [D1, D2, D3]),
        (6, 8, [NODE_45, NODE_67, ROOT_4]),
        (2, 5, [D2, LEAF_5]),
    ],
)
def test_the_consistency_proofs_of_the_rfc_6962_vectors_are_ours(
    first: int, second: int, path: list[str]
) -> None:
    found = tree_of(VECTOR_LEAVES).consistency(first, second)

    assert hexed(found) == path
    begun, ended = (head(size, VECTOR_ROOTS[size]) for size in (first, second))
    proof.check_consistency(begun, ended, found)


def inclusions() -> Iterator[tuple[int, int, tuple[bytes, ...]]]:
    tree = tree_of(LEAVES)
    for size in range(1, MOST + 1):
        for index in range(size):
            yield index, size, tree.inclusion(index, size)


def consistencies() -> Iterator[tuple[int, int, tuple[bytes, ...]]]:
    tree = tree_of(LEAVES)
    for second in range(MOST + 1):
        for first in range(second + 1):
            yield first, second, tree.consistency(first, second)


def includes(index: int, path: tuple[bytes, ...], root: TreeHead, *, of: bytes) -> bool:
    try:
        proof.check_inclusion(of, index, path, root)
    except RefusedError:
        return False
    return True


def continues(first: TreeHead, second: TreeHead, path: tuple[bytes, ...]) -> bool:
    try:
        proof.check_consistency(first, second, path)
    except RefusedError:
        return False
    return True


def test_every_inclusion_proof_is_as_defined_and_accepted() -> None:
    for index, size, path in inclusions():
        assert path == defined_path(index, LEAVES[:size])
        assert includes(index, path, HEADS[size], of=LEAVES[index])


def test_every_consistency_proof_is_as_defined_and_accepted() -> None:
    for first, second, path in consistencies():
        if first:
            assert path == defined_consistency(first, LEAVES[:second])
        assert continues(HEADS[first], HEADS[second], path)


@pytest.mark.slow
def test_an_inclusion_proof_proves_no_other_place_and_no_other_leaf() -> None:
    for index, size, path in inclusions():
        for other in range(-1, MOST + 2):
            if other != index:
                assert not includes(other, path, HEADS[size], of=LEAVES[index])
                assert not includes(index, path, HEADS[size], of=leaf(other))


@pytest.mark.slow
def test_an_inclusion_proof_proves_nothing_of_a_tree_of_another_size() -> None:
    for index, size, path in inclusions():
        for other in range(MOST + 1):
            if other != size:
                assert not includes(index, path, HEADS[other], of=LEAVES[index])


@pytest.mark.slow
def test_a_consistency_proof_proves_nothing_of_trees_of_other_sizes() -> None:
    for first, second, path in consistencies():
        for other in range(MOST + 1):
            # Nothing has to be said of the empty tree, nor of two equal ones.
            is_plain = not path and other in (0, second)
            if other != first and not is_plain:
                assert not continues(HEADS[other], HEADS[second], path)
            if other != second and not (not path and first in (0, other)):
                assert not continues(HEADS[first], HEADS[other], path)


def test_a_proof_with_a_hash_too_few_too_many_or_moved_is_refused() -> None:
    for index, size, path in inclusions():
        broken = [(*path, LEAVES[0]), (LEAVES[0], *path), path[1:], path[:-1], path[::-1]]
        for each in broken:
            same = each == path
            assert includes(index, each, HEADS[size], of=LEAVES[index]) is same
    for first, second, path in consistencies():
        for each in [(*path, LEAVES[0]), (LEAVES[0], *path), path[1:], path[:-1]]:
            assert continues(HEADS[first], HEADS[second], each) is (each == path)


def test_the_same_size_with_another_root_is_refused() -> None:
    for size in range(MOST + 1):
        assert not continues(HEADS[size], head(size, leaf(0)[::-1]), ())


def test_a_later_tree_begins_no_earlier_one() -> None:
    with pytest.raises(RefusedError, match="a tree of 3 cannot begin one of 2"):
        proof.check_consistency(HEADS[3], HEADS[2], ())


def test_two_ledgers_are_never_consistent() -> None:
    other = head(3, HEADS[3].root, origin="muniment/vault/other")

    with pytest.raises(RefusedError, match="are two ledgers"):
        proof.check_consistency(HEADS[3], other, ())


def test_the_empty_tree_begins_every_tree_and_has_one_root() -> None:
    assert HEADS[0].root == EMPTY_ROOT
    assert all(continues(HEADS[0], each, ()) for each in HEADS)
    assert not continues(head(0, LEAVES[0]), HEADS[5], ())
