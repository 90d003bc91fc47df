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
    """

    rounds: int
    writes: int
    batch: int
    batches: int
    threads: int
    thread_writes: int


FULL = Sizes(rounds=15, writes=200, batch=1_000, batches=3, threads=8, thread_writes=25)
QUICK = Sizes(rounds=1, writes=5, batch=50, batches=1, threads=2, thread_writes=2)
