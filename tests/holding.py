"""A ledger whose lock somebody holds, so that whoever writes has to wait."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Final

from muniment import MemoryStore, Scope
from muniment.ledger.records import Origin
from muniment.ledger.transaction import Request, Transaction


SECONDS_MAX: Final = 20


@contextmanager
def lock_held(store: MemoryStore) -> Iterator[Callable[[], None]]:
    """
    Hold the lock of *store* by a write that writes nothing.

    Gives what lets go of it, which the end of the block does, too.
    """
    inside, let_go = threading.Event(), threading.Event()

    def hold(_: Transaction) -> None:
        inside.set()
        assert let_go.wait(SECONDS_MAX)

    holding = Request(
        action="hold",
        origin=Origin(),
        scope=Scope.user("nobody"),
        fact_id=None,
        body={},
        work=hold,
    )
    with ThreadPoolExecutor(1) as pool:
        held = pool.submit(store._ledger.transact, holding)
        try:
            assert inside.wait(SECONDS_MAX)
            yield let_go.set
        finally:
            let_go.set()
        held.result(SECONDS_MAX)
