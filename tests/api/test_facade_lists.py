"""Lists of the facade: their order, and pages of them while others write."""

import random
import threading
from concurrent.futures import ThreadPoolExecutor

from muniment import Fact, MemoryStore
from tests.api.days import day, set_to
from tests.stores import SettableClock


FACTS = 1_234


def pages(store: MemoryStore, limit: int, category: str | None = None) -> list[Fact]:
    """Return all that is believed of user u, read page by page."""
    page = store.get_all(user_id="u", limit=limit, category=category)
    found = list(page)
    while page.next_cursor is not None:
        page = store.get_all(
            user_id="u", limit=limit, category=category, cursor=page.next_cursor
        )
        assert len(page) > 0
        found += page
    return found


# M63 (codex#26684: pages by offset over a set that moves), M33 (graphiti#1724).
def test_pages_miss_and_repeat_nothing_while_others_write(store: MemoryStore) -> None:
    store.remember_many(
        [
            {"content": f"fact {number}", "valid_from": day(-(number % 10))}
            for number in range(FACTS)
        ],
        user_id="u",
    )
    expected = list(store.get_all(user_id="u", limit=1000))
    stop = threading.Event()

    def write(writer: int) -> int:
        count = 0
        while not stop.is_set() or count < 2:
            fact = store.remember(f"{writer} {count}", user_id="u", valid_from=day(-5))
            store.forget(expected[(writer * 301 + count * 13) % 900 + 50].fact_id)
            store.update(fact.fact_id, content=f"{writer} {count}, changed")
            count += 1
        return count

    with ThreadPoolExecutor(2) as pool:
        writers = [pool.submit(write, number) for number in range(2)]
        first = store.get_all(user_id="u", limit=97)
        seen, page = list(first), first
        while page.next_cursor is not None:
            page = store.get_all(user_id="u", limit=97, cursor=page.next_cursor)
            seen += page
        stop.set()
        written = [each.result(30) for each in writers]

    ids = [each.fact_id for each in seen]
    assert min(written) >= 2
    assert len(ids) == len(set(ids))
    assert {each.fact_id for each in expected[:50]} <= set(ids)
    # Whoever wrote before the first page is on the pages, whoever wrote later is not.
    then = store.get_memory_as_of(
        user_id="u", timestamp=first.recorded_at, valid_at=first.valid_at
    )
    known = [each for each in then if each.position <= first.position]
    assert seen == known


def test_every_size_of_page_gives_the_same_list(store: MemoryStore) -> None:
    chance = random.Random(7)  # noqa: S311 - the same facts each time
    store.remember_many(
        [
            {
                "content": f"fact {number}",
                "valid_from": day(-chance.randrange(4)),
                "category": "ab"[number % 2],
            }
            for number in range(60)
        ],
        user_id="u",
    )
    everything = pages(store, 1000)

    lists = {limit: pages(store, limit) for limit in (1, 7, 59, 60, 61)}
    of_a = pages(store, 7, category="a")

    assert len(everything) == 60
    assert all(each == everything for each in lists.values())
    assert of_a == [each for each in everything if each.category == "a"]
    assert store.get_all(user_id="u", limit=60).next_cursor is None


def test_a_snapshot_is_ordered_by_valid_time_and_then_by_fact(
    store: MemoryStore, clock: SettableClock
) -> None:
    for number in (3, 1, 2, 1, 3):
        store.remember(f"{number} {clock.now}", user_id="u", valid_from=day(-number))
        clock.now += 1
    store.remember("of old", user_id="u", valid_to=day(9), valid_from=day(-99))
    set_to(clock, day(1))
    store.remember("unknown start", user_id="u", valid_to=day(0))

    now = store.get_memory_as_of(user_id="u", timestamp=day(1))
    before = store.get_memory_as_of(user_id="u", timestamp=day(1), valid_at=day(-1))

    order = [(each.valid_from, each.fact_id) for each in now]
    assert order == sorted(order, key=lambda each: (each[0] or day(-9999), each[1]))
    assert now.facts[0].content == "of old"
    assert next(iter(before)).content == "unknown start"
    assert before.facts[0].valid_from is None
    assert len(now) == 6
    assert list(now) == list(now.facts) == list(store.get_all(user_id="u"))


def test_a_page_goes_on_at_its_own_time(store: MemoryStore, clock: SettableClock) -> None:
    created = store.remember_many(
        [
            {"content": f"fact {number}", "valid_from": day(-1), "valid_to": day(number)}
            for number in range(1, 9)
        ],
        user_id="u",
    )
    first = store.get_all(user_id="u", limit=3)

    # Whatever passes meanwhile: most facts have ended, and one is forgotten.
    set_to(clock, day(5))
    store.forget(next(each.fact_id for each in created if each.content == "fact 1"))
    rest = store.get_all(user_id="u", limit=100, cursor=first.next_cursor)

    assert len(first) + len(rest) == 8
    assert (rest.position, rest.recorded_at) == (first.position, first.recorded_at)
    assert rest.valid_at == first.valid_at
    assert len(store.get_all(user_id="u")) == 3


def test_modified_facts_come_in_order_of_their_first_change(
    store: MemoryStore, clock: SettableClock
) -> None:
    facts = [store.remember(f"fact {number}", user_id="u") for number in range(4)]
    set_to(clock, day(1))
    for number in (2, 0, 3, 0, 2):
        store.update(facts[number].fact_id, content=f"{number} {clock.now}")
        clock.now += 1

    modified = store.list_modified_facts(user_id="u", start=day(1))

    assert [each.fact_id for each in modified] == [
        facts[number].fact_id for number in (2, 0, 3)
    ]
    assert [[version.version for version in each.versions] for each in modified] == [
        [2, 3],
        [2, 3],
        [2],
    ]
