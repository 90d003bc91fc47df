"""The only place that reads the time."""

import time
from collections.abc import Callable

from muniment.domain.time import Instant


Clock = Callable[[], Instant]
"""A source of recorded time, in microseconds; it may stand still or step back."""


def system_clock() -> Instant:
    """Return this machine's time. It may stand still or step back; the ledger copes."""
    return Instant(time.time_ns() // 1_000)
