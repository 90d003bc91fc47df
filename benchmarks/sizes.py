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
        reads: Of each kind among each of them.
        disk_facts: Facts of the stores whose bytes are counted.
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


FULL = Sizes(
    rounds=15,
    writes=200,
    batch=1_000,
    batches=3,
    threads=8,
    thread_writes=25,
    others=(10_000, 100_000, 1_000_000, 2_000_000),
    reads=60,
    disk_facts=1_000,
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
)
