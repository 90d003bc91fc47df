"""
Few of the requests that only read are answered at once, the others in the order they came.

Threads of one interpreter run in no order: of sixteen that read at the same time each
takes as long as all of them together, and the unluckiest much longer. A few at a time take
no longer on the whole, and nobody is overtaken.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final


_AT_ONCE: Final = 4
"""One computes while the database works for the others."""
_PATIENCE_S: Final = 0.02
"""Who waits for a database far away, or for writes, keeps nobody out for longer."""


class Admission:
    """
    Lets few in at a time, first come, first served.

    Args:
        at_once: How many are let in.
        patience_s: After so many seconds somebody who is in does not count any more.
    """

    def __init__(self, at_once: int = _AT_ONCE, patience_s: float = _PATIENCE_S) -> None:
        self._places = asyncio.Semaphore(at_once)
        self._patience_s = patience_s

    @asynccontextmanager
    async def admitted(self) -> AsyncIterator[None]:
        """Wait for a place, and hold it until the end, or as long as there is patience."""
        await self._places.acquire()
        holds = True

        def leave() -> None:
            nonlocal holds
            if holds:
                holds = False
                self._places.release()

        late = asyncio.get_running_loop().call_later(self._patience_s, leave)
        try:
            yield
        finally:
            late.cancel()
            leave()
