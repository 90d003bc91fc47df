"""How much is measured."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """
    Counts of each question.

    Attributes:
        rounds: Over which medians are taken.
        writes: Of one caller in a round.
        batch: Facts in one `remember_many`.
        batches: In a round.
        threads: That write at once.
        thread_writes: Of each of them in a round.
        others: Facts of others that reads are among, one after the other.
        reads: Turns among each of them, in each of which every kind of read is asked
            several times.
        disk_facts: Facts of the stores whose bytes are counted.
        tree_rounds: Of batches with and without a tree, which differ by little.
        verified: Events of the store that is verified; all really remembered.
        verified_facts: Facts of ten versions each of another one.
        erased_facts: Of a user who is erased, each with ten versions.
        erased_among: Facts of others.
    """

    rounds: int
    writes: int
    batch: int
    batches: int
    threads: int
    thread_writes: int
    others: tuple[int, ...]
    reads: int
    disk_facts: int
    tree_rounds: int
    verified: int
    verified_facts: int
    erased_facts: int
    erased_among: int


FULL = Sizes(
    rounds=15,
    writes=200,
    batch=1_000,
    batches=3,
    threads=8,
    thread_writes=25,
    others=(10_000, 100_000, 1_000_000, 2_000_000),
    reads=100,
    disk_facts=1_000,
    tree_rounds=60,
    verified=1_000_000,
    verified_facts=2_000,
    erased_facts=1_000,
    erased_among=1_000_000,
)
QUICK = Sizes(
    rounds=1,
    writes=5,
    batch=50,
    batches=1,
    threads=2,
    thread_writes=2,
    others=(200, 400),
    reads=3,
    disk_facts=20,
    tree_rounds=1,
    verified=100,
    verified_facts=2,
    erased_facts=3,
    erased_among=200,
)
