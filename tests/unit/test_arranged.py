"""What is kept arranged between two questions, and how much of it."""

from muniment.recall.arranged import Arranged, Arrangements
from muniment.recall.believed import Found, found


EPOCH = 7


def kept(count: int, *, documents_max: int) -> tuple[Arrangements, list[Found]]:
    """Return what is left of so many empty memories, the first kept first."""
    arrangements = Arrangements(documents_max=documents_max)
    arrangements.clear(EPOCH)
    founds = [found([], epoch=EPOCH, lasts=True) for _ in range(count)]
    for each in founds:
        arrangements.keep(Arranged([]), [each], None)
    return arrangements, founds


def test_empty_memories_are_not_kept_without_end() -> None:
    arrangements, founds = kept(5, documents_max=3)

    left = [each for each in founds if arrangements.get([each], None) is not None]

    assert left == founds[2:]


def test_what_was_read_before_a_key_was_destroyed_is_not_kept_after_it() -> None:
    arrangements, (first,) = kept(1, documents_max=3)

    arrangements.clear(EPOCH + 1)
    arrangements.keep(Arranged([]), [first], None)

    assert arrangements.get([first], None) is None
