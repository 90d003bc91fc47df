"""A tail cut off, a history forked, a tile or a tree head edited: all are found."""

import pytest
import sqlalchemy as sa

from muniment.errors import TamperedError
from muniment.ledger.merkle import root_of
from muniment.ledger.tables import tree_head
from muniment.projections.tables import belief
from tests.proofs.malice import (
    EVENT,
    LAST,
    TILE,
    TRANSACTION,
    Victim,
    copied,
    flipped,
    kind_at,
)


pytestmark = pytest.mark.slow


@pytest.mark.parametrize("left", [0, 5, 7])
def test_a_tail_that_was_cut_off_is_truncated(attacked: Victim, left: int) -> None:
    attacked.run(
        sa.delete(EVENT).where(EVENT.c.position > left),
        sa.delete(TRANSACTION).where(TRANSACTION.c.last_position > left),
        sa.delete(belief).where(belief.c.position > left),
        sa.delete(TILE),
    )

    assert kind_at(attacked) == (left + 1, "truncated")
    with pytest.raises(TamperedError, match=f"truncated at position {left}"):
        attacked.store.tree_head()


def test_a_tail_cut_off_with_its_heads_is_truncated_against_a_published_one(
    attacked: Victim,
) -> None:
    attacked.run(
        sa.delete(EVENT).where(EVENT.c.position > 5),
        sa.delete(TRANSACTION).where(TRANSACTION.c.last_position > 5),
        sa.delete(belief).where(belief.c.position > 5),
        sa.delete(TILE),
        sa.delete(tree_head).where(tree_head.c.size > 5),
    )

    assert attacked.store.verify().findings == (), "nobody inside can know"
    assert kind_at(attacked, published=attacked.heads) == (6, "truncated")


def test_a_history_forked_between_two_heads_is_not_what_the_later_one_signed(
    attacked: Victim,
) -> None:
    attacked.put(6, state=flipped(attacked.value(EVENT.c.state, 6)))
    attacked.hash_again()

    found = attacked.store.verify().findings

    assert [(each.position, each.kind) for each in found] == [
        (7, "tree head"),
        (LAST, "tree head"),
    ]


def test_a_forked_history_is_never_signed(attacked: Victim) -> None:
    attacked.put(6, state=flipped(attacked.value(EVENT.c.state, 6)))
    attacked.hash_again()
    attacked.store.remember("goes on", user_id="u")

    with pytest.raises(TamperedError, match="does not continue the head signed at 267"):
        attacked.store.tree_head()
    with pytest.raises(TamperedError, match="does not continue"):
        attacked.store.prove(1)


def test_a_payload_with_hashes_to_fit_does_not_open_where_no_head_is(
    attacked: Victim,
) -> None:
    attacked.put(6, state=flipped(attacked.value(EVENT.c.state, 6)))
    attacked.hash_again()
    attacked.run(sa.delete(tree_head))

    assert kind_at(attacked) == (6, "payload")
    assert kind_at(attacked, published=attacked.heads) == (7, "tree head")


@pytest.mark.parametrize("column", ["root", "hashes"])
def test_an_edited_tile_is_found(attacked: Victim, column: str) -> None:
    with attacked.backend.sql() as connection:
        held = bytes(connection.execute(sa.select(TILE.c[column])).scalar_one())
    attacked.run(sa.update(TILE).values({column: flipped(held)}))

    assert kind_at(attacked) == (1, "tree")


def test_a_removed_tile_is_found(attacked: Victim) -> None:
    attacked.run(sa.delete(TILE))

    assert kind_at(attacked) == (1, "tree")


def test_a_tile_that_is_not_complete_yet_is_found(attacked: Victim) -> None:
    hashes = [bytes(32)] * 256
    attacked.run(
        copied(
            TILE,
            sa.true(),
            number=1,
            root=root_of(hashes),
            hashes=b"".join(hashes),
        )
    )

    assert kind_at(attacked) == (None, "tree")


def test_a_head_that_was_edited_or_kept_at_another_size_is_found(attacked: Victim) -> None:
    of_seven = sa.update(tree_head).where(tree_head.c.size == 7)
    for change in (
        of_seven.values(note=attacked.heads[1].replace("\n7\n", "\n6\n")),
        of_seven.values(note=""),
        of_seven.values(size=6),
    ):
        with attacked.restored():
            attacked.run(change)
            assert kind_at(attacked) == (None, "tree head")


def test_a_published_head_of_somebody_else_is_not_taken_for_ours(attacked: Victim) -> None:
    other = attacked.heads[0].replace("muniment/", "other/")

    assert kind_at(attacked, published=(other,)) == (None, "tree head")
