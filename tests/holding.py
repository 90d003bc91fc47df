"""A ledger whose lock somebody holds, so that whoever writes has to wait."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Final

from muniment import MemoryStore, Scope
from muniment.ledger.records import Origin
from muniment.ledger.transaction import Request, Transaction


SECONDS_MAX: Final = 30

Work = Callable[[Transaction], None]


@contextmanager
def transaction_open(
    store: MemoryStore, work: Work, *, scope: Scope
) -> Iterator[Callable[[], None]]:
    """
    Do *work* in a transaction of *store* that is open until the block ends.

    Gives what ends it before that.
    """
    inside, let_go = threading.Event(), threading.Event()

    def hold(transaction: Transaction) -> None:
        work(transaction)
        inside.set()
        assert let_go.wait(SECONDS_MAX)

    holding = Request(
        action="hold",
        origin=Origin(),
        scope=scope,
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


@contextmanager
def lock_held(store: MemoryStore) -> Iterator[Callable[[], None]]:
    """
    Hold the lock of *store* by a write that writes nothing.

    Gives what lets go of it, which the end of the block does, too.
    """
    with transaction_open(store, lambda _: None, scope=Scope.user("nobody")) as let_go:
        yield let_go
