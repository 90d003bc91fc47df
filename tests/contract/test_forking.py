"""A store that is open when its process forks belongs to the parent."""

import sys
from collections.abc import Callable

import pytest

from muniment.errors import StoreClosedError
from tests.children import said_by_child
from tests.stores import Backend


pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="nothing forks there"),
    # Later Pythons warn of what is tested here: a fork beside threads.
    pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning"),
]


def test_a_child_is_told_to_open_the_store_itself_and_its_parent_goes_on(
    backend: Backend,
) -> None:
    """One connection of two processes mixes up their answers, or ends for both."""
    with backend.open() as store:
        fact = store.remember("喝茶", user_id="u")
        store.search("茶", user_id="u")
        asked: list[Callable[[], object]] = [
            lambda: store.get(fact.fact_id),
            lambda: store.remember("x", user_id="u"),
            lambda: store.search("茶", user_id="u"),
            store.flush_receipts,
            store.index_progress,
            store.verify,
        ]

        assert {said_by_child(each) for each in asked} == {StoreClosedError.__name__}
        assert said_by_child(store.close) == "None"

        again = store.update(fact.fact_id, content="drinks coffee")
        store.flush_receipts()
        assert store.get(fact.fact_id) == again
        assert len(store.get_receipts(user_id="u")) == 1


def test_a_child_that_opens_the_store_itself_writes_beside_its_parent(
    durable: Backend,
) -> None:
    def write() -> object:
        with durable.open() as own:
            return len([own.remember(f"child {n}", user_id="u") for n in range(5)])

    with durable.open() as store:
        store.remember("before", user_id="u")
        assert said_by_child(write) == "5"
        store.remember("after", user_id="u")

        assert len(store.get_all(user_id="u")) == 7
        assert store.verify().findings == ()
