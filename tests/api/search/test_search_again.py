"""A question recorded with its answer, and asked again later: the answer is the same."""

from datetime import timedelta
from pathlib import Path

from muniment import MemoryStore, SearchHits
from tests.searching import (
    START,
    SteppingClock,
    asked_again,
    contents,
    open_at,
)


def test_a_search_as_of_then_says_what_it_said_then(
    store: MemoryStore, clock: SteppingClock
) -> None:
    facts = [
        store.remember(
            f"tea number {number} of {'green' if number % 2 else 'black'} leaves",
            user_id="u",
            importance=number / 10,
        )
        for number in range(8)
    ]
    clock.forward(days=30)
    asked = ("green tea", "number 3", "leaves", facts[2].fact_id)
    then = [store.search(query, user_id="u", explain=True) for query in asked]
    clock.forward(days=1)
    store.update(facts[1].fact_id, content="coffee instead")
    store.correct(facts[3].fact_id, content="never was tea")
    store.forget(facts[4].fact_id)
    store.remember("tea of later", user_id="u")
    store.rollback_to_timestamp(user_id="u", rollback_to=facts[5].recorded_at)
    store.rebuild()
    clock.forward(days=300)

    again = [
        asked_again(store, query, hits, explain=True)
        for query, hits in zip(asked, then, strict=True)
    ]

    assert again == then
    assert [hits.items for hits in again] != [
        store.search(query, user_id="u", explain=True).items for query in asked
    ]


def test_a_later_answer_differs_in_nothing_that_happened_at_the_time_of_the_question(
    tmp_path: Path, clock: SteppingClock
) -> None:
    with open_at(tmp_path / "store", clock=clock) as store:
        nothing = store.search("tea", user_id="u", explain=True)
        store.remember("green tea", user_id="u", valid_from=START + timedelta(days=2))
        store.remember("mint tea", user_id="u", expires_at=START + timedelta(days=2))
        store.remember("black tea", user_id="u")
        in_flight: list[SearchHits] = []

        def asked_meanwhile(*_: object) -> None:
            clock.forward(days=1)
            in_flight.append(store.search("tea", user_id="u", explain=True))

        store._ledger.before_commit = asked_meanwhile
        store.remember("tea in flight", user_id="u")
        store._ledger.before_commit = lambda *_: None
        clock.forward(days=1)
        # What held later now does, and another is over, without anything recorded.
        quiet = store.search("tea", user_id="u", explain=True)
        store._receipts.flush()
        about = store.search("tea", user_id="u", valid_at=START, explain=True)
        store.remember("tea of the same moment", user_id="u")
        clock.forward(days=300)
        asked = [nothing, *in_flight, quiet, about]

        again = [asked_again(store, "tea", hits, explain=True) for hits in asked]

        assert again == asked
        assert [sorted(map(str, contents(hits))) for hits in asked] == [
            [],
            ["black tea", "mint tea"],
            ["black tea", "green tea", "tea in flight"],
            [],
        ]
        assert in_flight[0].known_at < in_flight[0].recorded_at
