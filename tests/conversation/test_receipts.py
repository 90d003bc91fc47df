"""Each recall that serves an agent leaves a receipt: under load, at a stop, and killed."""

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from muniment import MemoryStore, Principal, Scope
from muniment.api.receipting import Handed, ReceiptBook, search_receipt
from muniment.domain.access import Kind
from muniment.domain.text import Json
from muniment.errors import LedgerBusyError
from muniment.ledger.tally import SUFFIX, Tally
from tests.forgetting.traces import traces
from tests.stores import MEMORY, Backend


CANARY = "canary 金丝雀 7732"
LONG_WINDOW = 30.0
ROOT = Path(__file__).parents[2]
KILLED_IN_THE_WINDOW = """
import os, sys
from muniment import MemoryStore, Settings

store = MemoryStore.open(Settings.model_validate_json(sys.argv[1]))
for _ in range(3):
    store.search("tea", user_id="ann")
store.flush_receipts()
for _ in range(5):
    store.search("tea", user_id="ann")
os.kill(os.getpid(), 9)
"""


def test_a_receipt_says_what_was_given_and_what_was_in_force(backend: Backend) -> None:
    with backend.open(embedder="none") as store:
        store.record_config("prompt", "v1")
        tea = store.remember("likes tea", user_id="ann")
        coffee = store.remember("no tea after six", user_id="ann")
        hits = store.search("tea", user_id="ann", session_id="s-1", agent="waiter")
        store.record_config("prompt", "v2")
        store.search("nothing of the kind", user_id="ann", limit=1)

        first, second = store.get_receipts(user_id="ann")

        assert (first.action, first.query, first.scopes) == ("search", "tea", ("user:ann",))
        assert (first.session_id, first.agent) == ("s-1", "waiter")
        assert (first.asked_at, first.valid_at) == (hits.recorded_at, hits.valid_at)
        assert (first.at_position, first.model) == (hits.position, "")
        assert (first.configuration, second.configuration) == (1, 2)
        assert [(e.fact_id, e.version, e.rank, e.score, e.placed) for e in first.facts] == [
            (hit.fact_id, hit.fact.version, rank, hit.score, None)
            for rank, hit in enumerate(hits, 1)
        ]
        assert {each.fact_id for each in first.facts} == {tea.fact_id, coffee.fact_id}
        assert store.get_uses(tea.fact_id) == (first.asked_at,)
        assert store.get_uses(tea.fact_id, as_of=tea.recorded_at) == ()
        assert store.get_receipts(user_id="ann", limit=1) == (second,)
        assert store.get_receipts(user_id="ann", end=second.asked_at) == (first,)
        assert store.verify()


def test_who_looks_into_the_past_or_says_so_leaves_no_receipt(backend: Backend) -> None:
    with backend.open(embedder="none") as store:
        fact = store.remember("likes tea", user_id="ann")
        store.search("tea", user_id="ann", as_of=fact.recorded_at)
        store.search("tea", user_id="ann", receipt=False)

        assert store.get_receipts(user_id="ann") == ()
    if backend.kind != MEMORY:
        with backend.open(embedder="none", receipts=False) as store:
            store.search("tea", user_id="ann")
            assert store.get_receipts(user_id="ann") == ()


def test_who_is_asked_for_and_not_there_leaves_a_receipt_that_names_nobody(
    backend: Backend,
) -> None:
    """Case M67: every recall is an event, also one that found nobody to ask."""
    with backend.open(embedder="none") as store:
        store.remember("likes tea", user_id="ann")
        hits = store.search(CANARY, user_id=CANARY, agent="waiter")
        store.build_context(CANARY, scopes=[f"user:{CANARY}", "team:nobody"])
        store.search("tea", scopes=["team:nobody", "user:ann"])

        first, second = store.get_stray_receipts()

        assert (first.scope, first.query, first.scopes, first.facts) == (None, "", (), ())
        assert (first.asked_at, first.at_position) == (hits.recorded_at, hits.position)
        assert (first.action, first.agent) == ("search", "waiter")
        assert (second.action, second.tokens) == ("context", 0)
        assert store.get_stray_receipts(end=second.asked_at) == (first,)
        assert len(store.get_receipts(user_id="ann")) == 1
        assert store._ledger.vault.find(Scope.user(CANARY)) is None
        assert store.get_receipts(user_id=CANARY) == ()
        assert store.verify()
        before = list(store._conversation.rows())
        store.rebuild()
        assert list(store._conversation.rows()) == before
    assert traces(backend, CANARY) == []


def test_an_agent_cannot_search_without_a_trace(backend: Backend) -> None:
    with backend.open(embedder="none") as store:
        store.remember("likes tea", user_id="ann")
        agent = Principal(id="waiter", kind=Kind.AGENT, user_id="ann")

        store.acting_as(agent).search("tea", user_id="ann", receipt=False, agent="cook")

        (receipt,) = store.get_receipts(user_id="ann")
        assert receipt.agent == "waiter"


def test_a_recall_of_several_memories_leaves_one_receipt_with_the_first(
    backend: Backend,
) -> None:
    with backend.open(embedder="none") as store:
        team = store.remember("the team drinks tea", scope=Scope.team("eng"))
        store.remember("likes tea", user_id="ann")
        store.search("tea", scopes=["user:nobody", "user:ann", "team:eng"])

        (receipt,) = store.get_receipts(user_id="ann")

        assert receipt.scopes == ("user:nobody", "user:ann", "team:eng")
        assert team.fact_id in {each.fact_id for each in receipt.facts}
        assert store.get_receipts(scope=Scope.team("eng")) == ()
        assert len(store.get_uses(team.fact_id)) == 1


def test_every_recall_under_load_has_its_receipt_after_an_orderly_stop(
    durable: Backend,
) -> None:
    users = [f"u-{n}" for n in range(4)]
    with durable.open(embedder="none", receipt_queue=8, upkeep=False) as store:
        for user_id in users:
            store.remember("likes tea", user_id=user_id)

        def recall(user_id: str) -> list[object]:
            return [store.search("tea", user_id=user_id).recorded_at for _ in range(25)]

        with ThreadPoolExecutor(len(users)) as pool:
            asked = dict(zip(users, pool.map(recall, users), strict=True))

    with durable.open(embedder="none") as store:
        for user_id, times in asked.items():
            receipts = store.get_receipts(user_id=user_id)
            assert sorted(each.asked_at for each in receipts) == sorted(times)  # type: ignore[type-var]
        assert store.count_lost_receipts() == 0
        assert store.verify()
    assert not list(durable.directory.glob(f"*{SUFFIX}"))


def test_a_killed_process_loses_what_waited_and_the_next_one_says_how_many(
    durable: Backend,
) -> None:
    settings = durable.settings(embedder="none", receipt_window=LONG_WINDOW, upkeep=False)
    with MemoryStore.open(settings) as store:
        store.remember("likes tea", user_id="ann")

    killed = subprocess.run(
        [sys.executable, "-c", KILLED_IN_THE_WINDOW, settings.model_dump_json()],
        cwd=ROOT,
        check=False,
        timeout=60,
    )

    assert killed.returncode == -9
    for _ in range(2):
        with MemoryStore.open(settings) as store:
            assert len(store.get_receipts(user_id="ann")) == 3
            assert store.count_lost_receipts() == 5
            assert store.verify()


def test_what_is_frozen_still_leaves_receipts_and_what_is_erased_none(
    backend: Backend,
) -> None:
    with backend.open(embedder="none", receipt_window=LONG_WINDOW) as store:
        store.remember(CANARY, user_id="ann")
        store.freeze(user_id="ann")
        store.search(CANARY, user_id="ann", agent=CANARY)
        assert len(store.get_receipts(user_id="ann")) == 1
        store.thaw(user_id="ann")

        store.search(CANARY, user_id="ann")
        store.erase(user_id="ann", reason="asked")
        store.flush_receipts()

        assert store.get_receipts(user_id="ann") == ()
        assert store._ledger.vault.find(Scope.user("ann")) is None
        assert list(store._conversation.rows()) == []
        assert store.verify()
    assert traces(backend, CANARY) == []


def test_receipts_wait_for_a_database_that_is_busy_and_are_recorded_once(
    durable: Backend,
) -> None:
    with durable.open(embedder="none", lock_timeout=0.3, upkeep=False) as store:
        store.remember("likes tea", user_id="ann")
        store.search("tea", user_id="ann", receipt=False)
        with durable.open(embedder="none", upkeep=False) as other:
            with other._ledger.recorder.appending():
                store.search("tea", user_id="ann")
                with pytest.raises(LedgerBusyError):
                    store.flush_receipts()
            store.flush_receipts()

            assert len(store.get_receipts(user_id="ann")) == 1


def test_recalls_wait_for_room_and_give_up_loudly(tmp_path: Path) -> None:
    with MemoryStore.open("memory://") as store:
        store.remember("likes tea", user_id="ann")
        hits = store.search("tea", user_id="ann", receipt=False)
        subject = store._ledger.vault.find(Scope.user("ann"))
        assert subject is not None
        left = search_receipt("tea", hits, [Scope.user("ann")], {})
        handed = Handed(subject_ref=subject.ref, left=left)
        tally = Tally(tmp_path, "main")
        book = ReceiptBook(store._ledger, window=0, capacity=1, patience=0.2, tally=tally)
        held, let_go = threading.Event(), threading.Event()

        def hold() -> None:
            with store._ledger.recorder.appending():
                held.set()
                let_go.wait(20)

        holder = threading.Thread(target=hold)
        holder.start()
        held.wait(20)
        # One is being recorded, one waits.
        book.leave(handed)
        assert _is_taken(book)
        book.leave(handed)
        with pytest.raises(LedgerBusyError):
            book.leave(handed)
        let_go.set()
        holder.join()
        book.close()

        assert len(store.get_receipts(user_id="ann")) == 2
        assert list(tmp_path.iterdir()) == []


def _is_taken(book: ReceiptBook) -> bool:
    """Wait until the thread of *book* has taken what waits."""
    with book._moved:
        return book._moved.wait_for(lambda: not book._waiting, 20)


@pytest.mark.parametrize("value", [{}, [], "", 0, False, {"深": [1, 0.5, None]}])
def test_the_configuration_is_what_was_recorded_last(
    backend: Backend, value: object
) -> None:
    with backend.open() as store:
        first = store.record_config("weights", {"a": 1})
        second = store.record_config("weights", value, actor="ops")  # type: ignore[arg-type]
        again = store.record_config("weights", value)  # type: ignore[arg-type]
        store.record_config("提示", "你是助手")
        ended = store.record_config("weights", None)

        assert again.tx_id is None
        assert store.get_config_as_of(first.recorded_at) == {"weights": {"a": 1}}
        assert store.get_config_as_of(second.recorded_at) == {"weights": value}
        assert store.get_config_as_of(ended.recorded_at) == {"提示": "你是助手"}
        assert store.verify()
    assert traces(backend, "你是助手") == []


def test_what_is_equal_to_python_and_not_in_json_is_another_value() -> None:
    values: list[Json] = [True, 1, 1.0, [False], [0], {"a": 1}, {"a": True}]

    with MemoryStore.open("memory://") as store:
        written = [store.record_config("flag", each) for each in values]

        assert all(each.tx_id for each in written)
        kept = [store.get_config_as_of(each.recorded_at).get("flag") for each in written]
        assert list(map(repr, kept)) == list(map(repr, values))
